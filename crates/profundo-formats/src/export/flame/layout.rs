//! Which calls are drawn, and where.

use std::cmp::Reverse;

use profundo_analysis::palette::Hue;
use profundo_analysis::{Estimate, Filter, Selection, effective_samples};
use profundo_model::{Kind, Measure, SampleKind};

use super::super::calls::{Callee, Calls};
use super::super::view::{Side, View};
use super::super::{Counts, Weights, add, measured};

/// What a box is, by which it is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colour {
    /// Code, or what stands where code is not known.
    Of(Hue),
    /// The interpreter's own code.
    Runtime,
    /// A process, a thread, or the whole.
    Owner,
}

impl Colour {
    /// In the order of the legend.
    pub(super) const ALL: [Colour; 8] = [
        Colour::Of(Hue::Python),
        Colour::Of(Hue::Native),
        Colour::Of(Hue::System),
        Colour::Of(Hue::Waiting),
        Colour::Of(Hue::Garbage),
        Colour::Of(Hue::Unreadable),
        Colour::Runtime,
        Colour::Owner,
    ];

    /// The class in the style sheet.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Of(Hue::Python) => "p",
            Self::Of(Hue::Native) => "n",
            Self::Of(Hue::System) => "s",
            Self::Of(Hue::Waiting) => "w",
            Self::Of(Hue::Garbage) => "g",
            Self::Of(Hue::Unreadable) => "x",
            Self::Runtime => "r",
            Self::Owner => "o",
        }
    }

    /// The words in the legend.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Of(Hue::Unreadable) => "not readable or not sampled",
            Self::Of(hue) => hue.name(),
            Self::Runtime => "runtime",
            Self::Owner => "processes and threads",
        }
    }
}

/// A call that is drawn.
#[derive(Debug)]
pub(super) struct Block {
    pub name: String,
    /// `path:line`, as far as it is known.
    pub place: String,
    pub colour: Colour,
    /// 0 is the whole.
    pub level: u32,
    /// Where it begins, in weights from the left.
    pub start: u64,
    pub weight: u64,
    pub own: u64,
    pub count: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Layout {
    /// In the order of a walk: a box stands before those that it called.
    pub blocks: Vec<Block>,
    pub total: u64,
    pub count: u64,
    /// How many samples were taken, or what is counted in their place. One sample may count as several.
    pub taken: u64,
    /// How many samples of equal weight tell as much as these.
    samples: f64,
    /// Whether there are too few samples for shares.
    pub is_few: bool,
    /// The colours that are somewhere in it.
    pub colours: Vec<Colour>,
    /// The weight of each kind of sample.
    pub kinds: [u64; Kind::ALL.len()],
    /// How many calls are not drawn, and the weight of those of them whose callers are.
    pub pruned: (usize, u64),
    pub levels: u32,
    /// What the weights are of a heap, where they are no time.
    pub measure: Option<Measure>,
    /// Whether calls were counted, and their time measured.
    pub is_traced: bool,
}

impl Layout {
    pub(super) fn new(
        view: &View<'_>,
        calls: &Calls,
        weights: Weights,
        min_share: f64,
        most_bytes: usize,
    ) -> Self {
        let totals = calls.totals();
        let roots = (0..).zip(&calls.calls).filter(|(_, c)| c.parent.is_none());
        let (mut total, mut count) = (0, 0);
        for (root, _) in roots {
            let (weight, samples): (u64, u64) = totals[root];
            add(&mut total, weight);
            add(&mut count, samples);
        }
        let profile = view.profile;
        let counts = Counts::new(profile);
        let each = profile.samples.iter().enumerate();
        let each = each.map(|(row, sample)| weights.of(&counts, row, sample));
        let all = Selection::new(profile, &Filter::default());
        let measure = measured::of(profile);
        let is_traced = profile.meta.kind == SampleKind::Traced;
        let mut layout = Self {
            blocks: Vec::new(),
            total,
            count,
            taken: match measure.is_none() && !is_traced && profile.meta.settled.is_some() {
                true => all.taken(profile),
                false => count,
            },
            samples: match measured::of(profile) {
                None if !profile.gathered.is_any() => effective_samples(each),
                _ => all.mass(profile).effective_samples(),
            },
            is_few: all.is_few(profile),
            colours: Vec::new(),
            kinds: [0; Kind::ALL.len()],
            pruned: (0, 0),
            levels: 1,
            measure,
            is_traced,
        };
        let drawn = layout.choose(view, calls, &totals, min_share, most_bytes);
        layout.place(view, calls, &totals, &drawn);
        layout
    }

    /// The widest calls, as many as are wide enough and fit into the bytes. A caller is at least
    /// as wide as what it calls and stands before it, so it is never missing.
    fn choose(
        &self,
        view: &View<'_>,
        calls: &Calls,
        totals: &[(u64, u64)],
        min_share: f64,
        most_bytes: usize,
    ) -> Vec<bool> {
        let least = ((min_share * self.total as f64).ceil() as u64).max(1);
        let mut order: Vec<usize> = (0..totals.len()).collect();
        order.retain(|&call| totals[call].0 >= least);
        order.sort_by_key(|&call| (Reverse(totals[call].0), call));
        let mut drawn = vec![false; totals.len()];
        let mut bytes = 0;
        for call in order {
            let (name, place) = words(view, calls, call as u32);
            // The markup about the words, and the name once more in the box itself.
            bytes += 260 + name.len() + place.len() + name.len().min(40);
            if bytes > most_bytes {
                break;
            }
            drawn[call] = true;
        }
        drawn
    }

    fn place(&mut self, view: &View<'_>, calls: &Calls, totals: &[(u64, u64)], drawn: &[bool]) {
        // The widest first: it is what one looks for, and has the room for its name.
        let (roots, children) = calls.children(|call| {
            let name = words(view, calls, call).0;
            (Reverse(totals[call as usize].0), name)
        });
        self.blocks.push(Block {
            name: "all".into(),
            place: String::new(),
            colour: Colour::Owner,
            level: 0,
            start: 0,
            weight: self.total,
            own: 0,
            count: self.count,
        });
        // Calls that are to be placed: the next one last, each with where it begins.
        let mut open: Vec<(u32, u32, u64)> = Vec::new();
        let push = |open: &mut Vec<(u32, u32, u64)>, below: &[u32], level, mut start: u64| {
            let first = open.len();
            for &call in below {
                open.push((call, level, start));
                add(&mut start, totals[call as usize].0);
            }
            open[first..].reverse();
        };
        push(&mut open, &roots, 1, 0);
        while let Some((call, level, start)) = open.pop() {
            let (weight, count) = totals[call as usize];
            let row = calls.calls[call as usize];
            if !drawn[call as usize] {
                let parent = row.parent;
                if weight > 0 {
                    self.pruned.0 += 1;
                }
                if parent.is_none_or(|parent| drawn[parent as usize]) {
                    add(&mut self.pruned.1, weight);
                }
            } else {
                let (name, place) = words(view, calls, call);
                let colour = colour(view, row.callee);
                if !self.colours.contains(&colour) {
                    self.colours.push(colour);
                }
                self.levels = self.levels.max(level + 1);
                self.blocks.push(Block {
                    name,
                    place,
                    colour,
                    level,
                    start,
                    weight,
                    own: row.own,
                    count: if self.is_traced { row.own_count } else { count },
                });
            }
            push(&mut open, &children[call as usize], level + 1, start);
        }
    }

    /// What the counts are of.
    pub(super) fn counted(&self, count: u64) -> &'static str {
        match (self.is_traced, count) {
            (true, 1) => "call",
            (true, _) => "calls",
            (false, 1) => "sample",
            (false, _) => "samples",
        }
    }

    /// A weight as a share of the whole, and how sure it is.
    pub(super) fn estimate(&self, weight: u64) -> Estimate {
        let share = weight as f64 / self.total.max(1) as f64;
        match self.is_traced {
            true => Estimate::exact(share),
            false => Estimate::new(share, self.samples),
        }
    }
}

fn colour(view: &View<'_>, callee: Callee) -> Colour {
    let function = match callee {
        Callee::Owner(_) => return Colour::Owner,
        Callee::System => return Colour::Of(Hue::System),
        Callee::Function { function, .. } => &view.functions[function as usize],
    };
    match function.side {
        Side::Python => Colour::Of(Hue::Python),
        Side::Native | Side::Generated => Colour::Of(Hue::Native),
        Side::Kernel => Colour::Of(Hue::System),
        Side::Runtime => Colour::Runtime,
        Side::Waits => Colour::Of(Hue::Waiting),
        Side::Collects => Colour::Of(Hue::Garbage),
        Side::Missing => Colour::Of(Hue::Unreadable),
    }
}

/// The name of a call, and where it is.
fn words(view: &View<'_>, calls: &Calls, call: u32) -> (String, String) {
    match calls.calls[call as usize].callee {
        Callee::Owner(owner) => (calls.owners[owner as usize].clone(), String::new()),
        Callee::System => ("[system]".into(), String::new()),
        Callee::Function { function, .. } => {
            let function = &view.functions[function as usize];
            let mut place = view.path(function.file).to_owned();
            if !place.is_empty() {
                match calls.lines(call) {
                    (0, _) => {}
                    (first, last) if first == last => place.push_str(&format!(":{first}")),
                    (first, last) => place.push_str(&format!(":{first}–{last}")),
                }
            }
            (function.name.to_string(), place)
        }
    }
}

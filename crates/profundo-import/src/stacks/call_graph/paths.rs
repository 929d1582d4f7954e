//! Walks from a function to its roots. A cost is split between callers; where a graph has too many
//! paths, small parts follow one of them each. Which one is drawn evenly, so that over many parts
//! each caller gets its share.

use super::order::Ordered;
use super::{Arc, Graph};

/// The most frames of a stack. Deeper ones are cut at their root.
const DEEPEST: usize = 512;
/// Graphs with fewer paths are walked in full.
const FEW_PATHS: f64 = 100_000.0;
/// The parts of all cost otherwise, about.
const PARTS: f64 = 30_000.0;
/// The most steps of all walks. What is left then has only its direct caller.
const MOST_STEPS: usize = 3_000_000;
/// The share of a caller moves by this between walks, which spreads evenly.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// Walks in a graph.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    graph: &'a Graph,
    ordered: &'a Ordered,
    /// The least cost of a part that is split.
    quantum: f64,
    /// By function, where the next draw begins.
    draws: Vec<f64>,
    /// Steps of the paths of one walk: an arc, and the row of the step before it.
    steps: Vec<(u32, u32)>,
    left: usize,
    /// Whether a stack was cut.
    pub was_cut: bool,
}

/// A part of a cost on its way.
struct Part {
    function: u32,
    cost: u64,
    step: u32,
    depth: usize,
}

const NO_STEP: u32 = u32::MAX;

/// A finished path.
pub(super) struct Path<'a> {
    graph: &'a Graph,
    steps: &'a [(u32, u32)],
    last: u32,
    /// Whether callers are missing at its root.
    pub is_cut: bool,
}

impl<'a> Path<'a> {
    /// The calls from the root to the function.
    pub(super) fn arcs(&self) -> impl Iterator<Item = &'a Arc> + use<'a> {
        let (graph, steps) = (self.graph, self.steps);
        let mut next = self.last;
        std::iter::from_fn(move || {
            let &(arc, before) = steps.get(next as usize)?;
            next = before;
            graph.arcs.get(arc as usize)
        })
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(graph: &'a Graph, ordered: &'a Ordered) -> Self {
        let own = |function: &super::Function| {
            let costs = function.own.iter().map(|(_, cost)| *cost as f64);
            costs.sum::<f64>()
        };
        let all: f64 = graph.functions.iter().map(own).sum();
        let size = graph.functions.len() + graph.arcs.len();
        let lines: usize = graph.functions.iter().map(|row| row.own.len()).sum();
        let left = size.saturating_add(lines).saturating_mul(64);
        Self {
            graph,
            ordered,
            quantum: match number_of_paths(graph, ordered) <= FEW_PATHS {
                true => 1.0,
                false => (all / PARTS).max(1.0),
            },
            draws: vec![0.5; graph.functions.len()],
            steps: Vec::new(),
            left: left.clamp(100_000, MOST_STEPS),
            was_cut: false,
        }
    }

    /// Walks from a function with some of its own cost to roots. `end` takes each path and its part
    /// of the cost.
    pub(super) fn from(&mut self, function: usize, cost: u64, end: &mut dyn FnMut(Path<'_>, u64)) {
        if cost == 0 {
            return;
        }
        self.steps.clear();
        let mut parts = vec![Part {
            function: function as u32,
            cost,
            step: NO_STEP,
            depth: 0,
        }];
        while let Some(part) = parts.pop() {
            let is_cut = part.depth >= DEEPEST || (self.left == 0 && part.depth > 0);
            let is_root = self.ordered.callers(part.function).is_empty();
            if is_cut || is_root {
                self.was_cut |= !is_root;
                end(self.path(part.step, !is_root), part.cost);
                continue;
            }
            self.split(&part, &mut parts, end);
        }
    }

    fn path(&self, last: u32, is_cut: bool) -> Path<'_> {
        Path {
            graph: self.graph,
            steps: &self.steps,
            last,
            is_cut,
        }
    }

    /// Splits a part between the callers of its function.
    fn split(&mut self, part: &Part, parts: &mut Vec<Part>, end: &mut dyn FnMut(Path<'_>, u64)) {
        let ordered = self.ordered;
        let callers = ordered.callers(part.function);
        let row = part.function as usize;
        let as_root = ordered.as_root.get(row).copied().unwrap_or(0.0);
        let of_callers = callers.last().map_or(0.0, |&(_, sum)| sum);
        let all = of_callers + as_root;
        let tokens = (part.cost as f64 / self.quantum).round().max(1.0);
        let draw = self.draws.get(row).copied().unwrap_or(0.5);
        if let Some(next) = self.draws.get_mut(row) {
            *next = (draw + GOLDEN).fract();
        }
        // The cost that belongs to all callers before this sum.
        let before = |sum: f64| {
            let share = (sum / all * tokens + draw).floor().clamp(0.0, tokens);
            match share >= tokens {
                true => part.cost,
                false => share_of(part.cost, share as u64, tokens as u64),
            }
        };
        let mut given = 0_u64;
        let mut at = 0;
        while let Some(&(arc, sum)) = callers.get(at) {
            let until = before(sum);
            let cost = until.saturating_sub(given);
            if cost > 0 {
                self.push(part, arc, cost, parts);
                given = until;
            }
            at += 1;
            if given >= part.cost {
                return;
            }
            if tokens < (callers.len() - at) as f64 {
                // Callers without a part are skipped.
                at += callers[at..].partition_point(|&(_, sum)| before(sum) <= given);
            }
        }
        let rest = part.cost - given.min(part.cost);
        if rest == 0 {
            return;
        }
        match as_root > 0.0 {
            true => end(self.path(part.step, false), rest),
            // Rounded numbers.
            false => {
                if let Some(&(arc, _)) = callers.last() {
                    self.push(part, arc, rest, parts);
                }
            }
        }
    }

    fn push(&mut self, part: &Part, arc: u32, cost: u64, parts: &mut Vec<Part>) {
        self.left = self.left.saturating_sub(1);
        let step = self.steps.len() as u32;
        self.steps.push((arc, part.step));
        parts.push(Part {
            function: self.graph.arcs[arc as usize].caller,
            cost,
            step,
            depth: part.depth + 1,
        });
    }
}

/// A part of a cost, rounded down.
pub(super) fn share_of(cost: u64, part: u64, whole: u64) -> u64 {
    let share = (u128::from(cost) * u128::from(part)).checked_div(u128::from(whole));
    share.map_or(0, |share| u64::try_from(share).unwrap_or(u64::MAX))
}

/// The number of stacks that a full walk makes, about.
fn number_of_paths(graph: &Graph, ordered: &Ordered) -> f64 {
    let mut known: Vec<Option<f64>> = vec![None; graph.functions.len()];
    let mut open: Vec<u32> = Vec::new();
    for root in 0..graph.functions.len() as u32 {
        open.push(root);
        while let Some(&function) = open.last() {
            let callers = ordered.callers(function).iter();
            let callers = callers.map(|&(arc, _)| graph.arcs[arc as usize].caller);
            let mut sum = 0.0;
            let unknown = open.len();
            for caller in callers {
                match known[caller as usize] {
                    Some(paths) => sum += paths,
                    None => open.push(caller),
                }
            }
            if open.len() == unknown {
                let as_root = ordered.as_root[function as usize] > 0.0;
                let is_end = as_root || ordered.callers(function).is_empty();
                known[function as usize] = Some(sum + f64::from(u8::from(is_end)));
                open.pop();
            }
        }
    }
    let rows = graph.functions.iter().zip(&known);
    rows.map(|(function, paths)| function.own.len() as f64 * paths.unwrap_or(1.0))
        .sum()
}

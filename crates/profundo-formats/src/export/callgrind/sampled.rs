//! Samples in callgrind's format: by line what it cost itself, and by line and callee what the
//! calls from there cost.
//!
//! In a recursion only the outermost call of a function has a cost, as for counted calls. How
//! often a function was called is not known: each call is written as one, because
//! `callgrind_annotate` takes the cost of no calls for the caller's own.

use std::collections::BTreeMap;
use std::io::{self, Write};

use profundo_model::{FileId, Profile, SampleKind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{PROGRAM, UNKNOWN, clean};
use crate::export::view::{Point, View};
use crate::export::{Counts, Options, Weights, add, cpuprofile, measured};

/// A function at a line.
type Place = (u32, u32);

/// The costs, see the module.
struct Costs {
    own: BTreeMap<Place, u64>,
    /// By caller at a line, and callee.
    calls: BTreeMap<(Place, u32), u64>,
    /// By function at the root.
    roots: BTreeMap<u32, u64>,
    /// Whether the roots need a common caller for readers to add up right.
    needs_program: bool,
}

/// Writes the samples.
pub(super) fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let view = View::new(profile, options);
    let weights = Weights::or_time(options.weights, profile);
    let costs = Costs::new(&view, weights);
    Writer {
        lines: cpuprofile::first_lines(&view),
        view: &view,
        costs: &costs,
        files: FxHashSet::default(),
        functions: FxHashSet::default(),
        out,
    }
    .write(event(profile, weights))
}

/// The name of the costs, which is one word.
fn event(profile: &Profile, weights: Weights) -> String {
    match (measured::of(profile), weights) {
        (Some(measure), _) if measure.counts => "Blocks".into(),
        (Some(_), _) => "Bytes".into(),
        (None, Weights::Time) if profile.meta.kind != SampleKind::Events => "Nanoseconds".into(),
        _ if profile.meta.event.is_empty() => "Samples".into(),
        _ => profile.meta.event.replace(char::is_whitespace, "-"),
    }
}

impl Costs {
    fn new(view: &View<'_>, weights: Weights) -> Self {
        let profile = view.profile;
        let counts = Counts::new(profile);
        let mut by_node: FxHashMap<u32, u64> = FxHashMap::default();
        for (row, sample) in profile.samples.iter().enumerate() {
            let sum = by_node.entry(view.node(sample.stack)).or_default();
            add(sum, weights.of(&counts, row, sample));
        }
        let mut costs = Self {
            own: BTreeMap::new(),
            calls: BTreeMap::new(),
            roots: BTreeMap::new(),
            needs_program: false,
        };
        let mut is_repeated_root = false;
        // The stack in which a function was met last.
        let mut met = vec![u32::MAX; view.functions.len()];
        for (node, weight) in by_node {
            let mut path: Vec<Point> = Vec::new();
            for spot in view.spots_of(node) {
                path.extend(&view.spots[spot as usize]);
            }
            path.reverse();
            let (Some(root), Some(leaf)) = (path.first(), path.last()) else {
                continue;
            };
            add(
                costs.own.entry((leaf.function, leaf.line)).or_default(),
                weight,
            );
            add(costs.roots.entry(root.function).or_default(), weight);
            met[root.function as usize] = node;
            for two in path.windows(2) {
                let (caller, callee) = (two[0], two[1]);
                is_repeated_root |= callee.function == root.function;
                if std::mem::replace(&mut met[callee.function as usize], node) != node {
                    let call = ((caller.function, caller.line), callee.function);
                    add(costs.calls.entry(call).or_default(), weight);
                }
            }
        }
        let is_called = |(_, callee): &(Place, u32)| costs.roots.contains_key(callee);
        costs.needs_program = is_repeated_root || costs.calls.keys().any(is_called);
        costs
    }
}

struct Writer<'a, W> {
    view: &'a View<'a>,
    costs: &'a Costs,
    /// The first known line of each function.
    lines: Vec<u32>,
    files: FxHashSet<FileId>,
    functions: FxHashSet<u32>,
    out: &'a mut W,
}

impl<W: Write> Writer<'_, W> {
    fn write(mut self, event: String) -> io::Result<()> {
        let profile = self.view.profile;
        let command = profile.processes.first();
        let command = command.map_or("", |process| profile.strings.get(process.command));
        super::head(command, &event, self.out)?;
        let costs = self.costs;
        let whole = costs
            .own
            .values()
            .fold(0, |sum: u64, own| sum.saturating_add(*own));
        writeln!(self.out, "summary: {whole}")?;
        if costs.needs_program {
            self.files.insert(FileId(0));
            writeln!(self.out, "\nfl=({UNKNOWN}) ???")?;
            writeln!(self.out, "fn=({PROGRAM}) <program>")?;
            writeln!(self.out, "0 0")?;
            for (&function, &cost) in &costs.roots {
                self.call(0, function, cost)?;
            }
        }
        let callers = costs.calls.keys().map(|((caller, _), _)| *caller);
        let mut functions: Vec<u32> = costs.own.keys().map(|key| key.0).chain(callers).collect();
        functions.sort_unstable();
        functions.dedup();
        for function in functions {
            let (file, name) = self.names(function);
            writeln!(self.out, "\nfl={file}\nfn={name}")?;
            let lines = (function, 0)..=(function, u32::MAX);
            for (&(_, line), own) in costs.own.range(lines.clone()) {
                writeln!(self.out, "{line} {own}")?;
            }
            let calls = (*lines.start(), 0)..=(*lines.end(), u32::MAX);
            for (&((_, line), callee), &cost) in costs.calls.range(calls) {
                self.call(line, callee, cost)?;
            }
        }
        Ok(())
    }

    fn call(&mut self, line: u32, callee: u32, cost: u64) -> io::Result<()> {
        let (file, name) = self.names(callee);
        writeln!(self.out, "cfl={file}\ncfn={name}")?;
        writeln!(self.out, "calls=1 {}", self.lines[callee as usize])?;
        writeln!(self.out, "{line} {cost}")
    }

    /// The file and the name of a function, in full at their first use.
    fn names(&mut self, row: u32) -> (String, String) {
        let function = &self.view.functions[row as usize];
        let file = function.file;
        let path = match self.view.path(file) {
            "" => "???".into(),
            path => clean(path),
        };
        let file = match self.files.insert(file) {
            true => format!("({}) {path}", file.0),
            false => format!("({})", file.0),
        };
        // The first number is the program's.
        let number = row + 1;
        let name = match self.functions.insert(row) {
            true => format!("({number}) {}", clean(&function.name)),
            false => format!("({number})"),
        };
        (file, name)
    }
}

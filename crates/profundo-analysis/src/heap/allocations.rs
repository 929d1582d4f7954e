//! The allocators: by line, function, stack, thread and process.
//!
//! A line is charged with the allocations of stacks where it is innermost, by the rule for time:
//! the interpreter's and the libraries' bytes are charged to the reader's own line that called
//! them.

use profundo_model::{FileId, FrameId, ProcessId, Profile, Sampling, StackId, StringId, ThreadId};
use rustc_hash::FxHashMap;

use super::entries::{Entry, What, end, end_of, entries};
use super::figure::{Holding, Sum};
use super::leaks::{self, Leak};
use super::peak::{Peak, peaks};
use super::runs::Runs;
use super::trend::{Trends, each_change, growth, seconds};
use crate::admit::Admitted;
use crate::held::Held;
use crate::line_finder::Finder;
use crate::{Filter, LinesOptions, Place};

mod types;

use types::Types;

/// The options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeapOptions {
    /// The lines that are looked at.
    pub lines: LinesOptions,
    /// The number of points of a trend.
    pub points: usize,
    /// Only blocks of this type, as [`Held`] names it.
    pub of_type: Option<String>,
}

impl Default for HeapOptions {
    fn default() -> Self {
        Self {
            lines: LinesOptions::default(),
            points: 60,
            of_type: None,
        }
    }
}

/// A row of allocations.
#[derive(Debug, Clone, PartialEq)]
pub struct HeapRow<K> {
    /// The key.
    pub of: K,
    /// The amounts.
    pub held: Holding,
}

/// The allocations of one line.
#[derive(Debug, Clone, PartialEq)]
pub struct HeapLine {
    /// The line, or the allocating function where no line is looked at; `None` where unknown.
    pub of: Option<Place>,
    /// The amounts.
    pub held: Holding,
    /// The live bytes at points of equal distance; the last is the end of the recording.
    pub trend: Vec<u64>,
    /// The growth in bytes a second in the second half of the recording.
    pub growth: f64,
}

/// The copies of one line.
#[derive(Debug, Clone, PartialEq)]
pub struct CopyRow {
    /// The line, or the function; `None` where unknown.
    pub of: Option<Place>,
    /// The bytes and the number of copies.
    pub copied: Sum,
}

/// All allocations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Allocations {
    /// The sampling.
    pub sampling: Sampling,
    /// The coarsest sampling of any block.
    pub coarsest: Sampling,
    /// The total.
    pub total: Holding,
    /// By line, the one that allocated most first.
    pub lines: Vec<HeapLine>,
    /// By the function of the line.
    pub functions: Vec<HeapRow<Option<Place>>>,
    /// By stack.
    pub stacks: Vec<HeapRow<StackId>>,
    /// By the contents of blocks, as far as their stacks reveal them.
    pub types: Vec<HeapRow<Held>>,
    /// Blocks of unknown type that debug information would reveal.
    pub needs_debug_info: Sum,
    /// By thread, where known.
    pub threads: Vec<HeapRow<ThreadId>>,
    /// By process.
    pub processes: Vec<HeapRow<ProcessId>>,
    /// The peak of each process, filtered or not.
    pub peaks: Vec<Peak>,
    /// The lines that seem to leak, the one that has most first.
    pub leaks: Vec<Leak>,
    /// The number of processes searched for unreachable blocks at their end.
    pub searched: usize,
    /// The copies, of those long enough to count.
    pub copied: Sum,
    /// By line, the one that copied most first.
    pub copies: Vec<CopyRow>,
    /// The length of the recording in seconds.
    pub seconds: f64,
}

/// The allocations of a profile that pass a filter.
pub fn allocations(profile: &Profile, filter: &Filter, options: &HeapOptions) -> Allocations {
    of_owners(
        profile,
        filter,
        options,
        Owners::new(profile, &options.lines),
    )
}

/// The same with some lines joined to one, as [`lines_joined`](crate::lines_joined) joins them. A
/// row of several lines is named after one of them: `first` has the line that it counts for.
pub fn allocations_joined(
    profile: &Profile,
    filter: &Filter,
    options: &HeapOptions,
    mut first: impl FnMut(FileId, u32) -> u32,
) -> Allocations {
    let owners = Owners {
        first: Some(&mut first),
        ..Owners::new(profile, &options.lines)
    };
    of_owners(profile, filter, options, owners)
}

fn of_owners(
    profile: &Profile,
    filter: &Filter,
    options: &HeapOptions,
    mut owners: Owners<'_>,
) -> Allocations {
    let admitted = Admitted::new(profile, filter);
    let heap = &profile.heap;
    let peaks = peaks(profile);
    let end = end(profile);
    let runs = Runs::new(profile);
    let mut found = Allocations {
        sampling: heap.sampling,
        coarsest: heap.coarsest(),
        seconds: seconds(profile),
        searched: heap.searched.len(),
        ..Allocations::default()
    };
    let mut lines = Table::default();
    let (mut functions, mut stacks) = (Table::default(), Table::default());
    let (mut threads, mut processes) = (Table::default(), Table::default());
    let mut types = Types::default();
    let mut trends = Trends::new(options.points, end);
    let mut at_lines: Vec<Option<u32>> = vec![None; heap.sites.len()];
    let mut passed: Vec<(Entry<'_>, u32)> = Vec::new();
    for entry in entries(profile) {
        if !entry.passes(&admitted) {
            continue;
        }
        if let Some(wanted) = &options.of_type
            && *wanted != types.of(profile, entry.stack).0.type_name
        {
            continue;
        }
        let peak = peaks.binary_search_by_key(&entry.process, |peak| peak.process);
        let peak = peak.ok().map(|at| &peaks[at]);
        let until = end_of(profile, entry.process, end);
        let held = entry.held(heap, &runs, peak, until);
        let owner = owners.of(entry.stack);
        let line = lines.add(owner.line, owner.place, &held);
        functions.add(owner.function, owner.place, &held);
        stacks.add(entry.stack, entry.stack, &held);
        types.add(profile, entry.stack, &held);
        processes.add(entry.process, entry.process, &held);
        if let Some(thread) = entry.thread {
            threads.add(thread, thread, &held);
        }
        found.total += held;
        match entry.what {
            What::Block(block) => {
                let bytes = heap.sampling.weight_of(block) * block.size as f64;
                trends.add(line, block.time.0, bytes);
                if let Some(freed) = block.freed {
                    trends.add(line, freed.0, -bytes);
                }
            }
            What::Site(_, site) => {
                at_lines[site] = u32::try_from(line).ok();
            }
        }
        passed.push((entry, u32::try_from(line).unwrap_or(u32::MAX)));
    }
    each_change(heap, |site, time, bytes| {
        if let Some(line) = at_lines[site] {
            trends.add(line as usize, time, bytes);
        }
    });
    found.leaks = leaks::find(profile, &passed, &at_lines, &runs);
    for leak in &mut found.leaks {
        leak.of = lines.rows[leak.line as usize].of;
    }
    if options.of_type.is_none() {
        add_copies(&mut found, profile, &admitted, &mut owners);
    }
    let of_lines = lines.rows.into_iter().enumerate().map(|(index, row)| {
        let trend = trends.of(index);
        HeapLine {
            growth: growth(&trend, found.seconds),
            of: row.of,
            held: row.held,
            trend,
        }
    });
    found.lines = of_lines.collect();
    found.lines.sort_by(|a, b| largest(&a.held, &b.held));
    found.functions = functions.sorted();
    found.stacks = stacks.sorted();
    (found.types, found.needs_debug_info) = types.sorted();
    found.threads = threads.sorted();
    found.processes = processes.sorted();
    found.peaks = peaks;
    found
}

fn add_copies(
    found: &mut Allocations,
    profile: &Profile,
    admitted: &Admitted,
    owners: &mut Owners<'_>,
) {
    let mut rows: FxHashMap<LineKey, CopyRow> = FxHashMap::default();
    for copy in &profile.heap.copies {
        if !admitted.by_thread(copy.thread, copy.time, copy.stack) {
            continue;
        }
        let owner = owners.of(copy.stack);
        let row = rows.entry(owner.line).or_insert_with(|| CopyRow {
            of: owner.place,
            copied: Sum::default(),
        });
        let copying = profile.heap.copying_of(copy);
        row.copied.add_block(copy.size, copying);
        found.copied.add_block(copy.size, copying);
    }
    found.copies = rows.into_values().collect();
    (found.copies).sort_by(|a, b| {
        b.copied
            .weight()
            .total_cmp(&a.copied.weight())
            .then(a.of.cmp(&b.of))
    });
}

fn largest(a: &Holding, b: &Holding) -> std::cmp::Ordering {
    b.allocated.weight().total_cmp(&a.allocated.weight())
}

/// Rows by some key.
struct Table<K, O> {
    at: FxHashMap<K, usize>,
    rows: Vec<HeapRow<O>>,
}

impl<K, O> Default for Table<K, O> {
    fn default() -> Self {
        Self {
            at: FxHashMap::default(),
            rows: Vec::new(),
        }
    }
}

impl<K: std::hash::Hash + Eq, O> Table<K, O> {
    fn add(&mut self, key: K, of: O, held: &Holding) -> usize {
        let at = *self.at.entry(key).or_insert_with(|| {
            let held = Holding::default();
            self.rows.push(HeapRow { of, held });
            self.rows.len() - 1
        });
        self.rows[at].held += *held;
        at
    }

    fn sorted(mut self) -> Vec<HeapRow<O>> {
        self.rows.sort_by(|a, b| largest(&a.held, &b.held));
        self.rows
    }
}

/// The owner of some bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owner {
    pub place: Option<Place>,
    pub line: LineKey,
    pub function: FunctionKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum LineKey {
    Line(FileId, u32),
    Place(Option<u32>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum FunctionKey {
    Function(StringId, FileId),
    Place(Option<u32>),
}

/// Finds the owner of a stack's allocations, once for each stack.
pub(super) struct Owners<'a> {
    profile: &'a Profile,
    finder: Finder<'a>,
    /// The line that a line of a file counts for, where lines are joined.
    first: Option<&'a mut dyn FnMut(FileId, u32) -> u32>,
    known: FxHashMap<StackId, Owner>,
}

impl<'a> Owners<'a> {
    pub fn new(profile: &'a Profile, options: &LinesOptions) -> Self {
        Self {
            profile,
            finder: Finder::new(profile, options),
            first: None,
            known: FxHashMap::default(),
        }
    }

    pub fn of(&mut self, stack: StackId) -> Owner {
        if let Some(owner) = self.known.get(&stack) {
            return *owner;
        }
        let mut owner = match self.finder.find(stack) {
            Some(frame) => self.of_frame(frame),
            None => match self.finder.leaf {
                Some(Place::Frame(frame)) => Owner {
                    line: LineKey::Place(Some(Place::Frame(frame).key())),
                    ..self.of_frame(frame)
                },
                place => Owner {
                    place,
                    line: LineKey::Place(place.map(Place::key)),
                    function: FunctionKey::Place(place.map(Place::key)),
                },
            },
        };
        owner.line = self.joined(owner);
        self.known.insert(stack, owner);
        owner
    }

    /// The key of the line that an owner's line counts for.
    fn joined(&mut self, owner: Owner) -> LineKey {
        match (&mut self.first, owner.place) {
            (Some(first), Some(Place::Frame(frame))) => {
                let row = self.profile.frames.get(frame);
                match row.line {
                    0 => owner.line,
                    line => LineKey::Line(row.file, first(row.file, line)),
                }
            }
            _ => owner.line,
        }
    }

    fn of_frame(&self, frame: FrameId) -> Owner {
        let row = self.profile.frames.get(frame);
        Owner {
            place: Some(Place::Frame(frame)),
            line: LineKey::Line(row.file, row.line),
            function: FunctionKey::Function(row.function, row.file),
        }
    }
}

//! The memory at each line, and its increment: the figures of memory profilers that stop at each
//! line.
//!
//! A line is charged with the allocations made while it was on the stack, by itself or by its
//! callees. Its increment is the peak of these: memory that it frees again adds nothing that lasts,
//! and a loop adds no more than its passes have left. The memory at a line is that of its process
//! when it was last seen there.

use std::collections::BTreeMap;

use profundo_model::{FileId, Nanos, ProcessId, Profile, StackId, StringId};
use rustc_hash::FxHashMap;

use super::entries::{What, entries};
use super::figure::{Figure, Sum};
use super::peak::{Peak, changes, peaks};
use super::trend::each_change;
use crate::admit::Admitted;
use crate::line_finder::Finder;
use crate::{Filter, Libraries, LinesOptions, Shown};

/// The memory at one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineMemory {
    /// The line, from 1.
    pub line: u32,
    /// The heap of its process when it was last seen there.
    pub heap: u64,
    /// The line's increment.
    pub increment: Figure,
}

/// The lines of one function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionMemory {
    /// Its file.
    pub file: FileId,
    /// Its name.
    pub function: StringId,
    /// True for a Python function.
    pub is_python: bool,
    /// Its lines that were seen, in their order.
    pub lines: Vec<LineMemory>,
}

impl FunctionMemory {
    /// The largest increment of its lines.
    pub fn most(&self) -> u64 {
        let each = self.lines.iter().map(|line| line.increment.value);
        each.max().unwrap_or(0)
    }
}

type Key = (FileId, StringId, u32);

/// The observations of one line.
#[derive(Debug, Default)]
struct Seen {
    is_python: bool,
    /// The process and the time when it was last seen.
    last: Option<(ProcessId, u64)>,
    blocks: Vec<u32>,
    /// The changes of exact sums, with their times.
    changes: Vec<(u64, f64)>,
    /// The exact sums at the process's peak, which may lie between two recorded moments.
    at_peak: u64,
}

/// The memory at each line of the reader's own, by function: the one with the largest increment
/// first.
pub fn memory_by_line(profile: &Profile, filter: &Filter, shown: Shown) -> Vec<FunctionMemory> {
    let admitted = Admitted::new(profile, filter);
    let peaks = peaks(profile);
    let peak_of = |process| {
        let at = peaks.binary_search_by_key(&process, |peak| peak.process);
        at.ok().map(|at| peaks[at].time)
    };
    let mut lines = LinesOf::new(profile, filter, shown);
    let mut seen: FxHashMap<Key, Seen> = FxHashMap::default();
    let mut of_site: Vec<Vec<Key>> = vec![Vec::new(); profile.heap.sites.len()];
    let last = |seen: &mut Seen, process: ProcessId, time: Nanos| {
        if seen.last.is_none_or(|(_, last)| last <= time.0) {
            seen.last = Some((process, time.0));
        }
    };
    for (number, entry) in (0_u32..).zip(entries(profile)) {
        if !entry.passes(&admitted) {
            continue;
        }
        for &(key, is_python) in lines.of(entry.stack) {
            let seen = seen.entry(key).or_default();
            seen.is_python = is_python;
            match entry.what {
                What::Block(block) => {
                    last(seen, entry.process, block.time);
                    seen.blocks.push(number);
                }
                What::Site(site, number) => {
                    of_site[number].push(key);
                    seen.at_peak = seen.at_peak.saturating_add(site.at_peak.bytes);
                    if let Some(time) = peak_of(entry.process) {
                        last(seen, entry.process, time);
                    }
                }
            }
        }
    }
    each_change(&profile.heap, |site, time, bytes| {
        for key in &of_site[site] {
            if let Some(seen) = seen.get_mut(key) {
                seen.changes.push((time, bytes));
                if bytes > 0.0 {
                    last(seen, profile.heap.sites[site].process, Nanos(time));
                }
            }
        }
    });
    for sample in profile
        .samples
        .iter()
        .filter(|sample| admitted.sample(sample))
    {
        let process = profile.threads.get(sample.thread).process;
        for (key, is_python) in lines.of(sample.stack) {
            let seen = seen.entry(*key).or_default();
            seen.is_python = *is_python;
            last(seen, process, sample.time);
        }
    }
    functions(profile, seen)
}

fn functions(profile: &Profile, seen: FxHashMap<Key, Seen>) -> Vec<FunctionMemory> {
    let heaps = Heaps::new(profile);
    let mut functions: BTreeMap<(FileId, StringId), FunctionMemory> = BTreeMap::new();
    for ((file, function, line), seen) in seen {
        let Some((process, time)) = seen.last else {
            continue;
        };
        let increment = increment(profile, &seen);
        let of = functions.entry((file, function));
        let of = of.or_insert_with(|| FunctionMemory {
            file,
            function,
            is_python: seen.is_python,
            lines: Vec::new(),
        });
        of.lines.push(LineMemory {
            line,
            heap: match seen.at_peak > 0 && seen.at_peak >= increment.value {
                true => heaps.at_peak(process),
                false => heaps.at(process, time),
            },
            increment,
        });
    }
    let mut functions: Vec<FunctionMemory> = functions.into_values().collect();
    for function in &mut functions {
        function.lines.sort_by_key(|line| line.line);
    }
    functions.sort_by_key(|function| {
        (
            std::cmp::Reverse(function.most()),
            function.file,
            function.function,
        )
    });
    functions
}

/// The peak of a line's own bytes.
fn increment(profile: &Profile, seen: &Seen) -> Figure {
    if seen.blocks.is_empty() {
        let most = highest(&mut seen.changes.clone()).1.max(0.0).round() as u64;
        let most = most.max(seen.at_peak);
        return Figure {
            value: most,
            low: most,
            high: most,
        };
    }
    let heap = &profile.heap;
    let blocks = || {
        let numbers = seen.blocks.iter();
        numbers.map(|&number| &heap.blocks[number as usize])
    };
    let mut changes: Vec<(u64, f64)> = Vec::with_capacity(2 * seen.blocks.len());
    for block in blocks() {
        let bytes = heap.sampling.weight_of(block) * block.size as f64;
        changes.push((block.time.0, bytes));
        changes.extend(block.freed.map(|freed| (freed.0, -bytes)));
    }
    let (at, _) = highest(&mut changes);
    let mut sum = Sum::default();
    for block in blocks().filter(|block| super::entries::is_live_at(block, at)) {
        sum.add_block(block.size, heap.sampling.of(block));
    }
    sum.bytes()
}

/// The time and the value of the highest sum of changes.
fn highest(changes: &mut [(u64, f64)]) -> (u64, f64) {
    // At one instant, frees come before allocations.
    changes.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let (mut sum, mut most) = (0.0, (0, 0.0));
    for &(time, change) in changes.iter() {
        sum += change;
        if sum > most.1 {
            most = (time, sum);
        }
    }
    most
}

/// The heaps of processes at any time.
struct Heaps {
    sums: FxHashMap<ProcessId, Vec<(u64, f64)>>,
    peaks: Vec<Peak>,
}

impl Heaps {
    fn new(profile: &Profile) -> Self {
        let mut all = changes(profile);
        for changes in all.values_mut() {
            changes.sort_by_key(|&(time, _)| time);
            let mut sum = 0.0;
            for change in changes {
                sum += change.1;
                change.1 = sum;
            }
        }
        Self {
            sums: all,
            peaks: peaks(profile),
        }
    }

    fn at_peak(&self, process: ProcessId) -> u64 {
        let at = (self.peaks).binary_search_by_key(&process, |peak| peak.process);
        at.map_or(0, |at| self.peaks[at].held.bytes().value)
    }

    fn at(&self, process: ProcessId, time: u64) -> u64 {
        let sums = self.sums.get(&process).map_or(&[][..], Vec::as_slice);
        let next = sums.partition_point(|&(at, _)| at <= time);
        let sum = next.checked_sub(1).map_or(0.0, |last| sums[last].1);
        sum.max(0.0).round() as u64
    }
}

/// The reader's own lines on each stack, each once, and whether they are Python's.
struct LinesOf<'a> {
    profile: &'a Profile,
    finder: Finder<'a>,
    known: FxHashMap<StackId, Vec<(Key, bool)>>,
}

impl<'a> LinesOf<'a> {
    fn new(profile: &'a Profile, filter: &Filter, shown: Shown) -> Self {
        let options = LinesOptions {
            shown: Shown {
                libraries: Libraries::Hidden,
                ..shown
            },
            files: filter.files.clone(),
        };
        Self {
            profile,
            finder: Finder::new(profile, &options),
            known: FxHashMap::default(),
        }
    }

    fn of(&mut self, stack: StackId) -> &[(Key, bool)] {
        let (profile, finder) = (self.profile, &mut self.finder);
        self.known.entry(stack).or_insert_with(|| {
            finder.find(stack);
            let lines = finder.on_stack.iter().map(|&frame| {
                let row = profile.frames.get(frame);
                let is_python = row.language == profundo_model::Language::Python;
                ((row.file, row.function, row.line), is_python)
            });
            let mut lines: Vec<(Key, bool)> = lines.collect();
            lines.sort_unstable();
            lines.dedup();
            lines
        })
    }
}

//! The result of `fetch`: the recorded allocations, with names and types.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use profundo_analysis::{Held, held};
use profundo_capture::heap::{self, Allocation, Allocations, Rule};
use profundo_model::{Block, Domain, Nanos, Profile, Sampling, StackId};

use super::alloc::{Alloc, AllocType};
use super::hidden_frames::Trimmer;
use super::report::Report;
use crate::error::Result;
use crate::names::SYMBOLIZER;

/// A copy of the recorded allocations, oldest first. Later events do not change it.
#[derive(Debug, Clone, Default)]
pub struct AllocResults {
    profile: Profile,
    weights: Vec<f64>,
    lost: u64,
}

/// The allocations of one type.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct TypeTotal<'a> {
    /// The type.
    pub type_of: AllocType<'a>,
    /// The number of allocations.
    pub count: f64,
    /// The number of bytes.
    pub bytes: f64,
}

/// The allocations recorded since the last clear, by all recordings. May be called again, and
/// during a recording.
pub fn fetch() -> Result<AllocResults> {
    let _excluded = heap::exclude_allocations();
    Ok(AllocResults::of(heap::snapshot()?))
}

impl AllocResults {
    fn of(found: Allocations) -> Self {
        let mut profile = profundo_ingest::ingest(&found.recording);
        let samples = std::mem::take(&mut profile.samples);
        SYMBOLIZER.name_profile(&mut profile);
        let by_weight: HashMap<u64, _> = (samples.iter())
            .map(|sample| (sample.weight.0, sample))
            .collect();
        let (started, ended) = (&found.recording.started, &found.recording.ended);
        let times = Times::of(
            (started.cycles, ended.cycles),
            (started.monotonic, ended.monotonic),
        );
        let mut trimmer = Trimmer::default();
        let mut types: HashMap<StackId, Held> = HashMap::new();
        let (mut blocks, mut weights) = (Vec::new(), Vec::new());
        let mut rules = Vec::new();
        for allocation in &found.all {
            let (Some(where_), Some(who)) = (
                by_weight.get(&allocation.stack),
                by_weight.get(&allocation.who),
            ) else {
                continue;
            };
            let Some(stack) = trimmer.trim(&mut profile, where_.stack) else {
                continue;
            };
            let held = types.entry(stack).or_insert_with(|| held(&profile, stack));
            let sampling = sampling_of(allocation.rule);
            if !rules.contains(&sampling) {
                rules.push(sampling);
            }
            weights.push(sampling.weight(allocation.size));
            blocks.push(Block {
                time: times.of_clock(allocation.clock),
                freed: freed(allocation, &times),
                clock: allocation.clock,
                size: allocation.size,
                thread: who.thread,
                task: who.task,
                span: who.span,
                stack,
                domain: Domain::Native,
                type_name: profile.strings.intern(&held.type_name),
                is_buffer: held.is_buffer,
                doublings: 0,
                is_temporary: allocation.is_temporary,
                is_unreachable: false,
            });
        }
        let order = order_of(&blocks);
        profile.heap.blocks = order.iter().map(|&at| blocks[at]).collect();
        let weights = order.iter().map(|&at| weights[at]).collect();
        profile.heap.sampling = match rules[..] {
            [] => Sampling::None,
            [only] => only,
            [.., last] => {
                profile.meta.notes.push(
                    "allocations were recorded at several rates, of which the profile names the last"
                        .to_owned(),
                );
                last
            }
        };
        if found.unfollowed > 0 {
            profile.meta.notes.push(format!(
                "the ends of {} allocations were not looked for: too many were there at a time",
                found.unfollowed
            ));
        }
        Self {
            profile,
            weights,
            lost: found.lost,
        }
    }

    /// The recorded allocations, oldest first.
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            results: self,
            rows: 0..self.len(),
        }
    }

    /// The number of recorded allocations.
    pub fn len(&self) -> usize {
        self.profile.heap.blocks.len()
    }

    /// True if there are no allocations.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The allocations by type, that with the most bytes first; estimates where not all were
    /// recorded.
    pub fn by_type(&self) -> Vec<TypeTotal<'_>> {
        let mut totals: HashMap<AllocType<'_>, TypeTotal<'_>> = HashMap::new();
        for alloc in self {
            let type_of = alloc.type_of();
            let total = totals.entry(type_of).or_insert(TypeTotal {
                type_of,
                count: 0.0,
                bytes: 0.0,
            });
            total.count += alloc.weight();
            total.bytes += alloc.weight() * alloc.size() as f64;
        }
        let mut totals: Vec<_> = totals.into_values().collect();
        totals.sort_by(|a, b| {
            let by_name = || a.type_of.to_string().cmp(&b.type_of.to_string());
            b.bytes.total_cmp(&a.bytes).then_with(by_name)
        });
        totals
    }

    /// The number of sampled allocations that found no room: see [`init`](super::init).
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The bytes of the recorded allocations, not of those that they stand for.
    pub fn bytes(&self) -> u64 {
        self.profile
            .heap
            .blocks
            .iter()
            .map(|block| block.size)
            .sum()
    }

    /// The allocations as a profile, with names: they are `heap.blocks`.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The number of allocations that each one stands for.
    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// A report on these allocations.
    pub fn report(&self) -> Report {
        Report::of(self)
    }

    /// Saves the allocations as a `.profundo` file, readable by its owner only:
    /// [`load`](crate::load) and the command read it.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        Ok(profundo_formats::write_file(path, &self.profile)?)
    }

    /// Prints the allocations as a tree on stdout.
    pub fn print(&self) -> Result<()> {
        self.report().print()
    }
}

/// The indices of the blocks by time: where several threads allocate at once, rows are not in the
/// clock's order.
fn order_of(blocks: &[Block]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    order.sort_by_key(|&at| blocks[at].clock);
    order
}

fn freed(allocation: &Allocation, times: &Times) -> Option<Nanos> {
    (allocation.freed != 0).then(|| times.of_clock(allocation.freed))
}

fn sampling_of(rule: Rule) -> Sampling {
    match rule {
        Rule::Bytes(0) => Sampling::All,
        Rule::Bytes(mean) => Sampling::Bytes(mean),
        Rule::Events(rate) if rate >= 1.0 => Sampling::All,
        Rule::Events(rate) => Sampling::Events(rate),
    }
}

/// The conversion of the cycle counter to nanoseconds.
struct Times {
    from: u64,
    nanos_per_cycle: f64,
}

impl Times {
    /// From the same two instants on the cycle counter and on a clock.
    fn of(cycles: (u64, u64), nanos: (u64, u64)) -> Self {
        let (from, cycles) = (cycles.0, cycles.1.saturating_sub(cycles.0));
        let nanos = nanos.1.saturating_sub(nanos.0);
        Self {
            from,
            nanos_per_cycle: match cycles {
                0 => 0.0,
                cycles => nanos as f64 / cycles as f64,
            },
        }
    }

    fn of_clock(&self, clock: u64) -> Nanos {
        Nanos((clock.saturating_sub(self.from) as f64 * self.nanos_per_cycle) as u64)
    }
}

/// Iterates over recorded allocations.
#[derive(Debug, Clone)]
pub struct Iter<'a> {
    results: &'a AllocResults,
    rows: std::ops::Range<usize>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = Alloc<'a>;

    fn next(&mut self) -> Option<Alloc<'a>> {
        let results = self.results;
        self.rows.next().map(|index| Alloc { results, index })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rows.size_hint()
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'a> IntoIterator for &'a AllocResults {
    type Item = Alloc<'a>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl fmt::Display for AllocResults {
    /// `AllocResults(Alloc[Alloc(…), Alloc(…)])`, with all of them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AllocResults(Alloc[")?;
        for (index, alloc) in self.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{alloc}")?;
        }
        f.write_str("])")
    }
}

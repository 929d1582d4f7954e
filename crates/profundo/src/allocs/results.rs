//! What was recorded, with names and types: what `fetch` returns.

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

/// A copy of what was recorded, oldest first. Nothing that happens later changes it.
#[derive(Debug, Clone, Default)]
pub struct AllocResults {
    profile: Profile,
    weights: Vec<f64>,
    lost: u64,
}

/// What was allocated of one type.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct TypeTotal<'a> {
    /// The type.
    pub type_of: AllocType<'a>,
    /// How many of it.
    pub count: f64,
    /// How many bytes.
    pub bytes: f64,
}

/// What was recorded since it was last cleared, by all recordings. May be called again, and while one is
/// going on.
pub fn fetch() -> Result<AllocResults> {
    let _quiet = heap::quietly();
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

    /// Each allocation that was recorded, oldest first.
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            results: self,
            rows: 0..self.len(),
        }
    }

    /// How many were recorded.
    pub fn len(&self) -> usize {
        self.profile.heap.blocks.len()
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What was allocated of each type, that with the most bytes first; estimates where not all were
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

    /// How many were chosen and found no room: see [`init`](super::init).
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The bytes of those that were recorded, and not of those that they stand for.
    pub fn bytes(&self) -> u64 {
        self.profile.heap.blocks.iter().map(|it| it.size).sum()
    }

    /// The same as tables, with names: the allocations are `heap.blocks`.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// How many allocations each one stands for.
    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// A report on these, to be set up.
    pub fn report(&self) -> Report {
        Report::of(self)
    }

    /// Saves them as a `.profundo` file, readable by its owner only: [`load`](crate::load) reads it, and so
    /// does the command.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        Ok(profundo_formats::write_file(path, &self.profile)?)
    }

    /// Prints them as a tree on stdout.
    pub fn print(&self) -> Result<()> {
        self.report().print()
    }
}

/// Rows are begun in another order than the clock's, where several threads allocate at once.
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

/// What the cycle counter means.
struct Times {
    from: u64,
    nanos_per_cycle: f64,
}

impl Times {
    /// The same two instants on the cycle counter and on a clock.
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

/// Goes through what was recorded.
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
    /// `AllocResults(Alloc[Alloc(…), Alloc(…)])`, all of them.
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

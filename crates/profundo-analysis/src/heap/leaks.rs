//! Lines that keep their allocations, and ever more of them.
//!
//! The freed blocks of a line show how long its blocks are in use. A block that has outlived that
//! by far and is still there may be lost: if nearly all blocks of that age stay, and if their
//! number grows to the end of the run, at an unchanged rate. Young blocks are no leak; nor are
//! those of a full cache, of an initialisation, of a table that fills up, or of a long session.

use profundo_model::{Block, Heap, Nanos, ProcessId, Profile, Sampling};
use rustc_hash::FxHashMap;

use super::entries::{Entry, What};
use super::figure::{Figure, Sum};
use super::grown::{Thirds, stays, steady};
use super::runs::{Run, Runs};
use super::trend::each_change;
use crate::Place;

/// A line that seems to leak.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leak {
    /// The line.
    pub of: Option<Place>,
    /// The process.
    pub process: ProcessId,
    /// The probability of a leak.
    pub probability: f64,
    /// The leaked bytes.
    pub bytes: Figure,
    /// The leaked blocks.
    pub count: Figure,
    /// The leaked bytes a second.
    pub rate: f64,
    /// The usual lifetime of its freed blocks: 99 of 100 live no longer.
    pub usual_lifetime: Option<Nanos>,
    /// The number of the line while rows are made.
    pub(super) line: u32,
}

/// A lower probability is not reported.
const LIKELY: f64 = 0.8;
/// Nor a smaller share of the process's peak.
const SHARE: f64 = 0.003;
/// Nor fewer bytes.
const BYTES: f64 = 65_536.0;
/// The age of old blocks, as a multiple of their usual lifetimes, or as a part of the run.
const LIFETIMES: f64 = 2.0;
const PART_OF_RUN: f64 = 20.0;
/// The share of old blocks that has to stay.
const STAYING: f64 = 0.6;

/// The lines that seem to leak, the one that has most first. `entries` come with the numbers of
/// their lines; `at_lines` has those of the sites.
pub(super) fn find(
    profile: &Profile,
    entries: &[(Entry<'_>, u32)],
    at_lines: &[Option<u32>],
    runs: &Runs,
) -> Vec<Leak> {
    let mut blocks: FxHashMap<(u32, ProcessId), Vec<&Block>> = FxHashMap::default();
    for (entry, line) in entries {
        if let What::Block(block) = entry.what {
            let of = blocks.entry((*line, entry.process)).or_default();
            of.push(block);
        }
    }
    let sampling = profile.heap.sampling;
    let of_blocks = blocks.into_iter().filter_map(|((line, process), blocks)| {
        let run = runs.of(process)?;
        let leak = of_blocks(&blocks, run, sampling)?;
        Some(Leak {
            line,
            process,
            ..leak
        })
    });
    let mut leaks: Vec<Leak> = of_blocks.collect();
    leaks.extend(of_sites(&profile.heap, at_lines, runs));
    leaks.retain(|leak| {
        let most = runs.of(leak.process).map_or(0.0, |run| run.most);
        leak.probability >= LIKELY && leak.bytes.value as f64 >= (most * SHARE).max(BYTES)
    });
    leaks.sort_by(|a, b| {
        let sure = |leak: &Leak| leak.bytes.value as f64 * leak.probability;
        sure(b).total_cmp(&sure(a)).then(a.line.cmp(&b.line))
    });
    leaks
}

fn of_blocks(blocks: &[&Block], run: &Run, sampling: Sampling) -> Option<Leak> {
    let freed_of = |block: &Block| {
        block
            .freed
            .map(|freed| freed.0)
            .filter(|&freed| freed <= run.end)
    };
    let in_run = |block: &&&Block| block.time.0 <= run.end;
    let mut lifetimes: Vec<u64> = (blocks.iter().filter(in_run))
        .filter_map(|block| Some(freed_of(block)?.saturating_sub(block.time.0)))
        .collect();
    lifetimes.sort_unstable();
    let usual = lifetimes.get((lifetimes.len() * 99).div_ceil(100).saturating_sub(1));
    let span = run.end.saturating_sub(run.start) as f64;
    let usually = usual.map_or(0.0, |&lifetime| lifetime as f64);
    let old = (usually * LIFETIMES).clamp(span / PART_OF_RUN, span / 2.0);
    let start = run.start as f64 + old;
    let mut thirds = Thirds::default();
    let (mut stayed, mut went) = (0.0, 0.0);
    let mut kept = Sum::default();
    for block in blocks {
        let becomes_old = block.time.0 as f64 + old;
        let freed = freed_of(block).map_or(f64::INFINITY, |freed| freed as f64);
        if becomes_old > run.end as f64 || freed < becomes_old {
            continue;
        }
        thirds.came[Thirds::of(becomes_old, start, run.end as f64)] += 1.0;
        if freed.is_finite() {
            thirds.went[Thirds::of(freed, start, run.end as f64)] += 1.0;
            went += 1.0;
        } else {
            stayed += 1.0;
            kept.add_block(block.size, sampling.of(block));
        }
    }
    if stayed == 0.0 {
        return None;
    }
    let bytes = kept.bytes();
    Some(Leak {
        of: None,
        process: ProcessId(0),
        probability: thirds.grows() * stays(stayed, went, STAYING),
        bytes,
        count: kept.count(),
        rate: bytes.value as f64 / ((run.end as f64 - start) / 1e9).max(1e-9),
        usual_lifetime: usual.map(|&lifetime| Nanos(lifetime)),
        line: 0,
    })
}

/// The resolution of the growth of exact sums.
const STEPS: usize = 60;

/// Exact sums do not show which blocks stay. They show the amount at every moment: a leaking line
/// has ever more.
fn of_sites(heap: &Heap, at_lines: &[Option<u32>], runs: &Runs) -> Vec<Leak> {
    type Curve = Vec<f64>;
    let mut curves: FxHashMap<(u32, ProcessId), Curve> = FxHashMap::default();
    let mut counts: FxHashMap<(u32, ProcessId), u64> = FxHashMap::default();
    each_change(heap, |site, time, bytes| {
        let process = heap.sites[site].process;
        let (Some(line), Some(run)) = (at_lines[site], runs.of(process)) else {
            return;
        };
        if time <= run.end {
            let curve = curves.entry((line, process));
            let curve = curve.or_insert_with(|| vec![0.0; STEPS]);
            curve[run.step(time, STEPS)] += bytes;
        }
    });
    let live = heap.sites.iter().zip(runs.live_sites());
    for ((site, live), line) in live.zip(at_lines) {
        if let Some(line) = line {
            *counts.entry((*line, site.process)).or_default() += live.count;
        }
    }
    let leak = |((line, process), steps): (_, Curve)| {
        let run = runs.of(process)?;
        // The first part is the program's start.
        let beginning = STEPS / 10;
        let steps = &steps[beginning..];
        let third = steps.len() / 3;
        let parts = [0, 1, 2].map(|at| &steps[at * third..(at + 1) * third]);
        let growth = parts.map(|part| part.iter().sum::<f64>());
        let variance = parts.map(|part| variance(part) * part.len() as f64);
        // Bytes in units of their least scatter, as blocks are in units of one.
        let unit = (run.most * 1e-4).max(1024.0);
        let probability = steady(
            growth.map(|bytes| bytes / unit),
            variance.map(|square| square / unit / unit),
        );
        let grown: f64 = steps.iter().sum();
        let bytes = grown.max(0.0).round() as u64;
        let count = counts.get(&(line, process)).copied()?;
        let exact = |value| Figure {
            value,
            low: value,
            high: value,
        };
        let seconds = run.seconds() * steps.len() as f64 / STEPS as f64;
        (growth[2] > 0.0).then_some(Leak {
            of: None,
            process,
            probability,
            bytes: exact(bytes),
            count: exact(count),
            rate: grown / seconds.max(1e-9),
            usual_lifetime: None,
            line,
        })
    };
    curves.into_iter().filter_map(leak).collect()
}

fn variance(numbers: &[f64]) -> f64 {
    let mean = numbers.iter().sum::<f64>() / numbers.len().max(1) as f64;
    let square = |number: &f64| (number - mean) * (number - mean);
    numbers.iter().map(square).sum::<f64>() / numbers.len().max(2) as f64
}

//! Massif's text, for `ms_print` and massif-visualizer: the memory of a program over time, and what
//! held it at its peak.
//!
//! ```text
//! desc: …
//! cmd: …
//! time_unit: ms
//! #-----------
//! snapshot=0
//! #-----------
//! time=…
//! mem_heap_B=…
//! mem_heap_extra_B=0
//! mem_stacks_B=0
//! heap_tree=empty, or peak or detailed with a tree:
//! n2: bytes (heap allocation functions) …
//!  n1: bytes 0xaddress: function (file:line)
//!   n0: bytes in 3 places, all below massif's threshold (1.00%)
//! ```
//!
//! The heap is the bytes in live blocks, where allocations were recorded; else the resident memory
//! as it was read now and then, which has no tree. All processes are one here. The peak and the end
//! have trees, from the allocating function to its callers.

use std::io::{self, Write};

use profundo_analysis::{has_allocations, measured, measured_at};
use profundo_model::{Kinds, LocationId, LocationKind, Measure, Nanos, Part, Profile};

use super::calls::{Callee, Calls, Manner};
use super::format::{Holds, Row};
use super::view::View;
use super::{Format, Merge, Options, Weights, owner};
use crate::Error;

impl Format {
    /// See [`massif`](self).
    pub const MASSIF: Self = Self(&Row {
        name: "massif",
        aliases: &["ms_print"],
        extensions: &["massif"],
        about: "Memory over time and at its peak, for ms_print and massif-visualizer",
        file: "massif file",
        holds: Holds::Memory,
        has_title: true,
        is_in_order: false,
        has_memory_too: true,
        misfit: |options| {
            if options.measure.is_some() {
                Some("massif has live memory over time; it needs no --of")
            } else if options.weights.is_some() || options.kinds {
                Some("massif has memory, not time")
            } else if options.processes || options.threads || options.tasks {
                Some("massif has functions alone; pprof has processes, threads and tasks")
            } else {
                None
            }
        },
        is_start: |start| start.starts_with(b"desc:") && super::format::has(start, b"\ntime_unit:"),
        write: |profile, options, mut out| write(profile, options, &mut out),
    });
}

/// The most snapshots, as Massif has them.
const MOST: usize = 100;
/// The least share of a snapshot that has its own line in a tree.
const THRESHOLD: f64 = 0.01;
/// The most levels of a tree.
const DEPTH: usize = 100;

/// Writes the memory over time.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    let is_of_blocks = has_allocations(profile);
    let mut curve = match is_of_blocks {
        true => live(profile),
        false => resident(profile),
    };
    if curve.is_empty() {
        return Err(Error::NoMemory);
    }
    if is_of_blocks {
        add_untimed_peak(profile, &mut curve);
    }
    text(profile, options, &curve, is_of_blocks, out).map_err(Error::Write)
}

/// An instant and the bytes then.
type Reading = (u64, u64);

/// The bytes in live blocks, at each of their changes.
fn live(profile: &Profile) -> Vec<Reading> {
    let heap = &profile.heap;
    let mut changes: Vec<(u64, f64)> = Vec::new();
    for block in &heap.blocks {
        let bytes = heap.sampling.weight_of(block) * block.size as f64;
        changes.push((block.time.0, bytes));
        if let Some(freed) = block.freed {
            changes.push((freed.0, -bytes));
        }
    }
    let mut last = vec![0_u64; heap.sites.len()];
    for moment in &heap.moments {
        if let Some(last) = last.get_mut(moment.site as usize) {
            let before = std::mem::replace(last, moment.live.bytes);
            changes.push((moment.time.0, moment.live.bytes as f64 - before as f64));
        }
    }
    // What is left at the end, where no moment shows it.
    let end = profile.meta.duration.0;
    for (site, last) in heap.sites.iter().zip(last) {
        changes.push((end, site.live().bytes as f64 - last as f64));
    }
    sums(changes)
}

/// A peak that is known only as sums of sites has no time: it stands at the end, before the end's
/// own reading.
fn add_untimed_peak(profile: &Profile, curve: &mut Vec<Reading>) {
    let is_end = peak(curve) + 1 == curve.len();
    let Some(&(time, bytes)) = curve
        .last()
        .filter(|_| is_end && profile.processes.len() < 2)
    else {
        return;
    };
    let sites = profile.heap.sites.iter().map(|site| site.at_peak.bytes);
    let at_peak = sites.fold(0, u64::saturating_add);
    if at_peak > bytes {
        curve.insert(curve.len() - 1, (time, at_peak));
    }
}

/// The resident bytes, at each reading.
fn resident(profile: &Profile) -> Vec<Reading> {
    let mut last = vec![0_u64; profile.processes.len().max(1)];
    let mut changes = Vec::new();
    for gauge in &profile.heap.gauges {
        if let Some(last) = last.get_mut(gauge.process.index()) {
            let before = std::mem::replace(last, gauge.resident);
            changes.push((gauge.time.0, gauge.resident as f64 - before as f64));
        }
    }
    for (process, last) in profile.processes.iter().zip(last) {
        if let Some(ended) = process.ended {
            changes.push((ended.0, -(last as f64)));
        }
    }
    sums(changes)
}

fn sums(mut changes: Vec<(u64, f64)>) -> Vec<Reading> {
    changes.sort_by_key(|&(time, _)| time);
    let mut sum = 0.0;
    let mut curve: Vec<Reading> = Vec::with_capacity(changes.len());
    for (time, change) in changes {
        sum += change;
        let bytes = f64::max(sum, 0.0).round() as u64;
        match curve.last_mut() {
            Some(last) if last.0 == time => last.1 = bytes,
            _ => curve.push((time, bytes)),
        }
    }
    curve
}

/// The row of the first highest reading.
fn peak(curve: &[Reading]) -> usize {
    let rows = curve.iter().enumerate();
    let highest = rows.max_by_key(|&(row, &(_, bytes))| (bytes, std::cmp::Reverse(row)));
    highest.map_or(0, |(row, _)| row)
}

/// The rows that are snapshots: evenly over the time, and the peak and the end.
fn chosen(curve: &[Reading], peak: usize) -> Vec<usize> {
    let (first, last) = (curve[0].0, curve[curve.len() - 1].0);
    let steps = (MOST - 2) as u64;
    let step = ((last - first) / steps).max(1);
    let mut rows = vec![peak, curve.len() - 1];
    let mut next = first;
    for (row, &(time, _)) in curve.iter().enumerate() {
        if time >= next && rows.len() < MOST {
            rows.push(row);
            next = time.saturating_add(step);
        }
    }
    rows.sort_unstable();
    rows.dedup();
    rows
}

fn text(
    profile: &Profile,
    options: &Options,
    curve: &[Reading],
    is_of_blocks: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let title = match &options.title {
        Some(title) => title.clone(),
        None => owner::title(profile),
    };
    let title = title.replace(char::is_control, " ");
    let of = match is_of_blocks {
        true => "bytes in live blocks",
        false => "resident memory",
    };
    writeln!(out, "desc: {of}, by profundo {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(out, "cmd: {title}")?;
    writeln!(out, "time_unit: ms")?;
    let peak = peak(curve);
    for (number, row) in chosen(curve, peak).into_iter().enumerate() {
        let (time, bytes) = curve[row];
        let is_end = row + 1 == curve.len();
        let tree = (is_of_blocks && (row == peak || is_end)).then(|| {
            Tree::new(
                profile,
                options,
                time,
                exact_part(profile, row == peak, is_end),
            )
        });
        // The tree's own sum, which may differ by the rounding of sampled blocks.
        let bytes = tree.as_ref().map_or(bytes, |tree| tree.total);
        writeln!(out, "#-----------\nsnapshot={number}\n#-----------")?;
        writeln!(out, "time={}", time / 1_000_000)?;
        writeln!(
            out,
            "mem_heap_B={bytes}\nmem_heap_extra_B=0\nmem_stacks_B=0"
        )?;
        match tree {
            None => writeln!(out, "heap_tree=empty")?,
            Some(tree) => {
                let kind = match row == peak {
                    true => "peak",
                    false => "detailed",
                };
                writeln!(out, "heap_tree={kind}")?;
                out.write_all(tree.lines.as_bytes())?;
            }
        }
    }
    Ok(())
}

/// The sums that are known for an instant. Those by moments are less exact, or are not there.
fn exact_part(profile: &Profile, is_peak: bool, is_end: bool) -> Option<Part> {
    match (is_peak, is_end) {
        // Each process has a peak of its own.
        (true, _) if profile.processes.len() < 2 => Some(Part::Peak),
        (_, true) => Some(Part::Live),
        _ => None,
    }
}

/// What held memory at an instant.
struct Tree {
    total: u64,
    lines: String,
}

impl Tree {
    /// The tree of a part of the memory, or else of what was live at a time.
    fn new(profile: &Profile, options: &Options, time: u64, part: Option<Part>) -> Self {
        let profile = profile.clone();
        let counts = false;
        let held = match part {
            Some(part) => measured(profile, Measure { part, counts }),
            None => measured_at(profile, counts, Nanos(time)),
        };
        let view = View::new(&held, options);
        let manner = Manner {
            bottom_up: true,
            merge: options.merge.unwrap_or(Merge::Line),
            ..Manner::new(options, Weights::Time, false)
        };
        let calls = Calls::new(&view, &Kinds::of(&held), manner);
        let totals: Vec<u64> = calls.totals().iter().map(|&(bytes, _)| bytes).collect();
        let by_size = |call: u32| (std::cmp::Reverse(totals[call as usize]), call);
        let (roots, children) = calls.children(by_size);
        let total = (roots.iter()).fold(0_u64, |sum, &root| {
            sum.saturating_add(totals[root as usize])
        });
        let mut tree = Lines {
            view: &view,
            calls: &calls,
            totals: &totals,
            children: &children,
            addresses: addresses(&view),
            least: (total as f64 * THRESHOLD).ceil() as u64,
            text: String::new(),
        };
        tree.node(
            0,
            total,
            "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.",
            &roots,
        );
        Self {
            total,
            lines: tree.text,
        }
    }
}

/// An address of each function at a line, where one is known.
fn addresses(view: &View<'_>) -> rustc_hash::FxHashMap<(u32, u32), u64> {
    let mut addresses = rustc_hash::FxHashMap::default();
    let locations = view.profile.locations.len();
    for (index, points) in (0_u32..).zip(view.spots.iter().take(locations)) {
        if let LocationKind::Code(address) = view.profile.locations.get(LocationId(index)).kind {
            for point in points {
                let place = (point.function, point.line);
                addresses.entry(place).or_insert(address.address().0);
            }
        }
    }
    addresses
}

/// The lines of a tree in the making.
struct Lines<'a> {
    view: &'a View<'a>,
    calls: &'a Calls,
    totals: &'a [u64],
    children: &'a [Vec<u32>],
    addresses: rustc_hash::FxHashMap<(u32, u32), u64>,
    /// The least bytes of a call with its own line.
    least: u64,
    text: String,
}

impl Lines<'_> {
    /// A node and all below it.
    fn node(&mut self, depth: usize, bytes: u64, name: &str, below: &[u32]) {
        let is_large = |call: &&u32| self.totals[**call as usize] >= self.least;
        let large: Vec<u32> = below.iter().filter(is_large).copied().collect();
        let large = match depth < DEPTH {
            true => large,
            false => Vec::new(),
        };
        let small = below.len() - large.len();
        let shown = large.len() + usize::from(small > 0);
        let indent = " ".repeat(depth);
        self.text += &format!("{indent}n{shown}: {bytes} {name}\n");
        for &call in &large {
            let name = self.name(call);
            let children = self.children;
            let bytes = self.totals[call as usize];
            self.node(depth + 1, bytes, &name, &children[call as usize]);
        }
        if small > 0 {
            let rest = below.iter().filter(|call| !large.contains(call));
            let bytes = rest.fold(0_u64, |sum, &call| {
                sum.saturating_add(self.totals[call as usize])
            });
            let places = match small {
                1 => "in 1 place, below massif's threshold (1.00%)".to_owned(),
                _ => format!("in {small} places, all below massif's threshold (1.00%)"),
            };
            self.text += &format!("{indent} n0: {bytes} {places}\n");
        }
    }

    fn name(&self, call: u32) -> String {
        let Callee::Function { function, line } = self.calls.calls[call as usize].callee else {
            return "0x0: ???".into();
        };
        let address = self.addresses.get(&(function, line)).copied().unwrap_or(0);
        let function = &self.view.functions[function as usize];
        let path = self.view.path(function.file);
        let place = match (path, line) {
            ("", _) => match function.module {
                Some(module) => {
                    let profile = self.view.profile;
                    format!(
                        "in {}",
                        profile.strings.get(profile.modules.get(module).path)
                    )
                }
                None => "in ???".into(),
            },
            (path, 0) => path.to_owned(),
            (path, line) => format!("{path}:{line}"),
        };
        let text = format!("0x{address:X}: {} ({place})", function.name);
        text.replace(char::is_control, " ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_model::{Block, Sampling};

    #[test]
    fn the_peak_has_a_tree_of_callers() {
        let mut profile = Profile::from_folded("main;work 1\nmain;other 1").unwrap();
        let nothing = write(&profile, &Options::default(), &mut Vec::new());
        assert!(matches!(nothing, Err(Error::NoMemory)));
        profile.heap.sampling = Sampling::All;
        profile.meta.duration = Nanos(50_000_000);
        for (sample, (time, freed)) in profile.samples.iter().zip([(10, None), (20, Some(30))]) {
            profile.heap.blocks.push(Block {
                time: Nanos(time * 1_000_000),
                freed: freed.map(|time: u64| Nanos(time * 1_000_000)),
                size: 10 * time,
                stack: sample.stack,
                thread: sample.thread,
                ..Block::default()
            });
        }
        let mut out = Vec::new();
        write(&profile, &Options::default(), &mut out).unwrap();
        assert!(Format::MASSIF.is_start_of(&out));
        let text = String::from_utf8(out).unwrap();
        let peak = "time=20\nmem_heap_B=300\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=peak\n\
                    n2: 300 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n \
                    n1: 200 0x0: other (in ???)\n  n0: 200 0x0: main (in ???)\n \
                    n1: 100 0x0: work (in ???)\n  n0: 100 0x0: main (in ???)\n";
        assert!(text.contains(peak), "{text}");
        assert!(text.contains("time=30\nmem_heap_B=100\n"), "{text}");
    }
}

//! DHAT's JSON, for the viewer that comes with Valgrind (`dh_view.html`): by stack what was
//! allocated, how long it lived, and what it held at the peak and at the end.
//!
//! ```text
//! { "dhatFileVersion": 2, "mode", "verb", "bklt": true, "bkacc": false, "tu", "Mtu", "tuth",
//!   "cmd", "pid", "te": end, "tg": peak,
//!   "pps": [{ "tb", "tbk": allocated, "tl": lifetimes, "mb", "mbk": the stack's own maximum,
//!             "gb", "gbk": at the peak, "eb", "ebk": at the end, "fs": [frame…] }…],
//!   "ftbl": ["[root]", "0xaddress: function (file:line)"…] }
//! ```
//!
//! Times are microseconds. Of sampled blocks, each stands for many. All processes are one here,
//! each at its own peak. Accesses are not recorded.

use std::io::{self, Write};

use profundo_analysis::{heap_samples, records_allocations};
use profundo_model::{LocationId, LocationKind, Measure, Part, Profile};
use rustc_hash::FxHashMap;

use super::format::{Holds, Row, has};
use super::view::View;
use super::{Format, Options, add, json, owner};
use crate::Error;

impl Format {
    /// See [`dhat`](self).
    pub const DHAT: Self = Self(&Row {
        name: "dhat",
        aliases: &[],
        extensions: &["dhat.json", "dhat"],
        about: "Allocations by stack, for DHAT's viewer",
        file: "DHAT file",
        holds: Holds::Allocations,
        has_title: true,
        is_in_order: false,
        has_memory_too: true,
        misfit: |options| {
            if options.measure.is_some() {
                Some(
                    "DHAT's file has what was allocated, at the peak and at the end; it needs no --of",
                )
            } else if options.weights.is_some() || options.kinds {
                Some("DHAT's file has memory, not time")
            } else if options.merge.is_some() {
                Some("DHAT's file has lines; it needs no --frames")
            } else if options.processes || options.threads || options.tasks {
                Some("DHAT's file has functions alone; pprof has processes, threads and tasks")
            } else {
                None
            }
        },
        is_start: |start| start.starts_with(b"{") && has(start, b"\"dhatFileVersion\""),
        write: |profile, options, mut out| write(profile, options, &mut out),
    });
}

/// The sums of a stack.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    allocated: [u64; 2],
    at_peak: [u64; 2],
    live: [u64; 2],
    most: [u64; 2],
    /// Nanoseconds.
    lifetimes: u64,
}

/// Writes the allocations.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    if !records_allocations(profile) {
        return Err(Error::NoAllocations);
    }
    let view = View::new(profile, options);
    file(&view, &sums(&view), options, out).map_err(Error::Write)
}

/// The sums by node of the view, in the order of nodes.
fn sums(view: &View<'_>) -> Vec<(u32, Sums)> {
    let profile = view.profile;
    let mut sums: FxHashMap<u32, Sums> = FxHashMap::default();
    for (at, counts) in [(0, false), (1, true)] {
        for part in [Part::Allocated, Part::Peak, Part::Live] {
            for sample in heap_samples(profile, Measure { part, counts }) {
                let sums = sums.entry(view.node(sample.stack)).or_default();
                let sum = match part {
                    Part::Peak => &mut sums.at_peak,
                    Part::Live => &mut sums.live,
                    _ => &mut sums.allocated,
                };
                add(&mut sum[at], sample.weight.0);
            }
        }
    }
    lifetimes(view, &mut sums);
    most(view, &mut sums);
    let mut sums: Vec<(u32, Sums)> = sums.into_iter().collect();
    sums.sort_unstable_by_key(|&(node, _)| node);
    sums
}

fn lifetimes(view: &View<'_>, sums: &mut FxHashMap<u32, Sums>) {
    let heap = &view.profile.heap;
    let end = view.profile.meta.duration.0;
    for site in &heap.sites {
        if let Some(sums) = sums.get_mut(&view.node(site.stack)) {
            add(&mut sums.lifetimes, site.lifetimes.0);
        }
    }
    for block in &heap.blocks {
        if let Some(sums) = sums.get_mut(&view.node(block.stack)) {
            let until = block.freed.map_or(end, |freed| freed.0);
            let lived = until.saturating_sub(block.time.0) as f64;
            let lived = lived * heap.sampling.weight_of(block);
            add(&mut sums.lifetimes, lived.round() as u64);
        }
    }
}

/// The largest amount of each stack by itself, as far as changes show it.
fn most(view: &View<'_>, sums: &mut FxHashMap<u32, Sums>) {
    let heap = &view.profile.heap;
    let mut changes: Vec<(u64, u32, f64, f64)> = Vec::new();
    for block in &heap.blocks {
        let node = view.node(block.stack);
        let count = heap.sampling.weight_of(block);
        let bytes = count * block.size as f64;
        changes.push((block.time.0, node, bytes, count));
        if let Some(freed) = block.freed {
            changes.push((freed.0, node, -bytes, -count));
        }
    }
    let mut last = vec![(0.0, 0.0); heap.sites.len()];
    for moment in &heap.moments {
        let index = moment.site as usize;
        if let (Some(site), Some(last)) = (heap.sites.get(index), last.get_mut(index)) {
            let now = (moment.live.bytes as f64, moment.live.count as f64);
            let before = std::mem::replace(last, now);
            let node = view.node(site.stack);
            changes.push((moment.time.0, node, now.0 - before.0, now.1 - before.1));
        }
    }
    changes.sort_by_key(|&(time, ..)| time);
    let mut held: FxHashMap<u32, (f64, f64)> = FxHashMap::default();
    for (_, node, bytes, count) in changes {
        let held = held.entry(node).or_default();
        held.0 += bytes;
        held.1 += count;
        if let Some(sums) = sums.get_mut(&node)
            && held.0 > sums.most[0] as f64
        {
            sums.most = [held.0.round() as u64, f64::max(held.1, 0.0).round() as u64];
        }
    }
    for sums in sums.values_mut() {
        for known in [sums.at_peak, sums.live] {
            if known[0] > sums.most[0] {
                sums.most = known;
            }
        }
    }
}

/// The time of the largest sum of live bytes, as far as changes show it.
fn peak_time(profile: &Profile) -> u64 {
    let heap = &profile.heap;
    let mut changes: Vec<(u64, f64)> = Vec::new();
    for block in &heap.blocks {
        let bytes = heap.sampling.weight_of(block) * block.size as f64;
        changes.push((block.time.0, bytes));
        changes.extend(block.freed.map(|freed| (freed.0, -bytes)));
    }
    let mut last = vec![0.0; heap.sites.len()];
    for moment in &heap.moments {
        if let Some(last) = last.get_mut(moment.site as usize) {
            let now = moment.live.bytes as f64;
            changes.push((moment.time.0, now - std::mem::replace(last, now)));
        }
    }
    changes.sort_by_key(|&(time, _)| time);
    let (mut held, mut most, mut at) = (0.0, 0.0, 0);
    for (time, bytes) in changes {
        held += bytes;
        if held > most {
            (most, at) = (held, time);
        }
    }
    at
}

fn file(
    view: &View<'_>,
    sums: &[(u32, Sums)],
    options: &Options,
    out: &mut impl Write,
) -> io::Result<()> {
    let profile = view.profile;
    let title = match &options.title {
        Some(title) => title.clone(),
        None => owner::title(profile),
    };
    let pid = profile.processes.first().map_or(0, |process| process.pid);
    let end = (profile.meta.duration.0 / 1000).max(1);
    out.write_all(
        b"{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\",\"bklt\":true,\"bkacc\":false,\
          \"tu\":\"\xc2\xb5s\",\"Mtu\":\"s\",\"tuth\":10,\"cmd\":",
    )?;
    json::string(out, &title)?;
    let peak = (peak_time(profile) / 1000).min(end);
    write!(out, ",\"pid\":{pid},\"te\":{end},\"tg\":{peak},")?;
    let mut frames = Frames::new(view);
    json::list(out, "pps", sums, |out, (node, sums)| {
        let Sums {
            allocated: [tb, tbk],
            at_peak: [gb, gbk],
            live: [eb, ebk],
            most: [mb, mbk],
            lifetimes,
        } = sums;
        let tl = lifetimes / 1000;
        write!(
            out,
            "\n{{\"tb\":{tb},\"tbk\":{tbk},\"tl\":{tl},\"mb\":{mb},\"mbk\":{mbk},\
             \"gb\":{gb},\"gbk\":{gbk},\"eb\":{eb},\"ebk\":{ebk},"
        )?;
        json::list(out, "fs", frames.of(*node), |out, frame| {
            write!(out, "{frame}")
        })?;
        out.write_all(b"}")
    })?;
    out.write_all(b",")?;
    json::list(out, "ftbl", &frames.texts, |out, text| {
        json::string(out, text)
    })?;
    out.write_all(b"}\n")
}

/// The frames of all stacks, of which the first is the root of all.
struct Frames<'a> {
    view: &'a View<'a>,
    /// The frames of each spot, the innermost first.
    of_spot: FxHashMap<u32, Vec<usize>>,
    texts: Vec<String>,
    rows: FxHashMap<String, usize>,
}

impl<'a> Frames<'a> {
    fn new(view: &'a View<'a>) -> Self {
        Self {
            view,
            of_spot: FxHashMap::default(),
            texts: vec!["[root]".into()],
            rows: FxHashMap::default(),
        }
    }

    /// The frames of a node, the innermost first.
    fn of(&mut self, node: u32) -> Vec<usize> {
        let view = self.view;
        let mut frames = Vec::new();
        for spot in view.spots_of(node) {
            if !self.of_spot.contains_key(&spot) {
                let rows = self.spot(spot);
                self.of_spot.insert(spot, rows);
            }
            frames.extend(&self.of_spot[&spot]);
        }
        frames
    }

    fn spot(&mut self, spot: u32) -> Vec<usize> {
        let view = self.view;
        let locations = &view.profile.locations;
        let address = match (spot as usize) < locations.len() {
            true => match locations.get(LocationId(spot)).kind {
                LocationKind::Code(address) => address.address().0,
                _ => 0,
            },
            false => 0,
        };
        let mut rows = Vec::new();
        for point in &view.spots[spot as usize] {
            let function = &view.functions[point.function as usize];
            let path = view.path(function.file);
            let place = match (path, point.line) {
                ("", _) => String::new(),
                (path, 0) => format!(" ({path})"),
                (path, line) => format!(" ({path}:{line})"),
            };
            let text = format!("0x{address:X}: {}{place}", function.name);
            let next = self.texts.len();
            let row = *self.rows.entry(text.clone()).or_insert(next);
            if row == next {
                self.texts.push(text);
            }
            rows.push(row);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_model::{Amount, Nanos, Sampling, Site};

    #[test]
    fn a_site_is_a_point_of_the_program() {
        let mut profile = Profile::from_folded("main;work 1").unwrap();
        let nothing = write(&profile, &Options::default(), &mut Vec::new());
        assert!(matches!(nothing, Err(Error::NoAllocations)));
        let amount = |count, bytes| Amount { count, bytes };
        profile.heap.sampling = Sampling::All;
        profile.meta.duration = Nanos(2_000_000);
        profile.heap.sites.push(Site {
            stack: profile.samples[0].stack,
            allocated: amount(3, 300),
            freed: amount(2, 200),
            at_peak: amount(2, 250),
            lifetimes: Nanos(4_500_000),
            ..Site::default()
        });
        let mut out = Vec::new();
        write(&profile, &Options::default(), &mut out).unwrap();
        assert!(Format::DHAT.is_start_of(&out));
        let file: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let point = "{\"eb\":100,\"ebk\":1,\"fs\":[1,2],\"gb\":250,\"gbk\":2,\"mb\":250,\"mbk\":2,\
                     \"tb\":300,\"tbk\":3,\"tl\":4500}";
        assert_eq!(
            file["pps"][0],
            serde_json::from_str::<serde_json::Value>(point).unwrap()
        );
        assert_eq!(
            file["ftbl"].to_string(),
            "[\"[root]\",\"0x0: work\",\"0x0: main\"]"
        );
    }
}

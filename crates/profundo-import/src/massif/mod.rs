//! Massif's snapshots: the memory in use at moments, and at some of them by stack.
//!
//! A snapshot is a run of `key=value` lines. A detailed one has a tree below `heap_tree=`: a line
//! `n2: 33 0x109316: copy (work.c:31)` has the number of its children, bytes and the frame, and its
//! depth is the number of its spaces. Children are callers.

mod tree;

use profundo_model::{
    Amount, Gauge, LocationKind, Moment, Nanos, ProcessId, Reason, Sampling, Site, StackId,
};
use rustc_hash::FxHashMap;

use crate::code::valgrind::Frames;
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Source, Warning};
use tree::Tree;

pub(crate) const READER: Reader = Reader(&Table {
    name: "massif",
    writers: "Valgrind's Massif",
    is_start,
    fill,
});

fn is_start(start: &[u8]) -> bool {
    let mut lines = start.split(|&byte| byte == b'\n');
    let mut has = |key: &[u8]| lines.next().is_some_and(|line| line.starts_with(key));
    has(b"desc:") && has(b"cmd:") && has(b"time_unit:")
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let text = String::from_utf8_lossy(source.bytes);
    let mut snapshots = Snapshots::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let is_whole = line.ends_with('\n');
        if let Err(what) = snapshots.line(builder, line.trim_end_matches(['\n', '\r'])) {
            match is_whole {
                true => builder.leave_out("lines", || format!("`{}`", line.trim_end())),
                false => builder.warn(Warning::Damaged {
                    offset: start as u64,
                    what: what.to_owned(),
                }),
            }
        }
    }
    snapshots.end(builder);
    if snapshots.is_cut {
        builder.warn(Warning::Damaged {
            offset: source.bytes.len() as u64,
            what: "a tree of a snapshot ends early".to_owned(),
        });
    }
    snapshots.finish(builder);
    Ok(())
}

/// The detail of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Detail {
    #[default]
    None,
    Detailed,
    Peak,
}

/// The snapshots so far.
#[derive(Debug, Default)]
struct Snapshots<'a> {
    /// Nanoseconds of the unit of time.
    unit: Option<f64>,
    /// Whether the clock of the file counts time.
    is_time: bool,
    process: ProcessId,
    /// The current snapshot.
    gauge: Option<Gauge>,
    time: u64,
    extra: bool,
    detail: Detail,
    tree: Tree<'a>,
    frames: Frames<'a>,
    sites: FxHashMap<StackId, u32>,
    /// By site, the bytes of the last detailed snapshot.
    live: Vec<u64>,
    /// Whether a tree lacks nodes.
    is_cut: bool,
}

impl<'a> Snapshots<'a> {
    fn line(&mut self, builder: &mut Builder, line: &'a str) -> Result<(), &'static str> {
        if line.starts_with('#') || line.is_empty() {
            return Ok(());
        }
        if line.trim_start().starts_with('n') && self.tree.is_open() {
            return self.tree.line(line).ok_or("a line of a tree");
        }
        let is_head = ["desc:", "cmd:", "time_unit:"]
            .iter()
            .any(|key| line.starts_with(key));
        if !is_head && let Some((key, value)) = line.split_once('=') {
            return self.assign(builder, key, value).ok_or("a number");
        }
        match line.split_once(": ") {
            Some(("cmd", command)) => self.process = builder.process(0, command.trim()),
            Some(("time_unit", unit)) => self.set_unit(builder, unit.trim()),
            _ if is_head => {}
            _ => return Err("a line"),
        }
        Ok(())
    }

    fn set_unit(&mut self, builder: &mut Builder, unit: &str) {
        let (nanoseconds, what) = match unit {
            "ms" => (1e6, ""),
            "s" => (1e9, ""),
            "B" => (1.0, "allocated or freed byte"),
            _ => (1.0, "instruction"),
        };
        self.unit = Some(nanoseconds);
        self.is_time = what.is_empty();
        if !what.is_empty() {
            builder.note(format!(
                "the file's clock counts no time: one nanosecond for each {what}"
            ));
        }
    }

    fn assign(&mut self, builder: &mut Builder, key: &str, value: &str) -> Option<()> {
        let number = || value.parse::<u64>().ok();
        match key {
            "snapshot" => {
                self.end(builder);
                number()?;
                self.gauge = Some(Gauge {
                    process: self.process,
                    ..Gauge::default()
                });
            }
            "time" => {
                let time: f64 = value.parse().ok()?;
                self.time = (time * self.unit.unwrap_or(1.0)).round() as u64;
                self.gauge.as_mut()?.time = Nanos(self.time);
            }
            "mem_heap_B" => self.gauge.as_mut()?.in_use = Some(number()?),
            "mem_heap_extra_B" => self.extra |= number()? > 0,
            "mem_stacks_B" => self.extra |= number()? > 0,
            "heap_tree" => {
                self.detail = match value {
                    "peak" => Detail::Peak,
                    "detailed" => Detail::Detailed,
                    _ => Detail::None,
                };
                if self.detail != Detail::None {
                    self.tree = Tree::opened();
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Takes in the current snapshot.
    fn end(&mut self, builder: &mut Builder) {
        if let Some(gauge) = self.gauge.take() {
            builder.profile.heap.gauges.push(gauge);
        }
        let detail = std::mem::take(&mut self.detail);
        if detail == Detail::None {
            return;
        }
        let mut now = vec![0_u64; self.live.len()];
        let tree = std::mem::take(&mut self.tree);
        self.is_cut |= !tree.is_whole();
        tree.leaves(|frames, is_cut, bytes| {
            let mut locations = self.frames.locations(builder, frames);
            if is_cut {
                let reason = LocationKind::Reason(Reason::NotKept);
                locations.push(builder.profile.locations.intern(reason, None));
            }
            locations.reverse();
            let Some(stack) = builder.stack_of(locations) else {
                return;
            };
            let sites = &mut builder.profile.heap.sites;
            let row = *self.sites.entry(stack).or_insert(sites.len() as u32) as usize;
            if row == sites.len() {
                sites.push(Site {
                    process: self.process,
                    stack,
                    number: row as u32 + 1,
                    ..Site::default()
                });
                self.live.push(0);
                now.push(0);
            }
            now[row] = now[row].saturating_add(bytes);
        });
        for (row, (bytes, before)) in now.into_iter().zip(&mut self.live).enumerate() {
            let site = &mut builder.profile.heap.sites[row];
            site.allocated.bytes = site.allocated.bytes.max(bytes);
            if detail == Detail::Peak {
                site.at_peak.bytes = bytes;
            }
            if bytes != *before {
                *before = bytes;
                builder.profile.heap.moments.push(Moment {
                    site: row as u32,
                    time: Nanos(self.time),
                    allocated: site.allocated,
                    live: Amount { count: 0, bytes },
                });
            }
        }
    }

    fn finish(&mut self, builder: &mut Builder) {
        let heap = &mut builder.profile.heap;
        heap.sampling = Sampling::All;
        for (site, live) in heap.sites.iter_mut().zip(&self.live) {
            site.freed.bytes = site.allocated.bytes.saturating_sub(*live);
        }
        // Instructions and bytes are no length of time.
        if self.is_time {
            builder.profile.meta.duration = Nanos(self.time);
        }
        builder.profile.name_reasons();
        builder.note(
            "the file has memory in use at a few moments, and no numbers of blocks: allocated is the \
             most that one of them shows, live is what the last one with stacks shows",
        );
        if self.extra {
            builder.note("the allocator's own bytes and stacks of threads are left out");
        }
    }
}

//! What gprof prints: the flat profile with own times, and the call graph.
//!
//! A block of the call graph has a line that begins with its number, `[4]`; lines above it are the
//! callers, lines below are the callees, with the time of their calls and their numbers as
//! `part/all`. These times are rounded to a hundredth of a second, so they are computed again from
//! the numbers, as gprof does.

mod line;

use profundo_model::{LocationId, SampleKind};
use rustc_hash::FxHashMap;

use crate::call_graph::{Arc, Costs, Function, Graph};
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Named, Source};
use line::{Entry, Flat};

pub(crate) const READER: Reader = Reader(&Table {
    name: "gprof",
    writers: "gprof",
    is_start,
    fill,
});

const FLAT: &str = "Flat profile:";
const GRAPH: &str = "index % time    self  children    called     name";

fn is_start(start: &[u8]) -> bool {
    let text = start.trim_ascii_start();
    text.starts_with(b"Flat profile:\n")
        || text.starts_with(b"Flat profile:\r\n")
        || (text.starts_with(b"Call graph")
            && memchr::memmem::find(text, GRAPH.as_bytes()).is_some())
}

/// The part of the text that a line is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Other,
    Flat,
    Graph,
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    builder.weighs(SampleKind::Cpu, "");
    let text = String::from_utf8_lossy(source.bytes);
    let mut tables = Tables::default();
    let mut part = Part::Other;
    for (number, line) in (1_u64..).zip(text.lines()) {
        if line.trim() == FLAT {
            part = Part::Other;
        } else if let Some(rest) = line.trim().strip_prefix("Each sample counts as ") {
            let seconds = rest.split(' ').next().and_then(|word| word.parse().ok());
            tables.period = (seconds.unwrap_or(0.01_f64) * 1e9).round() as u64;
        } else if line.trim_start().starts_with("time   seconds   seconds") {
            part = Part::Flat;
        } else if line.starts_with(GRAPH) {
            part = Part::Graph;
        } else if line.trim().is_empty() || line.starts_with('\u{c}') {
            // A table ends so; a block of the graph does not.
            part = Part::Other;
        } else {
            let is_read = match part {
                Part::Other => true,
                Part::Flat => Flat::of(line).map(|row| tables.flat(row)).is_some(),
                Part::Graph => tables.graph(line).is_some(),
            };
            if !is_read {
                builder.leave_out("lines", || format!("line {number}"));
            }
        }
    }
    tables.finish(builder);
    Ok(())
}

/// The rows of both tables.
#[derive(Debug, Default)]
struct Tables<'a> {
    period: u64,
    flat: Vec<Flat<'a>>,
    /// The own line of the current block.
    own: Option<Entry<'a>>,
    /// By number: names and own times.
    blocks: FxHashMap<u32, (&'a str, u64)>,
    /// Callers and callees by number, and the calls.
    arcs: Vec<(u32, u32, u64)>,
    has_blocks: bool,
}

impl<'a> Tables<'a> {
    fn flat(&mut self, row: Flat<'a>) {
        self.flat.push(row);
    }

    fn graph(&mut self, line: &'a str) -> Option<()> {
        if line.starts_with("-----") {
            self.own = None;
            return Some(());
        }
        if line.trim() == "<spontaneous>" {
            return Some(());
        }
        let entry = Entry::of(line)?;
        self.has_blocks = true;
        // A circle has lines of its own, beside those of its functions.
        match (&self.own, entry.is_own) {
            _ if entry.is_circle && entry.is_own => self.own = Some(entry),
            (_, true) => {
                self.blocks.insert(entry.number, (entry.name, entry.own));
                self.own = Some(entry);
            }
            // Callers have a block of their own with the same calls.
            (None, false) => {}
            (Some(own), false) if own.is_circle => {}
            (Some(own), false) => self.arcs.push((own.number, entry.number, entry.calls)),
        }
        Some(())
    }

    fn finish(mut self, builder: &mut Builder) {
        let mut graph = Graph::default();
        let mut rows: FxHashMap<u32, u32> = FxHashMap::default();
        let mut by_name: FxHashMap<&str, u32> = FxHashMap::default();
        let mut numbers: Vec<u32> = self.blocks.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            let (name, own) = self.blocks[&number];
            let row = graph.functions.len() as u32;
            rows.insert(number, row);
            by_name.entry(name).or_insert(row);
            add(&mut graph, builder, name, own);
        }
        for flat in std::mem::take(&mut self.flat) {
            match by_name.get(flat.name) {
                // Functions of one name, in several files, have a row each in both tables.
                Some(_) if self.has_blocks => {}
                _ => add(&mut graph, builder, flat.name, flat.own),
            }
        }
        for (caller, callee, calls) in self.arcs {
            let (Some(&caller), Some(&callee)) = (rows.get(&caller), rows.get(&callee)) else {
                continue;
            };
            graph.arcs.push(Arc {
                caller,
                at: graph.functions[caller as usize].first,
                callee,
                calls,
                cost: 0,
            });
        }
        graph.propagate();
        let thread = builder.only_thread();
        builder.profile.meta.period = profundo_model::Nanos(self.period);
        graph.fill(builder, thread, Costs::Sampled(self.period));
        builder.note(
            "calls were only counted: the time of a function is its callers' in proportion to their \
             numbers of calls; the file has no threads or times",
        );
    }
}

/// Adds a function with its own time.
fn add(graph: &mut Graph, builder: &mut Builder, name: &str, own: u64) {
    let first = location(builder, name);
    let own = match own {
        0 => Vec::new(),
        own => vec![(first, own)],
    };
    graph.functions.push(Function {
        first,
        own,
        ..Function::default()
    });
}

/// A function, which `gprof --line` prints as `leaf (work.c:8 @ 11c9)`.
fn location(builder: &mut Builder, name: &str) -> LocationId {
    let place = || {
        let (function, place) = name.strip_suffix(')')?.rsplit_once(" (")?;
        let (place, _) = place.split_once(" @ ")?;
        let (file, line) = place.rsplit_once(':')?;
        Some((function, file, line.parse().ok()?))
    };
    let (function, file, line) = place().unwrap_or((name, "", 0));
    builder.location(Named {
        function,
        file,
        line,
        ..Named::default()
    })
}

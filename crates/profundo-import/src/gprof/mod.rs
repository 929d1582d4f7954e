//! What gprof prints: the flat profile with own times, and the call graph.
//!
//! A block of the call graph has a line that begins with its number, `[4]`; lines above it are the
//! callers, lines below are the callees, with the time of their calls and their numbers as
//! `part/all`. These times are rounded to a hundredth of a second, so they are computed again from
//! the numbers, as gprof does.

mod line;

use profundo_model::{LocationId, SampleKind};
use rustc_hash::FxHashMap;

use crate::encoding::text;
use crate::reader::{Reader, Table};
use crate::stacks::call_graph::{Arc, Costs, Function, Graph};
use crate::{Builder, Error, Named, Source};
use line::{Entry, Flat};

pub(crate) const READER: Reader = Reader(&Table {
    name: "gprof",
    writers: "gprof",
    is_start,
    fill,
});

const FLAT: &str = "Flat profile:";

fn is_start(start: &[u8]) -> bool {
    let text = text::utf8(start);
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"));
    match first.unwrap_or_default() {
        b"Flat profile:" => true,
        // Unix systems of old print the graph first.
        line if line == b"call graph profile:" || line.starts_with(b"Call graph") => {
            lines.any(is_head_of_graph)
        }
        line => is_head_of_graph(line),
    }
}

/// The titles of the columns of the call graph, which differ a little.
fn is_head_of_graph(line: &[u8]) -> bool {
    let words: Vec<&[u8]> = (line.split(u8::is_ascii_whitespace))
        .filter(|word| !word.is_empty())
        .collect();
    let has = |word: &[u8]| words.contains(&word);
    words.first() == Some(&&b"index"[..])
        && (has(b"%time") || has(b"time"))
        && has(b"self")
        && (has(b"children") || has(b"descendents"))
        && has(b"name")
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
    let text = text::utf8(source.bytes);
    let text = String::from_utf8_lossy(&text);
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
        } else if is_head_of_graph(line.trim().as_bytes()) {
            part = Part::Graph;
        } else if line.trim().is_empty() {
            // The graph has empty lines at its start.
            if part == Part::Flat {
                part = Part::Other;
            }
        } else if is_end(line) {
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
    if tables.is_empty() && !text.contains("no time accumulated") {
        return Err(Error::Malformed {
            format: "gprof",
            what: "it has no table of seconds".to_owned(),
        });
    }
    tables.finish(builder);
    Ok(())
}

/// Whether the table ends with an explanation, or with the index.
fn is_end(line: &str) -> bool {
    let text = line.trim().to_ascii_lowercase();
    let ends = [
        "flat profile",
        "index by function name",
        "this table describes",
        "granularity:",
        "ngranularity:",
    ];
    line.starts_with('\u{c}') || ends.iter().any(|end| text.starts_with(end))
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

    fn is_empty(&self) -> bool {
        self.flat.is_empty() && self.blocks.is_empty()
    }

    fn graph(&mut self, line: &'a str) -> Option<()> {
        if line.starts_with("-----") {
            self.own = None;
            return Some(());
        }
        let text = line.trim();
        // The titles of callees, and callers that are unknown.
        if text == "<spontaneous>" || text.starts_with("called/total ") {
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

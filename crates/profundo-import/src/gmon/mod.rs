//! `gmon.out` of programs compiled with `-pg`: a histogram of sampled addresses, and counted calls.
//!
//! After a head (`gmon`, the version, 12 spare bytes) come records, each with a tag:
//!
//! | tag | record |
//! |---|---|
//! | 0 | a histogram: first address, end, number of bins, samples a second, the name of the unit (16 bytes), then 2 bytes a bin |
//! | 1 | calls: the address of the call, of the called function, their number |
//! | 2 | counts of basic blocks: their number, then an address and a count each |
//!
//! Addresses are as wide as the program's, and numbers in its byte order. Names are in the program,
//! which is looked for beside the file.

mod program;

use std::collections::BTreeMap;

use profundo_model::{Avma, CodeAddress, LocationId, ModuleId, SampleKind};
use rustc_hash::FxHashMap;

use crate::reader::{Reader, Table};
use crate::stacks::call_graph::{Arc, Costs, Function, Graph};
use crate::{Builder, Error, Source, Warning};
use program::Program;

pub(crate) const READER: Reader = Reader(&Table {
    name: "gmon",
    writers: "programs compiled with -pg (gprof)",
    is_start: |start| layout(start).is_some(),
    fill,
});

/// The widths and orders of numbers.
#[derive(Debug, Clone, Copy)]
struct Layout {
    is_little: bool,
    /// The bytes of an address.
    width: usize,
}

const HEAD: usize = 20;

fn layout(bytes: &[u8]) -> Option<Layout> {
    let version: [u8; 4] = bytes.strip_prefix(b"gmon")?.get(..4)?.try_into().ok()?;
    let is_little = match (u32::from_le_bytes(version), u32::from_be_bytes(version)) {
        (1, _) => true,
        (_, 1) => false,
        _ => return None,
    };
    // A wrong width makes no sense of the tags soon.
    let read = |width| {
        let mut data = Data::default();
        data.read(bytes, Layout { is_little, width })
    };
    let width = if read(4) > read(8) { 4 } else { 8 };
    Some(Layout { is_little, width })
}

/// The records of a file.
#[derive(Debug, Default)]
struct Data {
    histograms: Vec<Histogram>,
    /// Call sites and functions with the numbers of calls.
    calls: BTreeMap<(u64, u64), u64>,
    has_blocks: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Histogram {
    start: u64,
    end: u64,
    /// Samples a second.
    rate: u32,
    bins: Vec<u16>,
}

impl Data {
    /// Reads records, and returns the offset after the last good one.
    fn read(&mut self, bytes: &[u8], layout: Layout) -> usize {
        let mut at = HEAD;
        while at < bytes.len() {
            let mut cursor = Cursor { bytes, at, layout };
            if self.record(&mut cursor).is_none() {
                break;
            }
            at = cursor.at;
        }
        at.min(bytes.len())
    }

    fn record(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        match cursor.bytes(1)? {
            [0] => {
                let (start, end) = (cursor.address()?, cursor.address()?);
                let count = cursor.number()? as usize;
                let rate = cursor.number()?;
                let unit = cursor.bytes(16)?;
                let is_text = |byte: &u8| *byte == 0 || (b' '..=b'~').contains(byte);
                let bins = cursor.bytes(count.checked_mul(2)?)?;
                if end < start || rate == 0 || !unit.iter().all(is_text) {
                    return None;
                }
                let (pairs, _) = bins.as_chunks::<2>();
                let number = match cursor.layout.is_little {
                    true => u16::from_le_bytes,
                    false => u16::from_be_bytes,
                };
                self.histograms.push(Histogram {
                    start,
                    end,
                    rate,
                    bins: pairs.iter().map(|&pair| number(pair)).collect(),
                });
            }
            [1] => {
                let (from, to) = (cursor.address()?, cursor.address()?);
                let count = self.calls.entry((from, to)).or_default();
                *count = count.saturating_add(u64::from(cursor.number()?));
            }
            [2] => {
                let count = cursor.number()? as usize;
                cursor.bytes(count.checked_mul(2 * cursor.layout.width)?)?;
                self.has_blocks = true;
            }
            _ => return None,
        }
        Some(())
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    layout: Layout,
}

impl<'a> Cursor<'a> {
    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let found = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(found)
    }

    fn unsigned(&mut self, width: usize) -> Option<u64> {
        let bytes = self.bytes(width)?.iter();
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Some(match self.layout.is_little {
            true => bytes.rev().fold(0, add),
            false => bytes.fold(0, add),
        })
    }

    fn address(&mut self) -> Option<u64> {
        self.unsigned(self.layout.width)
    }

    fn number(&mut self) -> Option<u32> {
        u32::try_from(self.unsigned(4)?).ok()
    }
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let malformed = || Error::Malformed {
        format: "gmon",
        what: "its version is unknown".to_owned(),
    };
    let layout = layout(source.bytes).ok_or_else(malformed)?;
    let mut data = Data::default();
    let end = data.read(source.bytes, layout);
    if end < source.bytes.len() {
        builder.warn(Warning::Damaged {
            offset: end as u64,
            what: "a record".to_owned(),
        });
    }
    let called: Vec<u64> = data.calls.keys().map(|&(_, to)| to).collect();
    let program = program::find(source.path, &called);
    let rate = data.histograms.first().map_or(100, |first| first.rate);
    let period = 1_000_000_000 / u64::from(rate);
    builder.weighs(SampleKind::Cpu, "");
    builder.profile.meta.period = profundo_model::Nanos(period);
    let mut graph = Places::new(builder, &data, program.as_ref()).graph(builder, &data, period);
    graph.propagate();
    let thread = builder.only_thread();
    graph.fill(builder, thread, Costs::Sampled(period));
    add_notes(builder, &data, program.as_ref());
    Ok(())
}

fn add_notes(builder: &mut Builder, data: &Data, program: Option<&Program>) {
    match program {
        Some(program) => {
            let command = program.path.to_string_lossy();
            builder.process(0, &command);
        }
        None => builder.note(
            "the program of this file was not found beside it (as a.out, or as the only one with \
             these functions), so addresses have no names and functions begin where they are called",
        ),
    }
    if data.has_blocks {
        builder.note("counts of basic blocks are left out");
    }
    builder.note(
        "calls were only counted: the time of a function is its callers' in proportion to their \
         numbers of calls; only code compiled with -pg has callers, libraries were not sampled, and \
         the file has no threads or times",
    );
}

/// The functions and their locations.
struct Places {
    module: Option<ModuleId>,
    /// The starts of functions, in their order.
    starts: Vec<u64>,
}

impl Places {
    fn new(builder: &mut Builder, data: &Data, program: Option<&Program>) -> Self {
        let module = program.map(|program| {
            let id = builder.module(&program.path.to_string_lossy());
            let module = builder.profile.modules.get_mut(id);
            let starts = data.histograms.iter().map(|row| row.start);
            let ends = data.histograms.iter().map(|row| row.end);
            module.start = Avma(starts.min().unwrap_or(0));
            module.end = Avma(ends.max().unwrap_or(0));
            id
        });
        let starts = match program {
            Some(program) => program.starts.clone(),
            None => {
                let called = data.calls.keys().map(|&(_, to)| to);
                let histograms = data.histograms.iter().map(|row| row.start);
                let mut starts: Vec<u64> = called.chain(histograms).collect();
                starts.sort_unstable();
                starts.dedup();
                starts
            }
        };
        Self { module, starts }
    }

    /// The start of the function with this address.
    fn function(&self, address: u64) -> u64 {
        let after = self.starts.partition_point(|&start| start <= address);
        let start = after.checked_sub(1).and_then(|at| self.starts.get(at));
        start.copied().unwrap_or(address)
    }

    fn location(&self, builder: &mut Builder, address: CodeAddress) -> LocationId {
        builder.address(address, self.module)
    }

    fn graph(&self, builder: &mut Builder, data: &Data, period: u64) -> Graph {
        let mut graph = Graph::default();
        let mut rows: FxHashMap<u64, u32> = FxHashMap::default();
        let mut row_of = |graph: &mut Graph, builder: &mut Builder, address: u64| {
            let start = self.function(address);
            *rows.entry(start).or_insert_with(|| {
                let first = self.location(builder, CodeAddress::Instruction(Avma(start)));
                graph.functions.push(Function {
                    first,
                    ..Function::default()
                });
                graph.functions.len() as u32 - 1
            })
        };
        let mut samples: BTreeMap<u64, u64> = BTreeMap::new();
        for histogram in &data.histograms {
            let bins = histogram.bins.len().max(1) as u128;
            let length = u128::from(histogram.end - histogram.start);
            let address = |bin: usize| {
                let offset = (bin as u128 * length).div_ceil(bins);
                histogram.start + offset as u64
            };
            for (bin, &count) in histogram
                .bins
                .iter()
                .enumerate()
                .filter(|(_, bin)| **bin > 0)
            {
                // A bin that ends in a function is taken as the function's.
                let (first, next) = (address(bin), address(bin + 1));
                let within = self.function(next.saturating_sub(1)).max(first);
                *samples.entry(within).or_default() += u64::from(count);
            }
        }
        for (address, count) in samples {
            let row = row_of(&mut graph, builder, address);
            let location = self.location(builder, CodeAddress::Instruction(Avma(address)));
            let own = &mut graph.functions[row as usize].own;
            own.push((location, count.saturating_mul(period)));
        }
        for (&(from, to), &calls) in &data.calls {
            let callee = row_of(&mut graph, builder, to);
            // Calls from outside of the program, as `main` has.
            let is_inside = (data.histograms.iter())
                .any(|histogram| (histogram.start..histogram.end).contains(&from));
            if !is_inside {
                let begun = &mut graph.functions[callee as usize].begun;
                *begun = begun.saturating_add(calls);
                continue;
            }
            let caller = row_of(&mut graph, builder, from.saturating_sub(1));
            let at = self.location(builder, CodeAddress::Return(Avma(from)));
            graph.arcs.push(Arc {
                caller,
                at,
                callee,
                calls,
                cost: 0,
            });
        }
        graph
    }
}

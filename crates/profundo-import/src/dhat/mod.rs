//! DHAT's JSON: sums of all allocations by stack, of Valgrind's DHAT and of the Rust crate `dhat`.
//!
//! Each program point (`pps`) has total bytes and blocks (`tb`, `tbk`), those in use at the global
//! maximum (`gb`, `gbk`) and at the end (`eb`, `ebk`), and the sum of lifetimes (`tl`), in the unit
//! of time `tu`. Its stack (`fs`) has rows of the table of frames, the innermost first. Other modes
//! count copies, or events that the program names; these have bytes and blocks only.

use std::borrow::Cow;

use profundo_model::{
    Amount, LocationId, Moment, Nanos, ProcessId, Sampling, Site, StackId, State,
};
use serde::Deserialize;

use crate::code::valgrind::{Frame, Frames};
use crate::quantities::value::{Unit, Value, choose};
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Row, Source};

pub(crate) const READER: Reader = Reader(&Table {
    name: "dhat",
    writers: "Valgrind's DHAT, the Rust crate dhat",
    is_start,
    fill,
});

fn is_start(start: &[u8]) -> bool {
    let rest = start.trim_ascii_start().strip_prefix(b"{");
    rest.is_some_and(|rest| rest.trim_ascii_start().starts_with(b"\"dhatFileVersion\""))
}

#[derive(Debug, Deserialize)]
struct File<'a> {
    #[serde(default, borrow)]
    mode: Cow<'a, str>,
    #[serde(default)]
    bklt: bool,
    #[serde(default)]
    bkacc: bool,
    /// The units of bytes and blocks, where they are something else.
    #[serde(borrow)]
    bsu: Option<Cow<'a, str>>,
    #[serde(borrow)]
    bksu: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    tu: Cow<'a, str>,
    #[serde(default, borrow)]
    cmd: Cow<'a, str>,
    #[serde(default)]
    pid: u32,
    tg: Option<u64>,
    te: Option<u64>,
    #[serde(default)]
    pps: Vec<Point>,
    #[serde(default, borrow)]
    ftbl: Vec<Cow<'a, str>>,
}

/// A program point.
#[derive(Debug, Deserialize)]
struct Point {
    #[serde(default)]
    tb: u64,
    #[serde(default)]
    tbk: u64,
    #[serde(default)]
    tl: u64,
    #[serde(default)]
    gb: u64,
    #[serde(default)]
    gbk: u64,
    #[serde(default)]
    eb: u64,
    #[serde(default)]
    ebk: u64,
    #[serde(default)]
    fs: Vec<u32>,
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let file: File<'_> =
        serde_json::from_slice(source.bytes).map_err(|error| Error::Malformed {
            format: "dhat",
            what: error.to_string(),
        })?;
    let process = builder.process(file.pid, &file.cmd);
    let scale = match &file.tu[..] {
        "µs" | "us" => Some(1_000),
        "ms" => Some(1_000_000),
        "ns" => Some(1),
        _ => None,
    };
    match scale {
        Some(scale) => {
            let length = file.te.unwrap_or(0).saturating_mul(scale);
            builder.profile.meta.duration = Nanos(length);
        }
        None => builder.note(
            "the file's clock counts instructions: the peak's time is one nanosecond for each",
        ),
    }
    let mut stacks = Stacks::new(&file.ftbl);
    match file.bklt {
        true => sites(&file, builder, process, &mut stacks, scale),
        false => events(&file, source, builder, &mut stacks)?,
    }
    if file.bkacc {
        builder.note("reads and writes of blocks are left out");
    }
    Ok(())
}

/// Allocations by stack.
fn sites(
    file: &File<'_>,
    builder: &mut Builder,
    process: ProcessId,
    stacks: &mut Stacks<'_>,
    scale: Option<u64>,
) {
    builder.profile.heap.sampling = Sampling::All;
    let mut moments = Vec::new();
    for point in &file.pps {
        let Some(stack) = stacks.stack(builder, &point.fs) else {
            builder.leave_out("program points", || "one without a stack".to_owned());
            continue;
        };
        let amount = |count, bytes| Amount { count, bytes };
        let [allocated, at_peak, live] = [
            amount(point.tbk, point.tb),
            amount(point.gbk, point.gb),
            amount(point.ebk, point.eb),
        ];
        let heap = &mut builder.profile.heap;
        let row = heap.sites.len() as u32;
        heap.sites.push(Site {
            process,
            stack,
            allocated,
            freed: Amount {
                count: allocated.count.saturating_sub(live.count),
                bytes: allocated.bytes.saturating_sub(live.bytes),
            },
            at_peak,
            lifetimes: Nanos(scale.map_or(0, |scale| point.tl.saturating_mul(scale))),
            number: row + 1,
            ..Site::default()
        });
        let mut add = |time: Option<u64>, live, allocated| {
            moments.push(Moment {
                site: row,
                time: Nanos(time.unwrap_or(0).saturating_mul(scale.unwrap_or(1))),
                allocated,
                live,
            });
        };
        add(file.tg, at_peak, at_peak);
        add(file.te, live, allocated);
    }
    moments.sort_by_key(|moment| moment.time);
    builder.profile.heap.moments = moments;
    builder
        .note("the file has no threads or times, but for the peak's; temporary blocks are unknown");
}

/// Numbers of something else by stack.
fn events(
    file: &File<'_>,
    source: &Source<'_>,
    builder: &mut Builder,
    stacks: &mut Stacks<'_>,
) -> Result<(), Error> {
    let is_copy = file.mode == "copy";
    let name = |given: &Option<Cow<'_, str>>, usual: &str| match given {
        Some(name) => name.to_string(),
        None if is_copy => format!("copied {usual}"),
        None => usual.to_owned(),
    };
    let values = [name(&file.bsu, "bytes"), name(&file.bksu, "blocks")];
    let values = values.map(|name| Value {
        name,
        unit: Unit::Count,
    });
    let chosen = choose(&values, source.options.value.as_deref(), 0)?;
    builder.counts(&values[chosen].name);
    let thread = builder.thread(file.pid, 0, "");
    for point in &file.pps {
        let Some(stack) = stacks.stack(builder, &point.fs) else {
            builder.leave_out("program points", || "one without a stack".to_owned());
            continue;
        };
        let weight = if chosen == 0 { point.tb } else { point.tbk };
        builder.sample(Row {
            stack,
            thread,
            weight,
            samples: weight,
            time: None,
            state: State::Running,
        });
    }
    builder.note(format!(
        "the file has {} and {}: --value chooses; it has no threads or times",
        values[0].name, values[1].name
    ));
    Ok(())
}

/// Stacks of rows of the table of frames.
struct Stacks<'a> {
    table: Vec<Frame<'a>>,
    frames: Frames<'a>,
    /// By row, its location where nothing is inlined into it.
    alone: Vec<Option<LocationId>>,
}

impl<'a> Stacks<'a> {
    fn new(table: &'a [Cow<'a, str>]) -> Self {
        Self {
            table: table.iter().map(|text| Frame::of(text)).collect(),
            frames: Frames::default(),
            alone: vec![None; table.len()],
        }
    }

    fn stack(&mut self, builder: &mut Builder, rows: &[u32]) -> Option<StackId> {
        let of = |table: &[Frame<'a>], row: u32| table.get(row as usize).copied();
        let is_shown = |row: &&u32| match of(&self.table, **row) {
            Some(frame) => frame.function != "[root]",
            None => false,
        };
        // The tool's own `malloc` comes first.
        let is_own =
            |row: &&u32| of(&self.table, **row).is_some_and(|frame| is_preload(frame.object));
        let rows = rows.iter().filter(is_shown).skip_while(is_own);
        let rows: Vec<u32> = rows.copied().collect();
        let address = |row: u32| of(&self.table, row).map_or(0, |frame| frame.address);
        let is_one = |a: &u32, b: &u32| address(*a) != 0 && address(*a) == address(*b);
        let chunks: Vec<&[u32]> = rows.chunk_by(is_one).collect();
        let mut stack = None;
        for chunk in chunks.into_iter().rev() {
            let known = match *chunk {
                [row] => self.alone.get(row as usize).copied().flatten(),
                _ => None,
            };
            let location = match known {
                Some(location) => location,
                None => {
                    let frames = chunk.iter().filter_map(|&row| of(&self.table, row));
                    let frames: Vec<Frame<'a>> = frames.collect();
                    let location = self.frames.location(builder, &frames);
                    if let [row] = *chunk
                        && let Some(alone) = self.alone.get_mut(row as usize)
                    {
                        *alone = Some(location);
                    }
                    location
                }
            };
            stack = Some(builder.stack(stack, location));
        }
        stack
    }
}

/// Whether an object is the one that Valgrind brings into the program.
fn is_preload(object: &str) -> bool {
    let name = object.rsplit('/').next().unwrap_or(object);
    name.starts_with("vgpreload_")
}

//! What lasts for a time: calls, kernels, copies, marked ranges. Ranges of a thread lie in one
//! another; a range's weight is the time that no inner one took.

use profundo_model::{LocationId, SampleKind, StackId, State, ThreadId};
use rustc_hash::FxHashMap;

use super::sqlite::{Cell, Database};
use super::strings::{Strings, pid_of, thread};
use crate::{Builder, Named, Row};

/// A range of a thread or of a stream.
#[derive(Debug, Clone, Copy)]
struct Range {
    thread: ThreadId,
    start: u64,
    end: u64,
    location: LocationId,
}

/// Fills in the ranges of a value. The answer is whether their table was whole.
pub(super) fn fill(
    database: &Database<'_>,
    strings: &mut Strings,
    builder: &mut Builder,
    value: &str,
) -> bool {
    builder.weighs(SampleKind::Wall, "");
    let mut ranges = Vec::new();
    let is_whole = match value {
        "kernels" => kernels(database, strings, builder, &mut ranges),
        "copies" => copies(database, builder, &mut ranges),
        "nvtx" => marks(database, strings, builder, &mut ranges),
        "os" => calls(database, strings, builder, ("OSRT_API", &mut ranges)),
        _ => {
            let table = ("CUPTI_ACTIVITY_KIND_RUNTIME", &mut ranges);
            calls(database, strings, builder, table)
        }
    };
    let state = match value {
        "os" => State::WallWaiting,
        _ => State::WallRunning,
    };
    if matches!(value, "kernels" | "copies") {
        builder.note("the threads are streams of devices, and the time is that of the devices");
    }
    add(builder, ranges, state);
    is_whole
}

fn location(builder: &mut Builder, function: &str) -> LocationId {
    builder.location(Named {
        function,
        ..Named::default()
    })
}

/// Calls of threads.
fn calls(
    database: &Database<'_>,
    strings: &mut Strings,
    builder: &mut Builder,
    (table, ranges): (&str, &mut Vec<Range>),
) -> bool {
    let columns = ["start", "end", "globalTid", "nameId"];
    database.rows(table, columns, |cells| {
        let [start, end, tid, name] = cells.each_ref().map(Cell::number);
        let thread = thread(builder, strings, tid);
        let location = location(builder, strings.get(name));
        ranges.push(Range {
            thread,
            start,
            end,
            location,
        });
    })
}

/// Ranges that the program marks on its threads. Single marks have no end.
fn marks(
    database: &Database<'_>,
    strings: &mut Strings,
    builder: &mut Builder,
    ranges: &mut Vec<Range>,
) -> bool {
    /// Ranges of a thread, and those that may end on another one.
    const TYPES: [u64; 2] = [59, 60];
    let columns = ["start", "end", "globalTid", "eventType", "text", "textId"];
    database.rows("NVTX_EVENTS", columns, |cells| {
        let [start, end, tid, kind, text, id] = &cells;
        let text = match text {
            Cell::Null => strings.get(id.number()).into(),
            text => text.text(),
        };
        if let Some(end) = end.integer()
            && TYPES.contains(&kind.number())
        {
            let location = location(builder, &text);
            ranges.push(Range {
                thread: thread(builder, strings, tid.number()),
                start: start.number(),
                end: end.cast_unsigned(),
                location,
            });
        }
    })
}

/// The thread that stands for a stream.
fn stream(builder: &mut Builder, global: u64, device: u64, stream: u64) -> ThreadId {
    let number = 1 << 40 | (device & 0xffff) << 24 | stream & 0xff_ffff;
    let name = format!("GPU {device} stream {stream}");
    builder.thread(pid_of(global), number, &name)
}

fn kernels(
    database: &Database<'_>,
    strings: &Strings,
    builder: &mut Builder,
    ranges: &mut Vec<Range>,
) -> bool {
    let columns = [
        "start",
        "end",
        "globalPid",
        "deviceId",
        "streamId",
        "shortName",
        "demangledName",
    ];
    database.rows("CUPTI_ACTIVITY_KIND_KERNEL", columns, |cells| {
        let [start, end, pid, device, number, short, long] = cells.each_ref().map(Cell::number);
        let function = match strings.get(short) {
            "" => strings.get(long),
            short => short,
        };
        let location = builder.location(Named {
            function,
            signature: strings.get(long),
            ..Named::default()
        });
        ranges.push(Range {
            thread: stream(builder, pid, device, number),
            start,
            end,
            location,
        });
    })
}

fn copies(database: &Database<'_>, builder: &mut Builder, ranges: &mut Vec<Range>) -> bool {
    // Earlier versions do not write the names of kinds.
    let names = (1..).zip(["Host-to-Device", "Device-to-Host"]);
    let names = names.map(|(kind, name)| (kind, format!("copy {name}")));
    let mut names: FxHashMap<u64, String> = names.collect();
    let unified = (11..).zip(["Host-to-Device", "Device-to-Host", "Device-to-Device"]);
    names.extend(unified.map(|(kind, name)| (kind, format!("copy Unified {name}"))));
    let columns = ["id", "label"];
    database.rows("ENUM_CUDA_MEMCPY_OPER", columns, |[id, label]| {
        names.insert(id.number(), format!("copy {}", label.text()));
    });
    let columns = [
        "start",
        "end",
        "globalPid",
        "deviceId",
        "streamId",
        "copyKind",
    ];
    database.rows("CUPTI_ACTIVITY_KIND_MEMCPY", columns, |cells| {
        let [start, end, pid, device, number, kind] = cells.each_ref().map(Cell::number);
        let name = names
            .entry(kind)
            .or_insert_with(|| format!("copy of kind {kind}"));
        let location = location(builder, name);
        ranges.push(Range {
            thread: stream(builder, pid, device, number),
            start,
            end,
            location,
        });
    })
}

/// Adds the ranges as samples.
fn add(builder: &mut Builder, mut ranges: Vec<Range>, state: State) {
    /// An open range: its end, its stack, the row of its sample.
    type Open = (u64, StackId, usize);
    ranges.sort_by_key(|range| (range.thread, range.start, std::cmp::Reverse(range.end)));
    let mut rows: Vec<Row> = Vec::with_capacity(ranges.len());
    let mut open: Vec<Open> = Vec::new();
    let mut last = None;
    for range in &ranges {
        if last.replace(range.thread) != Some(range.thread) {
            open.clear();
        }
        while open.pop_if(|&mut (end, ..)| end <= range.start).is_some() {}
        let end = range.end.max(range.start);
        let length = end - range.start;
        // Ranges that only overlap are no parts of one another.
        let around = open.last().filter(|&&(outer, ..)| end <= outer);
        let parent = around.map(|&(_, stack, row)| (stack, row));
        let stack = builder.stack(parent.map(|(stack, _)| stack), range.location);
        if let Some((_, row)) = parent
            && let Some(row) = rows.get_mut(row)
        {
            row.weight = row.weight.saturating_sub(length);
        }
        open.push((end, stack, rows.len()));
        rows.push(Row {
            stack,
            thread: range.thread,
            weight: length,
            samples: 1,
            time: Some(range.start),
            state,
        });
    }
    rows.into_iter().for_each(|row| builder.sample(row));
}

//! The columns of the memory of processes.

use profundo_analysis::{Figure, ProcessMemory, Use};
use profundo_model::{Nanos, Profile};

use super::{command, json};
use crate::page::Page;
use crate::page::chart::sparkline;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::{bytes, duration, short_count};
use crate::table::{Column, Table};

/// The width of a number.
pub(super) const NUMBER: usize = 9;

/// The facts that decide about the columns.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub profile: &'a Profile,
    /// The span of time that pictures are of.
    pub span: (Nanos, Nanos),
    /// The width of a picture.
    pub picture: usize,
    /// The most that any process had.
    pub top: u64,
    /// True if any memory was swapped out.
    pub has_swapped: bool,
}

/// A column of bytes.
fn size<'a, 'p: 'a>(
    title: &'static str,
    text: impl Fn(&ProcessMemory<'p>) -> String + 'a,
) -> Column<'a, ProcessMemory<'p>> {
    Column::right(title, NUMBER).text(move |memory| (text(memory), Style::PLAIN))
}

/// The table. `process` draws whose memory it is.
pub(super) fn table<'a, 'p: 'a>(
    known: Known<'a>,
    process: impl Fn(&mut Page<'_>, &mut Line, &ProcessMemory<'p>) + 'a,
) -> Table<'a, ProcessMemory<'p>> {
    let mut columns = vec![process_column(known.profile, process)];
    columns.extend(resident_columns());
    columns.extend([
        shared_column(),
        uses_column(),
        swapped_column(known),
        faults_column(),
        growth_column(),
        picture_column(known),
    ]);
    Table::new("process_memory", columns)
}

/// The process, which `draw` draws.
fn process_column<'a, 'p: 'a>(
    profile: &'a Profile,
    draw: impl Fn(&mut Page<'_>, &mut Line, &ProcessMemory<'p>) + 'a,
) -> Column<'a, ProcessMemory<'p>> {
    (Column::titled("Process").last())
        .draw(draw)
        .member("process", "number", |json, key, memory| {
            json.number(key, u64::from(memory.process.0));
        })
        .member("pid", "number", move |json, key, memory| {
            let process = &profile.processes[memory.process.index()];
            json.number(key, u64::from(process.pid));
        })
        .member("command", "text", move |json, key, memory| {
            json.text(key, command(profile, memory.process));
        })
}

/// The resident memory: its peak, and that at the start and at the end.
fn resident_columns<'a, 'p: 'a>() -> [Column<'a, ProcessMemory<'p>>; 4] {
    let peak = size("Peak", |memory| bytes(memory.peak)).member(
        "peak_bytes",
        "number",
        |json, key, memory| {
            json.number(key, memory.peak);
        },
    );
    let peak_at = size("at", |memory| match memory.peak_is_earlier {
        true => "before".to_owned(),
        false => duration(memory.peak_at.0),
    })
    .member("peak_at_seconds", "number?", |json, key, memory| {
        let at = (!memory.peak_is_earlier).then_some(memory.peak_at.0);
        json.seconds(key, at);
    });
    let start = Column::json_only().member(
        "start_bytes",
        "number",
        |json, key, memory: &ProcessMemory<'p>| {
            json.number(key, memory.start);
        },
    );
    let end = size("End", |memory| bytes(memory.end)).member(
        "end_bytes",
        "number",
        |json, key, memory| {
            json.number(key, memory.end);
        },
    );
    [peak, peak_at, start, end]
}

/// The process's part of the memory that it shares.
fn shared_column<'a, 'p: 'a>() -> Column<'a, ProcessMemory<'p>> {
    size("PSS", |memory| {
        memory.proportional.map_or(String::new(), bytes)
    })
    .member("proportional_bytes", "number?", |json, key, memory| {
        json.number_or_null(key, memory.proportional);
    })
    .member("most_proportional_bytes", "number?", |json, key, memory| {
        json.number_or_null(key, memory.most_proportional);
    })
}

/// The uses of memory, which only JSON has.
fn uses_column<'a, 'p: 'a>() -> Column<'a, ProcessMemory<'p>> {
    (Column::json_only())
        .figure_or_null("most_in_use_bytes", |memory: &ProcessMemory<'p>| {
            most(memory, |used| used.in_use)
        })
        .figure_or_null("most_slack_bytes", |memory| most(memory, |used| used.slack))
        .figure_or_null("most_mapped_bytes", |memory| {
            most(memory, |used| used.mapped)
        })
        .member("most_arena_bytes", "number", |json, key, memory| {
            let arenas = memory.readings.iter().map(|look| look.arenas).max();
            json.number(key, arenas.unwrap_or(0));
        })
        .member("is_forked", "bool", |json, key, memory| {
            json.is(key, memory.is_forked);
        })
}

fn swapped_column<'a, 'p: 'a>(known: Known<'a>) -> Column<'a, ProcessMemory<'p>> {
    (Column::right("Swapped", NUMBER).when(known.has_swapped))
        .text(|memory: &ProcessMemory<'p>| {
            let text = match memory.most_swapped {
                0 => String::new(),
                some => bytes(some),
            };
            (text, Style::color(Color::Yellow))
        })
        .member("most_swapped_bytes", "number", |json, key, memory| {
            json.number(key, memory.most_swapped);
        })
}

fn faults_column<'a, 'p: 'a>() -> Column<'a, ProcessMemory<'p>> {
    (Column::right("Faults", 8).then(2))
        .text(|memory: &ProcessMemory<'p>| {
            let faults = memory.minor_faults.saturating_add(memory.major_faults);
            (short_count(faults), Style::PLAIN)
        })
        .member("minor_faults", "number", |json, key, memory| {
            json.number(key, memory.minor_faults);
        })
        .member("major_faults", "number", |json, key, memory| {
            json.number(key, memory.major_faults);
        })
}

fn growth_column<'a, 'p: 'a>() -> Column<'a, ProcessMemory<'p>> {
    Column::json_only().member(
        "growth",
        "growth?",
        |json, key, memory: &ProcessMemory<'p>| {
            json::growth_members(json, key, memory);
        },
    )
}

/// The resident memory over time.
fn picture_column<'a, 'p: 'a>(known: Known<'a>) -> Column<'a, ProcessMemory<'p>> {
    let Known { span, .. } = known;
    let title = format!("RSS over {}", duration(span.1.0 - span.0.0));
    (Column::left(title, known.picture).then(2))
        .draw(move |_, line, memory: &ProcessMemory<'p>| {
            let picture = sparkline(&memory.stretches(span.0, span.1, known.picture), known.top);
            line.push(&picture, Style::color(Color::Cyan));
            line.push_spaces(2);
        })
        .member("looks", "[look]", |json, key, memory| {
            json.array(key, |json| json::looks_members(json, memory));
        })
}

/// The largest of a use of memory.
fn most(memory: &ProcessMemory<'_>, of: fn(&Use) -> Option<Figure>) -> Option<Figure> {
    let figures = memory.uses.iter().filter_map(of);
    figures.max_by_key(|figure| figure.value)
}

//! The columns of what was allocated: by line, function, type, thread and process; of what leaks,
//! of what no pointer leads to, and of copies.

use profundo_analysis::{
    Allocations, CopyRow, Figure, HeapLine, HeapRow, Held, Holding, Leak, Place, Sum,
};
use profundo_model::{Domain, ProcessId, Profile, Sampling, ThreadId};

use super::text::{plus_minus, short_count};
use crate::command::shares::{GRAY, WIDE, heat};
use crate::json::{Json, place_at};
use crate::naming::statements::Statements;
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::{bytes, duration, percent, sparkline, whole_percent};
use crate::table::{Column, Table};

/// The width of a size.
pub(super) const SIZE: usize = 9;

/// A row, or what the rows hold together that are not shown.
pub(super) struct Row<'a, T> {
    pub held: Holding,
    pub of: Of<'a, T>,
}

pub(super) enum Of<'a, T> {
    One(&'a T),
    Rest(u64),
}

impl<'a, T> Row<'a, T> {
    pub(super) fn new(of: &'a T, held: Holding) -> Self {
        let of = Of::One(of);
        Self { held, of }
    }

    pub(super) fn one(&self) -> Option<&'a T> {
        match self.of {
            Of::One(one) => Some(one),
            Of::Rest(_) => None,
        }
    }

    fn json(&self) -> &'a T {
        self.one().expect("JSON has no row for the rest")
    }
}

/// The facts that decide about the columns.
#[derive(Clone, Copy)]
pub(super) struct Known {
    /// The bytes of all.
    pub all: f64,
    pub is_exact: bool,
    /// Whether blocks were counted; other tools may only know their bytes.
    has_blocks: bool,
    has_python: bool,
    pub is_wide: bool,
}

impl Known {
    pub(super) fn new(found: &Allocations, columns: usize) -> Self {
        Self {
            all: found.total.allocated.bytes().value as f64,
            is_exact: found.total.allocated.bytes().is_exact(),
            has_blocks: found.total.allocated.count().value > 0,
            has_python: found.total.share_of(Domain::Python) > 0.0,
            is_wide: columns >= WIDE,
        }
    }

    /// The columns of allocated and held memory.
    fn columns<'a, R: 'a>(self, held: fn(&R) -> &Holding) -> Vec<Column<'a, R>> {
        let Self { all, is_wide, .. } = self;
        let size = |title, sum: fn(&Holding) -> &Sum| {
            Column::right(title, SIZE).text(move |row| {
                let text = match sum(held(row)).bytes().value {
                    0 => String::new(),
                    some => bytes(some),
                };
                (text, Style::PLAIN)
            })
        };
        vec![
            Column::right("Size %", 6).text(move |row| {
                let share = held(row).allocated.bytes().value as f64 / all.max(1.0);
                (percent(share), heat(share))
            }),
            Column::right("Size", SIZE)
                .text(move |row| (bytes(held(row).allocated.bytes().value), Style::PLAIN))
                .figure("allocated_bytes", move |row| held(row).allocated.bytes()),
            margin(move |row| held(row).allocated.bytes()).when(!self.is_exact),
            Column::right("Blocks", 8)
                .when(is_wide && self.has_blocks)
                .text(move |row| {
                    let count = held(row).allocated.count().value;
                    (short_count(count), Style::PLAIN)
                })
                .figure("allocated_blocks", move |row| held(row).allocated.count()),
            size("Live", |held| &held.live)
                .figure("live_bytes", move |row| held(row).live.bytes())
                .figure("live_blocks", move |row| held(row).live.count()),
            size("At peak", |held| &held.at_peak)
                .figure("peak_bytes", move |row| held(row).at_peak.bytes())
                .figure("peak_blocks", move |row| held(row).at_peak.count()),
            Column::right("Temp%", 6)
                .when(is_wide)
                .text(move |row| (whole_percent(held(row).temporary_share()), Style::PLAIN))
                .figure("temporary_bytes", move |row| held(row).temporary.bytes())
                .figure("temporary_blocks", move |row| held(row).temporary.count()),
            Column::json_only().member("samples", "number", move |json, key, row| {
                json.number(key, held(row).allocated.seen());
            }),
            Column::right("Lifetime", SIZE)
                .when(is_wide)
                .text(move |row| {
                    let lifetime = held(row).lifetime().map_or(String::new(), duration);
                    (lifetime, Style::PLAIN)
                })
                .member("lifetime_seconds", "number?", move |json, key, row| {
                    json.seconds(key, held(row).lifetime());
                }),
            Column::right("Py%", 5)
                .when(self.has_python && is_wide)
                .text(move |row| {
                    let share = whole_percent(held(row).share_of(Domain::Python));
                    (share, Style::color(Color::Cyan))
                })
                .member("python_share", "number", move |json, key, row| {
                    json.share(key, Some(held(row).share_of(Domain::Python)));
                }),
            Column::json_only()
                .member("native_share", "number", move |json, key, row| {
                    json.share(key, Some(held(row).share_of(Domain::Native)));
                })
                .member("mapped_share", "number", move |json, key, row| {
                    json.share(key, Some(held(row).share_of(Domain::Mapped)));
                }),
        ]
    }

    /// A table: what its rows are about, what they hold, and what else there is.
    fn table<'a, T: 'a>(
        self,
        object: &'static str,
        of: Column<'a, Row<'a, T>>,
        more: Vec<Column<'a, Row<'a, T>>>,
    ) -> Table<'a, Row<'a, T>> {
        let mut columns = vec![of.last()];
        columns.extend(self.columns(|row: &Row<'a, T>| &row.held));
        columns.extend(more);
        columns.push(space());
        Table::new(object, columns)
    }
}

/// The column of a size's margin of error.
fn margin<'a, R: 'a>(figure: impl Fn(&R) -> Figure + 'a) -> Column<'a, R> {
    Column::left(" ±", 6).text(move |row| (format!(" {}", plus_minus(figure(row))), GRAY))
}

/// The space between the numbers and the subject of a row.
fn space<'a, R: 'a>() -> Column<'a, R> {
    Column::titled("")
        .gap(2)
        .late()
        .draw(|_, line, _| line.push_spaces(2))
}

/// The columns of allocated and held memory, without the name column.
pub(super) fn held<'a>(known: Known) -> Table<'a, Holding> {
    Table::new("held", known.columns(|held| held))
}

/// The table of lines, with a picture of `trend` columns.
pub(super) fn lines<'a>(
    known: Known,
    statements: &'a Statements<'a>,
    trend: usize,
    draw: impl Fn(&mut Page<'_>, &mut Line, &Row<'a, HeapLine>) + 'a,
) -> Table<'a, Row<'a, HeapLine>> {
    let line = Column::titled("Lines that allocate").draw(draw);
    let line = at(line, statements, |row: &Row<'a, HeapLine>| row.json().of);
    let growth = Column::json_only().member(
        "growth_bytes_per_second",
        "number",
        |json, key, row: &Row<'a, HeapLine>| json.share(key, Some(row.json().growth)),
    );
    let picture = Column::left("  Trend", trend + 2)
        .when(trend > 0)
        .text(move |row: &Row<'a, HeapLine>| match row.one() {
            Some(line) => {
                let picture = sparkline(&line.trend, trend);
                (format!("  {picture}"), Style::color(Color::Green))
            }
            None => (String::new(), Style::PLAIN),
        })
        .member("trend", "trend", |json, key, row| {
            json.row(key, |json| {
                json.array("live_bytes", |json| {
                    for &bytes in &row.json().trend {
                        json.number("", bytes);
                    }
                });
            });
        });
    known.table("heap_line", line, vec![growth, picture])
}

type Function = HeapRow<Option<Place>>;

/// The table of functions.
pub(super) fn functions<'a>(
    known: Known,
    statements: &'a Statements<'a>,
    draw: impl Fn(&mut Page<'_>, &mut Line, &Row<'a, Function>) + 'a,
) -> Table<'a, Row<'a, Function>> {
    let function = Column::titled("Functions that allocate").draw(draw);
    let function = at(function, statements, |row: &Row<'a, Function>| {
        row.json().of
    });
    known.table("heap_function", function, Vec::new())
}

/// The table of types.
pub(super) fn types<'a>(
    known: Known,
    draw: impl Fn(&mut Page<'_>, &mut Line, &Row<'a, HeapRow<Held>>) + 'a,
) -> Table<'a, Row<'a, HeapRow<Held>>> {
    let of = (Column::titled("What the blocks hold").draw(draw))
        .member("type", "text?", |json, key, row| {
            json.text_or_null(key, &row.json().of.type_name);
        })
        .member("is_growing_buffer", "bool", |json, key, row| {
            json.is(key, row.json().of.is_buffer);
        });
    known.table("heap_type", of, Vec::new())
}

/// The threads, which only JSON has.
pub(super) fn threads<'a>(
    known: Known,
    profile: &'a Profile,
) -> Table<'a, Row<'a, HeapRow<ThreadId>>> {
    let thread = Column::json_only()
        .member(
            "thread",
            "number",
            |json, key, row: &Row<'a, HeapRow<ThreadId>>| {
                json.number(key, profile.threads.get(row.json().of).number);
            },
        )
        .member("name", "text?", |json, key, row| {
            let name = profile.threads.get(row.json().of).name;
            json.text_or_null(key, profile.strings.get(name));
        });
    known.table("heap_thread", thread, Vec::new())
}

/// The processes, which only JSON has.
pub(super) fn processes<'a>(
    known: Known,
    profile: &'a Profile,
) -> Table<'a, Row<'a, HeapRow<ProcessId>>> {
    let process = pid(
        Column::json_only(),
        profile,
        |row: &Row<'a, HeapRow<ProcessId>>| row.json().of,
    );
    known.table("heap_process", process, Vec::new())
}

/// The table of lines that seem to leak.
pub(super) fn leaks<'a>(
    statements: &'a Statements<'a>,
    draw: impl Fn(&mut Page<'_>, &mut Line, &Leak) + 'a,
) -> Table<'a, Leak> {
    let line = Column::titled("Lines that seem to leak").last().draw(draw);
    let line = at(line, statements, |leak: &Leak| leak.of);
    let line = pid(line, statements.profile(), |leak| leak.process);
    let sure = Column::right("Sure %", 6)
        .text(|leak: &Leak| {
            let sure = format!("{:.0}", (leak.probability * 100.0).min(99.0));
            (sure, Style::color(Color::Red))
        })
        .member("probability", "number", |json, key, leak| {
            json.share(key, Some(leak.probability));
        });
    let size = Column::right("At least", SIZE)
        .text(|leak: &Leak| (bytes(leak.bytes.value), Style::PLAIN))
        .figure("bytes", |leak| leak.bytes);
    let blocks = (Column::right("Blocks", 8).late().then(2))
        .text(|leak: &Leak| (short_count(leak.count.value), Style::PLAIN))
        .figure("blocks", |leak| leak.count);
    let rate = Column::right("a second", 12)
        .text(|leak: &Leak| {
            let rate = format!("{}/s", bytes(leak.rate.max(0.0).round() as u64));
            (rate, Style::PLAIN)
        })
        .member("bytes_per_second", "number", |json, key, leak| {
            json.share(key, Some(leak.rate));
        });
    let lifetime = Column::json_only().member(
        "usual_lifetime_seconds",
        "number?",
        |json, key, leak: &Leak| json.seconds(key, leak.usual_lifetime.map(|time| time.0)),
    );
    Table::new("leak", vec![line, sure, size, blocks, rate, lifetime])
}

/// The table of lines whose blocks no pointer leads to.
pub(super) fn unreachable<'a>(
    found: &Allocations,
    statements: &'a Statements<'a>,
    draw: impl Fn(&mut Page<'_>, &mut Line, &HeapLine) + 'a,
) -> Table<'a, HeapLine> {
    let all = found.total.unreachable.bytes().value;
    let line = Column::titled("Unreachable at exit: no pointer leads to it");
    let line = at(line.last().draw(draw), statements, |row: &HeapLine| row.of);
    let share = Column::right("Lost %", 6).text(move |row: &HeapLine| {
        let size = row.held.unreachable.bytes().value;
        let share = size as f64 / all.max(1) as f64;
        (percent(share), Style::color(Color::Red))
    });
    let size = Column::right("Size", SIZE)
        .text(|row: &HeapLine| (bytes(row.held.unreachable.bytes().value), Style::PLAIN))
        .figure("bytes", |row| row.held.unreachable.bytes());
    let title = match found.sampling {
        Sampling::All => "",
        _ => "±",
    };
    let margin = Column::right(title, 6).text(|row: &HeapLine| {
        let size = row.held.unreachable.bytes();
        let text = match size.is_exact() {
            true => String::new(),
            false => format!("±{}%", 100 * size.margin() / size.value.max(1)),
        };
        (text, Style::PLAIN)
    });
    let blocks = (Column::right("Blocks", 8).then(2))
        .text(|row: &HeapLine| {
            let count = row.held.unreachable.count().value;
            (short_count(count), Style::PLAIN)
        })
        .figure("blocks", |row| row.held.unreachable.count());
    Table::new("lost", vec![line, share, size, margin, blocks])
}

/// The columns of what was copied, of rows that have a sum of it.
fn copied_columns<'a, R: 'a>(seconds: f64, copied: fn(&R) -> &Sum) -> Vec<Column<'a, R>> {
    let rate = move |row: &R| copied(row).bytes().value as f64 / seconds.max(1e-9);
    vec![
        Column::right("Copied", SIZE)
            .text(move |row| (bytes(copied(row).bytes().value), Style::PLAIN))
            .figure("bytes", move |row| copied(row).bytes())
            .figure("copies", move |row| copied(row).count()),
        margin(move |row| copied(row).bytes()),
        (Column::right("a second", 12).then(2))
            .text(move |row| {
                let rate = format!("{}/s", bytes(rate(row).round() as u64));
                (rate, Style::PLAIN)
            })
            .member("bytes_per_second", "number", move |json, key, row| {
                json.share(key, Some(rate(row)));
            }),
    ]
}

/// The sum of all copies, which only JSON has.
pub(super) fn copied<'a>(seconds: f64) -> Table<'a, Sum> {
    Table::new("copied", copied_columns(seconds, |sum| sum))
}

/// The table of lines that copy.
pub(super) fn copies<'a>(
    found: &Allocations,
    statements: &'a Statements<'a>,
    draw: impl Fn(&mut Page<'_>, &mut Line, &CopyRow) + 'a,
) -> Table<'a, CopyRow> {
    let all = found.copied.bytes().value.max(1) as f64;
    let line = Column::titled("Lines that copy").last().draw(draw);
    let line = at(line, statements, |row: &CopyRow| row.of);
    let share = Column::right("Copy %", 6).text(move |row: &CopyRow| {
        let share = row.copied.bytes().value as f64 / all;
        (percent(share), heat(share))
    });
    let mut columns = vec![line, share];
    columns.extend(copied_columns(found.seconds, |row: &CopyRow| &row.copied));
    Table::new("copy", columns)
}

/// Adds the member with the line to a column.
fn at<'a, R: 'a>(
    column: Column<'a, R>,
    statements: &'a Statements<'a>,
    of: impl Fn(&R) -> Option<Place> + 'a,
) -> Column<'a, R> {
    column.member("at", "heap_place?", move |json, key, row| match of(row) {
        Some(at) => json.row(key, |json: &mut Json<'_>| {
            place_at(json, statements.profile(), at, Some(statements.line(at)));
        }),
        None => json.null(key),
    })
}

/// Adds the member with the process to a column.
fn pid<'a, R: 'a>(
    column: Column<'a, R>,
    profile: &'a Profile,
    process: impl Fn(&R) -> ProcessId + 'a,
) -> Column<'a, R> {
    column.member("pid", "number?", move |json, key, row| {
        let process = profile.processes.get(process(row).index());
        json.number_or_null(key, process.map(|process| u64::from(process.pid)));
    })
}

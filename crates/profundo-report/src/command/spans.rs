//! Spans by name or by an attribute, and marks: how many, how long they took, and the time in them.

use std::io;

use profundo_analysis::{GroupBy, Selection, SpanRow, Spans as Found, spans};
use profundo_model::{Mark, Profile, SpanId, SpanLoss, StringId};

use super::shares::{push_share, share_width};
use super::{BOLD, GRAY, View, ViewOptions, WIDE, heat, write_end};
use crate::json::{Json, share_members};
use crate::naming::weighs::Weighs;
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::{counted, duration, percent, seconds, share_of_whole, share_title};
use crate::page::width::keep_head;
use crate::table::{Column, Table, undrawn};

/// A report on spans and marks.
#[derive(Debug, Clone, Default)]
pub struct Spans {
    options: ViewOptions,
    by: GroupBy,
    limit: Option<usize>,
}

impl Spans {
    /// The spans by name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what makes a row: the name, or with [`GroupBy::SpanOf`] an attribute.
    pub fn by(mut self, by: GroupBy) -> Self {
        self.by = by;
        self
    }

    /// Sets the number of rows of each table that are shown at most.
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = Some(rows);
        self
    }

    fn found(&self, profile: &Profile, selection: &Selection) -> Found {
        let filter = &self.options.choices.filter;
        spans(profile, selection, filter, &self.by)
    }

    fn write_none(&self, page: &mut Page<'_>) -> io::Result<()> {
        let text = match self.options.choices.words() {
            _ if page.profile.spans.is_empty() && !page.profile.spans.paths.is_any() => {
                " the program has named no spans and no marks: `profundo.span` does that in Python, and `profundo::span!` in Rust."
                    .to_owned()
            }
            Some(words) => format!(" no spans and no marks pass the filter: {words}."),
            None => format!(" no span has the attribute `{}`.", key(&self.by)),
        };
        page.marked("Warning:", Color::Yellow, &text)
    }

    fn write_rows(
        &self,
        page: &mut Page<'_>,
        selection: &Selection,
        found: &Found,
    ) -> io::Result<()> {
        let profile = page.profile;
        let shown = found.rows.len().min(self.limit.unwrap_or(ROWS));
        let frame = Columns {
            columns: page.columns,
            is_few: selection.is_few(profile),
            weighs: Weighs::of(profile),
            title: match &self.by {
                GroupBy::SpanOf(key) => key.to_string(),
                _ => "Span".to_owned(),
            },
            all: selection.weight(profile),
            lengths: widths(&found.rows),
        };
        let table = frame.table(profile, |_, _, _| {});
        let mut line = Line::default();
        table.push_titles(&mut line);
        line.truncate(page.columns);
        page.line(&mut line)?;
        for row in &found.rows[..shown] {
            table.push_row(page, &mut line, row);
            let room = page.columns.saturating_sub(line.width());
            let name = profile.strings.get(row.name);
            line.push(&keep_head(name, room.max(8)), Style::color(Color::Blue));
            line.truncate(page.columns);
            page.line(&mut line)?;
        }
        if shown < found.rows.len() {
            page.plain(&format!("… and {} more", found.rows.len() - shown))?;
        }
        page.plain("")
    }

    fn write_marks(&self, page: &mut Page<'_>, marks: &[Mark]) -> io::Result<()> {
        let profile = page.profile;
        let shown = marks.len().min(self.limit.unwrap_or(ROWS));
        let mut line = Line::default();
        line.push_fmt(format_args!("{:>TIME$}  Mark", "Time"), BOLD);
        page.line(&mut line)?;
        let several = profile.threads.len() > 1;
        for mark in &marks[..shown] {
            let moment = seconds(mark.time.0, profile.meta.duration.0.max(mark.time.0));
            let width = TIME - 2;
            line.push_fmt(format_args!("{moment:>width$} s  "), Style::PLAIN);
            line.push(profile.strings.get(mark.name), Style::color(Color::Blue));
            let mut place = Vec::new();
            if several {
                let thread = profile.threads.get(mark.thread);
                place.push(format!("thread {}", thread.number));
            }
            if mark.span != SpanId(0) {
                place.push(format!("in {}", path(profile, mark.span)));
            }
            if !place.is_empty() {
                line.push_fmt(format_args!("  {}", place.join(", ")), GRAY);
            }
            line.truncate(page.columns);
            page.line(&mut line)?;
        }
        if shown < marks.len() {
            page.plain(&format!("… and {} more", marks.len() - shown))?;
        }
        page.plain("")
    }

    fn write_remarks(&self, page: &mut Page<'_>, found: &Found) -> io::Result<()> {
        let loss = page.profile.spans.loss;
        if found.summed > 0 {
            let text = format!(
                "{} of {} spans are known as sums: their number and the sum, least and most of their lengths are exact, and percentiles are within 4 %.",
                found.summed, found.count
            );
            page.sentence(&text)?;
        }
        if found.unplaced > 0 {
            let text = format!(
                " {} are left out: they are known as sums, without their times.",
                counted(found.unplaced, "span")
            );
            page.marked("Warning:", Color::Yellow, &text)?;
        }
        for text in losses(loss) {
            page.marked("Warning:", Color::Yellow, &format!(" {text}"))?;
        }
        let filter = &self.options.choices.filter;
        let has_stacks = !filter.functions.is_empty()
            || !filter.files.is_empty()
            || !filter.focus.is_empty()
            || !filter.ignore.is_empty();
        if has_stacks {
            page.sentence(
                "Spans have no stack: their numbers and lengths are those of all of them, and only the time in them is filtered by stack.",
            )?;
        }
        Ok(())
    }
}

/// What was not kept, in sentences.
fn losses(loss: SpanLoss) -> Vec<String> {
    let mut texts = Vec::new();
    if loss.attributes > 0 {
        texts.push(format!(
            "{} had attributes with more different values than are kept: these stand under `…`.",
            counted(loss.attributes, "span")
        ));
    }
    if loss.names > 0 {
        texts.push(format!(
            "{} had more different names than are kept, or were too deep: these stand under `[other spans]`, or with the span around them.",
            counted(loss.names, "span")
        ));
    }
    if loss.marks > 0 {
        texts.push(format!(
            "{} not kept: there were more than the first ones.",
            match loss.marks {
                1 => "1 mark was".to_owned(),
                many => format!("{many} marks were"),
            }
        ));
    }
    texts
}

/// The key of the attribute that makes a row; empty where the name does.
fn key(by: &GroupBy) -> &str {
    match by {
        GroupBy::SpanOf(key) => key,
        _ => "",
    }
}

/// The names of a path, the outermost first.
fn path(profile: &Profile, id: SpanId) -> String {
    let paths = &profile.spans.paths;
    let mut names: Vec<&str> = (paths.outwards(id))
        .map(|id| profile.strings.get(paths.get(id).name))
        .collect();
    names.reverse();
    names.join(" › ")
}

impl View for Spans {
    fn name(&self) -> &'static str {
        "spans"
    }

    fn options(&self) -> &ViewOptions {
        &self.options
    }

    fn options_mut(&mut self) -> &mut ViewOptions {
        &mut self.options
    }

    fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        let found = self.found(page.profile, selection);
        if found.rows.is_empty() && found.marks.is_empty() {
            self.write_none(page)?;
            return write_end(page, &self.options.choices, selection, self.options.quality);
        }
        if !found.rows.is_empty() {
            let open: u64 = found.rows.iter().map(|row| row.open).sum();
            let open = match open {
                0 => String::new(),
                open => format!(" ({open} open at the end)"),
            };
            let what = counted(found.count, "span");
            let outside = share_of_whole(&found.outside_share, "time");
            page.sentence(&format!("{what}{open}; outside of them: {outside}."))?;
            page.plain("")?;
            self.write_rows(page, selection, &found)?;
        }
        if !found.marks.is_empty() {
            self.write_marks(page, &found.marks)?;
        }
        self.write_remarks(page, &found)?;
        write_end(page, &self.options.choices, selection, self.options.quality)
    }

    fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        let found = self.found(profile, selection);
        let all = selection.weight(profile);
        json.text_or_null("attribute", key(&self.by));
        json.number("spans_count", found.count);
        json.number("spans_summed", found.summed);
        json.number("spans_unplaced", found.unplaced);
        share_members(json, "outside_", &found.outside_share, &found.outside, all);
        let loss = profile.spans.loss;
        json.number("attributes_not_kept", loss.attributes);
        json.number("names_not_kept", loss.names);
        json.number("marks_not_kept", loss.marks);
        let limit = self.limit.unwrap_or(usize::MAX);
        let shown = found.rows.len().min(limit);
        let frame = Columns {
            columns: WIDE,
            is_few: false,
            weighs: Weighs::of(profile),
            title: String::new(),
            all,
            lengths: [LENGTH; 2],
        };
        let table = frame.table(profile, undrawn);
        json.array("spans", |json| {
            for row in &found.rows[..shown] {
                json.object("", |json| table.members(json, row));
            }
        });
        json.number("rows_left_out", (found.rows.len() - shown) as u64);
        let marks = &found.marks[..found.marks.len().min(limit)];
        json.array("marks", |json| {
            for mark in marks {
                json.row("", |json| {
                    json.text("name", profile.strings.get(mark.name));
                    json.seconds("time_seconds", Some(mark.time.0));
                    json.number("thread", profile.threads.get(mark.thread).number);
                    json.text_or_null("span", &path(profile, mark.span));
                });
            }
        });
        json.number("marks_left_out", (found.marks.len() - marks.len()) as u64);
    }
}

/// The most rows of a text without a limit.
const ROWS: usize = 30;
/// The title of the sum of lengths.
const TOTAL: &str = "Total";
/// The width of a duration below a minute.
const LENGTH: usize = 9;
/// The width of a mark's time.
const TIME: usize = 12;
/// The width of a number of spans.
const COUNT: usize = 8;

/// The circumstances of a table.
struct Columns {
    columns: usize,
    is_few: bool,
    weighs: Weighs,
    title: String,
    /// The weight of all that is selected.
    all: u64,
    /// The widths of the sum of lengths, and of the other lengths.
    lengths: [usize; 2],
}

/// The widths of the sum of lengths and of other lengths in a table with these rows.
fn widths(rows: &[SpanRow]) -> [usize; 2] {
    let width = |of: fn(&SpanRow) -> u64| {
        let texts = rows.iter().map(|row| duration(of(row)).chars().count() + 1);
        texts.max().unwrap_or(0).max(LENGTH)
    };
    [
        width(|row| row.lengths.total),
        width(|row| row.lengths.most),
    ]
}

impl Columns {
    /// The table of spans; `name` draws the last cell.
    fn table<'a>(
        self,
        profile: &'a Profile,
        name: impl Fn(&mut Page<'_>, &mut Line, &SpanRow) + 'a,
    ) -> Table<'a, SpanRow> {
        let is_wide = self.columns >= WIDE;
        let is_few = self.is_few;
        let all = self.all;
        let width = share_width(profile, self.columns);
        let weighs = self.weighs;
        let [total, other] = self.lengths;
        let share = Column::left(share_title(weighs.share_title(), is_few).to_owned(), width)
            .first()
            .draw(move |_, line, row: &SpanRow| push_share(line, &row.total_share, width))
            .group("total_ amount", move |json, row| {
                share_members(json, "total_", &row.total_share, &row.total, all);
            });
        let own = Column::right("Own %", 6)
            .when(!is_few)
            .text(|row: &SpanRow| {
                let share = row.own_share.share;
                (percent(share), heat(share))
            })
            .group("self_ amount", move |json, row| {
                share_members(json, "self_", &row.own_share, &row.own, all);
            });
        let time = Column::right(weighs.title(), LENGTH)
            .text(move |row: &SpanRow| (weighs.text(row.total.weight), Style::PLAIN));
        let count = Column::right("Count", COUNT)
            .text(|row: &SpanRow| (count_of(row).to_string(), Style::PLAIN))
            .member("count", "number", |json, key, row| {
                json.number(key, count_of(row));
            })
            .member("open", "number", |json, key, row| {
                json.number(key, row.open)
            });
        let length =
            |title: &'static str, member: &'static str, of: fn(&SpanRow) -> Option<u64>| {
                Column::right(title, if title == TOTAL { total } else { other })
                    .text(move |row: &SpanRow| {
                        let text = of(row).map(duration).unwrap_or_default();
                        (text, Style::PLAIN)
                    })
                    .member(member, "number?", move |json, key, row| {
                        json.seconds(key, of(row));
                    })
            };
        let columns = vec![
            Column::titled(self.title)
                .last()
                .indent(2)
                .draw(move |page, line, row: &SpanRow| {
                    line.push_spaces(2);
                    name(page, line, row);
                })
                .member("name", "text", move |json, key, row| {
                    json.text(key, name_of(profile, row.name));
                }),
            share,
            own,
            time,
            count,
            length(TOTAL, "length_total_seconds", |row| {
                ended(row).then_some(row.lengths.total)
            }),
            length("Mean", "length_mean_seconds", |row| {
                ended(row).then(|| row.lengths.mean().round() as u64)
            })
            .when(is_wide),
            length("Least", "length_least_seconds", |row| {
                ended(row).then_some(row.lengths.least)
            })
            .when(false),
            length("Median", "length_median_seconds", |row| {
                row.percentiles.map(|[median, ..]| median)
            }),
            length("95 %", "length_p95_seconds", |row| {
                row.percentiles.map(|[_, p95, _]| p95)
            }),
            length("99 %", "length_p99_seconds", |row| {
                row.percentiles.map(|[.., p99]| p99)
            })
            .when(is_wide),
            length("Longest", "length_most_seconds", |row| {
                ended(row).then_some(row.lengths.most)
            }),
            Column::json_only().member("is_exact", "bool", |json, key, row: &SpanRow| {
                json.is(key, row.is_exact);
            }),
        ];
        Table::new("span", columns)
    }
}

fn name_of(profile: &Profile, name: StringId) -> &str {
    profile.strings.get(name)
}

fn ended(row: &SpanRow) -> bool {
    row.lengths.count > 0
}

/// The number of spans, open ones included.
fn count_of(row: &SpanRow) -> u64 {
    row.lengths.count.saturating_add(row.open)
}

#[cfg(test)]
pub(super) fn schema() -> (&'static str, Vec<String>) {
    let profile = Profile::default();
    let frame = Columns {
        columns: WIDE,
        is_few: false,
        weighs: Weighs::Time,
        title: String::new(),
        all: 0,
        lengths: [LENGTH; 2],
    };
    frame.table(&profile, undrawn).schema()
}

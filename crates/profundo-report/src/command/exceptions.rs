//! Exceptions: how many, of which type, the line that raised them, and their end.

use std::io;

use profundo_analysis::{Place, RaisedExceptions, Selection, traced_exceptions};
use profundo_model::{ExceptionEnd, Profile, Tracing};

use super::{GRAY, NextStep, View, ViewOptions, write_next};
use crate::json::{Json, place};
use crate::naming::Names;
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::counted;
use crate::page::width::width;
use crate::quality;
use crate::table::{Column, Table};

/// A report on exceptions: by type, by the line that raised them, and by their end.
#[derive(Debug, Clone, Default)]
pub struct Exceptions {
    options: ViewOptions,
    limit: Option<usize>,
    next: Vec<NextStep>,
}

impl Exceptions {
    /// A report of all exceptions. As text it leaves out the rarest of very many rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of rows that are shown at most.
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = Some(rows);
        self
    }

    /// The commands to type next, from the caller.
    pub fn next(mut self, steps: impl IntoIterator<Item = NextStep>) -> Self {
        self.next = steps.into_iter().collect();
        self
    }

    fn write_none(&self, page: &mut Page<'_>) -> io::Result<()> {
        let traced = &page.profile.traced;
        if traced.exceptions.is_empty() && traced.tracing == Tracing::Exceptions {
            page.plain("No exceptions were counted.")?;
            return quality::write_notes(page, self.options.quality);
        }
        let text = match self.options.choices.words() {
            _ if traced.exceptions.is_empty() => {
                " no exceptions were counted in this recording: `profundo trace --exceptions` counts them.".into()
            }
            Some(_) if !self.options.choices.filter.is_timeless() => {
                " nobody knows which thread or task raised an exception, or when: exceptions can be chosen by process, file and function."
                    .into()
            }
            Some(words) => format!(" no exceptions pass the filter: {words}."),
            None => " no exceptions are shown.".into(),
        };
        page.marked("Warning:", Color::Yellow, &text)
    }
}

/// How many exceptions there were, and how many had each end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sums {
    raised: u64,
    caught: u64,
    left: u64,
    unseen: u64,
}

impl Sums {
    fn of(rows: &[RaisedExceptions]) -> Self {
        let mut sums = Self::default();
        for row in rows {
            let of_end = match row.end {
                ExceptionEnd::Caught(_) => &mut sums.caught,
                ExceptionEnd::Left => &mut sums.left,
                ExceptionEnd::Unseen => &mut sums.unseen,
            };
            *of_end = of_end.saturating_add(row.count);
            sums.raised = sums.raised.saturating_add(row.count);
        }
        sums
    }

    fn sentence(self) -> String {
        let mut parts = Vec::new();
        for (count, what) in [
            (self.caught, "caught"),
            (self.left, "left the program or a thread"),
            (self.unseen, "without an end that was seen"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        let raised = counted(self.raised, "exception");
        let was = if self.raised == 1 { "was" } else { "were" };
        format!("{raised} {was} raised: {}.", parts.join(", "))
    }
}

impl View for Exceptions {
    fn name(&self) -> &'static str {
        "exceptions"
    }

    fn options(&self) -> &ViewOptions {
        &self.options
    }

    fn options_mut(&mut self) -> &mut ViewOptions {
        &mut self.options
    }

    fn text(&self, page: &mut Page<'_>, _: &Selection) -> io::Result<()> {
        let profile = page.profile;
        let rows = traced_exceptions(profile, &self.options.choices.filter);
        if rows.is_empty() {
            return self.write_none(page);
        }
        quality::write_missing(page, self.options.quality)?;
        page.sentence(&Sums::of(&rows).sentence())?;
        page.plain("")?;
        let places = rows.iter().flat_map(|row| {
            let caught = match row.end {
                ExceptionEnd::Caught(frame) => Some(frame),
                ExceptionEnd::Left | ExceptionEnd::Unseen => None,
            };
            [Some(row.raised), caught]
        });
        let names = Names::of_places(profile, places.flatten().map(Place::Frame));
        let (shown, rest) = rows.split_at(rows.len().min(self.limit.unwrap_or(ROWS)));
        let at = |frame| {
            let frame = Place::Frame(frame);
            format!("{} {}", names.at(frame), names.function(frame))
        };
        let table = table(profile, shown, at);
        let mut line = Line::default();
        table.push_titles(&mut line);
        line.truncate(page.columns);
        page.line(&mut line)?;
        for row in shown {
            table.push_row(page, &mut line, row);
            line.truncate(page.columns);
            page.line(&mut line)?;
        }
        if !rest.is_empty() {
            let Sums { raised, .. } = Sums::of(rest);
            line.push_fmt(format_args!("{raised:>COUNT$}  "), Style::PLAIN);
            line.push_fmt(format_args!("in {} more rows", rest.len()), GRAY);
            page.line(&mut line)?;
        }
        quality::write_notes(page, self.options.quality)?;
        write_next(page, &self.next)
    }

    fn members(&self, profile: &Profile, _: &Selection, json: &mut Json<'_>) {
        let rows = traced_exceptions(profile, &self.options.choices.filter);
        let sums = Sums::of(&rows);
        json.number("raised", sums.raised);
        json.number("caught", sums.caught);
        json.number("left", sums.left);
        json.number("unseen", sums.unseen);
        let (shown, rest) = rows.split_at(self.limit.unwrap_or(rows.len()).min(rows.len()));
        let table = table(profile, &[], |_| String::new());
        json.array("exceptions", |json| {
            for row in shown {
                json.object("", |json| table.members(json, row));
            }
        });
        json.number("rows_left_out", rest.len() as u64);
    }
}

/// The most rows of a text without a limit.
const ROWS: usize = 40;
/// The width of a number.
const COUNT: usize = 9;
/// The end of what nothing caught.
const LEFT: &str = "[nothing: left the program or a thread]";
const UNSEEN: &str = "[not seen: dropped by C code, or the program ended]";

/// The table of these rows; `at` has the words of a line.
fn table<'a>(
    profile: &'a Profile,
    rows: &[RaisedExceptions],
    at: impl Fn(profundo_model::FrameId) -> String + Clone + 'a,
) -> Table<'a, RaisedExceptions> {
    let of_type = |row: &RaisedExceptions| profile.strings.get(row.of_type);
    let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let type_width = widest(&mut rows.iter().map(|row| width(of_type(row)))).max(9);
    let at_width = widest(&mut rows.iter().map(|row| width(&at(row.raised)))).max(9);
    let count = Column::right("Count", COUNT)
        .then(2)
        .text(|row: &RaisedExceptions| (row.count.to_string(), Style::PLAIN))
        .member("count", "number", |json, key, row| {
            json.number(key, row.count);
        });
    let kind = Column::left("Exception", type_width)
        .then(2)
        .text(move |row| (of_type(row).to_owned(), Style::PLAIN))
        .member("type", "text", move |json, key, row| {
            json.text(key, of_type(row));
        });
    let of_raised = at.clone();
    let raised = Column::left("Raised by", at_width)
        .then(2)
        .text(move |row: &RaisedExceptions| (of_raised(row.raised), Style::color(Color::Blue)))
        .member("raised_by", "raised_place", move |json, key, row| {
            json.row(key, |json| place(json, profile, Place::Frame(row.raised)));
        });
    let caught = Column::titled("Caught by")
        .last()
        .draw(move |_, line, row: &RaisedExceptions| match row.end {
            ExceptionEnd::Caught(frame) => line.push(&at(frame), Style::color(Color::Blue)),
            ExceptionEnd::Left => line.push(LEFT, GRAY),
            ExceptionEnd::Unseen => line.push(UNSEEN, GRAY),
        })
        .member("end", "text", |json, key, row| {
            json.text(
                key,
                match row.end {
                    ExceptionEnd::Caught(_) => "caught",
                    ExceptionEnd::Left => "left",
                    ExceptionEnd::Unseen => "unseen",
                },
            );
        })
        .member(
            "caught_by",
            "raised_place?",
            move |json, key, row| match row.end {
                ExceptionEnd::Caught(frame) => {
                    json.row(key, |json| place(json, profile, Place::Frame(frame)));
                }
                ExceptionEnd::Left | ExceptionEnd::Unseen => json.null(key),
            },
        );
    Table::new("exception", vec![count, kind, raised, caught])
}

#[cfg(test)]
pub(super) fn schema() -> (&'static str, Vec<String>) {
    let profile = Profile::default();
    table(&profile, &[], |_| String::new()).schema()
}

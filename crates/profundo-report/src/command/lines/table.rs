//! The columns of a file's lines.

use profundo_analysis::{Amount, Estimate, LineShare, Selection};
use profundo_model::Profile;

use super::Lines;
use crate::command::shares::{GRAY, KindColumns, heat, push_share};
use crate::json::share_members;
use crate::naming::weighs::Weighs;
use crate::page::line::{Line, Style};
use crate::page::units::{bar, share_title};
use crate::table::{Column, Table};

/// The widths of the columns in front of the source.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    pub kinds: KindColumns,
    pub share: usize,
    pub bar: usize,
    pub number: usize,
    /// The weight of the whole.
    pub all: u64,
}

impl Columns {
    /// For JSON, which has no columns.
    pub(super) fn off_screen(profile: &Profile, selection: &Selection) -> Self {
        Self {
            kinds: KindColumns::new(profile, selection, 0),
            share: 0,
            bar: 0,
            number: 0,
            all: selection.weight(profile),
        }
    }

    pub(super) fn before_number(self) -> usize {
        self.share + self.bar + 3 + self.kinds.all()
    }
}

/// A line of source, with what it took where that is known.
#[derive(Clone, Copy)]
pub(super) struct SourceLine<'a> {
    pub number: u32,
    pub row: Option<&'a LineShare>,
    /// The share on the screen.
    pub share: f64,
    /// True if that is the share with all that the line called.
    pub is_total: bool,
    /// The last line of the statement, where statements are rows.
    pub last: Option<u32>,
}

impl<'a> SourceLine<'a> {
    /// The share and the amount on the screen, if there are any.
    fn amount(&self) -> Option<(&'a Estimate, &'a Amount)> {
        let row = self.row.filter(|_| self.share > 0.0)?;
        Some(match self.is_total {
            true => (&row.total, &row.total_amount),
            false => (&row.own, &row.own_amount),
        })
    }

    fn json(&self) -> &'a LineShare {
        self.row.expect("JSON has only lines that took something")
    }
}

/// The table of lines, of which `text` is the source, which `draw` adds to the screen.
pub(super) fn table<'a>(
    view: &Lines,
    profile: &'a Profile,
    columns: Columns,
    text: impl Fn(u32) -> Option<&'a str> + 'a,
    draw: impl Fn(&mut Line, &SourceLine<'a>) + 'a,
) -> Table<'a, SourceLine<'a>> {
    let Columns { kinds, all, .. } = columns;
    let title = match view.total {
        true => "Total %",
        false => Weighs::of(profile).share_title(),
    };
    let title = share_title(title, kinds.few.is_some());
    let number = Column::right("Line", columns.number + 1)
        .late()
        .text(|row: &SourceLine<'a>| {
            let style = if row.share > 0.0 { Style::PLAIN } else { GRAY };
            (
                row.number.to_string(),
                Style {
                    link: true,
                    ..style
                },
            )
        })
        .member("line", "number", |json, key, row| {
            json.number(key, u64::from(row.number));
        })
        .group("last_line?: number", |json, row| {
            if let Some(last) = row.last {
                json.number("last_line", last.into());
            }
        })
        .member("function", "text?", |json, key, row| {
            json.text_or_null(key, profile.function_name(row.json().frame));
        });
    let share = Column::titled(title)
        .gap((columns.share + columns.bar + 2).saturating_sub(title.len()))
        .first()
        .draw(move |_, line, row: &SourceLine<'a>| {
            let Some((estimate, _)) = row.amount() else {
                return line.push_spaces(columns.share + columns.bar + 2);
            };
            push_share(line, estimate, columns.share);
            let bar = match estimate.few {
                Some(_) => String::new(),
                None => bar(row.share, columns.bar),
            };
            line.push_fmt(format_args!(" {bar:<0$} ", columns.bar), heat(row.share));
        })
        .group("self_ amount", move |json, row| {
            let row = row.json();
            share_members(json, "self_", &row.own, &row.own_amount, all);
        })
        .group("total_ amount", move |json, row| {
            let row = row.json();
            share_members(json, "total_", &row.total, &row.total_amount, all);
        });
    let source = Column::titled("  Source")
        .last()
        .draw(move |_, line, row: &SourceLine<'a>| draw(line, row))
        .member("text", "text?", move |json, key, row| {
            match text(row.number) {
                Some(text) => json.text(key, text),
                None => json.null(key),
            }
        });
    let mut all_columns = vec![number, share];
    all_columns.extend(kinds.columns(all, |row: &SourceLine<'a>| {
        row.amount().map(|(_, amount)| amount)
    }));
    all_columns.push(source);
    Table::new("line", all_columns)
}

#[cfg(test)]
pub(in crate::command) fn schema() -> (&'static str, Vec<String>) {
    let profile = Profile::default();
    let selection = crate::Choices::command().select(&profile);
    let columns = Columns::off_screen(&profile, &selection);
    table(&Lines::new(), &profile, columns, |_| None, |_, _| {}).schema()
}

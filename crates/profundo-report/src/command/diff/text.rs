//! The comparison as text.

use std::io;

use profundo_analysis::diff::{By, Difference, Row, Table, Unit};

use super::amounts::{amount, change, ratio};
use super::verdict::noun;
use super::{Diff, sentences};
use crate::command::{BOLD, GRAY};
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::width::{keep_head, keep_tail, width};

/// The widths of the columns of numbers.
const AMOUNT: usize = 9;
const CHANGE: usize = 10;
const MARGIN: usize = 10;
const RATIO: usize = 7;

impl Diff<'_> {
    pub(super) fn whole_text(&self, page: &mut Page<'_>) -> io::Result<()> {
        self.verdict_line(page)?;
        page.plain("")?;
        for (word, side) in ["before: ", "after:  "]
            .into_iter()
            .zip(self.sides_in_words())
        {
            page.marked(word, Color::Cyan, &side)?;
        }
        if let Some(words) = &self.filter {
            page.marked("Only:", Color::Cyan, &format!(" {words}."))?;
        }
        sentences(page, &self.basis())?;
        for warning in self.warnings() {
            page.marked("Warning:", Color::Yellow, &format!(" {warning}"))?;
        }
        for table in &self.comparison.tables {
            self.table(page, table)?;
        }
        if let Some(limit) = self.fail_above {
            self.failure(page, limit)?;
        }
        Ok(())
    }

    fn verdict_line(&self, page: &mut Page<'_>) -> io::Result<()> {
        let text = self.verdict_sentence();
        let whole = &self.comparison.whole;
        let color = match (whole.is_significant, whole.change > 0.0) {
            (true, true) => Color::Red,
            (true, false) => Color::Green,
            (false, _) => Color::Cyan,
        };
        let end = text.find(':').map_or(text.len(), |at| at + 1);
        let (head, rest) = text.split_at(end);
        page.marked(head, color, rest)
    }

    fn failure(&self, page: &mut Page<'_>, limit: f64) -> io::Result<()> {
        let percent = super::amounts::percent;
        let text = match (self.fails(), self.worst()) {
            (true, Some((share, of))) => format!(
                " {} has grown by {} % of the whole, above {} % and beyond chance.",
                of.map_or_else(|| "the whole".to_owned(), |name| format!("`{name}`")),
                percent(share),
                percent(limit),
            ),
            _ => {
                let text = format!(
                    " nothing has grown by more than {} % of the whole beyond chance.",
                    percent(limit)
                );
                page.plain("")?;
                return page.marked("Passed:", Color::Green, &text);
            }
        };
        page.plain("")?;
        page.marked("Failed:", Color::Red, &text)
    }

    fn table(&self, page: &mut Page<'_>, table: &Table) -> io::Result<()> {
        let changed: Vec<&Row> = table.changed().collect();
        let callers: Vec<&Row> = table.changed_with_callees().collect();
        if changed.is_empty() && callers.is_empty() {
            // Said once, by the verdict.
            let is_said = !self.comparison.is_any();
            if is_said && self.comparison.tables.len() > 1 {
                return Ok(());
            }
        }
        page.plain("")?;
        let mut line = Line::default();
        if !changed.is_empty() {
            self.titles(
                &mut line,
                table,
                changed.iter().any(|row| row.times.is_some()),
            );
            page.line(&mut line)?;
            for row in changed.iter().take(self.limit) {
                self.row(page, &mut line, table, row, &row.own)?;
            }
            if changed.len() > self.limit {
                let more = changed.len() - self.limit;
                page.plain(&format!(
                    "… and {more} more that changed (`--limit` shows more)"
                ))?;
            }
        } else if !callers.is_empty() {
            self.titles(&mut line, table, false);
            page.line(&mut line)?;
            for row in callers.iter().take(self.limit.min(5)) {
                if let Some(total) = &row.total {
                    self.row(page, &mut line, table, row, total)?;
                }
            }
            page.sentence(&format!(
                "These are with callees: by itself, no {} has changed beyond chance.",
                noun(table.by)
            ))?;
        }
        if !changed.is_empty() && !callers.is_empty() {
            let mut names: Vec<String> = Vec::new();
            for row in &callers {
                let name = self.name(row);
                let name = match table.by {
                    By::Line => name.at,
                    _ => name.name,
                };
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            const MOST: usize = 6;
            let more = names.len().saturating_sub(MOST);
            names.truncate(MOST);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            page.sentence(&format!(
                "With their callees changed: {}{more}.",
                names.join(", ")
            ))?;
        }
        let other = match changed.is_empty() && callers.is_empty() {
            true => "",
            false => "other ",
        };
        let rest = match table.unclear() {
            0 => return Ok(()),
            1 => format!("1 {other}{} differs", noun(table.by)),
            count => format!("{count} {other}{}s differ", noun(table.by)),
        };
        let by_chance = match self.comparison.is_exact || table.is_counted() {
            true => "not at all",
            false => "by no more than chance",
        };
        line.push(&format!("{rest} {by_chance}."), GRAY);
        page.line(&mut line)
    }

    fn titles(&self, line: &mut Line, table: &Table, has_times: bool) {
        let what = match table.by {
            By::Function | By::Calls => "Function",
            By::Line | By::Hits => "Line",
            By::Stack => "Call path",
            By::Type => "Type",
            By::Thread => "Thread",
            By::Process => "Program",
            By::Task => "Task",
            By::Span => "Span",
            By::Kind => "Kind",
            By::Wait => "Wait",
            By::Io => "File",
        };
        let unit = match table.by {
            By::Calls => "Calls",
            By::Hits => "Runs",
            _ => "Before",
        };
        let [before, after] = match unit {
            "Before" => ["Before".to_owned(), "After".to_owned()],
            unit => [unit.to_owned(), "After".to_owned()],
        };
        line.push_fmt(
            format_args!("{before:>AMOUNT$}{after:>AMOUNT$}{:>CHANGE$}", "Change"),
            BOLD,
        );
        if self.has_margins(table) {
            line.push_fmt(format_args!("{:>MARGIN$}", "±"), BOLD);
        }
        line.push_fmt(format_args!("{:>RATIO$}", "Ratio"), BOLD);
        if has_times {
            line.push_fmt(format_args!("{:>20}", "Time per call"), BOLD);
        }
        line.push_fmt(format_args!("  {what}"), BOLD);
    }

    fn has_margins(&self, table: &Table) -> bool {
        table.rows.iter().any(|row| row.own.margin() > 0.0)
    }

    fn row(
        &self,
        page: &mut Page<'_>,
        line: &mut Line,
        table: &Table,
        row: &Row,
        shown: &Difference,
    ) -> io::Result<()> {
        let unit = table.unit;
        let color = match shown.change > 0.0 {
            true => Color::Red,
            false => Color::Green,
        };
        line.push_fmt(
            format_args!(
                "{:>AMOUNT$}{:>AMOUNT$}",
                amount(unit, shown.before),
                amount(unit, shown.after)
            ),
            Style::PLAIN,
        );
        let bold = Style {
            bold: true,
            ..Style::color(color)
        };
        line.push_fmt(
            format_args!("{:>CHANGE$}", change(unit, shown.change)),
            bold,
        );
        if self.has_margins(table) {
            let margin = format!("±{}", amount(unit, shown.margin()));
            line.push_fmt(format_args!("{margin:>MARGIN$}"), GRAY);
        }
        line.push_fmt(
            format_args!(
                "{:>RATIO$}",
                ratio(shown.before * self.factor_of(table), shown.after)
            ),
            Style::PLAIN,
        );
        if let Some([before, after]) = row.times {
            let each = |time: f64, calls: f64| match calls > 0.0 {
                true => amount(Unit::Time, time / calls),
                false => "–".to_owned(),
            };
            let text = format!(
                "{} → {}",
                each(before, row.own.before),
                each(after, row.own.after)
            );
            line.push_fmt(format_args!("{text:>20}"), GRAY);
        }
        line.push_spaces(2);
        self.push_name(page, line, table, row);
        line.truncate(page.columns);
        page.line(line)
    }

    fn factor_of(&self, table: &Table) -> f64 {
        match table.by.has_factor() {
            true => self.comparison.factor,
            false => 1.0,
        }
    }

    /// Adds a row's name, what has happened to it, and its text, as far as there is room.
    fn push_name(&self, page: &Page<'_>, line: &mut Line, table: &Table, row: &Row) {
        let name = self.name_with_text(table, row);
        let what = self.what(table, row);
        let mut room = page.columns.saturating_sub(line.width()).max(20);
        if !what.is_empty() {
            room = room.saturating_sub(width(&what) + 3).max(12);
        }
        let (first, second) = match table.by {
            By::Line | By::Hits if !name.at.is_empty() => (name.at, name.text),
            _ => (name.name, name.at),
        };
        let is_path = matches!(table.by, By::Line | By::Hits | By::Stack);
        let first = match is_path {
            true => keep_tail(&first, room),
            false => keep_head(&first, room),
        };
        room = room.saturating_sub(width(&first) + 2);
        line.push(&first, Style::PLAIN);
        if !what.is_empty() {
            line.push_fmt(format_args!(" "), Style::PLAIN);
            line.push(&format!("[{what}]"), Style::color(Color::Yellow));
        }
        if !second.is_empty() && room > 4 {
            line.push_spaces(2);
            line.push(&keep_head(&second, room), GRAY);
        }
    }
}

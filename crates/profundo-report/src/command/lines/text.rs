//! Lines as text: a block for each file, and what the blocks leave out.

use std::io;

use profundo_analysis::{Amount, FileLines, Libraries, Selection, SourceShares};

use super::Lines;
use super::table::{Columns, SourceLine, table};
use crate::command::lineless::Pools;
use crate::command::{
    BOLD, GRAY, KindColumns, heat, launched, share_width, write_empty, write_end,
};
use crate::naming::Names;
use crate::naming::source::{Source, sentences, shown};
use crate::naming::weighs::Weighs;
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::{counted, percent, plus_minus, share_of_whole};
use crate::page::width::digits;

/// Writes the report.
pub(super) fn write(view: &Lines, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
    let profile = page.profile;
    if write_empty(page, &view.options.choices, selection)? {
        return crate::quality::write(page, selection, view.options.quality);
    }
    crate::quality::write_grave(page, view.options.quality, crate::quality::SAMPLED)?;
    let (shares, _) = view.shares(profile, selection);
    let files = view.hot_files(&shares);
    let names = Names::new(profile, files.iter().map(|file| file.file));
    for file in &files {
        view.write_file(page, selection, &names, file)?;
        page.plain("")?;
    }
    view.write_rest(page, &shares, &files, &names)?;
    if Weighs::of(profile) == Weighs::Traced {
        page.sentence("Calls were counted, not lines: all the time of a function stands at its first line. `profundo trace --lines` counts lines.")?;
    }
    write_end(page, &view.options.choices, selection, view.options.quality)
}

impl Lines {
    fn write_file(
        &self,
        page: &mut Page<'_>,
        selection: &Selection,
        names: &Names<'_>,
        file: &FileLines,
    ) -> io::Result<()> {
        let profile = page.profile;
        let source = Source::of(profile, file.file, self.from_disk);
        let numbers = self.numbers(profile, file, &source);
        let mut line = Line::default();
        line.link = page.link(file.file, 0);
        let style = Style { link: true, ..BOLD };
        line.push(&names.file(file.file), style);
        if file.own.share > 0.0 {
            let share = share_of_whole(&file.own, Weighs::of(profile).whole());
            line.push_fmt(format_args!("  {share}"), Style::PLAIN);
            if !file.own.is_exact() && file.own.few.is_none() {
                line.push_fmt(format_args!(" {}", plus_minus(&file.own)), GRAY);
            }
        }
        line.truncate(page.columns);
        page.line(&mut line)?;
        let kinds = KindColumns {
            python: file.is_python,
            ..KindColumns::new(profile, selection, page.columns)
        };
        let columns = Columns {
            kinds,
            share: share_width(profile, page.columns),
            bar: if kinds.wide { 10 } else { 5 },
            number: digits(u64::from(numbers.last().copied().unwrap_or(0))).max(4),
            all: selection.weight(profile),
        };
        let indent = self.indent(profile, file, &source, &numbers);
        let text = |number: u32| source.line(profile, file.file, number);
        let table = table(self, profile, columns, text, |line, row| {
            push_source(line, row, text(row.number), indent);
        });
        table.push_titles(&mut line);
        page.line(&mut line)?;
        let mut before: Option<u32> = None;
        for &number in &numbers {
            if before.is_some_and(|before| before + 1 < number) {
                line.push_spaces(columns.before_number() + columns.number - 1);
                line.push("⋮", GRAY);
                page.line(&mut line)?;
            }
            before = Some(number);
            let row = file.lines.binary_search_by_key(&number, |row| row.line);
            let row = row.ok().map(|at| &file.lines[at]);
            let row = SourceLine {
                number,
                row,
                share: row.map_or(0.0, |row| self.share_of(row)),
                is_total: self.total,
                last: None,
            };
            line.link = page.link(file.file, number);
            table.push_row(page, &mut line, &row);
            line.truncate(page.columns);
            page.line(&mut line)?;
        }
        let has_blank =
            (numbers.iter()).any(|&number| source.line(profile, file.file, number).is_none());
        if let (true, Some(problem)) = (has_blank, source.problem) {
            line.push_fmt(format_args!("({})", problem.text()), GRAY);
            page.line(&mut line)?;
        } else {
            for sentence in sentences([(&source, names.file(file.file))]) {
                page.sentence(&sentence)?;
            }
        }
        Ok(())
    }

    /// Writes what the files that are shown leave out.
    fn write_rest(
        &self,
        page: &mut Page<'_>,
        shares: &SourceShares,
        files: &[&FileLines],
        names: &Names<'_>,
    ) -> io::Result<()> {
        if files.is_empty() {
            let text = " no line of source was seen; `functions` shows what ran.";
            page.marked("Note:", Color::Cyan, text)?;
        }
        let is_shown = |file: &FileLines| files.iter().any(|shown| shown.file == file.file);
        let left_out = shares.files.iter().filter(|file| !is_shown(file));
        let (mut count, mut amount) = (0, Amount::default());
        for file in left_out.filter(|file| file.own_amount.weight > 0) {
            count += 1;
            amount += file.own_amount;
        }
        let whole = Weighs::of(page.profile).whole();
        if count > 0 {
            page.plain(&format!(
                "In {}: {}.",
                counted(count, "more file"),
                share_of_whole(&amount.share(shares.whole), whole)
            ))?;
        }
        if shares.elsewhere.weight > 0 {
            let share = shares.elsewhere.share(shares.whole);
            let functions: Vec<String> = (shares.elsewhere_by.iter().take(3))
                .map(|(place, amount)| {
                    let share = amount.share(shares.whole);
                    let name = match place {
                        Some(place) => names.alone(*place),
                        None => self.nothing_shown().into(),
                    };
                    match share.few {
                        Some(few) => format!("{name} {}", few.part),
                        None => format!("{name} {} %", share_text(share.share)),
                    }
                })
                .collect();
            page.plain(&format!(
                "Without a line of source: {} ({}{}).",
                share_of_whole(&share, whole),
                functions.join(", "),
                if shares.elsewhere_by.len() > 3 {
                    ", …"
                } else {
                    ""
                }
            ))?;
            let pools = Pools::new(&shares.lineless, shares.whole);
            for (threads, share, at) in pools.waited_for(page.profile, names) {
                page.plain(&format!(
                    "In {threads}: {}, while {at} waited for it.",
                    share_of_whole(&share, whole)
                ))?;
            }
        }
        launched::write(page, &shares.launched, shares.whole)
    }

    /// The name of a stack of which nothing is shown, as in exports.
    fn nothing_shown(&self) -> &'static str {
        match self.options.choices.shown.libraries {
            Libraries::Hidden => "[libraries]",
            _ => "[runtime]",
        }
    }
}

/// Adds the text of a line.
fn push_source(line: &mut Line, row: &SourceLine<'_>, text: Option<&str>, indent: usize) {
    let Some(text) = text.map(shown) else { return };
    let text = text.get(indent..).unwrap_or("");
    if text.is_empty() {
        return;
    }
    line.push_spaces(2);
    let style = match row.share > 0.0 {
        true => heat(row.share),
        false => Style::PLAIN,
    };
    line.push(
        text,
        Style {
            bold: false,
            ..style
        },
    );
}

fn share_text(share: f64) -> String {
    match percent(share) {
        none if none.is_empty() => "0".to_owned(),
        text => text,
    }
}

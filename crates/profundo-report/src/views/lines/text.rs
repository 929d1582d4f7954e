//! Lines as text: a block for each file, and what the blocks leave out.

use std::io;

use profundo_analysis::{Amount, FileLines, Libraries, LineShare, Selection, SourceShares};
use profundo_model::FileId;

use super::Lines;
use crate::line::{Line, Style};
use crate::names::Names;
use crate::palette::Color;
use crate::printer::Page;
use crate::source::{Source, sentences, shown};
use crate::units::{bar, counted, percent, plus_minus, said_of, share_title};
use crate::views::lineless::Pools;
use crate::views::{
    BOLD, GRAY, KindColumns, heat, launched, push_share, share_width, write_empty, write_end,
};
use crate::weighs::Weighs;
use crate::width::digits;

impl Lines {
    pub(super) fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        let profile = page.profile;
        if write_empty(page, &self.choices, selection)? {
            return crate::quality::write(page, selection, self.quality);
        }
        crate::quality::write_grave(page, self.quality, crate::quality::SAMPLED)?;
        let shares = self.shares(profile, selection);
        let files = self.hot_files(&shares);
        let names = Names::new(profile, files.iter().map(|file| file.file));
        for file in &files {
            self.write_file(page, selection, &names, file)?;
            page.plain("")?;
        }
        self.write_rest(page, &shares, &files, &names)?;
        if Weighs::of(profile) == Weighs::Traced {
            page.sentence("Calls were counted, not lines: all the time of a function stands at its first line. `profundo trace --lines` counts lines.")?;
        }
        write_end(page, &self.choices, selection, self.quality)
    }

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
            let share = said_of(&file.own, Weighs::of(profile).whole());
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
            share: share_width(page),
            bar: if kinds.wide { 10 } else { 5 },
            number: digits(u64::from(numbers.last().copied().unwrap_or(0))).max(4),
        };
        self.write_titles(page, columns)?;
        let indent = self.indent(profile, file, &source, &numbers);
        let mut before: Option<u32> = None;
        let all = selection.weight(profile);
        for &number in &numbers {
            if before.is_some_and(|before| before + 1 < number) {
                line.push_spaces(columns.before_number() + columns.number - 1);
                line.push("⋮", GRAY);
                page.line(&mut line)?;
            }
            before = Some(number);
            let row = file.lines.binary_search_by_key(&number, |row| row.line);
            let row = row.ok().map(|at| &file.lines[at]);
            let text = source.line(profile, file.file, number);
            self.write_line(page, columns, row, all, (file.file, number), text, indent)?;
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

    fn write_titles(&self, page: &mut Page<'_>, columns: Columns) -> io::Result<()> {
        let mut line = Line::default();
        let title = match self.total {
            true => "Total %",
            false => Weighs::of(page.profile).share_title(),
        };
        let title = share_title(title, columns.kinds.few.is_some());
        line.push(title, BOLD);
        line.push_spaces((columns.share + columns.bar + 2).saturating_sub(title.len()));
        columns.kinds.push_titles(&mut line, BOLD);
        line.push_fmt(
            format_args!(" {:>1$}  Source", "Line", columns.number),
            BOLD,
        );
        page.line(&mut line)
    }

    #[expect(clippy::too_many_arguments, reason = "a row is made of many things")]
    fn write_line(
        &self,
        page: &mut Page<'_>,
        columns: Columns,
        row: Option<&LineShare>,
        all: u64,
        (file, number): (FileId, u32),
        text: Option<&str>,
        indent: usize,
    ) -> io::Result<()> {
        let mut line = Line::default();
        let share = row.map_or(0.0, |row| self.share_of(row));
        match row.filter(|_| share > 0.0) {
            Some(row) => {
                let (estimate, amount) = if self.total {
                    (&row.total, &row.total_amount)
                } else {
                    (&row.own, &row.own_amount)
                };
                push_share(&mut line, estimate, columns.share);
                let bar = match estimate.few {
                    Some(_) => String::new(),
                    None => bar(share, columns.bar),
                };
                line.push_fmt(format_args!(" {bar:<0$} ", columns.bar), heat(share));
                columns.kinds.push(&mut line, amount.split.shares(all));
            }
            None => line.push_spaces(columns.before_number() - 1),
        }
        let style = Style {
            link: true,
            ..if share > 0.0 { Style::PLAIN } else { GRAY }
        };
        line.push_fmt(format_args!(" {number:>0$}", columns.number), style);
        line.link = page.link(file, number);
        if let Some(text) = text {
            let text = shown(text);
            let text = text.get(indent..).unwrap_or("");
            if !text.is_empty() {
                line.push_spaces(2);
                let style = if share > 0.0 {
                    heat(share)
                } else {
                    Style::PLAIN
                };
                line.push(
                    text,
                    Style {
                        bold: false,
                        ..style
                    },
                );
            }
        }
        line.truncate(page.columns);
        page.line(&mut line)
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
        let is_shown = |file: &FileLines| files.iter().any(|it| it.file == file.file);
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
                said_of(&amount.share(shares.whole), whole)
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
                said_of(&share, whole),
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
                    said_of(&share, whole)
                ))?;
            }
        }
        launched::write(page, &shares.launched, shares.whole)
    }

    /// What a stack is called of which nothing is shown, as in exports.
    fn nothing_shown(&self) -> &'static str {
        match self.choices.shown.libraries {
            Libraries::Hidden => "[libraries]",
            _ => "[runtime]",
        }
    }
}

/// The columns in front of the source.
#[derive(Clone, Copy)]
struct Columns {
    kinds: KindColumns,
    share: usize,
    bar: usize,
    number: usize,
}

impl Columns {
    fn before_number(self) -> usize {
        self.share + self.bar + 3 + self.kinds.all()
    }
}

fn share_text(share: f64) -> String {
    match percent(share) {
        none if none.is_empty() => "0".to_owned(),
        text => text,
    }
}

//! The tables of the hottest lines and of the hottest functions. Below each stands what it leaves out.

use std::io;

use profundo_analysis::{Amount, Place, Selection, traced};
use profundo_model::FileId;
use rustc_hash::FxHashMap;

use super::Answers;
use crate::line::{Line, Style};
use crate::names::Names;
use crate::palette::Color;
use crate::printer::Page;
use crate::source::{Source, sentences, shown};
use crate::units::{counted, said, seconds, share_title};
use crate::views::functions::push_name;
use crate::views::lineless::Pools;
use crate::views::{BOLD, GRAY, KindColumns, push_share, share_width};
use crate::weighs::Weighs;
use crate::width::{keep_tail, width};

/// How wide the column of seconds is.
const SECONDS: usize = 8;
/// A line that has less may have its place cut for the sake of the others.
const HOT: f64 = 0.05;
/// How wide a number of calls is.
const CALLS: usize = 11;

/// The first columns of both tables: a share, the time that it is, and of what kinds.
struct Numbers {
    kinds: KindColumns,
    /// How wide a share is.
    share: usize,
    /// Whether there is a column of seconds: of few samples they would look surer than they are.
    has_seconds: bool,
    /// The time of all.
    all: u64,
}

impl Numbers {
    fn new(page: &Page<'_>, selection: &Selection, kinds: KindColumns) -> Self {
        let is_time = matches!(Weighs::of(page.profile), Weighs::Time | Weighs::Traced);
        Self {
            kinds,
            share: share_width(page),
            has_seconds: is_time && kinds.few.is_none(),
            all: selection.weight(page.profile),
        }
    }

    fn width(&self) -> usize {
        self.share + if self.has_seconds { SECONDS } else { 0 } + self.kinds.all()
    }

    fn push_titles(&self, line: &mut Line, share: &str) {
        let title = share_title(share, self.kinds.few.is_some());
        line.push_fmt(format_args!("{title:<0$}", self.share), BOLD);
        if self.has_seconds {
            line.push_fmt(format_args!("{:>SECONDS$}", "Seconds"), BOLD);
        }
        self.kinds.push_titles(line, BOLD);
    }

    fn push(&self, line: &mut Line, estimate: &profundo_analysis::Estimate, amount: &Amount) {
        push_share(line, estimate, self.share);
        if self.has_seconds {
            let seconds = seconds(amount.weight, self.all);
            line.push_fmt(format_args!("{seconds:>SECONDS$}"), Style::PLAIN);
        }
        self.kinds.push(line, amount.split.shares(self.all));
    }
}

/// Writes the hottest lines.
pub(super) fn write_lines(
    page: &mut Page<'_>,
    answers: &Answers<'_>,
    selection: &Selection,
    names: &Names<'_>,
    (kinds, from_disk): (KindColumns, bool),
) -> io::Result<()> {
    let profile = page.profile;
    let rows = &answers.lines;
    let whole = selection.mass(profile);
    let numbers = Numbers::new(page, selection, kinds);
    let pools = Pools::new(&answers.lineless, whole);
    let mut line = Line::default();
    numbers.push_titles(&mut line, "Time %");
    line.push("  Hottest lines", BOLD);
    page.line(&mut line)?;
    let at: Vec<String> = (rows.iter())
        .map(|(file, row)| format!("{}:{}", names.file(*file), row.line))
        .collect();
    let room = page.columns.saturating_sub(numbers.width() + 2).max(20);
    let longest = at.iter().map(|at| width(at)).max().unwrap_or(0);
    let hot = rows
        .iter()
        .zip(&at)
        .filter(|((_, row), _)| row.own.share >= HOT);
    let longest_hot = hot.map(|(_, at)| width(at)).max().unwrap_or(0);
    let mut sources: FxHashMap<FileId, Source> = FxHashMap::default();
    for (file, _) in rows {
        let source = || Source::of(profile, *file, from_disk);
        sources.entry(*file).or_insert_with(source);
    }
    // The place of a hot line has to be seen: its text has what is left. The others have a third of the room.
    let for_at = longest.min((room / 3).max(18).max(longest_hot.min(room * 2 / 3)));
    for ((file, row), at) in rows.iter().zip(&at) {
        numbers.push(&mut line, &row.own, &row.own_amount);
        line.push_spaces(2);
        let style = Style {
            link: true,
            ..Style::color(Color::Blue)
        };
        let at = keep_tail(at, for_at);
        line.push(&at, style);
        line.link = page.link(*file, row.line);
        line.push_spaces(for_at.saturating_sub(width(&at)) + 2);
        let text = sources[file].line(profile, *file, row.line).map(shown);
        match text.as_deref().map(str::trim_start) {
            Some(text) if !text.is_empty() => line.push(text, Style::PLAIN),
            _ => {
                line.push("in ", GRAY);
                line.push(names.function(Place::Frame(row.frame)), GRAY);
            }
        }
        line.truncate(page.columns);
        page.line(&mut line)?;
        for (row, amount) in pools.of_line(profile, *file, row.line) {
            numbers.push(&mut line, &amount.share(whole), &amount);
            line.push_spaces(2 + for_at + 2);
            line.push_fmt(format_args!("in {}", pools.threads(profile, row)), GRAY);
            line.truncate(page.columns);
            page.line(&mut line)?;
        }
    }
    let rest = pools.rest(profile, rows.iter().map(|(file, row)| (*file, row.line)));
    let others = answers.other_lines;
    let other_lines = counted(others.count as u64, "other line");
    for (amount, text) in [(others.amount, other_lines), (rest.amount, rest.text)] {
        write_others(page, &numbers, &amount, &amount.share(whole), &text, 0)?;
    }
    let shown = (sources.iter()).map(|(file, source)| (source, names.file(*file)));
    for sentence in sentences(shown) {
        page.sentence(&sentence)?;
    }
    Ok(())
}

/// Writes the hottest functions.
pub(super) fn write_functions(
    page: &mut Page<'_>,
    answers: &Answers<'_>,
    selection: &Selection,
    names: &Names<'_>,
    kinds: KindColumns,
) -> io::Result<()> {
    let calls = Weighs::of(page.profile) == Weighs::Traced;
    let calls = calls.then(|| traced(page.profile, selection));
    let numbers = Numbers::new(page, selection, kinds);
    let mut line = Line::default();
    numbers.push_titles(&mut line, "Self %");
    let total = share_title("Total %", kinds.few.is_some());
    line.push_fmt(format_args!("{total:>9}"), BOLD);
    if calls.is_some() {
        line.push_fmt(format_args!("{:>CALLS$}", "Calls"), BOLD);
    }
    line.push("  Hottest functions", BOLD);
    page.line(&mut line)?;
    let after = 9 + calls.as_ref().map_or(0, |_| CALLS);
    for row in &answers.functions {
        numbers.push(&mut line, &row.own, &row.own_amount);
        line.push_fmt(format_args!("{:>9}", said(&row.total)), Style::PLAIN);
        if let Some(calls) = &calls {
            let counted = calls.of(page.profile, row.place);
            let number = counted.map_or(0, |it| it.begun.calls);
            line.push_fmt(format_args!("{number:>CALLS$}"), Style::PLAIN);
        }
        line.push_spaces(2);
        let columns = page.columns.saturating_sub(numbers.width() + after + 2);
        push_name(page, &mut line, names, row.place, columns);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    let others = answers.other_functions;
    let text = counted(others.count as u64, "other function");
    let share = others.amount.share(selection.mass(page.profile));
    write_others(page, &numbers, &others.amount, &share, &text, after)
}

/// Writes what a table leaves out, if that is anything.
fn write_others(
    page: &mut Page<'_>,
    numbers: &Numbers,
    amount: &Amount,
    share: &profundo_analysis::Estimate,
    text: &str,
    after: usize,
) -> io::Result<()> {
    if amount.weight == 0 {
        return Ok(());
    }
    let mut line = Line::default();
    numbers.push(&mut line, share, amount);
    line.push_spaces(after + 2);
    line.push(text, GRAY);
    line.truncate(page.columns);
    page.line(&mut line)
}

//! The tables of the hottest lines and of the hottest functions. Below each stands what it leaves
//! out.

use std::io;

use profundo_analysis::{
    Amount, Estimate, FunctionShare, LineShare, Mass, Place, Selection, traced,
};
use profundo_model::{FileId, Profile};
use rustc_hash::FxHashMap;

use super::Answers;
use crate::command::functions::push_name;
use crate::command::lineless::Pools;
use crate::command::shares::{GRAY, KindColumns, push_share, share_width};
use crate::json::{Json, place, share_members};
use crate::naming::Names;
use crate::naming::source::{Source, sentences, shown};
use crate::naming::weighs::Weighs;
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::{counted, seconds as seconds_of, share_text, share_title};
use crate::page::width::{keep_tail, width};
use crate::table::{Column, Table, undrawn};

/// The width of the column of seconds.
const SECONDS: usize = 8;
/// A line that has less may have its place cut for the sake of the others.
const HOT: f64 = 0.05;
/// The width of a share with what was called.
const TOTAL: usize = 9;
/// The width of a number of calls.
const CALLS: usize = 11;

/// A row of either table: its own share, and its subject.
struct Hot<T> {
    share: Estimate,
    amount: Amount,
    of: Of<T>,
}

enum Of<T> {
    /// A line, or a function.
    One(T),
    /// A line of text that stands for the rows left out, after this many spaces.
    Others(usize, String),
}

impl<T> Hot<T> {
    fn others(share: Estimate, amount: Amount, indent: usize, text: String) -> Self {
        let of = Of::Others(indent, text);
        Self { share, amount, of }
    }

    fn one(&self) -> Option<&T> {
        match &self.of {
            Of::One(one) => Some(one),
            Of::Others(..) => None,
        }
    }

    fn json(&self) -> &T {
        self.one().expect("JSON has no row for others")
    }
}

/// The first columns of both tables: a share, the time that it is, and of what kinds.
struct Numbers {
    kinds: KindColumns,
    /// The width of a share.
    share: usize,
    /// True if there is a column of seconds: of few samples they would look surer than they are.
    has_seconds: bool,
    /// The time of all.
    all: u64,
}

impl Numbers {
    fn new(profile: &Profile, selection: &Selection, kinds: KindColumns, columns: usize) -> Self {
        let is_time = matches!(Weighs::of(profile), Weighs::Time | Weighs::Traced);
        Self {
            kinds,
            share: share_width(profile, columns),
            has_seconds: is_time && kinds.few.is_none(),
            all: selection.weight(profile),
        }
    }

    /// For JSON, which has no columns.
    fn off_screen(profile: &Profile, selection: &Selection) -> Self {
        let kinds = KindColumns::new(profile, selection, 0);
        Self::new(profile, selection, kinds, 0)
    }

    fn width(&self) -> usize {
        self.share + if self.has_seconds { SECONDS } else { 0 } + self.kinds.all()
    }

    /// The share, and in JSON the whole amount.
    fn share<'a, T: 'a>(&'a self, title: &'a str) -> Column<'a, Hot<T>> {
        let title = share_title(title, self.kinds.few.is_some());
        let share = Column::left(title, self.share).first();
        (share.draw(|_, line, row: &Hot<T>| push_share(line, &row.share, self.share))).group(
            "self_ amount",
            |json, row| {
                share_members(json, "self_", &row.share, &row.amount, self.all);
            },
        )
    }

    fn others<'a, T: 'a>(&'a self) -> Vec<Column<'a, Hot<T>>> {
        let seconds = Column::right("Seconds", SECONDS).when(self.has_seconds);
        let seconds =
            seconds.text(|row: &Hot<T>| (seconds_of(row.amount.weight, self.all), Style::PLAIN));
        let mut columns = vec![seconds];
        columns.extend(
            self.kinds
                .columns(self.all, |row: &Hot<T>| Some(&row.amount)),
        );
        columns
    }
}

/// A hot line, and where it is.
struct HotLine<'a> {
    file: FileId,
    row: &'a LineShare,
    at: &'a str,
}

/// The table of lines. `place` draws a line's place and its text; `text` is the source.
fn lines_table<'a, 'r: 'a>(
    profile: &'a Profile,
    numbers: &'a Numbers,
    place: impl Fn(&mut Page<'_>, &mut Line, &Hot<HotLine<'r>>) + 'a,
    text: impl Fn(FileId, u32) -> Option<&'a str> + 'a,
) -> Table<'a, Hot<HotLine<'r>>> {
    let place = (Column::titled("  Hottest lines").last())
        .draw(place)
        .member("file", "text", |json, key, row: &Hot<HotLine<'r>>| {
            let file = profile.files.get(row.json().file);
            json.text(key, profile.strings.get(file.path));
        })
        .member("line", "number", |json, key, row| {
            json.number(key, u64::from(row.json().row.line));
        })
        .member("function", "text?", |json, key, row| {
            json.text_or_null(key, profile.function_name(row.json().row.frame));
        });
    let share = numbers.share(Weighs::of(profile).share_title());
    let total = Column::json_only().group("total_ amount", |json, row: &Hot<HotLine<'r>>| {
        let row = row.json().row;
        share_members(json, "total_", &row.total, &row.total_amount, numbers.all);
    });
    let text =
        Column::json_only().member("text", "text?", move |json, key, row: &Hot<HotLine<'r>>| {
            let line = row.json();
            match text(line.file, line.row.line) {
                Some(text) => json.text(key, text),
                None => json.null(key),
            }
        });
    let mut columns = vec![place, share];
    columns.extend(numbers.others());
    columns.extend([total, text]);
    Table::new("summary_line", columns)
}

/// The source of the files that lines are in.
fn sources(profile: &Profile, answers: &Answers<'_>, from_disk: bool) -> FxHashMap<FileId, Source> {
    let mut sources: FxHashMap<FileId, Source> = FxHashMap::default();
    for (file, _) in &answers.lines {
        let source = || Source::of(profile, *file, from_disk);
        sources.entry(*file).or_insert_with(source);
    }
    sources
}

/// Writes the hottest lines.
pub(super) fn write_lines(
    page: &mut Page<'_>,
    answers: &Answers<'_>,
    selection: &Selection,
    names: &Names<'_>,
    kinds: KindColumns,
    from_disk: bool,
) -> io::Result<()> {
    let profile = page.profile;
    let rows = &answers.lines;
    let whole = selection.mass(profile);
    let numbers = Numbers::new(profile, selection, kinds, page.columns);
    let pools = Pools::new(&answers.lineless, whole);
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
    // The place of a hot line has to be seen: its text has what is left. The others have a third of
    // the room.
    let for_at = longest.min((room / 3).max(18).max(longest_hot.min(room * 2 / 3)));
    let sources = sources(profile, answers, from_disk);
    let text = |file: FileId, line: u32| sources[&file].line(profile, file, line);
    let draw = |page: &mut Page<'_>, line: &mut Line, row: &Hot<HotLine<'_>>| {
        line.push_spaces(2);
        let hot = match &row.of {
            Of::One(hot) => hot,
            Of::Others(indent, words) => {
                line.push_spaces(*indent);
                return line.push(words, GRAY);
            }
        };
        let style = Style {
            link: true,
            ..Style::color(Color::Blue)
        };
        let at = keep_tail(hot.at, for_at);
        line.push(&at, style);
        line.link = page.link(hot.file, hot.row.line);
        line.push_spaces(for_at.saturating_sub(width(&at)) + 2);
        let text = text(hot.file, hot.row.line).map(shown);
        match text.as_deref().map(str::trim_start) {
            Some(text) if !text.is_empty() => line.push(text, Style::PLAIN),
            _ => {
                line.push("in ", GRAY);
                line.push(names.function(Place::Frame(hot.row.frame)), GRAY);
            }
        }
    };
    let table = lines_table(profile, &numbers, draw, text);
    let mut line = Line::default();
    table.push_titles(&mut line);
    page.line(&mut line)?;
    for ((file, row), at) in rows.iter().zip(&at) {
        let hot = HotLine {
            file: *file,
            row,
            at,
        };
        write_row(
            page,
            &table,
            &Hot {
                share: row.own,
                amount: row.own_amount,
                of: Of::One(hot),
            },
        )?;
        for (pool, amount) in pools.of_line(profile, *file, row.line) {
            let text = format!("in {}", pools.threads(profile, pool));
            // It stands below the text of the line.
            let row = Hot::others(amount.share(whole), amount, for_at + 2, text);
            write_row(page, &table, &row)?;
        }
    }
    let rest = pools.rest(profile, rows.iter().map(|(file, row)| (*file, row.line)));
    let others = answers.other_lines;
    let other_lines = counted(others.count as u64, "other line");
    for (amount, text) in [(others.amount, other_lines), (rest.amount, rest.text)] {
        write_others(page, &table, amount, whole, text)?;
    }
    let shown = (sources.iter()).map(|(file, source)| (source, names.file(*file)));
    for sentence in sentences(shown) {
        page.sentence(&sentence)?;
    }
    Ok(())
}

/// Writes the hottest lines as JSON.
pub(super) fn lines_members(
    json: &mut Json<'_>,
    profile: &Profile,
    answers: &Answers<'_>,
    selection: &Selection,
    from_disk: bool,
) {
    let numbers = Numbers::off_screen(profile, selection);
    let sources = sources(profile, answers, from_disk);
    let text = |file: FileId, line: u32| sources[&file].line(profile, file, line);
    let table = lines_table(profile, &numbers, undrawn, text);
    for (file, row) in &answers.lines {
        let of = Of::One(HotLine {
            file: *file,
            row,
            at: "",
        });
        let (share, amount) = (row.own, row.own_amount);
        json.row("", |json| {
            table.members(json, &Hot { share, amount, of });
        });
    }
}

/// A hot function, and how often it was called where that was counted.
struct HotFunction<'a> {
    row: &'a FunctionShare,
    calls: Option<u64>,
}

/// The table of functions. `name` draws its name and where it is.
fn functions_table<'a, 'r: 'a>(
    profile: &'a Profile,
    numbers: &'a Numbers,
    name: impl Fn(&mut Page<'_>, &mut Line, &Hot<HotFunction<'r>>) + 'a,
) -> Table<'a, Hot<HotFunction<'r>>> {
    let name = (Column::titled("  Hottest functions").last())
        .draw(name)
        .group("place", |json, row: &Hot<HotFunction<'r>>| {
            place(json, profile, row.json().row.place);
        });
    let share = numbers.share("Self %");
    let total = share_title("Total %", numbers.kinds.few.is_some());
    let total = Column::right(total, TOTAL)
        .text(|row: &Hot<HotFunction<'r>>| {
            let total = row.one().map(|function| share_text(&function.row.total));
            (total.unwrap_or_default(), Style::PLAIN)
        })
        .group("total_ amount", |json, row| {
            let row = row.json().row;
            share_members(json, "total_", &row.total, &row.total_amount, numbers.all);
        });
    let calls = Column::right("Calls", CALLS)
        .when(Weighs::of(profile) == Weighs::Traced)
        .text(|row: &Hot<HotFunction<'r>>| {
            let calls = row.one().and_then(|function| function.calls);
            let text = calls.map_or(String::new(), |calls| calls.to_string());
            (text, Style::PLAIN)
        });
    let mut columns = vec![name, share];
    columns.extend(numbers.others());
    columns.extend([total, calls]);
    Table::new("function", columns)
}

/// Writes the hottest functions.
pub(super) fn write_functions(
    page: &mut Page<'_>,
    answers: &Answers<'_>,
    selection: &Selection,
    names: &Names<'_>,
    kinds: KindColumns,
) -> io::Result<()> {
    let profile = page.profile;
    let calls = Weighs::of(profile) == Weighs::Traced;
    let calls = calls.then(|| traced(profile, selection));
    let numbers = Numbers::new(profile, selection, kinds, page.columns);
    let taken = numbers.width() + TOTAL + calls.as_ref().map_or(0, |_| CALLS) + 2;
    let draw = |page: &mut Page<'_>, line: &mut Line, row: &Hot<HotFunction<'_>>| {
        line.push_spaces(2);
        match &row.of {
            Of::One(hot) => {
                let columns = page.columns.saturating_sub(taken);
                push_name(page, line, names, hot.row.place, columns);
            }
            Of::Others(_, words) => line.push(words, GRAY),
        }
    };
    let table = functions_table(profile, &numbers, draw);
    let mut line = Line::default();
    table.push_titles(&mut line);
    page.line(&mut line)?;
    for row in &answers.functions {
        let calls = (calls.as_ref())
            .map(|table| (table.of(profile, row.place)).map_or(0, |counted| counted.begun.calls));
        write_row(
            page,
            &table,
            &Hot {
                share: row.own,
                amount: row.own_amount,
                of: Of::One(HotFunction { row, calls }),
            },
        )?;
    }
    let others = answers.other_functions;
    let text = counted(others.count as u64, "other function");
    write_others(page, &table, others.amount, selection.mass(profile), text)
}

/// Writes the hottest functions as JSON.
pub(super) fn functions_members(
    json: &mut Json<'_>,
    profile: &Profile,
    answers: &Answers<'_>,
    selection: &Selection,
) {
    let numbers = Numbers::off_screen(profile, selection);
    let table = functions_table(profile, &numbers, undrawn);
    for row in &answers.functions {
        let of = Of::One(HotFunction { row, calls: None });
        let (share, amount) = (row.own, row.own_amount);
        json.row("", |json| {
            table.members(json, &Hot { share, amount, of });
        });
    }
}

fn write_row<T>(page: &mut Page<'_>, table: &Table<'_, Hot<T>>, row: &Hot<T>) -> io::Result<()> {
    let mut line = Line::default();
    table.push_row(page, &mut line, row);
    line.truncate(page.columns);
    page.line(&mut line)
}

/// Writes what a table leaves out, if that is anything.
fn write_others<T>(
    page: &mut Page<'_>,
    table: &Table<'_, Hot<T>>,
    amount: Amount,
    whole: Mass,
    text: String,
) -> io::Result<()> {
    if amount.weight == 0 {
        return Ok(());
    }
    write_row(
        page,
        table,
        &Hot::others(amount.share(whole), amount, 0, text),
    )
}

#[cfg(test)]
pub(in crate::command) fn schemas() -> Vec<(&'static str, Vec<String>)> {
    let profile = Profile::default();
    let selection = crate::Choices::command().select(&profile);
    let numbers = Numbers::off_screen(&profile, &selection);
    vec![
        lines_table(&profile, &numbers, undrawn, |_, _| None).schema(),
        functions_table(&profile, &numbers, undrawn).schema(),
    ]
}

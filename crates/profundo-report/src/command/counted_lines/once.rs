//! Reports where it is only known which lines were run at all: marks instead of figures, and the
//! number of each, as in coverage tools.

use std::collections::BTreeMap;
use std::io;

use profundo_analysis::{CountedLine, LinesOfFunction};
use profundo_model::{FileId, Profile};

use super::{end, kept};
use crate::command::{BOLD, GRAY};
use crate::naming::source::{Source, shown};
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;

/// The marks beside a line that was run, and beside one that has code and was not.
const MARKS: [&str; 2] = [">", "!"];

/// The number of lines with code, and of those that were run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Ran {
    pub run: u64,
    pub all: u64,
}

impl Ran {
    pub(super) fn of<'a>(lines: impl IntoIterator<Item = &'a CountedLine>) -> Self {
        let mut ran = Self::default();
        for line in lines {
            ran.all += 1;
            ran.run += u64::from(line.hits > 0);
        }
        ran
    }

    fn words(self) -> String {
        let Self { run, all } = self;
        match all {
            1 => format!("{run} of 1 line ran"),
            _ => format!("{run} of {all} lines ran"),
        }
    }
}

/// The lines of each file that ran: those of a class are also lines of the module or function
/// around it.
pub(super) fn by_file(profile: &Profile, functions: &[LinesOfFunction]) -> Vec<(FileId, Ran)> {
    let mut files: Vec<(FileId, BTreeMap<u32, CountedLine>)> = Vec::new();
    for function in functions {
        let file = profile.frames.get(function.frame).file;
        if files.last().is_none_or(|last| last.0 != file) {
            files.push((file, BTreeMap::new()));
        }
        let Some((_, lines)) = files.last_mut() else {
            continue;
        };
        for line in &function.lines {
            let known = lines.entry(line.line).or_default();
            known.hits = known.hits.max(line.hits);
        }
    }
    let ran = |lines: BTreeMap<u32, CountedLine>| Ran::of(lines.values());
    let files = files.into_iter();
    files.map(|(file, lines)| (file, ran(lines))).collect()
}

/// Writes all functions, file by file.
pub(super) fn write(
    page: &mut Page<'_>,
    functions: &[LinesOfFunction],
    from_disk: bool,
) -> io::Result<()> {
    let profile = page.profile;
    let mut line = Line::default();
    for (file, ran) in by_file(profile, functions) {
        let source = Source::of(profile, file, from_disk);
        let of_file = |function: &&LinesOfFunction| profile.frames.get(function.frame).file == file;
        line.push("File: ", Style::PLAIN);
        let path = profile.strings.get(profile.files.get(file).path);
        line.push(path, Style::LINK);
        line.link = page.link(file, 1);
        line.push(&format!(": {}", ran.words()), BOLD);
        page.line(&mut line)?;
        if let Some(problem) = source.problem.filter(|_| kept(profile, file) == 0) {
            page.plain(&format!("({})", problem.text()))?;
        }
        page.plain("")?;
        for function in functions.iter().filter(of_file) {
            write_function(page, function, file, &source)?;
        }
    }
    page.plain(
        "`>` was run, `!` has code and was not; how often, and for how long, was not counted.",
    )
}

fn write_function(
    page: &mut Page<'_>,
    function: &LinesOfFunction,
    file: FileId,
    source: &Source,
) -> io::Result<()> {
    let profile = page.profile;
    let ran = Ran::of(&function.lines);
    let mut line = Line::default();
    line.push("Function: ", Style::PLAIN);
    line.push(profile.function_name(function.frame), BOLD);
    line.push(&format!(" at line {}: ", function.first), Style::PLAIN);
    let words = match ran.run {
        0 => "never ran".to_owned(),
        _ => ran.words(),
    };
    line.push(&words, Style::PLAIN);
    page.line(&mut line)?;
    let text = |number: u32| source.line(profile, file, number).map(shown);
    for number in function.first..=end(function, text) {
        let at = function
            .lines
            .binary_search_by_key(&number, |line| line.line);
        let text = text(number);
        if at.is_err() && text.is_none() {
            continue;
        }
        line.push_fmt(format_args!("{number:>6} "), GRAY);
        match at.map(|at| function.lines[at].hits > 0) {
            Ok(true) => line.push(MARKS[0], Style::PLAIN),
            Ok(false) => line.push(MARKS[1], Style::color(Color::Red)),
            Err(_) => line.push(" ", Style::PLAIN),
        }
        line.push(" ", Style::PLAIN);
        line.push(&text.unwrap_or_default(), Style::PLAIN);
        if page.breaks {
            line.truncate(page.columns);
        }
        page.line(&mut line)?;
    }
    page.plain("")
}

//! Lines, each run of which was counted, in the columns of Python's line_profiler.

use std::cmp::Reverse;
use std::collections::BTreeSet;
mod once;

use std::io;

use profundo_analysis::{CountedLine, LinesOfFunction, Selection, traced_lines};
use profundo_model::{Clock, FileId, Profile, Tracing};

use super::{BOLD, GRAY, NextStep, View, ViewOptions, heat, write_next};
use crate::json::Json;
use crate::naming::source::{Source, shown};
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::printf_g::printf_g;
use crate::page::units::{counted, duration};
use crate::quality;

/// The lines of functions, each with how often it was run and for how long.
#[derive(Debug, Clone)]
pub struct CountedLines {
    options: ViewOptions,
    limit: usize,
    from_disk: bool,
    next: Vec<NextStep>,
    of: Option<(String, u32)>,
    without_lines: bool,
}

impl Default for CountedLines {
    fn default() -> Self {
        Self {
            options: ViewOptions::default(),
            limit: usize::MAX,
            from_disk: true,
            next: Vec::new(),
            of: None,
            without_lines: false,
        }
    }
}

/// The unit of times: microseconds, as in line_profiler.
const UNIT: f64 = 1e-6;

/// The least widths of the columns: the line's number, hits, time, time of a hit, share.
const WIDTHS: [usize; 5] = [6, 9, 12, 8, 8];

impl CountedLines {
    /// All functions whose lines were counted.
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows only this many functions: those that took most.
    pub fn limit(mut self, functions: usize) -> Self {
        self.limit = functions;
        self
    }

    /// Sets whether source that the profile does not carry is looked for on the disk.
    pub fn from_disk(mut self, from_disk: bool) -> Self {
        self.from_disk = from_disk;
        self
    }

    /// The commands to type next, from the caller.
    pub fn next(mut self, steps: impl IntoIterator<Item = NextStep>) -> Self {
        self.next = steps.into_iter().collect();
        self
    }

    /// Keeps only the function that begins at this line of this file; line 0 is all of the file's.
    pub fn of(mut self, file: &str, line: u32) -> Self {
        self.of = Some((file.to_owned(), line));
        self
    }

    /// Leaves the lines of functions out of the JSON.
    pub fn without_lines(mut self, without_lines: bool) -> Self {
        self.without_lines = without_lines;
        self
    }

    /// The functions that are shown, in their order, and how many are left out.
    fn functions(&self, profile: &Profile) -> (Vec<LinesOfFunction>, usize) {
        let mut functions = traced_lines(profile, &self.options.choices.filter);
        if let Some((file, line)) = &self.of {
            functions.retain(|function| {
                profile.file_path(function.frame) == file && (*line == 0 || function.first == *line)
            });
        }
        let all = functions.len();
        let mut best: Vec<usize> = (0..all).collect();
        best.sort_by_key(|&at| {
            let function = &functions[at];
            let hits = function
                .lines
                .iter()
                .fold(0_u64, |sum, line| sum.saturating_add(line.hits));
            (Reverse(function.time()), Reverse(hits), at)
        });
        let mut is_shown = vec![false; all];
        for &at in best.iter().take(self.limit) {
            is_shown[at] = true;
        }
        let shown = functions.into_iter().zip(is_shown);
        let shown: Vec<LinesOfFunction> = shown
            .filter_map(|(function, is_shown)| is_shown.then_some(function))
            .collect();
        let left_out = all - shown.len();
        (shown, left_out)
    }

    fn write_function(&self, page: &mut Page<'_>, function: &LinesOfFunction) -> io::Result<()> {
        let profile = page.profile;
        let file = profile.frames.get(function.frame).file;
        let source = Source::of(profile, file, self.from_disk);
        let time = function.time();
        let mut line = Line::default();
        if is_timed(profile) {
            line.push("Total time: ", Style::PLAIN);
            line.push(&format!("{} s", printf_g(time as f64 * 1e-9, 6)), BOLD);
            page.line(&mut line)?;
        }
        line.push("File: ", Style::PLAIN);
        line.push(profile.file_path(function.frame), Style::LINK);
        line.link = page.link(file, function.first);
        page.line(&mut line)?;
        line.push("Function: ", Style::PLAIN);
        line.push(profile.function_name(function.frame), BOLD);
        line.push(&format!(" at line {}", function.first), Style::PLAIN);
        page.line(&mut line)?;
        if let Some(problem) = source.problem.filter(|_| kept(profile, file) == 0) {
            page.plain(&format!("({})", problem.text()))?;
        }
        page.plain("")?;
        self.write_lines(page, function, file, &source, time)?;
        page.plain("")
    }

    fn write_lines(
        &self,
        page: &mut Page<'_>,
        function: &LinesOfFunction,
        file: FileId,
        source: &Source,
        time: u64,
    ) -> io::Result<()> {
        let profile = page.profile;
        let cells: Vec<[String; 4]> = function
            .lines
            .iter()
            .map(|line| cells(line, time))
            .collect();
        let mut widths = WIDTHS;
        for row in &cells {
            for (width, cell) in widths[1..].iter_mut().zip(row) {
                *width = (*width).max(cell.len());
            }
        }
        // Its number and its hits, and all that is known of its time.
        let columns = if is_timed(profile) { widths.len() } else { 2 };
        let widths = &widths[..columns];
        let mut line = Line::default();
        let titles = ["Line #", "Hits", "Time", "Per Hit", "% Time"];
        let mut head = String::new();
        for (title, &width) in titles.into_iter().zip(widths) {
            head += &format!("{title:>width$} ");
        }
        head += " Line Contents";
        line.push(&head, BOLD);
        page.line(&mut line)?;
        page.plain(&"=".repeat(head.len()))?;
        let text = |number: u32| source.line(profile, file, number).map(shown);
        for number in numbers(profile, function, file, source, end(function, text)) {
            let at = function
                .lines
                .binary_search_by_key(&number, |line| line.line);
            let text = text(number);
            if at.is_err() && text.is_none() {
                continue;
            }
            line.push_fmt(format_args!("{number:>width$}", width = widths[0]), GRAY);
            match at {
                Ok(at) => {
                    let share = function.lines[at].time as f64 / time.max(1) as f64;
                    for (column, (cell, width)) in cells[at].iter().zip(&widths[1..]).enumerate() {
                        let style = if column == 0 {
                            Style::PLAIN
                        } else {
                            heat(share)
                        };
                        line.push_fmt(format_args!(" {cell:>width$}"), style);
                    }
                }
                Err(_) => line.push_spaces(widths[1..].iter().map(|width| width + 1).sum()),
            }
            line.push_spaces(2);
            line.push(&text.unwrap_or_default(), Style::PLAIN);
            if page.breaks {
                line.truncate(page.columns);
            }
            page.line(&mut line)?;
        }
        Ok(())
    }
}

impl View for CountedLines {
    fn name(&self) -> &'static str {
        "counted_lines"
    }

    fn options(&self) -> &ViewOptions {
        &self.options
    }

    fn options_mut(&mut self) -> &mut ViewOptions {
        &mut self.options
    }

    fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        let profile = page.profile;
        let (functions, left_out) = self.functions(profile);
        if functions.is_empty() {
            let text = match self.options.choices.words() {
                _ if profile.traced.lines.is_empty() && profile.traced.tracing.is_of_lines() => {
                    " no lines were counted.".into()
                }
                Some(_) if !self.options.choices.filter.is_timeless() => {
                    " nobody knows which thread or task ran a line, or when: lines can be chosen by process, file and function.".into()
                }
                Some(words) if !profile.traced.lines.is_empty() => {
                    format!(" no lines pass the filter: {words}.")
                }
                _ => " no lines were counted in this recording: `profundo trace --lines` counts them.".into(),
            };
            page.marked("Warning:", Color::Yellow, &text)?;
            return match profile.traced.lines.is_empty() {
                true => quality::write_notes(page, self.options.quality),
                false => Ok(()),
            };
        }
        quality::write_missing(page, self.options.quality)?;
        if is_once(profile) {
            once::write(page, &functions, self.from_disk)?;
        } else {
            if is_timed(profile) {
                page.plain(&format!("Timer unit: {} s", printf_g(UNIT, 6)))?;
                page.plain("")?;
            }
            for function in &functions {
                self.write_function(page, function)?;
            }
        }
        if let Some(how) = how_timed(profile, selection) {
            page.sentence(&how)?;
        }
        if left_out > 0 {
            page.plain(&format!("… and {left_out} more"))?;
        }
        quality::write_notes(page, self.options.quality)?;
        write_next(page, &self.next)
    }

    fn members(&self, profile: &Profile, _: &Selection, json: &mut Json<'_>) {
        let (functions, left_out) = self.functions(profile);
        json.array("functions", |json| {
            for function in &functions {
                let file = profile.frames.get(function.frame).file;
                let source = Source::of(profile, file, self.from_disk);
                json.object("", |json| {
                    json.text("function", profile.function_name(function.frame));
                    json.text_or_null("file", profile.file_path(function.frame));
                    json.number("line", u64::from(function.first));
                    let time = |nanos| is_timed(profile).then_some(nanos);
                    json.seconds("seconds", time(function.time()));
                    if is_once(profile) {
                        let ran = once::Ran::of(&function.lines);
                        json.number("lines_run", ran.run);
                        json.number("lines_with_code", ran.all);
                    }
                    json.array("lines", |json| {
                        for line in function.lines.iter().filter(|_| !self.without_lines) {
                            json.row("", |json| {
                                json.number("line", u64::from(line.line));
                                json.number("hits", line.hits);
                                json.seconds("seconds", time(line.time));
                                let text = source.line(profile, file, line.line);
                                json.text_or_null("text", text.unwrap_or_default().trim_end());
                            });
                        }
                    });
                });
            }
        });
        json.number("functions_left_out", left_out as u64);
    }
}

/// True if the profile only knows which lines were run at all.
fn is_once(profile: &Profile) -> bool {
    profile.traced.tracing == Tracing::LinesOnce
}

/// A sentence on the source of the times, where a reader might take them for something else.
fn how_timed(profile: &Profile, selection: &Selection) -> Option<String> {
    match profile.traced.tracing {
        Tracing::SampledLines => Some(format!(
            "Times: hits are exact; times are those of {} of CPU time{}, so small ones are rough.",
            counted(selection.len() as u64, "sample"),
            match profile.meta.period.0 {
                0 => String::new(),
                period => format!(", one about every {}", duration(period)),
            }
        )),
        Tracing::Lines if is_timed(profile) => Some(
            "Tracing: what the counting itself takes is in the times, as it is in line_profiler's; nothing is taken off.".to_owned(),
        ),
        _ => None,
    }
}

/// True if times were measured, and calls not only counted.
fn is_timed(profile: &Profile) -> bool {
    profile.traced.clock != Clock::None
}

/// The number of a file's lines that the profile keeps.
fn kept(profile: &Profile, file: FileId) -> usize {
    profile.sources.iter().filter(|row| row.0 == file).count()
}

/// Hits, time, time of a hit and share, as line_profiler writes them: where a number is too long
/// for its column, in short.
fn cells(line: &CountedLine, time: u64) -> [String; 4] {
    let scale = 1e-9 / UNIT;
    let fit = |number: f64, width: usize| match format!("{number:>5.1}") {
        text if text.len() > width => format!("{:>5}", printf_g(number, 3)),
        text => text,
    };
    let hits = match line.hits.to_string() {
        text if text.len() > WIDTHS[1] => printf_g(line.hits as f64, 6),
        text => text,
    };
    let took = line.time as f64 * scale;
    let each = match line.hits {
        0 => String::new(),
        hits => fit(took / hits as f64, WIDTHS[3]),
    };
    let share = match time {
        0 => String::new(),
        all => format!("{:>5.1}", 100.0 * line.time as f64 / all as f64),
    };
    [hits, fit(took, WIDTHS[2]), each, share]
}

/// The shown lines of a function, until the last one. Numbers are from the recording, and may be
/// any.
fn numbers(
    profile: &Profile,
    function: &LinesOfFunction,
    file: FileId,
    source: &Source,
    end: u32,
) -> BTreeSet<u32> {
    let on_disk = function.first..=end.min(source.len().unwrap_or(0));
    let of_file = profile.sources.iter().filter(|row| row.0 == file);
    let kept = of_file.map(|(_, number, _)| number);
    let run = function.lines.iter().map(|line| line.line);
    let all = on_disk.chain(kept).chain(run);
    all.filter(|number| (function.first..=end).contains(number))
        .collect()
}

/// The last line of a function: the last one that was run, or a later one up to which all lines are
/// indented more than the first.
fn end(function: &LinesOfFunction, text: impl Fn(u32) -> Option<String>) -> u32 {
    let last_run = function.lines.last().map_or(0, |line| line.line);
    let mut end = last_run.max(function.first);
    let indent = |text: &str| text.len() - text.trim_start_matches(' ').len();
    // What is no function, such as a module, has no indented body.
    let Some(first) = text(function.first).filter(|text| {
        ["def ", "async def ", "@"]
            .iter()
            .any(|start| text.trim_start().starts_with(start))
    }) else {
        return end;
    };
    let base = indent(&first);
    for next in end.saturating_add(1)..=u32::MAX {
        let Some(line) = text(next) else { break };
        if !line.is_empty() {
            if indent(&line) <= base {
                break;
            }
            end = next;
        }
    }
    end
}

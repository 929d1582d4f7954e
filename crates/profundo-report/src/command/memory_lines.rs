//! The source with the memory at each line and what the line added, in the columns of Python's
//! memory_profiler.
//!
//! The table is that tool's to the letter, so that what reads one reads the other: `Occurrences`
//! stays blank, since they were not counted. How sure the increments are stands below all tables.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::RangeInclusive;

use profundo_analysis::{
    FunctionMemory, LineMemory, Selection, Whole, has_allocations, memory_by_line,
};
use profundo_model::{FileId, Profile};
use rustc_hash::FxHashSet;

use super::{View, ViewOptions};
use crate::json::Json;
use crate::naming::Names;
use crate::naming::source::Source;
use crate::page::Page;
use crate::page::palette::Color;
use crate::quality::how_allocations;

/// The memory at each line, and what it added.
#[derive(Debug, Clone)]
pub struct MemoryLines {
    options: ViewOptions,
    limit: usize,
    from_disk: bool,
}

impl Default for MemoryLines {
    fn default() -> Self {
        Self {
            options: ViewOptions::default(),
            limit: 10,
            from_disk: true,
        }
    }
}

impl MemoryLines {
    /// The functions of the reader's own that took most.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of functions that are shown at most.
    pub fn limit(mut self, functions: usize) -> Self {
        self.limit = functions;
        self
    }

    /// Sets whether source that the profile does not carry is looked for on the disk.
    pub fn from_disk(mut self, from_disk: bool) -> Self {
        self.from_disk = from_disk;
        self
    }

    fn functions(&self, profile: &Profile) -> Vec<FunctionMemory> {
        let choices = &self.options.choices;
        let mut functions = memory_by_line(profile, &choices.filter, choices.shown);
        // What was never written to a file has no lines to be shown.
        let has_file = |function: &FunctionMemory| {
            let file = profile.files.get(function.file);
            !profile.strings.get(file.path).starts_with('<')
        };
        functions.retain(|function| function.most() > 0 && has_file(function));
        functions.truncate(self.limit);
        functions
    }

    /// Writes one table for the functions of a file, in the order of their lines.
    fn write_file(
        &self,
        page: &mut Page<'_>,
        file: FileId,
        functions: &[&FunctionMemory],
    ) -> io::Result<()> {
        let profile = page.profile;
        let source = Source::of(profile, file, self.from_disk);
        let path = profile.strings.get(profile.files.get(file).path);
        page.plain(&format!("Filename: {path}"))?;
        page.plain("")?;
        let header = row(
            "Line #",
            "Mem usage",
            "Increment",
            "Occurrences",
            "Line Contents",
        );
        page.plain(&header)?;
        page.plain(&"=".repeat(header.len()))?;
        let mut seen: BTreeMap<u32, LineMemory> = BTreeMap::new();
        for line in functions.iter().flat_map(|function| &function.lines) {
            let known = seen.entry(line.line).or_insert(*line);
            if known.increment.value < line.increment.value {
                *known = *line;
            }
        }
        let numbers = functions
            .iter()
            .map(|function| lines_of(profile, function, &source));
        for number in numbers.flatten().collect::<BTreeSet<u32>>() {
            let text = source.line(profile, file, number).unwrap_or("");
            let (heap, increment) = match seen.get(&number) {
                Some(line) => (mebibytes(line.heap), mebibytes(line.increment.value)),
                None => (String::new(), String::new()),
            };
            page.plain(&row(&number.to_string(), &heap, &increment, "", text))?;
        }
        page.plain("")?;
        page.plain("")
    }
}

impl View for MemoryLines {
    fn name(&self) -> &'static str {
        "memory_lines"
    }

    fn options(&self) -> &ViewOptions {
        &self.options
    }

    fn options_mut(&mut self) -> &mut ViewOptions {
        &mut self.options
    }

    fn text(&self, page: &mut Page<'_>, _: &Selection) -> io::Result<()> {
        let profile = page.profile;
        if !has_allocations(profile) {
            let text = crate::command::allocs::why_none(profile);
            return page.marked("Warning:", Color::Yellow, text);
        }
        let functions = self.functions(profile);
        if functions.is_empty() {
            let words = self.options.choices.words();
            let text = words.map_or(
                " no line of your own has allocated anything.".into(),
                |filter| {
                    format!(
                        " no line of your own has allocated anything that passes the filter: {filter}."
                    )
                },
            );
            return page.marked("Warning:", Color::Yellow, &text);
        }
        crate::quality::write_grave(page, self.options.quality, &[Whole::Allocated])?;
        let mut files: Vec<FileId> = functions.iter().map(|function| function.file).collect();
        let mut known = FxHashSet::default();
        files.retain(|file| known.insert(*file));
        for file in files {
            let of_file: Vec<&FunctionMemory> = functions
                .iter()
                .filter(|function| function.file == file)
                .collect();
            self.write_file(page, file, &of_file)?;
        }
        write_ranges(page, &functions)?;
        if self.options.quality != Some(false) {
            let heap = &profile.heap;
            let records = match heap.sites.is_empty() {
                true => heap.blocks.len() as u64,
                false => heap.sites.iter().map(|site| site.allocated.count).sum(),
            };
            page.sentence(&how_allocations(
                page.profile,
                heap.sampling,
                heap.coarsest(),
                records,
            ))?;
        }
        Ok(())
    }

    fn members(&self, profile: &Profile, _: &Selection, json: &mut Json<'_>) {
        json.array("functions", |json| {
            for function in &self.functions(profile) {
                let path = profile.strings.get(profile.files.get(function.file).path);
                let source = Source::of(profile, function.file, self.from_disk);
                json.object("", |json| {
                    json.text_or_null("function", profile.strings.get(function.function));
                    json.text("file", path);
                    json.array("lines", |json| {
                        for line in &function.lines {
                            let text = source.line(profile, function.file, line.line);
                            json.row("", |json| line_members(json, line, text));
                        }
                    });
                });
            }
        });
    }
}

fn line_members(json: &mut Json<'_>, line: &LineMemory, text: Option<&str>) {
    json.number("line", u64::from(line.line));
    json.number("heap_bytes", line.heap);
    json.number("increment_bytes", line.increment.value);
    if !line.increment.is_exact() {
        json.number("increment_bytes_low", line.increment.low);
        json.number("increment_bytes_high", line.increment.high);
    }
    match text {
        Some(text) => json.text("text", text),
        None => json.null("text"),
    }
}

/// Writes how sure the increments are, where they are estimates.
fn write_ranges(page: &mut Page<'_>, functions: &[FunctionMemory]) -> io::Result<()> {
    let names = Names::new(page.profile, functions.iter().map(|function| function.file));
    let mut is_first = true;
    for function in functions {
        let unsure = (function.lines.iter())
            .filter(|line| line.increment.value > 0 && !line.increment.is_exact());
        for line in unsure {
            if std::mem::replace(&mut is_first, false) {
                page.plain("Increments are estimates; 95 of 100 such ranges hold the true one:")?;
            }
            let (low, high) = (line.increment.low, line.increment.high);
            page.plain(&format!(
                "{} to {}  {}:{}",
                mebibytes(low),
                mebibytes(high).trim_start(),
                names.file(function.file),
                line.line
            ))?;
        }
    }
    if is_first { Ok(()) } else { page.plain("") }
}

/// One line of the table.
fn row(number: &str, heap: &str, increment: &str, occurrences: &str, text: &str) -> String {
    // The text is kept as it is, with all that follows its last word.
    format!("{number:>6} {heap:>12} {increment:>12}  {occurrences:>10}   {text}")
}

fn mebibytes(bytes: u64) -> String {
    format!("{:7.3} MiB", bytes as f64 / f64::from(1 << 20))
}

/// The lines of a function: from its decorators to its end where the source is known, else those
/// that were seen.
fn lines_of(profile: &Profile, function: &FunctionMemory, source: &Source) -> RangeInclusive<u32> {
    let seen = |line: Option<&LineMemory>| line.map_or(1, |line| line.line);
    let (first, last) = (seen(function.lines.first()), seen(function.lines.last()));
    let text = |number: u32| source.line(profile, function.file, number);
    let name = profile.strings.get(function.function);
    let name = name.rsplit('.').next().unwrap_or(name);
    let heads = [format!("def {name}("), format!("async def {name}(")];
    let is_head = |number: &u32| {
        let text = text(*number).unwrap_or("").trim_start();
        heads.iter().any(|head| text.starts_with(head))
    };
    let head = (1..=first).rev().find(is_head);
    let Some(head) = head.filter(|_| function.is_python) else {
        return first..=last;
    };
    let indent = |text: &str| text.len() - text.trim_start().len();
    let depth = text(head).map_or(0, indent);
    let is_decorator = |number: &u32| {
        let text = text(*number).unwrap_or("");
        text.trim_start().starts_with('@') && indent(text) == depth
    };
    let start = (1..head).rev().take_while(is_decorator).last();
    let is_inside = |text: &str| text.trim().is_empty() || indent(text) > depth;
    let inside = (last + 1..).map_while(|number| text(number).map(|text| (number, text)));
    let inside = inside.take_while(|(_, text)| is_inside(text));
    let end = inside.filter(|(_, text)| !text.trim().is_empty()).last();
    start.unwrap_or(head)..=end.map_or(last, |(number, _)| number)
}

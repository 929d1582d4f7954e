//! The source with a share per line, the hottest files first.

mod json;
mod table;
mod text;

use std::io;

use profundo_analysis::{
    FileLines, Libraries, LineShare, LinesOptions, Selection, SourceShares, lines, lines_joined,
};
use profundo_model::Profile;

#[cfg(test)]
pub(super) use table::schema;

use super::{View, ViewOptions};
use crate::json::Json;
use crate::naming::source::{Source, shown};
use crate::naming::statements::Statements;
use crate::page::Page;

/// The source with a share per line.
#[derive(Debug, Clone)]
pub struct Lines {
    options: ViewOptions,
    all_lines: bool,
    total: bool,
    libraries: bool,
    context: u32,
    min_share: f64,
    limit: usize,
    from_disk: bool,
    statements: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            options: ViewOptions::default(),
            all_lines: false,
            total: false,
            libraries: false,
            context: 2,
            min_share: 0.005,
            limit: 10,
            from_disk: true,
            statements: false,
        }
    }
}

impl Lines {
    /// The hot lines of the reader's own files. Where no such line is on a stack, the time is that
    /// of the innermost line of a library, unless the choice is [`Libraries::Hidden`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether lines of libraries have time of their own, even where a line of the reader's
    /// own called them.
    pub fn libraries(mut self, libraries: bool) -> Self {
        self.libraries = libraries;
        self
    }

    /// Sets whether files are shown whole, cold lines too.
    pub fn all_lines(mut self, all_lines: bool) -> Self {
        self.all_lines = all_lines;
        self
    }

    /// Sets whether a line's share is that of all samples with it on their stack, instead of that
    /// of the samples in which it is the innermost.
    pub fn total(mut self, total: bool) -> Self {
        self.total = total;
        self
    }

    /// Sets the number of lines that are shown around a hot one.
    pub fn context(mut self, context: u32) -> Self {
        self.context = context;
        self
    }

    /// The share from which on a line is hot, as 0.01 for one percent.
    pub fn min_share(mut self, min_share: f64) -> Self {
        self.min_share = min_share;
        self
    }

    /// Sets the number of files that are shown at most.
    pub fn limit(mut self, files: usize) -> Self {
        self.limit = files;
        self
    }

    /// Sets whether source that the profile does not carry is looked for on the disk.
    pub fn from_disk(mut self, from_disk: bool) -> Self {
        self.from_disk = from_disk;
        self
    }

    /// Sets whether a statement that stands on several lines counts as one, at its first line.
    pub fn statements(mut self, statements: bool) -> Self {
        self.statements = statements;
        self
    }

    fn shares<'a>(
        &self,
        profile: &'a Profile,
        selection: &Selection,
    ) -> (SourceShares, Statements<'a>) {
        let mut shown = self.options.choices.shown;
        if shown.libraries == Libraries::Shown && !self.libraries {
            shown.libraries = Libraries::Folded;
        }
        let options = LinesOptions {
            shown,
            files: self.options.choices.filter.files.clone(),
        };
        let statements = Statements::new(profile, self.statements, self.from_disk);
        let shares = match self.statements {
            true => lines_joined(profile, selection, &options, |file, line| {
                statements.first(file, line)
            }),
            false => lines(profile, selection, &options),
        };
        (shares, statements)
    }

    fn share_of(&self, line: &LineShare) -> f64 {
        if self.total {
            line.total.share
        } else {
            line.own.share
        }
    }

    fn is_hot(&self, line: &LineShare) -> bool {
        let share = self.share_of(line);
        share > 0.0 && share >= self.min_share
    }

    /// The files with a hot line. Those without any are only counted.
    fn hot_files<'a>(&self, shares: &'a SourceShares) -> Vec<&'a FileLines> {
        let is_hot = |file: &&FileLines| file.lines.iter().any(|line| self.is_hot(line));
        (shares.files.iter().filter(is_hot))
            .take(self.limit)
            .collect()
    }

    /// The lines of a file that are shown.
    fn numbers(&self, profile: &Profile, file: &FileLines, source: &Source) -> Vec<u32> {
        if self.all_lines {
            let seen = file.lines.iter().map(|line| line.line);
            let kept = profile.sources.iter().filter(|row| row.0 == file.file);
            let on_disk = 1..=source.len().unwrap_or(0);
            let mut numbers: Vec<u32> = on_disk.chain(seen).chain(kept.map(|row| row.1)).collect();
            numbers.sort_unstable();
            numbers.dedup();
            return numbers;
        }
        let mut numbers: Vec<u32> = Vec::new();
        for line in file.lines.iter().filter(|line| self.is_hot(line)) {
            let first = line.line.saturating_sub(self.context).max(1);
            let last = line.line.saturating_add(self.context);
            let start = numbers.last().map_or(first, |&done| first.max(done + 1));
            // Neighbours are shown as far as their text is known.
            numbers.extend((start..=last).filter(|&number| {
                number == line.line || source.line(profile, file.file, number).is_some()
            }));
        }
        numbers
    }

    /// The number of columns that all shown lines are indented by.
    fn indent(
        &self,
        profile: &Profile,
        file: &FileLines,
        source: &Source,
        numbers: &[u32],
    ) -> usize {
        if self.all_lines {
            return 0;
        }
        let indents = (numbers.iter())
            .filter_map(|&number| source.line(profile, file.file, number))
            .map(shown)
            .filter(|text| !text.is_empty())
            .map(|text| text.len() - text.trim_start_matches(' ').len());
        indents.min().unwrap_or(0)
    }
}

impl View for Lines {
    fn name(&self) -> &'static str {
        "lines"
    }

    fn options(&self) -> &ViewOptions {
        &self.options
    }

    fn options_mut(&mut self) -> &mut ViewOptions {
        &mut self.options
    }

    fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        text::write(self, page, selection)
    }

    fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        json::members(self, profile, selection, json)
    }
}

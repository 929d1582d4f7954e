//! Allocations: by line and by function, their holders at the peak, and probable leaks.

mod json;
mod table;
mod text;

use std::io;

use profundo_analysis::{
    Allocations, HeapOptions, Libraries, LinesOptions, Place, Selection, allocations,
    allocations_joined, has_allocations, records_allocations,
};
use profundo_model::Profile;

use super::{View, ViewOptions};
use crate::Choices;
use crate::json::Json;
use crate::naming::Names;
use crate::naming::statements::Statements;
use crate::page::Page;

pub(super) use json::memory_members;
pub(super) use text::{unreachable, write_memory};

/// A report on allocations, by line and by function.
#[derive(Debug, Clone)]
pub struct Allocs {
    options: ViewOptions,
    limit: usize,
    small_rows: bool,
    from_disk: bool,
    statements: bool,
    of_type: Option<String>,
    rows: usize,
}

impl Default for Allocs {
    fn default() -> Self {
        Self {
            options: ViewOptions::default(),
            limit: 20,
            small_rows: false,
            from_disk: true,
            statements: false,
            of_type: None,
            rows: usize::MAX,
        }
    }
}

impl Allocs {
    /// The lines and functions that have allocated most.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of rows that each table has at most.
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = rows;
        self
    }

    /// Sets whether rows that only one or two samples support are shown one by one, as far as
    /// [`limit`](Self::limit) goes.
    pub fn small_rows(mut self, small_rows: bool) -> Self {
        self.small_rows = small_rows;
        self
    }

    /// Sets the number of rows that each table has in JSON, which otherwise has all.
    pub fn rows(mut self, rows: usize) -> Self {
        self.rows = rows;
        self
    }

    /// Keeps only blocks of one type, by the name that the table of types has for it.
    pub fn of_type(mut self, name: impl Into<Option<String>>) -> Self {
        self.of_type = name.into();
        self
    }

    /// Sets whether a statement that stands on several lines counts as one, at its first line.
    pub fn statements(mut self, statements: bool) -> Self {
        self.statements = statements;
        self
    }

    /// Sets whether source that the profile does not carry is looked for on the disk.
    pub fn from_disk(mut self, from_disk: bool) -> Self {
        self.from_disk = from_disk;
        self
    }
}

impl View for Allocs {
    fn name(&self) -> &'static str {
        "allocs"
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

/// The reason why there are no allocations to show.
pub(super) fn why_none(profile: &Profile) -> &'static str {
    match records_allocations(profile) {
        true => " no allocation was sampled: the program made none, or only a few small ones.",
        false => " what is allocated was not recorded: that wants `--memory`.",
    }
}

/// The allocations that pass the filter; `None` where allocations were not recorded.
pub(super) fn of(profile: &Profile, choices: &Choices) -> Option<Allocations> {
    has_allocations(profile).then(|| allocations(profile, &choices.filter, &options(choices, None)))
}

fn options(choices: &Choices, of_type: Option<String>) -> HeapOptions {
    HeapOptions {
        lines: lines_that_allocate(choices),
        of_type,
        ..HeapOptions::default()
    }
}

/// The lines that are charged with allocations.
pub fn lines_that_allocate(choices: &Choices) -> LinesOptions {
    let mut shown = choices.shown;
    // The user cannot change a library's line.
    if shown.libraries == Libraries::Shown {
        shown.libraries = Libraries::Folded;
    }
    LinesOptions {
        shown,
        files: choices.filter.files.clone(),
    }
}

/// The places that the report names.
pub(super) fn places(found: &Allocations) -> impl Iterator<Item = Place> + '_ {
    let functions = found.functions.iter().filter_map(|row| row.of);
    let copies = found.copies.iter().filter_map(|row| row.of);
    (found.lines.iter().filter_map(|row| row.of))
        .chain(functions)
        .chain(copies)
}

fn names<'a>(profile: &'a Profile, found: &Allocations) -> Names<'a> {
    Names::of_places(profile, places(found))
}

impl Allocs {
    fn statements_of<'a>(&self, profile: &'a Profile) -> Statements<'a> {
        Statements::new(profile, self.statements, self.from_disk)
    }

    fn found(&self, profile: &Profile, statements: &Statements<'_>) -> Option<Allocations> {
        let choices = &self.options.choices;
        let options = options(choices, self.of_type.clone());
        has_allocations(profile).then(|| match statements.is_asked() {
            true => allocations_joined(profile, &choices.filter, &options, |file, line| {
                statements.first(file, line)
            }),
            false => allocations(profile, &choices.filter, &options),
        })
    }
}

#[cfg(test)]
pub(super) fn schemas() -> Vec<(&'static str, Vec<String>)> {
    use crate::table::undrawn;
    let (profile, found) = (Profile::default(), Allocations::default());
    let statements = Statements::none(&profile);
    let known = table::Known::new(&found, 0);
    vec![
        table::held(known).schema(),
        table::lines(known, &statements, 0, undrawn).schema(),
        table::functions(known, &statements, undrawn).schema(),
        table::types(known, undrawn).schema(),
        table::threads(known, &profile).schema(),
        table::processes(known, &profile).schema(),
        table::leaks(&statements, undrawn).schema(),
        table::unreachable(&found, &statements, undrawn).schema(),
        table::copied(0.0).schema(),
        table::copies(&found, &statements, undrawn).schema(),
    ]
}

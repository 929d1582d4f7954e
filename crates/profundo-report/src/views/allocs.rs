//! What was allocated: by line and by function, who held it at the peak, and what seems to leak.

mod json;
mod text;

use profundo_analysis::{
    Allocations, HeapOptions, Libraries, LinesOptions, Place, Selection, allocations,
    has_allocations,
};
use profundo_model::Profile;

use super::view;
use crate::names::Names;
use crate::{Choices, Look};

pub(super) use json::memory_members;
pub(super) use text::{unreachable, write_memory};

/// What was allocated, by line and by function.
#[derive(Debug, Clone)]
pub struct Allocs {
    choices: Choices,
    look: Look,
    quality: Option<bool>,
    limit: usize,
    small_rows: bool,
    from_disk: bool,
}

impl Default for Allocs {
    fn default() -> Self {
        Self {
            choices: Choices::command(),
            look: Look::default(),
            quality: None,
            limit: 20,
            small_rows: false,
            from_disk: true,
        }
    }
}

view!(Allocs);

impl Allocs {
    /// The lines and functions that have allocated most.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many rows each table has at most.
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = rows;
        self
    }

    /// Whether rows that only one or two samples support are shown one by one, as far as [`limit`](Self::limit) goes.
    pub fn small_rows(mut self, small_rows: bool) -> Self {
        self.small_rows = small_rows;
        self
    }

    /// Whether source that the profile does not carry is looked for on the disk.
    pub fn from_disk(mut self, from_disk: bool) -> Self {
        self.from_disk = from_disk;
        self
    }

    fn report(&self) -> &'static str {
        "allocs"
    }
}

/// What was allocated, as far as it passes the filter; `None` where that was not recorded.
pub(super) fn of(profile: &Profile, choices: &Choices) -> Option<Allocations> {
    has_allocations(profile).then(|| {
        let mut shown = choices.shown;
        // A line of a library is nobody's to change.
        if shown.libraries == Libraries::Shown {
            shown.libraries = Libraries::Folded;
        }
        let options = HeapOptions {
            lines: LinesOptions {
                shown,
                files: choices.filter.files.clone(),
            },
            ..HeapOptions::default()
        };
        allocations(profile, &choices.filter, &options)
    })
}

/// The places that are spoken of.
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
    fn found(&self, profile: &Profile, _: &Selection) -> Option<Allocations> {
        of(profile, &self.choices)
    }
}

//! Functions that the file asks its readers to hide with all that they call: the allocator's below
//! the function that allocates. `drop_frames` is the pattern of their names, and `keep_frames` that
//! of exceptions.

use regex::Regex;

use super::tables::{Line, Tables};
use crate::Builder;
use crate::code::parameters::without_parameters;

/// The patterns.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    /// By function.
    is_hidden: Vec<bool>,
}

/// The hidden part of a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hides {
    Nothing,
    /// So many functions that were inlined there. What it calls is hidden, too.
    Inlined(usize),
    /// The whole location.
    All,
}

impl Hidden {
    pub(super) fn new(tables: &Tables<'_>, builder: &mut Builder) -> Self {
        let mut pattern = |id| {
            let text = tables.text(id);
            if text.is_empty() {
                return None;
            }
            let whole = Regex::new(&format!("^(?:{text})$"));
            if whole.is_err() {
                builder.note("the file asks to hide functions, by a pattern that cannot be read");
            }
            whole.ok()
        };
        let Some(drop) = pattern(tables.drop_frames) else {
            return Self::default();
        };
        let keep = pattern(tables.keep_frames);
        let is_hidden = |name: &str| {
            let name = without_parameters(name);
            !name.is_empty()
                && drop.is_match(name)
                && !keep.as_ref().is_some_and(|keep| keep.is_match(name))
        };
        let names = tables.functions.iter().map(|row| tables.text(row.name));
        Self {
            is_hidden: names.map(|name| is_hidden(&name)).collect(),
        }
    }

    /// The hidden part of a location with these lines, the innermost first.
    pub(super) fn part_of(&self, lines: &[Line]) -> Hides {
        let is_hidden = |line: &Line| {
            let function = line.function.and_then(|at| self.is_hidden.get(at));
            function.is_some_and(|&is_hidden| is_hidden)
        };
        match lines.iter().rposition(is_hidden) {
            None => Hides::Nothing,
            Some(at) if at + 1 == lines.len() => Hides::All,
            Some(at) => Hides::Inlined(at + 1),
        }
    }
}

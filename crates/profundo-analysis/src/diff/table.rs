//! The tables: what has changed, row by row.

use super::test::Difference;
use super::{By, Unit};
use crate::Place;

/// What has happened to the code of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Nothing that is known of.
    None,
    /// It is only after.
    New,
    /// It is only before.
    Gone,
    /// It is in another file, or at another line.
    Moved,
    /// The text of the line is another one.
    Edited,
    /// The function had this name.
    Renamed(String),
}

/// What a row is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The name, where it is no place.
    pub name: Option<String>,
    /// The place before: in the profile of that run.
    pub before: Option<(usize, Place)>,
    /// The place after.
    pub after: Option<(usize, Place)>,
}

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What it is about.
    pub of: Subject,
    /// What has happened to its code.
    pub what: Change,
    /// Its own amount.
    pub own: Difference,
    /// With callees, where that is another amount.
    pub total: Option<Difference>,
    /// The nanoseconds of all calls before and after, of one run, where they were counted.
    pub times: Option<[f64; 2]>,
}

impl Row {
    /// Whether the row has changed, with its callees or without.
    pub fn is_significant(&self) -> bool {
        self.own.is_significant || self.total.is_some_and(|total| total.is_significant)
    }
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its rows.
    pub by: By,
    /// The unit of amounts.
    pub unit: Unit,
    /// True if amounts are no parts of the whole.
    pub is_count: bool,
    /// The rows: the largest changes first, then those that only changed with their callees, then
    /// chance.
    pub rows: Vec<Row>,
}

impl Table {
    /// Whether each row was counted, so that no chance is in it. The bytes of a file are estimated
    /// from samples.
    pub fn is_counted(&self) -> bool {
        matches!(self.by, By::Calls | By::Hits)
    }

    /// Rows whose own amount has changed.
    pub fn changed(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.own.is_significant)
    }

    /// Rows that have changed with their callees only.
    pub fn changed_with_callees(&self) -> impl Iterator<Item = &Row> {
        let rows = self.rows.iter().filter(|row| !row.own.is_significant);
        rows.filter(|row| row.is_significant())
    }

    /// The number of rows without a change.
    pub fn unclear(&self) -> usize {
        self.rows.iter().filter(|row| !row.is_significant()).count()
    }

    pub(super) fn own_differences(&mut self) -> impl Iterator<Item = &mut Difference> {
        let rows = self.rows.iter_mut().map(|row| &mut row.own);
        rows.filter(|own| own.before.max(own.after) > 0.0)
    }

    pub(super) fn total_differences(&mut self) -> impl Iterator<Item = &mut Difference> {
        self.rows.iter_mut().filter_map(|row| row.total.as_mut())
    }

    pub(super) fn sort(&mut self) {
        self.rows.sort_by(|a, b| {
            let rank = |row: &Row| (!row.own.is_significant, !row.is_significant());
            let size = |row: &Row| match (row.own.is_significant, row.total) {
                (false, Some(total)) if total.is_significant => total.change.abs(),
                _ => row.own.change.abs(),
            };
            (rank(a).cmp(&rank(b))).then(size(b).total_cmp(&size(a)))
        });
    }
}

//! Marks by column: what lies so near that it cannot be told apart is one.

use profundo_model::{Profile, StringId};

use super::Window;
use crate::Filter;
use crate::admit::Admitted;

/// A mark, or several of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkBox {
    /// The name of the first.
    pub name: StringId,
    /// The time of the first.
    pub time: u64,
    /// Their number.
    pub count: u64,
}

/// The marks of a window that pass, in the order of time.
pub fn marks(profile: &Profile, filter: &Filter, window: Window) -> Vec<MarkBox> {
    let admitted = Admitted::new(profile, filter);
    let (from, to) = (window.from, window.to());
    let passing = (profile.spans.marks.iter())
        .filter(|mark| (from..to).contains(&mark.time.0))
        .filter(|mark| admitted.owner(mark.thread, mark.task, mark.span));
    let mut all: Vec<MarkBox> = passing
        .map(|mark| MarkBox {
            name: mark.name,
            time: mark.time.0,
            count: 1,
        })
        .collect();
    all.sort_by_key(|mark| mark.time);
    all.dedup_by(|later, first| {
        let is_same = window.column(later.time) == window.column(first.time);
        first.count += if is_same { later.count } else { 0 };
        is_same
    });
    all
}

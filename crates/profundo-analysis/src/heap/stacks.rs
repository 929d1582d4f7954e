//! The allocations by shown stack. Stacks that differ in hidden frames alone, or in places of one
//! line, are one row.

use profundo_model::{FileId, Profile, StackId, StringId};
use rustc_hash::FxHashMap;

use super::allocations::HeapRow;
use super::figure::Holding;
use crate::{Place, Shown, each_shown_stack};

/// The allocations of one stack.
#[derive(Debug, Clone, PartialEq)]
pub struct HeapStack {
    /// The shown places, the innermost first. None where all of them are hidden.
    pub of: Vec<Place>,
    /// The amounts.
    pub held: Holding,
}

/// A place as far as a reader tells it from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Line(StringId, FileId, u32),
    Other(u32),
}

impl Key {
    fn of(profile: &Profile, place: Place) -> Self {
        match place {
            Place::Frame(frame) => {
                let row = profile.frames.get(frame);
                Self::Line(row.function, row.file, row.line)
            }
            other => Self::Other(other.key()),
        }
    }
}

/// The rows of [`Allocations::stacks`](crate::Allocations) by their shown part, the one that
/// allocated most first.
pub fn by_shown_stack(
    profile: &Profile,
    rows: &[HeapRow<StackId>],
    shown: Shown,
) -> Vec<HeapStack> {
    let mut at: FxHashMap<Vec<Key>, usize> = FxHashMap::default();
    let mut found: Vec<HeapStack> = Vec::new();
    let mut next = rows.iter();
    let stacks = rows.iter().map(|row| row.of);
    each_shown_stack(profile, stacks, shown, |_, path| {
        let Some(row) = next.next() else {
            return;
        };
        let key = path.iter().map(|&(place, _)| Key::of(profile, place));
        let at = *at.entry(key.collect()).or_insert_with(|| {
            found.push(HeapStack {
                of: path.iter().rev().map(|&(place, _)| place).collect(),
                held: Holding::default(),
            });
            found.len() - 1
        });
        found[at].held += row.held;
    });
    found.sort_by(|a, b| {
        let (a, b) = (a.held.allocated.weight(), b.held.allocated.weight());
        b.total_cmp(&a)
    });
    found
}

//! The stacks and frames behind sums.

use rustc_hash::FxHashSet;

use super::matching;
use super::plan::Part;
use super::sums::files;
use crate::ids::Id;
use crate::store::Store;
use crate::table::{FrameRow, StackRow, Table};
use crate::texts::Texts;
use crate::{Error, Query};

/// The definitions of a part.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    pub(super) texts: Texts,
    pub(super) stacks: Vec<StackRow>,
    pub(super) frames: Vec<FrameRow>,
    /// What could not be read.
    pub(super) told: Vec<String>,
}

/// The wanted stacks, and their frames.
pub(super) fn read(
    store: &dyn Store,
    query: &Query,
    part: &Part,
    wanted: &FxHashSet<Id>,
) -> Result<Definitions, Error> {
    let mut found = Definitions::default();
    if wanted.is_empty() {
        return Ok(found);
    }
    let (mut stacks, mut frames) = (FxHashSet::default(), FxHashSet::default());
    for entry in files(store, part, StackRow::NAME)? {
        let into = (&mut found.texts, &mut found.told);
        matching::rows::<StackRow>((store, query), &entry, into, |group, rows, texts| {
            for row in StackRow::read(group, rows, texts)? {
                if wanted.contains(&row.stack) && stacks.insert(row.stack) {
                    frames.extend(row.frames.iter().copied());
                    found.stacks.push(row);
                }
            }
            Ok(())
        })?;
    }
    for entry in files(store, part, FrameRow::NAME)? {
        let into = (&mut found.texts, &mut found.told);
        matching::rows::<FrameRow>((store, query), &entry, into, |group, rows, texts| {
            let rows = FrameRow::read(group, rows, texts)?.into_iter();
            found
                .frames
                .extend(rows.filter(|row| frames.remove(&row.frame)));
            Ok(())
        })?;
    }
    if stacks.len() < wanted.len() || !frames.is_empty() {
        // They are lost, or the hour was removed between its samples and here.
        part.is_there(store)?;
    }
    Ok(found)
}

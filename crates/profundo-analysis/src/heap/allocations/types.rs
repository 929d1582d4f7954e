//! Allocations by their contents, found once for each stack.

use profundo_model::{Profile, StackId};
use rustc_hash::FxHashMap;

use super::{HeapRow, Holding, Sum, Table};
use crate::held::{Held, held, needs_debug_info};

/// Rows in the making.
#[derive(Default)]
pub(super) struct Types {
    /// By stack, its contents, and whether debug information would reveal them.
    known: FxHashMap<StackId, (Held, bool)>,
    table: TypeTable,
    needs_debug_info: Sum,
}

type TypeTable = Table<Held, Held>;

impl Types {
    /// The contents of blocks of a stack, and whether debug information would reveal them.
    pub fn of(&mut self, profile: &Profile, stack: StackId) -> &(Held, bool) {
        self.known.entry(stack).or_insert_with(|| {
            let held = held(profile, stack);
            let is_unknown = held.type_name.is_empty() && needs_debug_info(profile, stack);
            (held, is_unknown)
        })
    }

    pub fn add(&mut self, profile: &Profile, stack: StackId, holding: &Holding) {
        let (of, is_unknown) = self.of(profile, stack).clone();
        self.table.add(of.clone(), of, holding);
        if is_unknown {
            self.needs_debug_info += holding.allocated;
        }
    }

    /// Nothing if no type is known at all, and debug information would not help.
    pub fn sorted(self) -> (Vec<HeapRow<Held>>, Sum) {
        let rows = self.table.sorted();
        let is_known = rows.iter().any(|row| !row.of.type_name.is_empty());
        let rows = if is_known { rows } else { Vec::new() };
        (rows, self.needs_debug_info)
    }
}

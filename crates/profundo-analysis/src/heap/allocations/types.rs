//! What was allocated, by what it holds: asked once for each stack.

use profundo_model::{Profile, StackId};
use rustc_hash::FxHashMap;

use super::{HeapRow, Holding, Sum, Table};
use crate::held::{Held, held, is_held_untold};

/// Rows in the making.
#[derive(Default)]
pub(super) struct Types {
    /// Of a stack: what it holds, and whether debug information would tell.
    known: FxHashMap<StackId, (Held, bool)>,
    table: TypeTable,
    untold: Sum,
}

type TypeTable = Table<Held, Held>;

impl Types {
    pub fn add(&mut self, profile: &Profile, stack: StackId, holding: &Holding) {
        let (of, is_untold) = self.known.entry(stack).or_insert_with(|| {
            let held = held(profile, stack);
            let is_untold = held.type_name.is_empty() && is_held_untold(profile, stack);
            (held, is_untold)
        });
        self.table.add(of.clone(), of.clone(), holding);
        if *is_untold {
            self.untold += holding.allocated;
        }
    }

    /// Nothing if no type is known at all, and none would be.
    pub fn sorted(self) -> (Vec<HeapRow<Held>>, Sum) {
        let rows = self.table.sorted();
        let is_known = rows.iter().any(|row| !row.of.type_name.is_empty());
        let rows = if is_known { rows } else { Vec::new() };
        (rows, self.untold)
    }
}

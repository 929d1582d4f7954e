//! What the descriptors of a process are, as far as its samples were in calls on them.

use profundo_model::{Profile, StringId};
use profundo_wire::Opened;
use rustc_hash::{FxHashMap, FxHashSet};

/// A process may open as many files as it likes. Beyond so many, those that are new have no name.
const MOST: usize = 4096;

/// The files of one process.
#[derive(Debug, Default)]
pub(crate) struct Files {
    open: FxHashMap<u32, StringId>,
    names: FxHashSet<StringId>,
}

impl Files {
    /// From now on a descriptor is what was told.
    pub(crate) fn open(&mut self, profile: &mut Profile, told: &Opened<'_>) {
        let name = told.name();
        let known = profile.strings.find(&name);
        let is_known = known.is_some_and(|known| self.names.contains(&known));
        if !is_known && self.names.len() >= MOST {
            self.open.remove(&told.descriptor);
            return;
        }
        let name = profile.strings.intern(&name);
        self.names.insert(name);
        self.open.insert(told.descriptor, name);
    }

    /// What a descriptor is.
    pub(crate) fn get(&self, descriptor: u32) -> Option<StringId> {
        self.open.get(&descriptor).copied()
    }
}

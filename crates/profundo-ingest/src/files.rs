//! What the descriptors of a process are, as far as its samples were in calls on them.

use profundo_model::{Profile, StringId};
use profundo_wire::Opened;
use rustc_hash::{FxHashMap, FxHashSet};

/// A process may open as many files as it likes. Beyond so many, those that are new have no name.
const MOST: usize = 4096;

/// The files of one process.
#[derive(Debug, Default)]
pub(crate) struct Files {
    open: FxHashMap<u32, Open>,
    names: FxHashSet<StringId>,
}

/// What a descriptor is.
#[derive(Debug)]
struct Open {
    name: StringId,
    /// The first call that it is true of, by the cycle counter.
    since: u64,
    /// What is said of earlier ones.
    before: StringId,
}

impl Files {
    /// A descriptor is what was told.
    pub(crate) fn open(&mut self, profile: &mut Profile, told: &Opened<'_>) {
        let Some(name) = self.name(profile, &told.name()) else {
            self.open.remove(&told.descriptor);
            return;
        };
        // What it is again it has been all the time.
        let known = self.open.get(&told.descriptor);
        if known.is_some_and(|known| known.name == name) {
            return;
        }
        let before = self.name(profile, &format!("descriptor {}", told.descriptor));
        let open = Open {
            name,
            since: told.since,
            before: before.unwrap_or_default(),
        };
        self.open.insert(told.descriptor, open);
    }

    /// What a descriptor was at a call.
    pub(crate) fn get(&self, descriptor: u32, clock: u64) -> Option<StringId> {
        let open = self.open.get(&descriptor)?;
        Some(if clock >= open.since {
            open.name
        } else {
            open.before
        })
    }

    fn name(&mut self, profile: &mut Profile, text: &str) -> Option<StringId> {
        let known = profile.strings.find(text);
        if let Some(known) = known.filter(|known| self.names.contains(known)) {
            return Some(known);
        }
        if self.names.len() >= MOST {
            return None;
        }
        let name = profile.strings.intern(text);
        self.names.insert(name);
        Some(name)
    }
}

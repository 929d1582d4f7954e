//! The files behind a process's descriptors, as far as its samples were in calls on them.

use profundo_model::{Profile, StringId};
use profundo_wire::Opened;
use rustc_hash::{FxHashMap, FxHashSet};

/// The limit of files of a process. Later files have no name.
const MOST: usize = 4096;

/// The files of one process.
#[derive(Debug, Default)]
pub(crate) struct Files {
    open: FxHashMap<u32, Open>,
    names: FxHashSet<StringId>,
}

/// The file behind a descriptor.
#[derive(Debug)]
struct Open {
    name: StringId,
    /// The first call that it holds for, by the cycle counter.
    since: u64,
    /// The name for earlier calls.
    before: StringId,
}

impl Files {
    /// Takes in the file behind a descriptor.
    pub(crate) fn open(&mut self, profile: &mut Profile, opened: &Opened<'_>) {
        let Some(name) = self.name(profile, &opened.name()) else {
            self.open.remove(&opened.descriptor);
            return;
        };
        // If it is the same file again, it was so all the time.
        let known = self.open.get(&opened.descriptor);
        if known.is_some_and(|known| known.name == name) {
            return;
        }
        let before = self.name(profile, &format!("descriptor {}", opened.descriptor));
        let open = Open {
            name,
            since: opened.since,
            before: before.unwrap_or_default(),
        };
        self.open.insert(opened.descriptor, open);
    }

    /// The file behind a descriptor at a call.
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

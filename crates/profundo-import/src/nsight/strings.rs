//! The strings of a report, and its threads, whose numbers have the process in them.

use profundo_model::ThreadId;
use rustc_hash::FxHashMap;

use super::sqlite::Database;
use crate::Builder;

/// The strings of a report by their numbers.
#[derive(Debug, Default)]
pub(super) struct Strings {
    strings: FxHashMap<u64, String>,
    /// The names of threads.
    threads: FxHashMap<u64, u64>,
    known: FxHashMap<u64, ThreadId>,
}

impl Strings {
    /// Reads them. The second answer is whether the tables were whole.
    pub(super) fn read(database: &Database<'_>) -> (Self, bool) {
        let mut strings = Self::default();
        let mut is_whole = database.rows("StringIds", ["id", "value"], |[id, value]| {
            strings
                .strings
                .insert(id.number(), value.text().into_owned());
        });
        let columns = ["globalTid", "nameId"];
        is_whole &= database.rows("ThreadNames", columns, |[thread, name]| {
            strings.threads.insert(thread.number(), name.number());
        });
        (strings, is_whole)
    }

    pub(super) fn get(&self, id: u64) -> &str {
        self.strings.get(&id).map_or("", |text| text)
    }
}

/// The process of a thread's number.
pub(super) fn pid_of(global: u64) -> u32 {
    (global >> 24 & 0xff_ffff) as u32
}

/// The thread of a number.
pub(super) fn thread(builder: &mut Builder, strings: &mut Strings, global: u64) -> ThreadId {
    if let Some(&known) = strings.known.get(&global) {
        return known;
    }
    let name = strings.threads.get(&global).copied();
    let name = name.map_or("", |name| strings.get(name));
    let id = builder.thread(pid_of(global), global & 0xff_ffff, name);
    strings.known.insert(global, id);
    id
}

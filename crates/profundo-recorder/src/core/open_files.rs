//! The names of files that system calls were on, by the descriptors of the calls.

use std::collections::HashMap;

use profundo_linux::clock::Scale;
use profundo_linux::sys;
use profundo_process::reading::{file, open_file};
use profundo_wire::{Reader, Record, opened_words};

/// The time for which a descriptor is assumed to refer to the same file, in nanoseconds.
const SAME: u64 = 100_000_000;

/// The names of open files.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles {
    /// The times at which descriptors of processes were last seen open, by process and descriptor.
    seen: HashMap<(u32, u32), u64>,
}

impl OpenFiles {
    /// Names the descriptors of the calls in these words, in words that come before them.
    pub(crate) fn name<'a>(
        &mut self,
        pid: u32,
        scale: &Scale,
        chunks: impl Iterator<Item = &'a [u64]>,
    ) -> Vec<u64> {
        /// The largest number of look-ups in one turn.
        const MOST: usize = 64;
        /// The largest number of remembered descriptors.
        const MOST_SEEN: usize = 1 << 14;
        let mut met: Vec<u32> = Vec::new();
        let records = chunks.flat_map(Reader::new).map_while(Result::ok);
        for record in records {
            if let Record::Call(call) = record
                && !met.contains(&call.descriptor)
                && met.len() < MOST
            {
                met.push(call.descriptor);
            }
        }
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let since = scale.cycles_at(now.saturating_sub(SAME));
        if self.seen.len() > MOST_SEEN {
            self.seen.clear();
        }
        let mut words = Vec::new();
        for descriptor in met {
            let seen = self.seen.entry((pid, descriptor)).or_default();
            let name = match open_file(pid, u64::from(descriptor)) {
                Some(name) => {
                    *seen = now;
                    name
                }
                // Closed just now: its name holds for calls until then.
                None if now - *seen < SAME => continue,
                None => file(pid, u64::from(descriptor)),
            };
            words.extend(opened_words(descriptor, since, &name));
        }
        words
    }
}

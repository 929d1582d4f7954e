//! The memory that programs share with the recorder: the session's directory, the rings, the unwind
//! tables, and the words drained last.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use profundo_linux::clock::Scale;
use profundo_linux::container::Numbers;
use profundo_linux::sys;
use profundo_probe::shared::ring_state;
use profundo_process::modules::Store;
use profundo_session::{Directory, Rings};

use super::open_files::OpenFiles;
use crate::agent::Words;

/// The shared memory.
pub(crate) struct Transport {
    pub(crate) rings: Rings,
    pub(crate) store: Store,
    pub(crate) directory: Arc<Directory>,
    /// The numbers by which the programs know themselves.
    pub(crate) numbers: Numbers,
    /// The doorbell's count when rings were drained last.
    pub(crate) bell: u32,
    /// The words being drained; their memory is reused.
    pub(crate) words: Words,
    /// The largest number of words from one ring in this turn.
    pub(crate) words_drained: usize,
    /// The rings of processes that never said hello, with the time when that was first seen.
    pub(crate) silent: HashMap<usize, u64>,
    /// Names the files of system calls, while those are recorded.
    pub(crate) open_files: Option<OpenFiles>,
}

impl Transport {
    /// Transport over a directory whose files exist.
    pub(crate) fn new(
        rings: Rings,
        store: Store,
        directory: Arc<Directory>,
        numbers: Numbers,
    ) -> Self {
        Self {
            rings,
            store,
            directory,
            numbers,
            bell: 0,
            words: Words::default(),
            words_drained: 0,
            silent: HashMap::new(),
            open_files: None,
        }
    }

    /// Gives rings to processes that wait for one.
    pub(crate) fn provide(&mut self) {
        self.rings.provide(self.directory.control());
    }

    /// Whether a process has a ring.
    pub(crate) fn has_ring(&self, pid: u32) -> bool {
        let control = self.directory.control();
        match self.numbers.inside(pid) {
            Some(inside) => self.rings.has(inside, control),
            // One that has ended in a container may be any of those that were not answered.
            None => self.rings.taken(control).iter().any(|(_, map)| {
                map.ring().header.state.load(Ordering::Acquire) == ring_state::HELLO
            }),
        }
    }

    /// Whether the process of a ring is there, by the number that it has written.
    fn is_there(&mut self, inside: u32) -> bool {
        let pid = self.numbers.outside(inside);
        pid.is_some_and(sys::is_alive)
    }

    /// Recycles rings whose processes ended before they said hello.
    pub(crate) fn recycle_silent(
        &mut self,
        now: u64,
        by_ring: &mut HashMap<usize, u32>,
        scale: &Scale,
    ) {
        let directory = Arc::clone(&self.directory);
        let control = directory.control();
        for (index, _) in self.rings.taken(control) {
            let entry = control.rings.get(index);
            let pid = entry.map_or(0, |entry| entry.pid.load(Ordering::Relaxed));
            let is_unowned = match by_ring.get(&index) {
                None => true,
                // Refused: the ring stays until its process is gone.
                Some(0) => !self.is_there(pid),
                Some(_) => false,
            };
            if !is_unowned || (pid != 0 && self.is_there(pid)) {
                self.silent.remove(&index);
                continue;
            }
            /// The time after which a ring is recycled, in nanoseconds: its process may be between
            /// two steps.
            const DOUBT: u64 = 500_000_000;
            let since = *self.silent.entry(index).or_insert(now);
            if scale.nanoseconds(now.saturating_sub(since)) >= DOUBT {
                self.silent.remove(&index);
                by_ring.remove(&index);
                self.rings.recycle(index, control);
            }
        }
    }
}

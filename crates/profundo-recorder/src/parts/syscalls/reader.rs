//! A thread that adds up the calls as they come: a busy program fills the kernel's rings in less
//! than the time between two turns.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use profundo_linux::perf::{Returned, SyscallExits};

use crate::poller::Poller;

/// The calls of one kind, with one result, from one place of a thread's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    pub(super) tid: u32,
    pub(super) number: i64,
    pub(super) is_of_32_bits: bool,
    /// The error; 0 for none.
    pub(super) error: u32,
    /// The address of the next instruction.
    pub(super) next: u64,
}

/// The number of calls of each kind.
pub(super) type Counts = HashMap<Kind, u64>;

/// The calls of each process since they were last taken.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) by_process: HashMap<u32, Counts>,
    /// The calls that were not counted, because they came too fast.
    pub(super) lost: u64,
}

impl Sums {
    pub(super) fn add(&mut self, call: &Returned) {
        /// The number of a call that the kernel has forgotten: a return from a signal handler.
        const FORGOTTEN: i64 = -1;
        // The thread that a call has started returns from it as well, with 0.
        let is_new = call.result == 0 && STARTS.contains(&call.number) && !call.is_of_32_bits;
        // A thread that has ended has no numbers.
        if is_new || call.number == FORGOTTEN || call.tid == 0 || call.tid as i32 == -1 {
            return;
        }
        let kind = Kind {
            tid: call.tid,
            number: call.number,
            is_of_32_bits: call.is_of_32_bits,
            error: call.error(),
            next: call.next,
        };
        *(self.by_process.entry(call.pid).or_default())
            .entry(kind)
            .or_default() += 1;
    }
}

/// The calls that start threads and processes.
#[cfg(target_arch = "x86_64")]
const STARTS: [i64; 4] = [
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_fork,
    libc::SYS_vfork,
];
/// The calls that start threads and processes.
#[cfg(not(target_arch = "x86_64"))]
const STARTS: [i64; 2] = [libc::SYS_clone, libc::SYS_clone3];

/// The events, and the sums so far.
#[derive(Debug)]
struct Shared {
    exits: SyscallExits,
    sums: Sums,
}

impl Shared {
    fn read(&mut self) {
        let Self { exits, sums } = self;
        sums.lost += exits.read(|call| sums.add(&call));
    }
}

/// Reads the events. The thread ends when this is dropped.
#[derive(Debug)]
pub(super) struct Reader {
    shared: Arc<Mutex<Shared>>,
    _poller: Poller,
}

impl Reader {
    pub(super) fn start(exits: SyscallExits) -> io::Result<Self> {
        let descriptors: Vec<i32> = exits.descriptors().collect();
        let sums = Sums::default();
        let shared = Arc::new(Mutex::new(Shared { exits, sums }));
        let theirs = Arc::clone(&shared);
        let poller = Poller::start(descriptors, move || lock(&theirs).read())?;
        Ok(Self {
            shared,
            _poller: poller,
        })
    }

    /// Goes on with counting, or stops.
    pub(super) fn set_running(&self, running: bool) {
        lock(&self.shared).exits.set_running(running);
    }

    /// All calls up to now that were not taken before.
    pub(super) fn take(&self) -> Sums {
        let mut shared = lock(&self.shared);
        shared.read();
        std::mem::take(&mut shared.sums)
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_added_up_by_their_kind() {
        let call = Returned {
            pid: 5,
            tid: 7,
            number: 0,
            result: 10,
            next: 0x1000,
            is_of_32_bits: false,
        };
        let mut sums = Sums::default();
        // How much was read does not matter.
        let calls = [
            call,
            Returned { result: 3, ..call },
            Returned {
                result: -11,
                ..call
            },
            Returned { pid: 6, ..call },
            Returned { number: -1, ..call },
            Returned { tid: 0, ..call },
            Returned {
                number: libc::SYS_clone,
                result: 0,
                ..call
            },
        ];
        calls.iter().for_each(|call| sums.add(call));
        let counts = |pid| {
            let mut counts: Vec<(u32, u64)> = (sums.by_process[&pid].iter())
                .map(|(kind, count)| (kind.error, *count))
                .collect();
            counts.sort_unstable();
            counts
        };
        assert_eq!(counts(5), [(0, 2), (11, 1)]);
        assert_eq!(counts(6), [(0, 1)]);
    }
}

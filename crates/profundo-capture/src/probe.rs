//! The probe of the process, and the state of its sessions as far as it is readable without a lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use profundo_probe::caches::{CACHES, Cache, Caches};
use profundo_probe::stacks::{STACKS, Stack, Stacks};
use profundo_probe::{CodeMap, Counters, Probe, Slot, ThreadRecord, Threads};

use crate::error::Error;
use crate::mapping::Mapping;
use crate::proc;

/// The limit of living threads. Address space, not memory.
const SLOTS: usize = 1 << 16;
/// The limit of threads in all; later ones share the last record. The number above is that of "no
/// thread".
const RECORDS: usize = (1 << 15) - 1;

static PROBE: OnceLock<&'static Probe> = OnceLock::new();

/// True if a session is running; readable without the lock.
pub(crate) static RUNNING: AtomicBool = AtomicBool::new(false);

/// True if the session samples elapsed time; readable at each poll of a task.
pub(crate) static WALL: AtomicBool = AtomicBool::new(false);

/// The probe, if any session was ever started.
pub(crate) fn probe() -> Option<&'static Probe> {
    PROBE.get().copied()
}

/// Makes the probe, which is never freed: a signal may come at any time after.
pub(crate) fn make() -> Result<&'static Probe, Error> {
    let slots = Mapping::reserve(SLOTS * size_of::<Slot>())?;
    let records = Mapping::reserve(RECORDS * size_of::<ThreadRecord>())?;
    let caches = Mapping::reserve(CACHES * size_of::<Cache>())?;
    let stacks = Mapping::reserve(STACKS * size_of::<Stack>())?;
    // SAFETY: slots and records are atomics, an empty cache is zero, a stack is bytes, and none
    // needs a drop.
    let (slots, records, caches, stacks) = unsafe {
        (
            slots.leak_as(),
            records.leak_as(),
            caches.leak_as(),
            stacks.leak_as(),
        )
    };
    let made = PROBE.get_or_init(|| {
        Box::leak(Box::new(Probe {
            threads: Threads::new(slots, records),
            caches: Caches::new(caches),
            stacks: Stacks::new(stacks),
            code: CodeMap::new(),
            counters: Box::leak(Box::new(Counters::default())),
            recorder: None,
            enabled: AtomicBool::new(false),
            buffer: AtomicPtr::new(std::ptr::null_mut()),
            pid: AtomicU32::new(std::process::id()),
            main_stack_end: proc::main_stack_end(),
        }))
    });
    // The main thread, whose id is the process's, is number 1, whichever thread is sampled first.
    let main = std::process::id();
    made.threads.enter_other(main, proc::thread_name(main));
    Ok(made)
}

/// Whether a session is running.
pub fn is_running() -> bool {
    RUNNING.load(Ordering::Relaxed)
}

/// Whether the calling thread is inside the sampler's handler. Tests have an allocator ask.
#[doc(hidden)]
pub fn is_inside_sampler() -> bool {
    probe().is_some_and(Probe::is_inside)
}

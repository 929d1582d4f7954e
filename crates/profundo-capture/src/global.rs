//! What there is once per process: the probe that handlers use, and the state of the sessions.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use profundo_probe::caches::{CACHES, Cache, Caches};
use profundo_probe::stacks::{STACKS, Stack, Stacks};
use profundo_probe::{CodeMap, Counters, Probe, Slot, ThreadRecord, Threads};

use crate::config::Config;
use crate::error::Error;
use crate::lock::ForkLock;
use crate::mapping::Mapping;
use crate::session::State;
use crate::{fork, proc};

/// Room for so many living threads. Address space, not memory.
const SLOTS: usize = 1 << 16;
/// Room for so many threads in all; later ones share the last record. The number above is that
/// of "no thread".
const RECORDS: usize = (1 << 15) - 1;

static PROBE: OnceLock<&'static Probe> = OnceLock::new();

/// The state of the sessions: one at a time.
pub(crate) static STATE: ForkLock<State> = ForkLock::new(State::new());

/// Whether a session is running, to be asked without the lock.
pub(crate) static RUNNING: AtomicBool = AtomicBool::new(false);

/// Whether it samples elapsed time, to be asked at each poll of a task.
pub(crate) static WALL: AtomicBool = AtomicBool::new(false);

/// The probe, if any session was ever started.
pub(crate) fn probe() -> Option<&'static Probe> {
    PROBE.get().copied()
}

/// The probe, made at the first call and never freed: a signal may come at any time after.
pub(crate) fn make_probe() -> Result<&'static Probe, Error> {
    if let Some(probe) = probe() {
        return Ok(probe);
    }
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
    // The main thread, whose id is the process's, is number 1, whoever is sampled first.
    let main = std::process::id();
    made.threads.enter_other(main, proc::thread_name(main));
    fork::watch();
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

/// The present settings, with how much of the buffer is used: `(config, used, full)`.
pub fn settings() -> (Config, u64, bool) {
    let state = STATE.lock();
    let buffer = state.buffer.as_ref().map(|buffer| buffer.get());
    (
        state.config,
        buffer.map_or(0, profundo_probe::Buffer::used),
        buffer.is_some_and(profundo_probe::Buffer::is_full),
    )
}

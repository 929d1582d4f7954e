//! Threads: each enters itself when it begins, and reports its name and its CPU time at its end.
//!
//! Its end is seen by the destructor of a thread-local key, however it comes: by return, by
//! `pthread_exit` or by cancellation.

use core::ffi::{c_uint, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use profundo_probe::shared::RECORDS;
use profundo_probe::{hidden, regs, sys};

use crate::home::{self, Home};
use crate::late::running::Running;
use crate::next_symbols;
use crate::signals::{sent, timers};
use crate::{process, session};

/// The key whose destructor reports a thread's end, plus one; 0 if there is none.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Makes the key, with its destructor.
pub fn make_key(destructor: unsafe extern "C" fn(*mut c_void)) {
    /// Values of later keys lie in memory that the C library allocates.
    const FIRST_BLOCK: c_uint = 32;
    let mut key: c_uint = 0;
    if let Some(create) = next_symbols::pthread_key_create()
        // SAFETY: the key is ours to be written; the destructor stays.
        && unsafe { create(&mut key, Some(destructor)) } == 0
        && key < FIRST_BLOCK
    {
        KEY.store(key + 1, Ordering::Relaxed);
    }
}

/// The key's value: how often the destructor is to be called again. Never null.
#[derive(Clone, Copy)]
struct Value(usize);

impl Value {
    /// Destructors run up to four times: ours works in the last round, after those of other keys.
    const ROUNDS: usize = 3;

    fn new() -> Self {
        Self((1 << 5) | Self::ROUNDS)
    }

    /// The value for the next round; `None`: this is the last.
    fn next(self) -> Option<Self> {
        (self.0 & Self::ROUNDS != 0).then(|| Self(self.0 - 1))
    }

    fn set(self) {
        if let Some(key) = KEY.load(Ordering::Relaxed).checked_sub(1)
            && let Some(set) = next_symbols::pthread_setspecific()
        {
            // SAFETY: the key is ours. The value is a number.
            unsafe { set(key, ptr::without_provenance(self.0)) };
        }
    }
}

/// The calling thread reports its end, although it may have begun before the agent came.
pub fn expect_end() {
    Value::new().set();
}

/// True if the destructor, called with this value, is called once more: those of other keys come
/// first.
pub fn is_called_again(value: *mut c_void) -> bool {
    let next = Value(value as usize).next();
    next.map(Value::set).is_some()
}

/// The calling thread ends, and frees its slot.
pub fn end(home: Home) {
    // SAFETY: as in `enter`.
    let probe = unsafe { home.probe() };
    let cpu = process::time(libc::CLOCK_THREAD_CPUTIME_ID);
    probe.threads.end(&probe.caches, sys::thread_id(), cpu);
    let header = &home.ring().header;
    // Release pairs with the acquire of the command.
    header.news.store(1, Ordering::Release);
    if probe.threads.unused_records() < RECORDS / 4 {
        home.ring_bell();
    }
}

/// Enters the calling thread: a record, a slot, its timer, the key.
pub fn enter_current(home: Home) {
    enter(home, None);
}

/// As [`enter_current`], for the only thread of a child that was forked when the cycle counter was
/// at `began`.
pub fn enter_forked(home: Home, began: u64) {
    enter(home, Some(began));
}

/// True if there are threads that get their timers only when they let the signal in.
static ARE_SOME_DEAF: AtomicBool = AtomicBool::new(false);

/// No thread is without a timer: the agent comes into the program.
pub fn begin_anew() {
    ARE_SOME_DEAF.store(false, Ordering::Relaxed);
}

/// Enters another thread, which has begun before the agent came. One that blocks the signal of a
/// clock, or may do so, gets no timer.
pub fn enter_other(home: Home, thread: &Running) {
    // SAFETY: as in `enter`.
    let probe = unsafe { home.probe() };
    let Some(slot) = probe.threads.begin_other(thread.tid, thread.name) else {
        let counter = &probe.counters.thread_table_full;
        counter.fetch_add(1, Ordering::Relaxed);
        return;
    };
    let Some(control) = session::control() else {
        return;
    };
    let cpu = process::cpu_time_of(thread.tid);
    probe.begin_phase_of_other(slot, cpu, thread.switches);
    let is_deaf = thread.has_other_mask || !can_be_signalled(thread.blocked);
    if is_deaf {
        ARE_SOME_DEAF.store(true, Ordering::Relaxed);
    } else if !timers::start(control, slot, thread.tid) {
        probe.go_on_without_timer(slot);
    }
    if thread.tid == sys::thread_id() {
        // This one is borrowed, and may be in a call that a tick would interrupt.
        timers::put_off(control, slot);
    }
}

/// Starts the timer of a thread that has none, if its mask lets the signal in.
pub fn start_timer_of(home: Home, tid: u32, mask: u64) {
    // SAFETY: as in `enter`.
    let probe = unsafe { home.probe() };
    let slot = probe.threads.find(tid);
    if let (Some(slot), Some(control)) = (slot, session::control())
        && can_be_signalled(mask)
        && slot.timer().is_none()
        && !timers::start(control, slot, tid)
    {
        probe.go_on_without_timer(slot);
    }
}

/// The calling thread has changed its mask to this one: it may let the signal in at last.
#[inline]
pub fn note_mask(mask: u64) {
    if ARE_SOME_DEAF.load(Ordering::Relaxed) {
        start_timer_at_last(mask);
    }
}

#[cold]
fn start_timer_at_last(mask: u64) {
    if let Some(home) = home::current_if_entered() {
        start_timer_of(home, sys::thread_id(), mask);
    }
}

/// True if the signal of a clock reaches a thread with this mask. Where it is blocked it would
/// wait, and the program could find it; the command counts the time of such a thread.
fn can_be_signalled(mask: u64) -> bool {
    let sent = sent::sent();
    let trap = hidden::hidden() & hidden::bit(libc::SIGTRAP);
    let sent = match sent {
        0 => 0,
        sent => hidden::bit(sent),
    };
    mask & (sent | trap) == 0
}

fn enter(home: Home, forked: Option<u64>) {
    // SAFETY: the probe was made before the home was settled.
    let probe = unsafe { home.probe() };
    let tid = sys::thread_id();
    let entered = probe.threads.begin(tid, regs::thread_pointer());
    if entered.is_none() {
        let counter = &probe.counters.thread_table_full;
        counter.fetch_add(1, Ordering::Relaxed);
    }
    if let (Some(slot), Some(control)) = (entered, session::control()) {
        // An earlier thread of this number may have ended without a report.
        timers::end(slot);
        match forked {
            None => probe.begin_phase(slot),
            Some(began) => {
                if let Some(record) = probe.threads.record(slot.number()) {
                    record.restart(began);
                }
                probe.begin_phase_at_fork(slot);
            }
        }
        if !timers::start(control, slot, tid) {
            probe.go_on_without_timer(slot);
        }
    }
    Value::new().set();
}

/// Writes down the CPU time of the calling thread, whose process ends or becomes another program.
pub fn note_cpu(home: Home) {
    // SAFETY: as above.
    let threads = unsafe { &home.probe().threads };
    let slot = threads.find(sys::thread_id());
    if let Some(record) = slot.and_then(|slot| threads.record(slot.number())) {
        record.cpu.store(sys::thread_cpu_time(), Ordering::Relaxed);
    }
}

//! Spans and marks of Python programs: stretches of work and instants that the program names.
//!
//! The package `profundo` opens our [`door`] and gets functions for them. A span is an object of
//! ours ([`object`]) and the value of a context variable, which samples read
//! (`profundo_probe::python::SPANS`). So a span belongs to the task that has entered it, in every
//! event loop.
//!
//! Behind them are [`tables`]: names and paths by number ([`names`]), open spans, and sums of ended
//! ones ([`sums`]). Records go to the command through the ring, as they arise. Threads may run at
//! the same time, and the process may end, or fork, in a signal handler. So the tables have a lock.
//! A thread that has it calls nothing of the interpreter's, so that others wait for it without
//! letting go of the interpreter. They do not wait long, and go without then.

mod api;
mod door;
mod functions;
mod names;
mod object;
mod sums;
mod tables;
mod text;
mod thread;

use core::ffi::c_int;
use core::hint;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use profundo_probe::{clock, sys};

use self::tables::{Entered, Tables};
use crate::files;
use crate::home::{self, Home};

static TABLES: AtomicPtr<Tables> = AtomicPtr::new(ptr::null_mut());
/// The lock of the tables.
static LOCK: AtomicU32 = AtomicU32::new(lock::FREE);

/// Set once a thread has waited for the lock in vain. Others do not, until it is free again.
static IS_STUCK: AtomicBool = AtomicBool::new(false);

mod lock {
    pub const FREE: u32 = 0;
    pub const HELD: u32 = 1;
    /// Held, and others wait.
    pub const AWAITED: u32 = 2;
}
/// The recording, from 1: another one in the child of a fork, and when the agent has come back.
/// Spans of an earlier one have no records in this one.
static RECORDING: AtomicU32 = AtomicU32::new(1);
/// True if the tables are still those of the recording before.
static IS_NEW: AtomicBool = AtomicBool::new(false);

/// Makes the tables. False: there is no memory.
fn make() -> bool {
    if !TABLES.load(Ordering::Acquire).is_null() {
        return true;
    }
    let Some(memory) = files::map_zeroed(size_of::<Tables>()) else {
        return false;
    };
    let tables = memory.cast::<Tables>().as_ptr();
    // SAFETY: the memory is ours, unused, zeroed, aligned to a page and long enough.
    unsafe { Tables::begin(tables) };
    // Release pairs with the acquire in `with`. One thread at a time connects the package:
    // there is no other maker.
    TABLES.store(tables, Ordering::Release);
    true
}

/// Calls `f` with the tables, at a call of the program's. `None`: there are none, or others have
/// had them for too long.
fn with<T>(f: impl FnOnce(&mut Tables) -> T) -> Option<T> {
    // On a busy machine, the thread that has them may have to wait for a CPU.
    const MOMENTS: u32 = 2000;
    with_if(|| take(lock::HELD) || wait_and_take(MOMENTS), f)
}

/// As [`with`], where the thread that has the tables may be this one.
fn with_patience<T>(f: impl FnOnce(&mut Tables) -> T) -> Option<T> {
    const MOMENTS: u32 = 20;
    with_if(|| take(lock::HELD) || wait_and_take(MOMENTS), f)
}

/// As [`with`], without waiting: a thread that has the tables may be this one.
fn with_now<T>(f: impl FnOnce(&mut Tables) -> T) -> Option<T> {
    with_if(|| take(lock::HELD), f)
}

fn with_if<T>(is_ours: impl FnOnce() -> bool, f: impl FnOnce(&mut Tables) -> T) -> Option<T> {
    // Acquire pairs with the release in `make`.
    let tables = TABLES.load(Ordering::Acquire);
    if tables.is_null() || !is_ours() {
        return None;
    }
    // SAFETY: they are mapped for ever, and the lock keeps all others away.
    let result = f(unsafe { &mut *tables });
    IS_STUCK.store(false, Ordering::Relaxed);
    // Release pairs with the acquire in `take`.
    if LOCK.swap(lock::FREE, Ordering::Release) == lock::AWAITED {
        sys::futex_wake(&LOCK);
    }
    Some(result)
}

/// Takes the lock, if it is free.
fn take(how: u32) -> bool {
    // Acquire pairs with the release in `with_if`.
    let taken = LOCK.compare_exchange(lock::FREE, how, Ordering::Acquire, Ordering::Relaxed);
    taken.is_ok()
}

/// Waits for the lock: for a moment on the CPU, and then for so many milliseconds without it.
#[cold]
fn wait_and_take(moments: u32) -> bool {
    const TURNS: u32 = 200;
    const MOMENT: u64 = 1_000_000;
    for _ in 0..TURNS {
        if LOCK.load(Ordering::Relaxed) == lock::FREE && take(lock::HELD) {
            return true;
        }
        hint::spin_loop();
    }
    if IS_STUCK.load(Ordering::Relaxed) {
        return false;
    }
    for _ in 0..moments {
        // Acquire as in `take`. A thread that takes it like this wakes the others later.
        if LOCK.swap(lock::AWAITED, Ordering::Acquire) == lock::FREE {
            return true;
        }
        sys::futex_wait(&LOCK, lock::AWAITED, MOMENT);
    }
    IS_STUCK.store(true, Ordering::Relaxed);
    false
}

/// The home, if this process records. The child of a fork enters itself.
#[inline]
fn recorded() -> Option<Home> {
    let home = home::home()?;
    match home.is_entered() && !home::is_deferred() {
        true => home.records().then_some(home),
        false => home::current(),
    }
}

/// Begins a span below a path, and below the span with that number.
fn enter(home: Home, label: u32, around: u32, parent: u64) -> Option<Entered> {
    with(|tables| tables.enter(home, label, around, parent))?
}

/// Ends a span. One of an earlier recording has no record.
fn leave(entered: Entered) {
    let ended = clock::now();
    with(|tables| {
        let span = tables.leave(entered, ended);
        if let Some((span, home)) = span.zip(recorded_here()) {
            tables.keep(home, span);
        }
    });
}

/// The home, if this process records and has entered itself.
fn recorded_here() -> Option<Home> {
    home::home().filter(|home| home.is_entered() && !home::is_deferred() && home.records())
}

/// The number of a label.
fn label(text: &str) -> Option<u32> {
    with(|tables| tables.names.label(text))
}

/// Counts a span that is not entered.
fn lose() {
    with(|tables| tables.names.losses[1] += 1);
}

/// Notes a named instant within a path.
fn mark(home: Home, path: u32, text: &str) {
    let now = clock::now();
    with(|tables| tables.mark(home, path, now, text));
}

/// Gives our functions to the package `profundo`, if the program has imported it already. The
/// interpreter's lock is held.
pub fn begin_inside() -> c_int {
    // SAFETY: the caller has the lock.
    unsafe { door::offer() };
    0
}

/// Writes all sums so far: a recording of this moment is wanted.
fn flush() {
    if let Some(home) = recorded_here() {
        with(|tables| tables.write_sums(home));
    }
}

/// A recording begins. In a process that the agent comes back to, spans may be open.
pub fn begin(home: Home) {
    begin_anew(home);
}

/// In the child of any fork: a thread that held the tables is not there.
pub fn reset_after_fork() {
    LOCK.store(lock::FREE, Ordering::Relaxed);
    IS_STUCK.store(false, Ordering::Relaxed);
}

/// In the child of a fork that has a ring of its own: spans that were open go on.
pub fn enter_child(home: Home) {
    begin_anew(home);
}

fn begin_anew(home: Home) {
    if TABLES.load(Ordering::Acquire).is_null() {
        return;
    }
    let recording = RECORDING.fetch_add(1, Ordering::Relaxed) + 1;
    if with_now(|tables| tables.begin_anew(home, recording)).is_none() {
        // A child that begins in a signal handler, in the middle of a span's beginning or end.
        IS_NEW.store(true, Ordering::Relaxed);
    }
}

/// The process is about to become another program.
pub fn before_exec() {
    if TABLES.load(Ordering::Relaxed).is_null() {
        return;
    }
    // None in a child that borrows its parent's memory.
    if let Some(home) = home::current_if_entered() {
        with_patience(|tables| tables.finish(home, clock::now()));
    }
}

/// The recording ends: with the process, or because the agent leaves it.
pub fn end(home: Home) {
    with_patience(|tables| tables.finish(home, 0));
}

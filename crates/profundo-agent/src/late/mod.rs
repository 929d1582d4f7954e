//! The agent comes into a program that runs already, and leaves it again.
//!
//! The command has [`profundo_enter_1`] called by a thread of the program, after it has loaded this
//! library; or the program calls it itself. From then on the agent does all that it does in a
//! program that it was loaded into at the start: threads that run already are entered one by one,
//! and our functions get into the [`slots`] by which the program's files call those of the C
//! library. [`profundo_leave_1`] takes all of it back. The library itself stays, and the places of
//! its memory: a thread may be in the middle of one of our functions. It may come in again.

mod masks;
pub mod running;
pub mod slots;
mod within;

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, Ordering};

use profundo_probe::shared::{Answer, Control, MaskChanges, Ring, SessionState, start_kind};
use profundo_probe::{hidden, sys, urgent};

use crate::home::{self, Home, home};
use crate::signals::{claims, sent};
use crate::{
    command, deferred, ends, files, fork, hello, leave, left, lifecycle, memory, next_symbols,
    process, session, start, symbols, threads,
};

/// Only one thread at a time comes in or leaves.
static IS_BUSY: AtomicBool = AtomicBool::new(false);

/// Enters the session in a directory. `agent` is the path from which programs that this one
/// executes load this library. The result is written to `answer`.
///
/// # Safety
/// The texts end in a NUL, and `answer` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn profundo_enter_1(
    directory: *const c_char,
    agent: *const c_char,
    answer: *const Answer,
) {
    // SAFETY: the caller vouches.
    let (directory, agent, answer) = unsafe {
        (
            CStr::from_ptr(directory).to_bytes(),
            CStr::from_ptr(agent).to_bytes(),
            &*answer,
        )
    };
    let result = alone(|| match enter(directory, agent, &answer.masks) {
        Ok(()) => 0,
        Err(error) => -error,
    });
    answer.result.store(result, Ordering::Release);
}

/// Begins to record allocations. The command has answered before: without that no stack can be
/// walked. The result is written to `answer`.
///
/// # Safety
/// `answer` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn profundo_follow_memory_1(answer: *const Answer) {
    // SAFETY: the caller vouches.
    let answer = unsafe { &*answer };
    let result = alone(|| {
        let home = home().filter(|home| home.records());
        let (Some(home), Some(control)) = (home, session::control()) else {
            return -libc::ENOENT;
        };
        memory::begin(control, home);
        if memory::is_on() {
            memory::note_hidden_allocator(home);
            memory::watch_python();
            slots::take(true);
            let elsewhere = &home.ring().header.memory.slots_elsewhere;
            elsewhere.store(slots::elsewhere(), Ordering::Relaxed);
        }
        0
    });
    answer.result.store(result, Ordering::Release);
}

/// The command has changed the masks of threads: those that let our signals in now get their
/// timers.
#[unsafe(no_mangle)]
pub extern "C" fn profundo_masked_1() {
    alone(|| {
        if let Some(home) = home().filter(|home| home.records()) {
            running::each(|thread| threads::start_timer_of(home, thread));
        }
        0
    });
}

/// Is about to leave the session: no clock sends a signal any more, and the threads whose masks
/// have less than the program believes are written to `answer`. The command has closed its clocks.
///
/// # Safety
/// `answer` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn profundo_fall_silent_1(answer: *const Answer) {
    // SAFETY: the caller vouches.
    let answer = unsafe { &*answer };
    let result = alone(|| {
        fall_silent(&answer.masks);
        0
    });
    answer.result.store(result, Ordering::Release);
}

/// Leaves the session. The command sends no signals any more. The result is written to `answer`.
///
/// # Safety
/// `answer` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn profundo_leave_1(answer: *const Answer) {
    // SAFETY: the caller vouches.
    let answer = unsafe { &*answer };
    let result = alone(|| {
        leave_now();
        0
    });
    answer.result.store(result, Ordering::Release);
}

/// Calls `f` while no other thread comes in or leaves, with all signals blocked and `errno` kept.
fn alone(f: impl FnOnce() -> c_int) -> c_int {
    if IS_BUSY.swap(true, Ordering::Acquire) {
        return -libc::EALREADY;
    }
    let errno = next_symbols::errno();
    let mask = sys::set_signal_mask(u64::MAX);
    let result = f();
    sys::set_signal_mask(mask);
    next_symbols::set_errno(errno);
    IS_BUSY.store(false, Ordering::Release);
    result
}

fn fall_silent(masks: &MaskChanges) {
    if let Some(home) = home().filter(|home| home.records()) {
        claims::send_nothing(home);
        hidden::reveal(u64::MAX);
        masks::block_again(masks);
    }
}

fn enter(directory: &[u8], agent: &[u8], masks: &MaskChanges) -> Result<(), c_int> {
    let is_recorded =
        home().is_some_and(Home::records) && session::control().is_some_and(command::is_alive);
    if is_recorded {
        return Err(libc::EBUSY);
    }
    if home().is_some_and(Home::records) {
        // A command that was killed has left the agent behind.
        leave_now();
    }
    let began = hello::cpu_time();
    symbols::set_late();
    next_symbols::resolve();
    // SAFETY: this thread alone comes in, and a session that was left has no users.
    let control = unsafe { session::join_session(directory, agent) }.ok_or(libc::ENOENT)?;
    if control.state.load(Ordering::Relaxed) == SessionState::Over as u32
        || !command::shares_pid_namespace(control)
    {
        return Err(libc::EXDEV);
    }
    let home = take_home(control)?;
    left::clear();
    sent::begin_anew();
    // Before our handlers: from here on the program's calls about them are ours to answer.
    slots::take(false);
    masks::note_used();
    lifecycle::begin(control, home, false);
    deferred::await_answer_later();
    hello::introduce(home, start_kind::LATE, |home| {
        running::each(|thread| {
            masks::let_in(thread, masks);
            threads::enter_other(home, thread);
        });
    });
    hello::note_cost(began);
    Ok(())
}

/// A ring, and the memory of the agent, which an earlier session may have left.
fn take_home(control: &'static Control) -> Result<Home, c_int> {
    let patience = session::patience_for_ring(control, hello::PATIENCE_FOR_RING);
    let ring = session::take_ring(control, patience).ok_or(libc::EAGAIN)?;
    let known = home();
    let reserved = match known {
        Some(_) => None,
        None => Some(home::reserve().ok_or(libc::ENOMEM)?),
    };
    if let Some(memory) = reserved {
        // SAFETY: the memory was reserved, and the ring is mapped for ever.
        unsafe { home::settle(memory, ring.memory) };
    } else if let Some(home) = known {
        // SAFETY: both are rings, and nothing uses the former one.
        unsafe { files::move_over(ring.memory, home.ring_address(), Ring::BYTES) };
    }
    let home = home().ok_or(libc::ENOMEM)?;
    home.take();
    home.ring_number().store(ring.number, Ordering::Relaxed);
    home.main_stack_end()
        .store(start::main_stack_end(), Ordering::Relaxed);
    // SAFETY: no handler is installed, so the probe has no readers.
    unsafe { home.make_probe(control, process::process_id()) };
    if reserved.is_some() {
        ends::watch();
        fork::watch();
    }
    Ok(home)
}

fn leave_now() {
    let Some(home) = home().filter(|home| home.records()) else {
        return;
    };
    leave::leave(true);
    // After our handlers: until then the program's calls about them are ours to answer.
    slots::give_back();
    await_handlers(home);
    // SAFETY: there is no probe any more, and no handler is at work.
    unsafe {
        memory::forget();
        home.forget();
        session::forget_tables();
        session::forget_control();
    }
}

/// Waits until no thread is in a handler of ours, for a moment at most.
fn await_handlers(home: Home) {
    /// A handler takes some ten microseconds, but its thread may have to wait for a CPU.
    const LONGEST: u64 = 20_000_000;
    let until = process::time(libc::CLOCK_MONOTONIC) + LONGEST;
    // SAFETY: the probe was made when the home was taken.
    let threads = unsafe { &home.probe().threads };
    while threads.slots().any(|slot| slot.is_busy()) {
        if process::time(libc::CLOCK_MONOTONIC) > until {
            break;
        }
        // SAFETY: takes nothing.
        unsafe { sys::call(libc::SYS_sched_yield, [0; 6]) };
    }
    urgent::set_probe(None);
}

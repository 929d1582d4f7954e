//! The agent comes into a program that runs already, and leaves it again.
//!
//! The command has [`profundo_enter_1`] called by a thread of the program, after it has loaded this
//! library; or the program calls it itself. From then on the agent does all that it does in a
//! program that it was loaded into at the start: threads that run already are entered one by one,
//! and our functions get into the [`slots`] by which the program's files call those of the C
//! library. [`profundo_leave_1`] takes all of it back. The library itself stays, and the places of
//! its memory: a thread may be in the middle of one of our functions. It may come in again.

mod alone;
mod changed;
mod exclusive;
mod masks;
mod own_tables;
mod pages;
pub mod running;
pub mod slots;
pub mod within;

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, Ordering};

use profundo_probe::shared::{Answer, Control, Ring, SessionState, start_kind};
use profundo_probe::{hidden, sys, urgent};

use exclusive::Exclusive;
use running::Running;

use crate::home::{self, Home, home};
use crate::session::TakenRing;
use crate::signals::{claims, sent, waiting};
use crate::{
    command, deferred, ends, files, fork, hello, leave, left, lifecycle, memory, next_symbols,
    process, session, start, symbols, threads,
};

/// Only one thread at a time comes in or leaves.
static ALONE: Exclusive<()> = Exclusive::new(());

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
    let result = alone(|own| match enter(directory, agent, *own, answer) {
        Ok(()) => 0,
        Err(error) => -error,
    });
    tell(answer, result);
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
    let result = alone(|_| follow_memory());
    tell(answer, result);
}

/// The command has read the masks that [`profundo_enter_1`] has asked for: threads that let our
/// signals in get their timers.
///
/// # Safety
/// `masks` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn profundo_masked_1(masks: *const Answer) {
    // SAFETY: the caller vouches.
    let masks = unsafe { &*masks };
    let result = alone(|_| {
        if let Some(home) = home().filter(|home| home.records()) {
            for (tid, mask) in masks.masks.all() {
                hidden::note_real(mask);
                threads::start_timer_of(home, tid, mask);
            }
        }
        0
    });
    tell(masks, result);
}

/// Is about to leave the session: no clock sends a signal any more, and the threads whose masks may
/// have less than the program has set are written to `answer`. The command has closed its clocks.
/// It calls this again while a signal is on its way (`EAGAIN`).
///
/// # Safety
/// `answer` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn profundo_fall_silent_1(answer: *const Answer) {
    // SAFETY: the caller vouches.
    let answer = unsafe { &*answer };
    let result = alone(|own| fall_silent(own, answer));
    tell(answer, result);
}

/// Leaves the session. The command sends no signals any more. The result is written to `answer`:
/// `EAGAIN` while a handler is still at work, which needs the memory of the recording.
///
/// # Safety
/// `answer` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn profundo_leave_1(answer: *const Answer) {
    // SAFETY: the caller vouches.
    let answer = unsafe { &*answer };
    let result = alone(|own| leave_once(*own, answer));
    tell(answer, result);
}

/// Leaves the session, if that is not done, and gives its slots and its memory back. `-EAGAIN`: not
/// yet.
fn leave_once(own: u64, answer: &Answer) -> c_int {
    if home().is_some_and(Home::records) {
        let staying = leave_now(own);
        answer.staying.store(staying as u32, Ordering::Relaxed);
    }
    match give_back() {
        true => 0,
        false => -libc::EAGAIN,
    }
}

/// Tells the command the result. The command lets the borrowed thread run freely until it sees the
/// result, and then follows it back. It may have to wait for a CPU first, so the thread waits as
/// long as it is traced. A command that was killed or stopped never looks: the thread finds its way
/// back alone, and the call that it was in may fail then.
fn tell(answer: &Answer, result: c_int) {
    const A_MOMENT: u64 = 20_000_000;
    /// Longer than a command waits for a CPU.
    const LONGEST: u64 = 500_000_000;
    answer.result.store(result, Ordering::Release);
    let began = process::time(libc::CLOCK_MONOTONIC);
    let mut until = began + A_MOMENT;
    while answer.is_seen.load(Ordering::Acquire) == 0 {
        let now = process::time(libc::CLOCK_MONOTONIC);
        if now > until {
            // A tracer in another pid namespace is not seen.
            let may_be_traced =
                || running::is_traced() || session::control().is_some_and(command::is_elsewhere);
            if now > began + LONGEST || !may_be_traced() {
                return;
            }
            until = now + A_MOMENT;
        }
        // A call with a time limit would take the place of the one that the thread was in.
        // SAFETY: takes nothing.
        unsafe { sys::call(libc::SYS_sched_yield, [0; 6]) };
    }
}

/// Calls `f` while no other thread comes in or leaves, with all signals blocked and `errno` kept.
/// `f` gets the mask that the thread has before and afterwards.
fn alone(f: impl FnOnce(&mut u64) -> c_int) -> c_int {
    let errno = next_symbols::errno();
    let mut mask = sys::set_signal_mask(u64::MAX);
    let result = ALONE.with(0, |()| f(&mut mask));
    sys::set_signal_mask(mask);
    next_symbols::set_errno(errno);
    result.unwrap_or(-libc::EALREADY)
}

fn follow_memory() -> c_int {
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
}

/// No clock sends a signal any more. Returns 0, or `EAGAIN` as a negative number while a signal is
/// on its way.
fn fall_silent(own: &mut u64, answer: &Answer) -> c_int {
    let Some(home) = home().filter(|home| home.records()) else {
        return 0;
    };
    claims::send_nothing(home);
    // From here on all masks that are set are the kernel's.
    hidden::reveal(u64::MAX);
    masks::widen_descriptors();
    masks::name_threads(own, &answer.masks);
    answer.set_known(&hidden::known());
    match waiting::are_arriving(*own) {
        true => -libc::EAGAIN,
        false => 0,
    }
}

fn enter(directory: &[u8], agent: &[u8], own: u64, answer: &Answer) -> Result<(), c_int> {
    let began = make_ready(own)?;
    // SAFETY: this thread alone comes in, and a session that was left has no users.
    let control = unsafe { session::join_session(directory, agent) }.ok_or(libc::ENOENT)?;
    if control.state.load(Ordering::Relaxed) == SessionState::Over as u32
        || !command::shares_pid_namespace(control)
    {
        return Err(libc::EXDEV);
    }
    let patience = session::patience_for_ring(control, hello::PATIENCE_FOR_RING);
    let ring = session::take_ring(control, patience).ok_or(libc::EAGAIN)?;
    home::enlarge(0);
    come_in(control, ring, own, answer)?;
    hello::note_cost(began);
    Ok(())
}

/// Lets go of an earlier session. Returns the CPU time when this began.
fn make_ready(own: u64) -> Result<u64, c_int> {
    let is_recorded =
        home().is_some_and(Home::records) && session::control().is_some_and(command::is_alive);
    if is_recorded {
        return Err(libc::EBUSY);
    }
    if home().is_some_and(Home::records) {
        // A command that was killed has left the agent behind.
        leave_now(own);
    } else {
        hidden::forget_masks();
    }
    if !give_back() {
        return Err(libc::EAGAIN);
    }
    let began = hello::cpu_time();
    symbols::set_late();
    next_symbols::resolve();
    Ok(began)
}

/// Enters all threads into a session, with this ring.
fn come_in(
    control: &'static Control,
    ring: TakenRing,
    own: u64,
    answer: &Answer,
) -> Result<(), c_int> {
    let home = take_home(control, ring)?;
    left::clear();
    sent::begin_anew();
    // Before our handlers: from here on the program's calls about them are ours to answer.
    slots::take(false);
    masks::note_used(own);
    lifecycle::begin(control, home, false);
    masks::narrow_descriptors();
    deferred::await_answer_later();
    threads::begin_anew();
    // In a process that has changed its user, the kernel may hide in which call a thread is. A
    // command asks by other means. Alone, the mask that is seen is taken for the thread's, because
    // a thread without a timer would never be seen.
    let is_alone = control.is_alone.load(Ordering::Relaxed) != 0;
    let are_calls_hidden = is_alone && !files::is_readable(c"/proc/self/syscall");
    let caller = sys::thread_id();
    hello::introduce(home, start_kind::LATE, |home| {
        running::each(own, |thread| {
            let thread = Running {
                has_other_mask: thread.has_other_mask && !are_calls_hidden,
                ..*thread
            };
            match thread.has_other_mask {
                true => masks::ask_for(&thread, answer),
                false if are_calls_hidden && thread.tid != caller => {}
                false => hidden::note_real(thread.blocked),
            }
            threads::enter_other(home, &thread);
        });
    });
    Ok(())
}

/// Takes a ring into use, and the memory of the agent, which an earlier session may have left.
fn take_home(control: &'static Control, ring: TakenRing) -> Result<Home, c_int> {
    let known = home();
    let reserved = match known {
        Some(_) => None,
        None => Some(home::reserve().ok_or(libc::ENOMEM)?),
    };
    if let Some(memory) = reserved {
        // SAFETY: the memory was reserved, and the ring is mapped for ever.
        unsafe { home::settle(memory, ring.memory) };
    } else if let Some(home) = known.filter(|home| home.ring_address() != ring.memory) {
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

/// Leaves the session, but for its slots and its memory. `own` is the mask of the calling thread.
/// Returns the signals whose handlers stay.
fn leave_now(own: u64) -> u64 {
    let staying = leave::leave_with(true, own);
    urgent::set_probe(None);
    IS_TO_FORGET.store(true, Ordering::Release);
    staying
}

/// Gives the slots and the memory of a session back that was left. `false`: not yet. The slots are
/// given back after our handlers: until then the program's calls about them are ours to answer.
fn give_back() -> bool {
    if !IS_TO_FORGET.load(Ordering::Acquire) {
        return true;
    }
    let Some(elsewhere) = slots::give_back() else {
        return false;
    };
    if let Some(home) = home() {
        let known = &home.ring().header.memory.slots_elsewhere;
        known.fetch_add(elsewhere + slots::elsewhere(), Ordering::Relaxed);
    }
    forget_memory()
}

/// The agent has left a process that is about to restrict its system calls. Its slots are given
/// back, and the memory of the recording stays until the next session.
pub fn note_left() {
    IS_TO_FORGET.store(true, Ordering::Release);
    slots::give_back();
}

/// The agent has left, and the memory of the recording is still there.
static IS_TO_FORGET: AtomicBool = AtomicBool::new(false);

/// A file was loaded. Where no command lists it for the handlers, it is listed here.
pub fn note_loaded() {
    alone::look_for_files();
}

/// Gives the memory of a recording back that was left. `false`: a handler is still at work, which
/// uses it; perhaps its thread has to wait for a CPU.
fn forget_memory() -> bool {
    /// Another thread may wait for this one, which is borrowed.
    const LONGEST: u64 = 1_000_000;
    let Some(home) = home() else { return true };
    let until = process::time(libc::CLOCK_MONOTONIC) + LONGEST;
    while !is_idle(home) {
        if process::time(libc::CLOCK_MONOTONIC) > until {
            return false;
        }
        // SAFETY: takes nothing.
        unsafe { sys::call(libc::SYS_sched_yield, [0; 6]) };
    }
    alone::forget();
    // SAFETY: there is no probe any more, and no handler is at work.
    unsafe {
        memory::forget();
        home.forget();
        session::forget_tables();
        session::forget_control();
    }
    IS_TO_FORGET.store(false, Ordering::Release);
    true
}

/// True if no thread is in a handler of ours, or takes a sample in a function of ours: it may do so
/// on a stack that lies in the memory of the recording.
fn is_idle(home: Home) -> bool {
    // SAFETY: the probe was made when the home was taken.
    let probe = unsafe { home.probe() };
    let is_busy = probe.threads.slots().any(|slot| slot.is_busy());
    urgent::is_idle() && probe.stacks.are_free() && !is_busy
}

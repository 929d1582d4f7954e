//! Work that is deferred until the first tick of a clock, because most processes end before it, or
//! become another program.
//!
//! **The entry of the child of a fork.** Most children execute another program at once, and a ring
//! for that moment costs more than all that they do. So a child makes a timer on its CPU clock,
//! writes its number where the command sees it, and goes on. The first tick of the timer is its
//! first sample: the child enters itself before that is taken, and all that it has run since the
//! fork counts. It also enters itself when it makes a thread, or when some other call of it needs a
//! ring. One that ends or executes a program before that has its number taken back by the command.
//! Until then the parent's ring is still mapped, and not written to, because the child says that it
//! has none.
//!
//! **The command's answer to a program.** Without it no stack can be walked, so there is no probe
//! before it. The first tick waits for the answer, which has come by then, unless the command is
//! very busy.
//!
//! The two flags that say what is deferred are in [`deferral`].

use core::arch::naked_asm;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use profundo_probe::shared::Control;
use profundo_probe::{sys, urgent};

use crate::child::Forked;
use crate::home::{Home, Whose, home, is_deferred};
use crate::signals::{sent, timers};
use crate::{child, command, deferral, files, hello, left, process, session};

static TIMER: AtomicU32 = AtomicU32::new(0);
/// A [`Forked`], of the deferred child.
static BEGAN: AtomicU64 = AtomicU64::new(0);
static MAIN: AtomicU32 = AtomicU32::new(0);

/// Has the first tick wait for the command's answer.
pub fn await_answer_later() {
    urgent::set_waker(at_tick);
    deferral::await_answer();
}

/// Defers the entry of the child of a fork, which has one thread. `false`: it has to enter itself
/// now.
pub fn begin(home: Home, control: &Control) -> bool {
    let may_wait = control.defers.load(Ordering::Relaxed) != 0
        && control.follow.load(Ordering::Relaxed) != 0
        && command::has_not_ended(control)
        && sent::is_installed()
        && !left::has_left();
    // A SIGURG that is still pending when the child executes a program is ignored there; another
    // signal would kill it.
    if !may_wait || sent::sent() != libc::SIGURG {
        return false;
    }
    let Some(place) = take_place(control) else {
        return false;
    };
    // Before the timer, whose first tick may come at once.
    urgent::set_probe(None);
    urgent::set_waker(at_tick);
    home.take();
    home.set_records(false);
    let forked = Forked::now(home);
    BEGAN.store(forked.began, Ordering::Relaxed);
    MAIN.store(forked.main, Ordering::Relaxed);
    let mask = sys::set_signal_mask(u64::MAX);
    let timer = timers::make(control, sys::thread_id(), libc::SIGURG);
    match timer {
        Some(timer) => {
            TIMER.store(timer, Ordering::Relaxed);
            deferral::swap_place(place);
        }
        None => give_back(control, place),
    }
    sys::set_signal_mask(mask);
    timer.is_some()
}

/// Enters a process whose entry was deferred.
#[cold]
pub fn enter(home: Home) {
    let mask = sys::set_signal_mask(u64::MAX);
    try_to_enter(home, false);
    sys::set_signal_mask(mask);
}

/// A clock has ticked in a process without a probe. All signals are blocked but those of faults.
extern "C" fn at_tick() {
    let Some(home) = home().filter(|home| home.whose() == Whose::Ours) else {
        return;
    };
    match session::control() {
        Some(control) if deferral::take_awaited_answer() => {
            hello::await_answer(home, control);
        }
        _ if is_deferred() => on_a_stack_of_ours(enter_by_tick),
        _ => {}
    }
}

extern "C" fn enter_by_tick() {
    if let Some(home) = home() {
        try_to_enter(home, true);
    }
}

/// Calls a function on a new stack: a handler's may be a few kilobytes, which is enough for a
/// sample, but not for the paths of files.
fn on_a_stack_of_ours(function: extern "C" fn()) {
    const BYTES: usize = 64 << 10;
    let Some(stack) = files::map_zeroed(BYTES) else {
        return;
    };
    // SAFETY: the memory is ours and unused until it is unmapped, and its end is aligned as a stack
    // has to be.
    unsafe {
        call_on(function, stack.as_ptr().wrapping_add(BYTES));
        files::unmap(stack, BYTES);
    }
}

/// Calls a function on the stack that ends at `top`.
///
/// # Safety
/// The stack is large enough, and `top` is a multiple of 16.
#[unsafe(naked)]
unsafe extern "C" fn call_on(function: extern "C" fn(), top: *mut u8) {
    naked_asm!(
        ".cfi_startproc",
        crate::machine::call_on_stack!(),
        ".cfi_endproc",
    )
}

fn try_to_enter(home: Home, can_retry: bool) {
    let place = deferral::swap_place(0);
    let Some(control) = session::control().filter(|_| place != 0) else {
        return;
    };
    let began = hello::cpu_time();
    let forked = Forked {
        began: BEGAN.load(Ordering::Relaxed),
        main: MAIN.load(Ordering::Relaxed),
    };
    if !child::enter_late(home, control, forked, can_retry) {
        // The timer keeps running.
        deferral::swap_place(place);
        return;
    }
    timers::stop(TIMER.load(Ordering::Relaxed));
    hello::note_cost(began);
    // Only now: until it is entered, the command must know that it will be.
    give_back(control, place);
}

/// Takes a free place; returns its number plus one.
fn take_place(control: &Control) -> Option<u32> {
    /// The number of places that are tried.
    const TRIALS: usize = 8;
    let pid = process::process_id();
    let places = control.deferred.iter().enumerate();
    // Children that are forked one after another start at distant places.
    let first = pid as usize % control.deferred.len();
    let found = places.cycle().skip(first).take(TRIALS).find(|(_, place)| {
        let taken = place.compare_exchange(0, pid, Ordering::Relaxed, Ordering::Relaxed);
        taken.is_ok()
    });
    found.map(|(number, _)| number as u32 + 1)
}

fn give_back(control: &Control, place: u32) {
    let index = (place as usize).wrapping_sub(1);
    if let Some(place) = control.deferred.get(index) {
        let pid = process::process_id();
        // The command may have given it to another process.
        let _ = place.compare_exchange(pid, 0, Ordering::Release, Ordering::Relaxed);
    }
}

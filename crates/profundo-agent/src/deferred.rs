//! What is put off until the first tick of a clock, because most processes end before it, or become another program.
//!
//! **The entry of the child of a fork.** Most children execute another program at once, and a ring for that moment
//! costs more than all that they do. So a child makes a timer on its CPU clock, writes its number where the command
//! sees it, and goes on. The first tick of the timer is its first sample: the child enters itself before that is
//! taken, and all that it has run since the fork counts. It also enters itself when it makes a thread, or when some
//! other call of it needs a ring. One that ends or executes a program before that has its number taken back by the
//! command. Until then the parent's ring is still mapped, and nobody writes to it, because the
//! child says that it has none.
//!
//! **The command's answer to a program.** Without it no stack can be walked, so there is no probe before it. The first
//! tick waits for the answer, which has come by then, unless the command is very busy.

use core::arch::naked_asm;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use profundo_probe::shared::Control;
use profundo_probe::{sys, urgent};

use crate::fork::Forked;
use crate::home::{self, Home, Whose, home, is_deferred};
use crate::{claims, files, fork, left, process, session, shell, signals, start, timers};

/// Its place in [`Control::deferred`], plus one; 0: this process has not put off its entry. A child of a fork has its
/// parent's until it is told of the fork.
static PLACE: AtomicU32 = AtomicU32::new(0);
static TIMER: AtomicU32 = AtomicU32::new(0);
/// A [`Forked`].
static BEGAN: AtomicU64 = AtomicU64::new(0);
static MAIN: AtomicU32 = AtomicU32::new(0);

/// 1 in a program that waits for the command's answer at its first tick.
static AWAITS_ANSWER: AtomicU32 = AtomicU32::new(0);

/// Has the first tick wait for the command's answer.
pub fn await_answer_later() {
    urgent::set_waker(at_tick);
    AWAITS_ANSWER.store(1, Ordering::Relaxed);
}

/// Forgets what was put off: by the parent, in the child of a fork, or by a process that the agent leaves. Returns whether
/// that was its entry.
pub fn forget() -> bool {
    AWAITS_ANSWER.store(0, Ordering::Relaxed);
    swap_place(0) != 0
}

/// Its place, and whether it has one, change together.
fn swap_place(place: u32) -> u32 {
    home::set_deferred(place != 0);
    PLACE.swap(place, Ordering::Relaxed)
}

/// Puts off the entry of the child of a fork, which has one thread. False: it has to enter itself now.
pub fn begin(home: Home, control: &Control) -> bool {
    let may_wait = control.defers.load(Ordering::Relaxed) != 0
        && control.follow.load(Ordering::Relaxed) != 0
        && session::has_not_ended(control)
        && signals::is_installed()
        && !left::has_left();
    // One that is still pending when the child executes a program is ignored there; another signal would kill it.
    if !may_wait || claims::sent() != libc::SIGURG {
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
    shell::reset_after_fork();
    let forked = Forked::now(home);
    BEGAN.store(forked.began, Ordering::Relaxed);
    MAIN.store(forked.main, Ordering::Relaxed);
    let mask = sys::set_signal_mask(u64::MAX);
    let timer = timers::make(control, sys::thread_id(), libc::SIGURG);
    match timer {
        Some(timer) => {
            TIMER.store(timer, Ordering::Relaxed);
            swap_place(place);
        }
        None => give_back(control, place),
    }
    sys::set_signal_mask(mask);
    timer.is_some()
}

/// Enters the process that has put that off.
#[cold]
pub fn enter(home: Home) {
    let mask = sys::set_signal_mask(u64::MAX);
    try_to_enter(home, false);
    sys::set_signal_mask(mask);
}

/// A clock has ticked, and there is no probe. All signals but those of faults are blocked.
extern "C" fn at_tick() {
    let Some(home) = home().filter(|home| home.whose() == Whose::Ours) else {
        return;
    };
    match session::control() {
        Some(control) if AWAITS_ANSWER.swap(0, Ordering::Relaxed) != 0 => {
            start::await_answer(home, control);
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

/// Calls a function on a stack that is made for it: that of a handler may be a few kilobytes, which is enough for a sample, but
/// not for the paths of files.
fn on_a_stack_of_ours(function: extern "C" fn()) {
    const BYTES: usize = 64 << 10;
    let Some(stack) = files::map_zeroed(BYTES) else {
        return;
    };
    // SAFETY: the memory is ours and unused until it is unmapped, and its end is aligned as a stack has to be.
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
        "push rbp",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset rbp, 0",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rsp, rsi",
        "call rdi",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

fn try_to_enter(home: Home, can_try_again: bool) {
    let place = swap_place(0);
    let Some(control) = session::control().filter(|_| place != 0) else {
        return;
    };
    let began = start::cpu_time();
    let forked = Forked {
        began: BEGAN.load(Ordering::Relaxed),
        main: MAIN.load(Ordering::Relaxed),
    };
    if !fork::enter_late(home, control, forked, can_try_again) {
        // The timer goes on.
        swap_place(place);
        return;
    }
    timers::stop(TIMER.load(Ordering::Relaxed));
    start::note_cost(began);
    // Only now: until it is in the books, the command must know that it will be.
    give_back(control, place);
}

/// The process ends. It is not worth an entry any more.
pub fn end() {
    let is_ours = || home().is_some_and(|home| home.whose() == Whose::Ours);
    if is_deferred() && is_ours() {
        swap_place(0);
    }
}

/// Takes a free place; returns its number plus one.
fn take_place(control: &Control) -> Option<u32> {
    /// So many are looked at.
    const TRIALS: usize = 8;
    let own = process::process_id();
    let places = control.deferred.iter().enumerate();
    // Children that are forked one after another find places that lie apart.
    let first = own as usize % control.deferred.len();
    let found = places.cycle().skip(first).take(TRIALS).find(|(_, place)| {
        let taken = place.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed);
        taken.is_ok()
    });
    found.map(|(number, _)| number as u32 + 1)
}

fn give_back(control: &Control, place: u32) {
    let index = (place as usize).wrapping_sub(1);
    if let Some(place) = control.deferred.get(index) {
        let own = process::process_id();
        // The command may have given it to another process.
        let _ = place.compare_exchange(own, 0, Ordering::Release, Ordering::Relaxed);
    }
}

//! SIGTRAP, as long as nobody else wants it: see `profundo_probe::traps`.
//!
//! Whoever asks for it gets it: the command is told, closes the clocks that use it and opens others,
//! and only then the program's call goes on. The same is done before a thread that blocks it
//! executes another program, in which a SIGTRAP that waits would be deadly.

use core::ffi::c_int;
use core::mem::zeroed;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};

use profundo_probe::shared::trap_state;
use profundo_probe::{sys, traps};

use crate::home::{Whose, home};
use crate::process;
use crate::real;
use crate::threads;

static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Whether our handler is there.
pub fn is_installed() -> bool {
    INSTALLED.load(Ordering::Relaxed)
}

/// Installs our handler, if nobody has one.
pub fn install() {
    let Some(sigaction) = real::sigaction() else {
        return;
    };
    // SAFETY: zeroed is a valid action; all pointers are ours.
    unsafe {
        let mut before: libc::sigaction = zeroed();
        let asked = sigaction(libc::SIGTRAP, ptr::null(), &mut before);
        if asked == 0
            && before.sa_sigaction == libc::SIG_DFL
            && sigaction(libc::SIGTRAP, &traps::action(), ptr::null_mut()) == 0
        {
            INSTALLED.store(true, Ordering::Relaxed);
        }
    }
}

/// Tells the command whether it may use SIGTRAP, before it is told of the process.
pub fn offer() {
    if let Some(home) = home().filter(|_| is_installed()) {
        let state = &home.ring().header.trap;
        state.store(trap_state::WELCOME, Ordering::Relaxed);
    }
}

/// Has the clocks use the other signal from now on. Waits until they do, for a while: a command
/// that is gone has no clocks.
fn give_up() {
    const TURN: u64 = 1_000_000;
    const TURNS: usize = 50;
    let Some(home) = home().filter(|home| home.records()) else {
        return;
    };
    let state = &home.ring().header.trap;
    // Release pairs with the acquire of the command.
    if state.load(Ordering::Relaxed) == trap_state::NEVER {
        return;
    }
    state.store(trap_state::UNWELCOME, Ordering::Release);
    threads::tell(home);
    for _ in 0..TURNS {
        if state.load(Ordering::Acquire) == trap_state::NEVER {
            return;
        }
        sys::futex_wait(state, trap_state::UNWELCOME, TURN);
    }
}

/// The program sets an action for a signal, or means to: if it is SIGTRAP, it is its own from here
/// on. A child that borrows its parent's memory has actions of its own.
pub fn before_action(signal: c_int) {
    if signal != libc::SIGTRAP
        || !is_installed()
        || home().is_some_and(|home| home.whose() == Whose::Borrowed)
    {
        return;
    }
    let error = real::errno();
    give_up();
    INSTALLED.store(false, Ordering::Relaxed);
    if let Some(sigaction) = real::sigaction() {
        // SAFETY: zeroed is SIG_DFL.
        unsafe { sigaction(libc::SIGTRAP, &zeroed(), ptr::null_mut()) };
    }
    real::set_errno(error);
}

/// Before the calling thread executes another program. One that lets SIGTRAP in has none that
/// waits.
pub fn before_exec() {
    let Some(home) = home().filter(|_| is_installed()) else {
        return;
    };
    if home.whose() != Whose::Ours || !process::blocks(libc::SIGTRAP) {
        return;
    }
    let error = real::errno();
    give_up();
    traps::take_back();
    real::set_errno(error);
}

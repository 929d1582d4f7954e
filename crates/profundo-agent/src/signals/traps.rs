//! SIGTRAP, as long as the program does not use it: see `profundo_probe::traps`.
//!
//! A program that asks for it gets it: the command closes the clocks that use it and opens others,
//! and then the program's call goes on. Our handler stays and passes on to the program's
//! ([`crate::signals::actions`]), so a command that does not answer in time does no harm. The same
//! is done before the process gives itself up to a debugger, which takes every SIGTRAP for one of
//! its breakpoints.

use core::mem::zeroed;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};

use profundo_probe::hidden;
use profundo_probe::shared::trap_state;
use profundo_probe::urgent::{self, Action};

use crate::home::{Whose, home};
use crate::next_symbols;
use crate::signals::{actions, answer};

static INSTALLED: AtomicBool = AtomicBool::new(false);

/// True if our handler is there.
pub fn is_installed() -> bool {
    INSTALLED.load(Ordering::Relaxed)
}

/// Installs our handler, if there is none.
pub fn install() {
    let Some(sigaction) = next_symbols::sigaction() else {
        return;
    };
    // SAFETY: zeroed is a valid action; all pointers are ours.
    unsafe {
        let mut before: libc::sigaction = zeroed();
        let asked = sigaction(libc::SIGTRAP, ptr::null(), &mut before);
        // Ours may have stayed when the agent left.
        let is_ours = profundo_probe::traps::is_ours(&before);
        let is_free = before.sa_sigaction == libc::SIG_DFL || is_ours;
        if asked != 0 || !is_free {
            return;
        }
        if !is_ours {
            urgent::believe(libc::SIGTRAP, Action::from_libc(&before));
        }
        let ours = urgent::believed(libc::SIGTRAP).installed(libc::SIGTRAP);
        if sigaction(libc::SIGTRAP, &ours, ptr::null_mut()) == 0 {
            hidden::hide(hidden::bit(libc::SIGTRAP));
            INSTALLED.store(true, Ordering::Relaxed);
        }
    }
}

/// Says whether the command may use SIGTRAP, before the command knows of the process.
pub fn offer() {
    let is_hidden = hidden::hidden() & hidden::bit(libc::SIGTRAP) != 0;
    if let Some(home) = home().filter(|_| is_installed() && is_hidden) {
        let state = &home.ring().header.trap;
        state.store(trap_state::WELCOME, Ordering::Relaxed);
    }
}

/// Has the clocks use the other signal from now on. Waits until they do, or the command is gone,
/// which then has no clocks; with a limit, in case it was stopped. Returns whether that is certain.
pub fn give_up() -> bool {
    hidden::reveal(hidden::bit(libc::SIGTRAP));
    let Some(home) = home().filter(|home| home.records()) else {
        return true;
    };
    let state = &home.ring().header.trap;
    // Release pairs with the acquire of the command.
    if state.load(Ordering::Relaxed) == trap_state::NEVER {
        return true;
    }
    state.store(trap_state::UNWELCOME, Ordering::Release);
    home.ring_bell();
    answer::wait_for_command(|| {
        let now = state.load(Ordering::Acquire);
        (now != trap_state::NEVER).then_some((state, now))
    })
}

/// True if this process has lent its SIGTRAP to us. A child that borrows its parent's memory has
/// actions of its own, and no clocks.
pub fn is_lent() -> bool {
    is_installed() && home().is_none_or(|home| home.whose() != Whose::Borrowed)
}

/// The process lets its parent trace it.
pub fn before_trace() {
    if is_lent() {
        let error = next_symbols::errno();
        give_up();
        next_symbols::set_errno(error);
    }
}

/// The agent leaves the process, which may not even return from a handler soon. The signal of a
/// clock that still runs is ignored, if the program has no handler.
///
/// `pending`: the signals of ours that wait for a thread which blocks them. Its handler stays then.
pub fn leave(pending: u64) {
    if !is_lent() {
        return;
    }
    let is_sure = give_up();
    actions::alone(|| {
        INSTALLED.store(false, Ordering::Relaxed);
        let mut action = urgent::believed(libc::SIGTRAP);
        if !is_sure && !action.is_function() {
            action.handler = libc::SIG_IGN;
        }
        if pending & hidden::bit(libc::SIGTRAP) == 0
            && let Some(sigaction) = next_symbols::sigaction()
        {
            // SAFETY: the action is ours.
            unsafe { sigaction(libc::SIGTRAP, &action.to_libc(), ptr::null_mut()) };
        }
    });
}

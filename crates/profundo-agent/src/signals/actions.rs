//! The signals that our clocks send, [`ASKED`], as the program knows them.
//!
//! The program may install a handler of its own, ask for the one that it has, and wait for the
//! signal. It gets what it would have got; our handler stays and passes on signals that are not
//! ours. A program that waits for all signals at once does not get those of our clocks; one that
//! names a signal of them has it for itself: [`claims`].

use core::ffi::c_int;
use core::mem::zeroed;
use core::ptr;

use profundo_probe::hidden::{self, ALL, ASKED, bit};
use profundo_probe::sys;
use profundo_probe::urgent::{self, Action};

use crate::c_library;
use crate::home::{Whose, home};
use crate::lock::Lock;
use crate::next_symbols::{self, Handler};
use crate::signals::{blocked, claims, sent, traps, waiting};

/// A flag of the C library's own handlers, which queries return.
pub const SA_RESTORER: c_int = 0x0400_0000;

/// The signals that a program uses if it has a handler for them. A pending signal is not queued
/// again: one that the program sends while a tick is pending would never reach its handler. A
/// handler of SIGSTKFLT does not count: nothing sends it, but some programs handle all signals.
const USED_BY_HANDLERS: [c_int; 2] = [libc::SIGTRAP, libc::SIGURG];

static CHANGING: Lock = Lock::new();

/// Installs our handler, and hides its signals.
pub fn install() {
    let Some(sigaction) = next_symbols::sigaction() else {
        return;
    };
    CHANGING.with(|| {
        for signal in ASKED {
            // SAFETY: zeroed is a valid action; all pointers are ours.
            unsafe {
                let mut before: libc::sigaction = zeroed();
                if sigaction(signal, ptr::null(), &mut before) != 0 {
                    continue;
                }
                // Ours may have stayed when the agent left.
                if !is_our_handler(&before) {
                    urgent::believe(signal, Action::from_libc(&before));
                }
                let ours = urgent::believed(signal).installed(signal);
                if sigaction(signal, &ours, ptr::null_mut()) == 0 {
                    hidden::hide(bit(signal));
                    sent::set_installed(true);
                }
            }
        }
    });
    sent::choose();
    blocked::begin_program();
}

/// True if a call about this signal is for us to answer. A child that borrows its parent's memory
/// has actions of its own, but the parent's view of them must not change.
pub fn is_for_us(signal: c_int) -> bool {
    has_ours(signal) && home().is_none_or(|home| home.whose() != Whose::Borrowed)
}

/// True if our handler is there for a signal.
fn has_ours(signal: c_int) -> bool {
    match signal {
        libc::SIGTRAP => traps::is_installed(),
        _ => ASKED.contains(&signal) && sent::is_installed(),
    }
}

/// Does what the program asks for; returns its action before.
pub fn exchange(signal: c_int, new: Option<Action>) -> Action {
    if USED_BY_HANDLERS.contains(&signal) && new.is_some_and(Action::is_function) {
        let error = next_symbols::errno();
        claims::claim(bit(signal));
        next_symbols::set_errno(error);
    }
    CHANGING.with(|| {
        if !has_ours(signal) {
            // The agent has left meanwhile.
            let before = current(signal);
            if let Some(new) = new {
                set(signal, new.to_libc());
            }
            return match before.filter(|before| !is_our_handler(before)) {
                Some(before) => Action::from_libc(&before),
                None => urgent::believed(signal),
            };
        }
        let before = urgent::believed(signal);
        if let Some(new) = new {
            urgent::believe(signal, new);
            if let Some(sigaction) = next_symbols::sigaction() {
                // SAFETY: the action is ours.
                unsafe { sigaction(signal, &new.installed(signal), ptr::null_mut()) };
            }
        }
        before
    })
}

/// True if an action is a handler of ours, which is not shown.
pub fn is_our_handler(action: &libc::sigaction) -> bool {
    urgent::is_ours(action) || profundo_probe::traps::is_ours(action)
}

/// True if a handler is ours, which is not shown.
pub fn is_ours(handler: Handler) -> bool {
    // SAFETY: zeroed is a valid action.
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = handler;
    is_our_handler(&action)
}

/// As `sigaction` does it; `None`: the call is not for us to answer.
pub fn exchange_by_number(signal: c_int, new: Option<Action>) -> Option<Action> {
    is_for_us(signal).then(|| exchange(signal, new))
}

/// As `signal` and its like do it: returns the handler before.
pub fn exchange_handler(signal: c_int, handler: Handler, flags: c_int) -> Handler {
    if handler == libc::SIG_ERR {
        next_symbols::set_errno(libc::EINVAL);
        return libc::SIG_ERR;
    }
    let new = Action {
        handler,
        flags: flags | SA_RESTORER,
        // BSD's `signal` blocks the signal itself in its handler, and `sigaction` shows that mask.
        mask: match flags & libc::SA_RESTART != 0 && c_library::signal_masks_itself() {
            true => bit(signal),
            false => 0,
        },
    };
    let before = exchange(signal, Some(new));
    before.handler
}

/// Removes our handlers: each signal has the program's own action from here on. Where clocks may
/// still send one, it is ignored.
///
/// A signal of `pending` may be a tick that waits for a thread which blocks it. Its handler stays:
/// it drops ours, and passes on all others.
pub fn withdraw(are_clocks_stopped: bool, pending: u64) {
    CHANGING.with(|| {
        sent::set_installed(false);
        hidden::reveal(u64::MAX);
        for signal in ASKED {
            let mut action = urgent::believed(signal);
            // SIGURG is ignored by default. A signal that is set to be ignored is also ignored in
            // the next program.
            if !are_clocks_stopped && !action.is_function() && signal != libc::SIGURG {
                action.handler = libc::SIG_IGN;
            }
            if pending & bit(signal) == 0 {
                set_and_keep_waiting(signal, action.to_libc());
            }
        }
    });
}

/// Sets an action. Where the signal is ignored from then on, the kernel forgets one that waits; but
/// the program may block it, and wait for it. It is taken before, and sent again.
fn set_and_keep_waiting(signal: c_int, action: libc::sigaction) {
    let is_default = action.sa_sigaction == libc::SIG_DFL && signal == libc::SIGURG;
    if !is_default && action.sa_sigaction != libc::SIG_IGN {
        return set(signal, action);
    }
    let before = sys::set_signal_mask(u64::MAX);
    let waiting = waiting::take(signal);
    set(signal, action);
    if let Some(info) = waiting {
        // SAFETY: the kernel's information on a signal of this process.
        unsafe { urgent::send_again(signal, &info) };
    }
    sys::set_signal_mask(before);
}

/// Calls `f` while no action changes.
pub fn alone<T>(f: impl FnOnce() -> T) -> T {
    CHANGING.with(f)
}

/// Before the program becomes another one, which inherits ignored signals, but no handlers. Returns
/// the signals that were changed.
pub fn before_exec() -> u64 {
    let is_ignored = |&signal: &c_int| {
        has_ours(signal)
            && urgent::believed(signal).handler == libc::SIG_IGN
            // A child that borrows its parent's memory may have set another action.
            && current(signal).is_some_and(|action| is_our_handler(&action))
    };
    let mut changed = 0;
    for signal in ALL.into_iter().filter(is_ignored) {
        changed |= bit(signal);
        set(signal, urgent::believed(signal).to_libc());
    }
    changed
}

/// Undoes [`before_exec`], after a failed `exec`.
pub fn after_exec(changed: u64) {
    if changed == 0 {
        return;
    }
    let error = next_symbols::errno();
    for signal in ALL {
        if changed & bit(signal) != 0 {
            set(signal, urgent::believed(signal).installed(signal));
        }
    }
    next_symbols::set_errno(error);
}

/// Whether the program has a handler for SIGURG, before ours is installed.
pub fn handles_sigurg() -> bool {
    match current(libc::SIGURG) {
        // Ours may have stayed when the agent left.
        Some(action) if is_our_handler(&action) => urgent::believed(libc::SIGURG).is_function(),
        Some(action) => Action::from_libc(&action).is_function(),
        None => false,
    }
}

/// The kernel's action for a signal.
fn current(signal: c_int) -> Option<libc::sigaction> {
    // SAFETY: zeroed is a valid action, and the place is ours.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        (next_symbols::sigaction()?(signal, ptr::null(), &mut action) == 0).then_some(action)
    }
}

fn set(signal: c_int, action: libc::sigaction) {
    if let Some(sigaction) = next_symbols::sigaction() {
        // SAFETY: the action is ours.
        unsafe { sigaction(signal, &action, ptr::null_mut()) };
    }
}

/// The changes to undo after another program was started.
#[derive(Clone, Copy)]
pub struct SpawnUndo {
    /// The signals whose actions were changed.
    changed: u64,
    /// The mask to go back to, if it was changed.
    mask: Option<u64>,
}

/// Before another program is started: it also inherits the signals that the calling thread blocks.
pub fn before_spawn() -> SpawnUndo {
    SpawnUndo {
        changed: before_exec(),
        mask: blocked::apply_shown_mask(),
    }
}

/// Undoes [`before_spawn`], after the start.
pub fn after_spawn(undo: SpawnUndo) {
    blocked::restore_mask(undo.mask);
    after_exec(undo.changed);
}

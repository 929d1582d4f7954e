//! Before a thread that blocks our signals executes another program: a pending signal would stay
//! pending in that program, as one without a sender, or kill it.
//!
//! The command stops the clocks, and then pending signals are taken back. A thread that lets both
//! in has none pending, and neither has a new process. Its timer is stopped if it sends a signal
//! that kills.

use core::ffi::c_int;
use core::sync::atomic::Ordering;

use profundo_probe::shared::Silence;
use profundo_probe::{hidden, sys};

use crate::home::{Home, Whose, home};
use crate::signals::{answer, blocked, sent, timers, traps, waiting};
use crate::{left, next_symbols, process, session};

/// The changes to undo if the `exec` fails.
#[derive(Clone, Copy)]
pub struct Undo {
    is_silent: bool,
    mask: Option<u64>,
    /// True if the thread's timer was stopped.
    is_timer_stopped: bool,
}

/// Leaves no signal of ours pending, and has the kernel block what the program blocks: the next
/// program inherits that.
pub fn before_exec() -> Undo {
    let nothing = Undo {
        is_silent: false,
        mask: None,
        is_timer_stopped: false,
    };
    // A program that restricts its system calls has left us, and must not be made to call.
    if left::has_left() || !(sent::is_installed() || traps::is_installed()) {
        return nothing;
    }
    let Some(home) = home().filter(|home| home.whose() == Whose::Ours && home.records()) else {
        let mask = blocked::apply_shown_mask();
        return Undo { mask, ..nothing };
    };
    let sent = sent::sent();
    let ours = match sent {
        0 => hidden::bit(libc::SIGTRAP),
        sent => hidden::bit(libc::SIGTRAP) | hidden::bit(sent),
    };
    let is_timer_stopped = stop_timer(home, sent);
    if hidden::shown(process::blocked()) & ours == 0 {
        let mask = blocked::apply_shown_mask();
        return Undo {
            mask,
            is_timer_stopped,
            ..nothing
        };
    }
    let error = next_symbols::errno();
    ask(home);
    let mask = blocked::apply_shown_mask();
    if sent != 0 {
        waiting::take_back(sent);
    }
    if traps::is_installed() {
        profundo_probe::traps::take_back();
    }
    next_symbols::set_errno(error);
    Undo {
        is_silent: true,
        mask,
        is_timer_stopped,
    }
}

/// Stops the timer of a thread that may execute another program. Kernels before 6.13 hand a tick
/// that comes in that call to the next program, which would die of it. SIGURG is ignored there.
fn stop_timer(home: Home, sent: c_int) -> bool {
    // SAFETY: the probe was made before the home was settled.
    let threads = unsafe { &home.probe().threads };
    let slot = || threads.find(sys::thread_id());
    sent != 0 && sent != libc::SIGURG && slot().is_some_and(timers::end)
}

/// Starts the thread's timer again.
fn start_timer(home: Home) {
    let tid = sys::thread_id();
    // SAFETY: as above.
    let slot = unsafe { home.probe() }.threads.find(tid);
    if let (Some(slot), Some(control)) = (slot, session::control()) {
        timers::start(control, slot, tid);
    }
}

/// The `exec` has failed.
pub fn after_exec(undo: Undo) {
    blocked::restore_mask(undo.mask);
    let Some(home) = home() else { return };
    if undo.is_timer_stopped {
        start_timer(home);
    }
    if undo.is_silent {
        let error = next_symbols::errno();
        silence(home).wanted.fetch_sub(1, Ordering::Release);
        home.ring_bell();
        next_symbols::set_errno(error);
    }
}

fn silence(home: Home) -> &'static Silence {
    &home.ring().header.silence
}

/// Asks for silence, and waits for it, within limits: a command that is gone has no clocks.
fn ask(home: Home) {
    let silence = silence(home);
    silence.wanted.fetch_add(1, Ordering::Relaxed);
    // Release pairs with the acquire of the command, which finds that it is wanted.
    let ticket = silence
        .asked
        .fetch_add(1, Ordering::Release)
        .wrapping_add(1);
    home.ring_bell();
    answer::wait_for_command(|| {
        let heard = silence.heard.load(Ordering::Acquire);
        let is_heard = heard.wrapping_sub(ticket) as i32 >= 0;
        (!is_heard).then_some((&silence.heard, heard))
    });
}

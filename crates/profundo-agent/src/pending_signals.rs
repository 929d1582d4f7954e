//! Before a thread that blocks our signals executes another program: what waits for it then would
//! wait in that program as well. It would be one that nobody sent, or kill it.
//!
//! The command stops the clocks, and then what waits is taken back. A thread that lets both in has none
//! waiting, and neither has a new process. Its timer is stopped if it sends a signal that kills.

use core::ffi::c_int;
use core::sync::atomic::Ordering;

use profundo_probe::shared::Silence;
use profundo_probe::{hidden, sys};

use crate::home::{Home, Whose, home};
use crate::{
    blocked, claims, left, next_symbols, process, session, signals, threads, timers, traps,
};

/// What is to be undone if the program stays.
#[derive(Clone, Copy)]
pub struct Quiet {
    is_silent: bool,
    mask: Option<u64>,
    /// Whether the thread's timer was stopped.
    is_timer_stopped: bool,
}

/// Sees to it that nothing of ours waits, and that the kernel blocks what the program blocks: the next
/// program inherits that.
pub fn before_exec() -> Quiet {
    let nothing = Quiet {
        is_silent: false,
        mask: None,
        is_timer_stopped: false,
    };
    // A program that restricts its calls has left us, and is not to be made to call.
    if left::has_left() || !(signals::is_installed() || traps::is_installed()) {
        return nothing;
    }
    let Some(home) = home().filter(|home| home.whose() == Whose::Ours && home.records()) else {
        let mask = blocked::make_real();
        return Quiet { mask, ..nothing };
    };
    let sent = claims::sent();
    let ours = match sent {
        0 => hidden::bit(libc::SIGTRAP),
        sent => hidden::bit(libc::SIGTRAP) | hidden::bit(sent),
    };
    let is_timer_stopped = stop_timer(home, sent);
    if hidden::shown(process::blocked()) & ours == 0 {
        let mask = blocked::make_real();
        return Quiet {
            mask,
            is_timer_stopped,
            ..nothing
        };
    }
    let error = next_symbols::errno();
    ask(home);
    let mask = blocked::make_real();
    if sent != 0 {
        signals::take_back(sent);
    }
    if traps::is_installed() {
        profundo_probe::traps::take_back();
    }
    next_symbols::set_errno(error);
    Quiet {
        is_silent: true,
        mask,
        is_timer_stopped,
    }
}

/// Stops the timer of a thread that may execute another program. Kernels before 6.13 hand a tick that comes in that
/// call to the next program, which would die of it. SIGURG is thrown away there.
fn stop_timer(home: Home, sent: c_int) -> bool {
    // SAFETY: the probe was made before the home was settled.
    let threads = unsafe { &home.probe().threads };
    let slot = || threads.find(sys::thread_id());
    sent != 0 && sent != libc::SIGURG && slot().is_some_and(timers::end)
}

/// Starts it again.
fn start_timer(home: Home) {
    let tid = sys::thread_id();
    // SAFETY: as above.
    let slot = unsafe { home.probe() }.threads.find(tid);
    if let (Some(slot), Some(control)) = (slot, session::control()) {
        timers::start(control, slot, tid);
    }
}

/// The program has stayed what it was.
pub fn after_exec(quiet: Quiet) {
    blocked::make_unreal(quiet.mask);
    let Some(home) = home() else { return };
    if quiet.is_timer_stopped {
        start_timer(home);
    }
    if quiet.is_silent {
        let error = next_symbols::errno();
        silence(home).wanted.fetch_sub(1, Ordering::Release);
        threads::tell(home);
        next_symbols::set_errno(error);
    }
}

fn silence(home: Home) -> &'static Silence {
    &home.ring().header.silence
}

/// Asks for silence, and waits for it, for a while: a command that is gone has no clocks.
fn ask(home: Home) {
    let silence = silence(home);
    silence.wanted.fetch_add(1, Ordering::Relaxed);
    // Release pairs with the acquire of the command, which finds that it is wanted.
    let ticket = silence
        .asked
        .fetch_add(1, Ordering::Release)
        .wrapping_add(1);
    threads::tell(home);
    claims::wait_for_command(|| {
        let heard = silence.heard.load(Ordering::Acquire);
        let is_heard = heard.wrapping_sub(ticket) as i32 >= 0;
        (!is_heard).then_some((&silence.heard, heard))
    });
}

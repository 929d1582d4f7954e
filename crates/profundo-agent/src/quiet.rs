//! Before a thread that blocks our signals executes another program: what waits for it then would
//! wait in that program as well. A SIGTRAP would kill it, and a SIGURG would be one that nobody sent.
//!
//! The command stops the clocks, and then what waits is taken back. A thread that lets both in has none
//! waiting, and neither has a new process. The signals of timers are the kernel's to remove.

use core::sync::atomic::Ordering;

use profundo_probe::shared::Silence;
use profundo_probe::sys;

use crate::home::{Home, Whose, home};
use crate::{process, real, session, signals, threads, traps};

const OURS: u64 = (1 << (libc::SIGURG - 1)) | (1 << (libc::SIGTRAP - 1));

/// Returns whether anything is to be undone if the program stays.
pub fn before_exec() -> bool {
    // A program that restricts its calls has left us, and is not to be made to call.
    let Some(home) = home().filter(|home| home.whose() == Whose::Ours && home.records()) else {
        return false;
    };
    if !(signals::is_installed() || traps::is_installed()) || process::blocked() & OURS == 0 {
        return false;
    }
    let error = real::errno();
    ask(home);
    signals::take_back();
    if traps::is_installed() {
        profundo_probe::traps::take_back();
    }
    real::set_errno(error);
    true
}

/// The program has stayed what it was.
pub fn after_exec(is_quiet: bool) {
    if is_quiet && let Some(home) = home() {
        let error = real::errno();
        silence(home).wanted.fetch_sub(1, Ordering::Release);
        threads::tell(home);
        real::set_errno(error);
    }
}

fn silence(home: Home) -> &'static Silence {
    &home.ring().header.silence
}

/// Asks for silence, and waits for it, for a while: a command that is gone has no clocks.
fn ask(home: Home) {
    const TURN: u64 = 1_000_000;
    const TURNS: usize = 100;
    let silence = silence(home);
    silence.wanted.fetch_add(1, Ordering::Relaxed);
    // Release pairs with the acquire of the command, which finds that it is wanted.
    let ticket = silence
        .asked
        .fetch_add(1, Ordering::Release)
        .wrapping_add(1);
    if !session::control().is_some_and(session::is_alive) {
        return;
    }
    threads::tell(home);
    for _ in 0..TURNS {
        let heard = silence.heard.load(Ordering::Acquire);
        if heard.wrapping_sub(ticket) as i32 >= 0 {
            return;
        }
        sys::futex_wait(&silence.heard, heard, TURN);
    }
}

//! The handler of an agent for SIGURG, and for the signal that replaces it in a program that uses
//! SIGURG itself. SIGTRAP has another one ([`crate::traps`]).
//!
//! Our handler stays once it was installed. The program's action is kept in [`crate::actions`]
//! instead, returned when the program asks, and called for every signal that is not ours
//! ([`crate::pass_on`]).

use profundo_wire::State;

pub use crate::actions::{Action, believe, believed};
use crate::event::{Event, SystemCall};
use crate::handlers::{value, word_at};
use crate::pass_on::pass_on;
pub use crate::pass_on::send_again;
use crate::probe::Probe;
use crate::receiver::{AtWork, probe, wake};
pub use crate::receiver::{is_idle, reset_after_fork, set_probe, set_waker};
use crate::traps;

/// The codes of a signal that a descriptor sends, from the first to the last.
const POLL_IN: i32 = 1;
const POLL_HUP: i32 = 6;

impl Action {
    /// The action to install for it: our handler of this signal, which must not make a system call
    /// fail that the program's would not.
    pub fn installed(self, signal: i32) -> libc::sigaction {
        let mut flags = libc::SA_RESTART | libc::SA_ONSTACK;
        if self.is_function() {
            flags &= self.flags;
        }
        let mut action = Self {
            handler: match signal {
                libc::SIGTRAP => traps::handler(),
                _ => on_urgent as *const () as usize,
            },
            flags: flags | libc::SA_SIGINFO,
            mask: u64::MAX,
        }
        .to_libc();
        for fault in [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGABRT,
        ] {
            // SAFETY: the set is ours. Faults of our own must stay deliverable.
            unsafe { libc::sigdelset(&mut action.sa_mask, fault) };
        }
        action
    }
}

/// Whether an action is our own handler.
pub fn is_ours(action: &libc::sigaction) -> bool {
    action.sa_sigaction == on_urgent as *const () as usize
}

/// The meaning of a signal.
enum Meaning {
    /// A clock of ours.
    Ours(Event),
    /// A clock of ours, on a thread that has reported its end and is about to go.
    Late,
    /// Nothing of ours.
    Theirs,
}

/// # Safety
/// `info` is the kernel's, of this signal.
unsafe fn meaning(signal: i32, info: *const libc::siginfo_t, probe: Option<&Probe>) -> Meaning {
    // SAFETY: the kernel's structure; what offset 24 holds depends on the code, and is only
    // interpreted below.
    let (code, value) = unsafe { ((*info).si_code, word_at(info, 24)) };
    // The thread finds out its weight: `crate::phase`.
    let tick = |system_call| {
        Meaning::Ours(Event {
            weight: 0,
            state: State::Running,
            tag: 0,
            system_call,
            only_if_wanted: false,
        })
    };
    match (code, value) {
        (libc::SI_TIMER, value::CPU_TIMER) => tick(SystemCall::Check),
        (libc::SI_TIMER, value::SYSTEM_TIMER) => tick(SystemCall::Counted),
        (POLL_IN..=POLL_HUP, value) => match probe {
            Some(probe) if probe.is_own_clock(value as u32) => tick(SystemCall::Never),
            Some(probe) if !probe.knows_this_thread() => Meaning::Late,
            // The agent is starting or leaving, and a clock of the command may still run. The
            // program means a descriptor of its own only if it has a handler for it.
            None if !believed(signal).is_function() => Meaning::Late,
            _ => Meaning::Theirs,
        },
        _ => Meaning::Theirs,
    }
}

/// Whether a signal that was taken from the calling thread's queue is a clock of ours.
///
/// # Safety
/// `info` is the kernel's.
pub unsafe fn is_clock(signal: i32, info: *const libc::siginfo_t) -> bool {
    // SAFETY: passed on.
    !matches!(unsafe { meaning(signal, info, probe()) }, Meaning::Theirs)
}

extern "C" fn on_urgent(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let at_work = AtWork::begin();
    let probe = probe();
    // SAFETY: the kernel's arguments.
    match (unsafe { meaning(signal, info, probe) }, probe) {
        // SAFETY: this is a handler, and `context` is the kernel's.
        (Meaning::Ours(event), Some(probe)) => unsafe { probe.sample(event, context.cast()) },
        (Meaning::Ours(event), None) => {
            if let Some(probe) = wake() {
                // SAFETY: as above.
                unsafe { probe.sample(event, context.cast()) }
            }
        }
        (Meaning::Late, _) => {}
        (Meaning::Theirs, _) => {
            // The program's handler may never return.
            drop(at_work);
            // SAFETY: passed on.
            unsafe { pass_on(signal, info, context) }
        }
    }
}

#[cfg(test)]
mod tests {
    use core::mem::MaybeUninit;

    use super::*;
    use crate::hidden;

    #[test]
    fn a_clock_is_no_signal_of_the_program_when_there_is_no_probe() {
        // SAFETY: zeroed is a valid siginfo, and so is one with a code.
        let mut info: libc::siginfo_t = unsafe { MaybeUninit::zeroed().assume_init() };
        info.si_code = POLL_IN;
        for signal in hidden::ASKED {
            // SAFETY: the information is ours.
            assert!(unsafe { is_clock(signal, &info) });
        }
        info.si_code = libc::SI_USER;
        // SAFETY: as above.
        assert!(!unsafe { is_clock(libc::SIGSTKFLT, &info) });
    }
}

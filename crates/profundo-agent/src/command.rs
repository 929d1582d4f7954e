//! The command, as its programs see it: whether it is still there, whether it sees the same
//! processes as they do, and whether it counts everything.
//!
//! Programs in a container that is recorded from outside do not see the command among their
//! processes. They look at the lock that it has on the session's file.

use core::sync::atomic::{AtomicU64, Ordering};

use profundo_probe::shared::{Control, SessionState, file, memory_kind};
use profundo_probe::sys;

use crate::{files, process, session};

/// True if the command still records. One that was killed could not say that the session is over.
pub fn is_alive(control: &Control) -> bool {
    let over = SessionState::Over as u32;
    if control.state.load(Ordering::Relaxed) == over {
        return false;
    }
    let has_gone = match is_elsewhere(control) {
        true => has_let_go(),
        false => {
            let command = control.command.load(Ordering::Relaxed);
            let is_here = shares_pid_namespace(control);
            is_here && command != 0 && !process::exists(command)
        }
    };
    if has_gone {
        control.state.store(over, Ordering::Relaxed);
    }
    !has_gone
}

/// True if the command is in another pid namespace than the programs that it records.
pub fn is_elsewhere(control: &Control) -> bool {
    control.is_elsewhere.load(Ordering::Relaxed) != 0
}

/// True if the command of this session has no lock on its file any more. Looked at ten times a
/// second at most.
fn has_let_go() -> bool {
    const PAUSE: u64 = 100_000_000;
    static LOOKED: AtomicU64 = AtomicU64::new(0);
    let now = process::time(libc::CLOCK_MONOTONIC);
    if now.saturating_sub(LOOKED.load(Ordering::Relaxed)) < PAUSE {
        return false;
    }
    let mut path = [0; session::PATH];
    let Some(path) = session::file_called(&mut path, file::CONTROL) else {
        return false;
    };
    // The lock goes with the descriptor.
    let flags = libc::O_RDONLY | libc::O_NOFOLLOW;
    let is_free = files::with_file(path, flags, |file| {
        let how = (libc::LOCK_SH | libc::LOCK_NB) as usize;
        // SAFETY: the descriptor is ours.
        unsafe { sys::call(libc::SYS_flock, [file, how, 0, 0, 0, 0]) == 0 }
    });
    let is_free = is_free.unwrap_or(false);
    if !is_free {
        LOOKED.store(now, Ordering::Relaxed);
    }
    is_free
}

/// True if there is a command that may answer. A session that this process has made by itself has
/// none.
pub fn may_answer(control: &Control) -> bool {
    control.is_alone.load(Ordering::Relaxed) == 0 && is_alive(control)
}

/// True if the session is not marked as over.
pub fn has_not_ended(control: &Control) -> bool {
    control.state.load(Ordering::Relaxed) != SessionState::Over as u32
}

/// True if process ids mean the same to the command as here. Without a `/proc` they do if the
/// command is visible: otherwise it may be in another namespace, or gone.
pub fn shares_pid_namespace(control: &Control) -> bool {
    /// The cached answer and its process: twice its id, plus one if it is true. Asking the kernel
    /// takes longer than most of the work at a start.
    static ANSWER: AtomicU64 = AtomicU64::new(0);
    let question = u64::from(process::process_id()) << 1;
    let answer = ANSWER.load(Ordering::Relaxed);
    if answer & !1 == question {
        return answer != question;
    }
    let of_command = control.namespace.load(Ordering::Relaxed);
    let is_shared = match process::pid_namespace().filter(|_| of_command != 0) {
        Some(namespace) => namespace == of_command,
        // Not cached, since that may change.
        None => {
            return !is_elsewhere(control)
                && process::exists(control.command.load(Ordering::Relaxed));
        }
    };
    ANSWER.store(question | u64::from(is_shared), Ordering::Relaxed);
    is_shared
}

/// True if every call or every allocation is counted.
pub fn counts_all(control: &Control) -> bool {
    control.trace.load(Ordering::Relaxed) != 0
        || control.memory.load(Ordering::Relaxed) == memory_kind::EXACT
}

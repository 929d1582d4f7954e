//! The command, as its programs see it: whether it is still there, whether it sees the same
//! processes as they do, and whether it counts everything.

use core::sync::atomic::{AtomicU64, Ordering};

use profundo_probe::shared::{Control, SessionState, memory_kind};

use crate::process;

/// True if the command still records. One that was killed could not say that the session is over.
pub fn is_alive(control: &Control) -> bool {
    let over = SessionState::Over as u32;
    if control.state.load(Ordering::Relaxed) == over {
        return false;
    }
    let command = control.command.load(Ordering::Relaxed);
    let is_here = shares_pid_namespace(control);
    if is_here && command != 0 && !process::exists(command) {
        control.state.store(over, Ordering::Relaxed);
        return false;
    }
    true
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
        None => return process::exists(control.command.load(Ordering::Relaxed)),
    };
    ANSWER.store(question | u64::from(is_shared), Ordering::Relaxed);
    is_shared
}

/// True if every call or every allocation is counted.
pub fn counts_all(control: &Control) -> bool {
    control.trace.load(Ordering::Relaxed) != 0
        || control.memory.load(Ordering::Relaxed) == memory_kind::EXACT
}

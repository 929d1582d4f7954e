//! The signal dispositions and descriptors with which the command was started: the runtime ignores
//! SIGPIPE and opens standard streams that are closed, and the target must see neither.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// The state that the target gets back.
#[derive(Debug, Clone, Copy)]
pub struct Inherited {
    /// True if SIGPIPE was ignored.
    pub ignored_pipe: bool,
    /// True if SIGCHLD was ignored.
    pub ignored_child: bool,
    /// True if SIGXFSZ was ignored.
    pub ignored_file_size: bool,
    /// The descriptors among 0, 1 and 2 that were closed.
    pub closed: [bool; 3],
}

static IGNORED_PIPE: AtomicBool = AtomicBool::new(false);
static IGNORED_CHILD: AtomicBool = AtomicBool::new(false);
static IGNORED_FILE_SIZE: AtomicBool = AtomicBool::new(false);
/// A bit for each of the first three descriptors.
static CLOSED: AtomicI32 = AtomicI32::new(0);

#[used]
#[unsafe(link_section = ".init_array")]
static AT_THE_BEGINNING: extern "C" fn() = note;

extern "C" fn note() {
    IGNORED_PIPE.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
    IGNORED_CHILD.store(is_ignored(libc::SIGCHLD), Ordering::Relaxed);
    IGNORED_FILE_SIZE.store(is_ignored(libc::SIGXFSZ), Ordering::Relaxed);
    // Writing beyond the file size limit shall be an error, not a signal that kills us.
    dispose(libc::SIGXFSZ, true);
    for stream in 0..3 {
        // SAFETY: asks about a descriptor, and changes nothing.
        if unsafe { libc::fcntl(stream, libc::F_GETFD) } < 0 {
            CLOSED.fetch_or(1 << stream, Ordering::Relaxed);
        }
    }
    if is_ignored(libc::SIGCHLD) {
        // While SIGCHLD is ignored, the target cannot be waited for.
        dispose(libc::SIGCHLD, false);
    }
}

/// Ignores a signal, or restores its default action. May be called between fork and exec.
pub fn dispose(signal: i32, ignored: bool) {
    // SAFETY: a zeroed structure is a valid one, and neither disposition runs code of ours.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = if ignored {
            libc::SIG_IGN
        } else {
            libc::SIG_DFL
        };
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: a zeroed structure is a valid one to be filled in.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: asks for an action, and changes nothing.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// The state that was noted at the start.
pub fn state() -> Inherited {
    // Relaxed: it was stored before any thread was started.
    let closed = CLOSED.load(Ordering::Relaxed);
    Inherited {
        ignored_pipe: IGNORED_PIPE.load(Ordering::Relaxed),
        ignored_child: IGNORED_CHILD.load(Ordering::Relaxed),
        ignored_file_size: IGNORED_FILE_SIZE.load(Ordering::Relaxed),
        closed: [0, 1, 2].map(|stream| closed & 1 << stream != 0),
    }
}

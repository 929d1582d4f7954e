//! The signals that we handle in a recorded program, and the program's own actions for them, as the
//! program believes them to be in force.

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// The bit of a signal in a mask.
pub const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// The signals that a timer or a descriptor sends, in the order of preference.
///
/// SIGURG means nothing by default, so one still pending at an `exec` does no harm, and a debugger
/// lets it pass. Linux itself never raises SIGSTKFLT. Both come at most once: a real-time signal is
/// queued, and where the queue is full a descriptor sends SIGIO instead, which kills.
pub const ASKED: [i32; 2] = [libc::SIGURG, libc::SIGSTKFLT];

/// All signals that may ever be hidden.
pub const ALL: [i32; 3] = [libc::SIGTRAP, ASKED[0], ASKED[1]];

/// A program's action for a signal: handler, flags and mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Action {
    /// `SIG_DFL`, `SIG_IGN` or a function.
    pub handler: usize,
    /// `SA_RESTART` and the like.
    pub flags: i32,
    /// The signals blocked meanwhile: bit n for signal n + 1.
    pub mask: u64,
}

impl Action {
    /// The initial action.
    pub const DEFAULT: Self = Self {
        handler: libc::SIG_DFL,
        flags: 0,
        mask: 0,
    };

    /// An action from libc's form.
    pub fn from_libc(action: &libc::sigaction) -> Self {
        Self {
            handler: action.sa_sigaction,
            flags: action.sa_flags,
            // SAFETY: a set is longer than the kernel's eight bytes, which come first.
            mask: unsafe { (&raw const action.sa_mask).cast::<u64>().read() },
        }
    }

    /// The action in libc's form.
    pub fn to_libc(self) -> libc::sigaction {
        // SAFETY: zeroed is a valid action; the set's first eight bytes are the kernel's.
        unsafe {
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = self.handler;
            action.sa_flags = self.flags;
            (&raw mut action.sa_mask).cast::<u64>().write(self.mask);
            action
        }
    }

    /// Whether the handler is a function of the program.
    pub fn is_function(self) -> bool {
        self.handler != libc::SIG_DFL && self.handler != libc::SIG_IGN
    }
}

/// The program's action, in its own view. One thread at a time writes it; any thread and any
/// handler reads it and never waits: the writer fills in the unused copy, and then makes it the
/// current one. A writer that is preempted half way leaves the old action in force.
struct Believed {
    /// The number of writes. Its lowest bit selects the current copy.
    version: AtomicU32,
    copies: [Kept; 2],
}

/// An [`Action`] that is read while it may be written.
struct Kept {
    handler: AtomicUsize,
    flags: AtomicU32,
    mask: AtomicU64,
}

/// One for each of [`ALL`].
static BELIEVED: [Believed; ALL.len()] = [const { Believed::new() }; ALL.len()];

fn believed_of(signal: i32) -> Option<&'static Believed> {
    let index = ALL.iter().position(|&ours| ours == signal)?;
    BELIEVED.get(index)
}

impl Believed {
    const fn new() -> Self {
        Self {
            version: AtomicU32::new(0),
            copies: [const {
                Kept {
                    handler: AtomicUsize::new(libc::SIG_DFL),
                    flags: AtomicU32::new(0),
                    mask: AtomicU64::new(0),
                }
            }; 2],
        }
    }

    /// The current copy in a version.
    fn copy(&self, version: u32) -> &Kept {
        let [even, odd] = &self.copies;
        if version & 1 == 0 { even } else { odd }
    }

    fn read(&self) -> Action {
        /// A second attempt means that the action was set twice during the first.
        const TURNS: usize = 100;
        // Acquire pairs with the release in `write`; the fence keeps the loads before the second
        // look at the version.
        let mut version = self.version.load(Ordering::Acquire);
        let mut action = self.copy(version).get();
        for _ in 0..TURNS {
            fence(Ordering::Acquire);
            let now = self.version.load(Ordering::Acquire);
            if now == version {
                break;
            }
            version = now;
            action = self.copy(version).get();
        }
        action
    }

    fn write(&self, action: Action) {
        let version = self.version.load(Ordering::Relaxed).wrapping_add(1);
        // A thread that sees one of the stores below sees the version before them.
        fence(Ordering::Release);
        let copy = self.copy(version);
        copy.handler.store(action.handler, Ordering::Relaxed);
        copy.flags.store(action.flags as u32, Ordering::Relaxed);
        copy.mask.store(action.mask, Ordering::Relaxed);
        self.version.store(version, Ordering::Release);
    }
}

impl Kept {
    fn get(&self) -> Action {
        Action {
            handler: self.handler.load(Ordering::Relaxed),
            flags: self.flags.load(Ordering::Relaxed) as i32,
            mask: self.mask.load(Ordering::Relaxed),
        }
    }
}

/// The program's action for one of [`ALL`], in its own view.
pub fn believed(signal: i32) -> Action {
    believed_of(signal).map_or(Action::DEFAULT, Believed::read)
}

/// Writes down the program's action for one of [`ALL`]. One thread at a time, with that signal
/// blocked.
pub fn believe(signal: i32, action: Action) {
    if let Some(believed) = believed_of(signal) {
        believed.write(action);
    }
}

/// Sets a program's action back to the default, as the kernel does for `SA_RESETHAND`: a rare flag
/// on a rare signal.
pub(crate) fn reset(signal: i32) {
    if let Some(believed) = believed_of(signal) {
        let current = believed.copy(believed.version.load(Ordering::Acquire));
        current.handler.store(libc::SIG_DFL, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Action = Action {
        handler: 0x1000,
        flags: 1,
        mask: 2,
    };
    const SECOND: Action = Action {
        handler: 0x2000,
        flags: 3,
        mask: 4,
    };

    #[test]
    fn an_action_that_is_half_written_is_not_read() {
        let believed = Believed::new();
        believed.write(FIRST);
        assert_eq!(believed.read(), FIRST);
        // A writer that is preempted for long.
        let next = believed.copy(believed.version.load(Ordering::Relaxed) + 1);
        next.handler.store(SECOND.handler, Ordering::Relaxed);
        assert_eq!(believed.read(), FIRST);
        believed.write(SECOND);
        assert_eq!(believed.read(), SECOND);
    }
}

//! Ctrl-C while one program after the other runs. The terminal sends it to the running program as
//! well as to us; a signal sent to us alone is passed on. We then report the results so far.

use std::fmt;
use std::io;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};

use super::inherited;
use super::program::PYTHON;

/// The signal that was received, or 0.
static CAME: AtomicI32 = AtomicI32::new(0);
/// The process id of the running program, or 0.
static RUNS: AtomicI32 = AtomicI32::new(0);

/// The signals that end us.
const ENDING: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// The user has interrupted the command, by this signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupted(pub u8);

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interrupted by signal {}", self.0)
    }
}

impl std::error::Error for Interrupted {}

/// Handles the signals that end us while it exists.
#[derive(Debug)]
pub struct Interrupt {
    before: [libc::sigaction; ENDING.len()],
}

impl Interrupt {
    /// Handles these signals from now on, except for those that were ignored when we were started.
    pub fn catch() -> Self {
        // SAFETY: an action of all zeros is the default one.
        let mut before: [libc::sigaction; ENDING.len()] = unsafe { std::mem::zeroed() };
        // Programs that we start must not inherit the ignored SIGXFSZ.
        inherited::dispose(libc::SIGXFSZ, inherited::state().ignored_file_size);
        for (signal, before) in ENDING.into_iter().zip(&mut before) {
            // SAFETY: the handler touches two atomic numbers and calls kill, which a handler may;
            // both structures are places of this function's.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_signal as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                libc::sigaction(signal, std::ptr::null(), before);
                if before.sa_sigaction != libc::SIG_IGN {
                    libc::sigaction(signal, &action, std::ptr::null_mut());
                }
            }
        }
        Self { before }
    }

    /// Starts a program, unless an interruption has been received.
    pub fn spawn(&self, command: &mut Command) -> io::Result<i32> {
        let child = command.env_remove(PYTHON).spawn()?;
        let pid = child.id() as i32;
        self.now_runs(pid);
        // The signal may have come before the process id was known.
        if CAME.load(Ordering::Relaxed) != 0 {
            // SAFETY: the child has not been waited for, so the number is its own.
            unsafe { libc::kill(pid, libc::SIGTERM) };
        }
        Ok(pid)
    }

    /// Sets which of several started programs is working.
    pub fn now_runs(&self, pid: i32) {
        RUNS.store(pid, Ordering::Relaxed);
    }

    /// Notes that a program has ended, so that its process id may be reused.
    pub fn has_ended(&self, pid: i32) {
        let _ = RUNS.compare_exchange(pid, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Forgets the signal that was handled. A later one interrupts the cleanup.
    pub fn forget(&self) {
        CAME.store(0, Ordering::Relaxed);
    }

    /// An error, if we have been interrupted.
    pub fn check(&self) -> Result<(), Interrupted> {
        match CAME.load(Ordering::Relaxed) {
            0 => Ok(()),
            signal => Err(Interrupted(signal as u8)),
        }
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for (signal, before) in ENDING.into_iter().zip(&self.before) {
            // SAFETY: restores the earlier action.
            unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
        }
    }
}

extern "C" fn on_signal(signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let is_second = CAME.swap(signal, Ordering::Relaxed) != 0;
    let child = RUNS.load(Ordering::Relaxed);
    // SAFETY: the kernel passes a structure that is valid during the call; `errno` is not changed
    // by a kill that succeeds, and is put back otherwise.
    unsafe {
        let from_terminal = (*info).si_code == libc::SI_KERNEL;
        let errno = *libc::__errno_location();
        if child > 0 && is_second {
            libc::kill(child, libc::SIGKILL);
        } else if child > 0 && !from_terminal {
            libc::kill(child, signal);
        }
        *libc::__errno_location() = errno;
    }
}

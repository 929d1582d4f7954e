//! A command's turn in a program: one command at a time works inside of it.
//!
//! To come in and to leave takes several steps, between which the program's threads run. A command
//! that came in between would close the files of the first one, or borrow a thread that runs the
//! agent for it. The turn is a lock on a file of the program in `/proc`. It leaves nothing behind,
//! ends with the command however that ends, and cannot be taken by those who may not read the
//! program.

use std::fs::{File, TryLockError};
use std::time::{Duration, Instant};

/// The right to work inside of a program. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    /// `None`: this system has no such locks.
    _lock: Option<File>,
}

impl Turn {
    /// Waits for the turn. `None`: another command has had it all the time.
    pub(super) fn wait(pid: u32, longest: Duration) -> Option<Self> {
        const PAUSE: Duration = Duration::from_millis(1);
        let began = Instant::now();
        let Ok(file) = File::open(format!("/proc/{pid}/auxv")) else {
            return Some(Self { _lock: None });
        };
        loop {
            match file.try_lock() {
                Ok(()) => return Some(Self { _lock: Some(file) }),
                Err(TryLockError::Error(_)) => return Some(Self { _lock: None }),
                Err(TryLockError::WouldBlock) if began.elapsed() > longest => return None,
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn one_has_it_at_a_time() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let short = Duration::from_millis(20);
        let first = Turn::wait(child.id(), short);
        assert!(first.as_ref().is_some_and(|turn| turn._lock.is_some()));
        assert!(Turn::wait(child.id(), short).is_none());
        assert!(Turn::wait(std::process::id(), short).is_some());
        drop(first);
        assert!(Turn::wait(child.id(), short).is_some());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

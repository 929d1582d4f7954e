//! The resource usage of an ended child, by the kernel's account.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::end::{Ended, has_ended};

/// CPU time in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Used {
    /// In user mode, by the program and the children that it reaped.
    pub user: f64,
    /// In the kernel, for the same processes.
    pub system: f64,
}

impl Used {
    /// User and system time.
    pub fn all(self) -> f64 {
        self.user + self.system
    }
}

impl From<libc::rusage> for Used {
    fn from(usage: libc::rusage) -> Self {
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Self {
            user: seconds(usage.ru_utime),
            system: seconds(usage.ru_stime),
        }
    }
}

/// Waits until a child has ended and reaps it. Returns how it ended, and its usage.
pub fn wait_for(pid: i32) -> io::Result<(Ended, Used)> {
    let mut status = 0;
    // SAFETY: a usage of all zeros is one to be filled in.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both are places of this function's.
        if unsafe { libc::wait4(pid, &mut status, 0, &mut usage) } == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let ended = if libc::WIFSIGNALED(status) {
        Ended::Killed(libc::WTERMSIG(status) as u8)
    } else {
        Ended::Exited(libc::WEXITSTATUS(status) as u8)
    };
    Ok((ended, usage.into()))
}

/// Like [`wait_for`], for a child that is about to end. It is killed after this timeout.
pub fn wait_or_kill(pid: i32, patience: Duration) -> io::Result<(Ended, Used)> {
    let started = Instant::now();
    let mut nap = Duration::from_micros(500);
    while has_ended(pid)?.is_none() {
        if started.elapsed() >= patience {
            // SAFETY: the child has not been waited for, so the number is its own.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            break;
        }
        sleep(nap);
        nap = (nap * 2).min(Duration::from_millis(20));
    }
    wait_for(pid)
}

/// The usage of all reaped children.
pub fn of_children() -> Used {
    of(libc::RUSAGE_CHILDREN)
}

/// The usage of this process.
pub fn of_us() -> Used {
    of(libc::RUSAGE_SELF)
}

fn of(whom: i32) -> Used {
    // SAFETY: a usage of all zeros is one to be filled in, and a place of this function's.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(whom, &mut usage);
        usage.into()
    }
}

//! What a child that has ended has used of the machine, by the kernel's account.

use std::io;

use super::end::Ended;

/// CPU time in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Used {
    /// In the program and in those of its children that it waited for.
    pub user: f64,
    /// In the kernel for them.
    pub system: f64,
}

impl Used {
    /// Both.
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

/// Waits until a child has ended: how, and what it has used.
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

/// What all children that were waited for have used.
pub fn of_children() -> Used {
    of(libc::RUSAGE_CHILDREN)
}

/// What we have used ourselves.
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

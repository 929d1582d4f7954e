//! A process that is nobody's child, for trying what is permitted with the processes of others. It spins,
//! because only a thread that runs is ever held.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::sys;

/// The process, which ends with its owner, or by itself after a few seconds.
#[derive(Debug)]
pub(super) struct Stranger {
    pub(super) pid: u32,
    pidfd: OwnedFd,
}

impl Stranger {
    /// Starts it.
    pub(super) fn start() -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: two descriptors are written to a place for two.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both are new and nobody else's.
        let (hear, tell) =
            unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) };
        // SAFETY: the children call only the kernel, and never return from here.
        let child = unsafe {
            match libc::fork() {
                0 => match libc::fork() {
                    0 => spin(tell.as_raw_fd()),
                    _ => libc::_exit(0),
                },
                child => child,
            }
        };
        if child < 0 {
            return Err(io::Error::last_os_error());
        }
        drop(tell);
        // SAFETY: it is our child, which ends at once; how does not matter.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
        let mut number = [0; 4];
        std::fs::File::from(hear).read_exact(&mut number)?;
        let pid = u32::from_ne_bytes(number);
        Ok(Self {
            pid,
            pidfd: sys::pidfd_open(pid)?,
        })
    }
}

/// The stranger's life.
///
/// # Safety
///
/// Only in a child that has just been forked.
unsafe fn spin(tell: i32) -> ! {
    const LONGEST: u32 = 5;
    // SAFETY: calls to the kernel, with places of ours, where zeroed is a valid action; the alarm ends the process.
    unsafe {
        let mut default: libc::sigaction = std::mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(libc::SIGALRM, &default, std::ptr::null_mut());
        libc::alarm(LONGEST);
        let own = libc::getpid();
        if libc::write(tell, (&raw const own).cast(), 4) != 4 {
            libc::_exit(1);
        }
    }
    loop {
        std::hint::spin_loop();
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let none = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: the descriptor is open, so the signal goes to that process and to no other.
        unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                self.pidfd.as_raw_fd(),
                libc::SIGKILL,
                none,
                0,
            )
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc;

    #[test]
    fn it_is_nobodys_child_and_ends_with_its_owner() {
        let stranger = Stranger::start().unwrap();
        let parent = proc::stat(stranger.pid).unwrap().parent;
        assert_ne!(parent, std::process::id());
        let watch = sys::pidfd_open(stranger.pid).unwrap();
        drop(stranger);
        let began = std::time::Instant::now();
        while !sys::which_ended(std::iter::once(&watch))[0] {
            assert!(began.elapsed() < std::time::Duration::from_secs(30));
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
}

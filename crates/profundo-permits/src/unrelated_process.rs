//! A process that is not a child of ours, for testing what is permitted with other processes. It
//! spins, because only a running thread is ever held.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use profundo_linux::sys;

/// The process. It ends when this is dropped, or by itself after a few seconds.
#[derive(Debug)]
pub(super) struct UnrelatedProcess {
    pub(super) pid: u32,
    pidfd: OwnedFd,
}

impl UnrelatedProcess {
    /// Starts the process.
    pub(super) fn start() -> io::Result<Self> {
        let mut ends = [0; 2];
        // SAFETY: two descriptors are written to a place for two.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both are new and owned by nothing else.
        let (receiver, sender) =
            unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) };
        // SAFETY: the children call only the kernel, and never return from here.
        let child = unsafe {
            match libc::fork() {
                0 => match libc::fork() {
                    0 => spin(sender.as_raw_fd()),
                    _ => libc::_exit(0),
                },
                child => child,
            }
        };
        if child < 0 {
            return Err(io::Error::last_os_error());
        }
        drop(sender);
        // SAFETY: it is our child, which ends at once; how does not matter.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
        let mut number = [0; 4];
        std::fs::File::from(receiver).read_exact(&mut number)?;
        let pid = u32::from_ne_bytes(number);
        Ok(Self {
            pid,
            pidfd: sys::pidfd_open(pid)?,
        })
    }
}

/// The code of the process.
///
/// # Safety
///
/// Only in a child that has just been forked.
unsafe fn spin(sender: i32) -> ! {
    const LONGEST: u32 = 5;
    // SAFETY: calls to the kernel, with places of ours, where zeroed is a valid action; the alarm
    // ends the process.
    unsafe {
        let mut default: libc::sigaction = std::mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(libc::SIGALRM, &default, std::ptr::null_mut());
        libc::alarm(LONGEST);
        let pid = libc::getpid();
        if libc::write(sender, (&raw const pid).cast(), 4) != 4 {
            libc::_exit(1);
        }
    }
    loop {
        std::hint::spin_loop();
    }
}

impl Drop for UnrelatedProcess {
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
    use profundo_linux::proc;
    use profundo_testing::wait_until;

    #[test]
    fn the_process_is_not_our_child_and_ends_with_its_owner() {
        let process = UnrelatedProcess::start().unwrap();
        let parent = proc::stat(process.pid).unwrap().parent;
        assert_ne!(parent, std::process::id());
        let watch = sys::pidfd_open(process.pid).unwrap();
        drop(process);
        wait_until("the end of the process", || {
            sys::which_ended(std::iter::once(&watch))[0]
        });
    }
}

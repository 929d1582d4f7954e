//! A child process that does nothing.
//!
//! It is made by the bare system call: nobody who wants to know of forks is told of this one. It has no signal to end
//! by, so `wait` does not see it (but for one who asks for all there are, by `__WALL`), and no handler of the program is run for it.

use std::time::{Duration, Instant};

use libc::{c_int, c_long};

use crate::error::{Error, Refusal};

/// The child. It ends when this is dropped, when the thread that has made it ends, or after its time.
#[derive(Debug)]
pub(super) struct Child {
    pid: libc::pid_t,
    pub(super) paused: Duration,
}

/// In the kernel's words, a signal's bit.
fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

impl Child {
    #[inline(never)]
    pub(super) fn make(limit: Duration) -> Result<Self, Error> {
        // What a signal of the terminal's does is the program's affair, and not the copy's. The clocks' own signals do not come
        // to the child, and must not wait here.
        let clocks = bit(libc::SIGTRAP) | bit(libc::SIGURG);
        let faults = bit(libc::SIGSEGV) | bit(libc::SIGBUS) | bit(libc::SIGILL) | bit(libc::SIGFPE);
        let before = set_mask(!(clocks | faults));
        let began = Instant::now();
        // SAFETY: without flags it is a fork: the child has a copy of this stack and goes on here. What it does until its end
        // is in `idle`, which needs nothing of what other threads may have left half done.
        let pid = unsafe {
            let own = libc::getpid();
            let pid = libc::syscall(libc::SYS_clone, 0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
            if pid == 0 {
                idle(own, limit);
            }
            pid
        };
        let paused = began.elapsed();
        let failed = (pid < 0).then(|| Error::refused(Refusal::Copy));
        set_mask(before);
        match failed {
            Some(error) => Err(error),
            None => {
                let pid = pid as libc::pid_t;
                // Where memory runs out, the copy is the first to go. Not every system lets us say so.
                let _ = std::fs::write(format!("/proc/{pid}/oom_score_adj"), "1000");
                Ok(Self { pid, paused })
            }
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid as u32
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: it is our child, and has its number until it was waited for, here.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            let mut status = 0;
            while libc::waitpid(self.pid, &mut status, libc::__WALL) < 0
                && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
            {}
        }
    }
}

/// Sets the calling thread's mask; returns what it was. By the bare call, since libc keeps some signals to itself.
fn set_mask(mask: u64) -> u64 {
    let mut before = 0_u64;
    // SAFETY: both sets are of the size that is said, and ours.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const mask,
            &raw mut before,
            size_of::<u64>(),
        );
    }
    before
}

/// What the child does.
///
/// # Safety
/// It is the child of a bare clone by `parent`.
unsafe fn idle(parent: libc::pid_t, limit: Duration) -> ! {
    // SAFETY: system calls on what lies on this stack; none of them uses anything that another thread may have held.
    unsafe {
        set_mask(u64::MAX);
        libc::syscall(
            libc::SYS_prctl,
            libc::PR_SET_PDEATHSIG as c_long,
            libc::SIGKILL as c_long,
        );
        // The parent may have gone before it was said.
        if libc::syscall(libc::SYS_getppid) == c_long::from(parent) {
            let name = c"profundo-copy";
            libc::syscall(
                libc::SYS_prctl,
                libc::PR_SET_NAME as c_long,
                name.as_ptr() as c_long,
            );
            // Whoever waits for the other end of a pipe of the program's must not wait for us. Older kernels do not know it.
            libc::syscall(libc::SYS_close_range, 0_u64, u64::from(u32::MAX), 0_u64);
            let time = libc::timespec {
                tv_sec: limit.as_secs() as libc::time_t,
                tv_nsec: 0,
            };
            libc::syscall(libc::SYS_nanosleep, &raw const time, 0_u64);
        }
        loop {
            libc::syscall(libc::SYS_exit_group, 0_u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_our_memory_and_nobody_who_waits_sees_it() {
        let mut word = std::hint::black_box(0x1234_5678_9ABC_u64);
        let child = Child::make(Duration::from_secs(60)).unwrap();
        let address = &raw const word as u64;
        word = std::hint::black_box(1);
        let mut bytes = [0; 8];
        let read = profundo_scan::read_memory(child.pid(), address, &mut bytes);
        assert_eq!((read, u64::from_ne_bytes(bytes)), (8, 0x1234_5678_9ABC));
        assert_eq!(std::hint::black_box(word), 1);
        // SAFETY: it asks for children and changes nothing of this one's.
        let found = unsafe { libc::waitpid(child.pid, std::ptr::null_mut(), libc::WNOHANG) };
        assert_eq!(found, -1, "it is none that is waited for");
        let fds = std::fs::read_dir(format!("/proc/{}/fd", child.pid));
        // Older kernels keep them open.
        assert!(fds.is_ok());
        let pid = child.pid;
        drop(child);
        // SAFETY: signal 0 looks.
        assert_eq!(unsafe { libc::kill(pid, 0) }, -1);
    }

    #[test]
    fn it_ends_by_itself() {
        let child = Child::make(Duration::from_secs(0)).unwrap();
        let ended = || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.pid));
            status.unwrap().contains("zombie")
        };
        let began = Instant::now();
        while !ended() {
            assert!(began.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

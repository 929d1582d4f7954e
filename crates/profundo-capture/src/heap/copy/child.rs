//! A child process that does nothing.
//!
//! The copy is made by the bare system call, so fork handlers do not run. It ends without a signal,
//! so `wait` does not see it (except with `__WALL`), and no handler of the program runs for it.

use std::time::{Duration, Instant};

use libc::{c_int, c_long};

use crate::error::{Error, Refusal};

/// The child. It ends when this is dropped, when the thread that has made it ends, or after its
/// time.
#[derive(Debug)]
pub(super) struct Child {
    pid: libc::pid_t,
    pub(super) paused: Duration,
}

/// The kernel's bit for a signal.
fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

impl Child {
    #[inline(never)]
    pub(super) fn make(limit: Duration) -> Result<Self, Error> {
        // Signals of the terminal are for the program, and not for the copy. The clocks' own
        // signals do not come to the child, and must not be pending here.
        let clocks = bit(libc::SIGTRAP) | bit(libc::SIGURG);
        let faults = bit(libc::SIGSEGV) | bit(libc::SIGBUS) | bit(libc::SIGILL) | bit(libc::SIGFPE);
        let before = set_mask(!(clocks | faults));
        let began = Instant::now();
        // SAFETY: without flags it is a fork: the child has a copy of this stack and goes on here.
        // It runs `idle` until its end, which needs nothing that other threads may have left half
        // done.
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
                // When memory runs out, the copy is killed first. Not every system permits this.
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
        // SAFETY: it is our child, and keeps its id until it is waited for, here.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            let mut status = 0;
            while libc::waitpid(self.pid, &mut status, libc::__WALL) < 0
                && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
            {}
        }
    }
}

/// Sets the calling thread's mask; returns the former one. By the bare call, since libc keeps some
/// signals to itself.
fn set_mask(mask: u64) -> u64 {
    let mut before = 0_u64;
    // SAFETY: both sets have the given size, and are ours.
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

/// The child's code.
///
/// # Safety
/// The calling process is the child of a bare clone by `parent`.
unsafe fn idle(parent: libc::pid_t, limit: Duration) -> ! {
    // SAFETY: system calls on data of this stack; none of them uses anything that another thread
    // may have held.
    unsafe {
        set_mask(u64::MAX);
        libc::syscall(
            libc::SYS_prctl,
            libc::PR_SET_PDEATHSIG as c_long,
            libc::SIGKILL as c_long,
        );
        // The parent may have ended before the call.
        if libc::syscall(libc::SYS_getppid) == c_long::from(parent) {
            let name = c"profundo-copy";
            libc::syscall(
                libc::SYS_prctl,
                libc::PR_SET_NAME as c_long,
                name.as_ptr() as c_long,
            );
            // A reader at the other end of one of the program's pipes must not wait for us. Older
            // kernels do not have the call.
            libc::syscall(libc::SYS_close_range, 0_u64, u64::from(u32::MAX), 0_u64);
            let time = libc::timespec {
                tv_sec: limit.as_secs() as i64,
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
    fn the_copy_has_our_memory_and_no_wait_sees_it() {
        let mut word = std::hint::black_box(0x1234_5678_9ABC_u64);
        let child = Child::make(Duration::from_secs(60)).unwrap();
        let address = &raw const word as u64;
        word = std::hint::black_box(1);
        let mut bytes = [0; 8];
        let read = profundo_scan::read_memory(child.pid(), address, &mut bytes);
        assert_eq!((read, u64::from_ne_bytes(bytes)), (8, 0x1234_5678_9ABC));
        assert_eq!(std::hint::black_box(word), 1);
        // SAFETY: it asks for children and changes nothing of this one.
        let found = unsafe { libc::waitpid(child.pid, std::ptr::null_mut(), libc::WNOHANG) };
        assert_eq!(found, -1, "it is none that is waited for");
        let fds = std::fs::read_dir(format!("/proc/{}/fd", child.pid));
        // Older kernels keep them open.
        fds.expect("the copy's descriptors");
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

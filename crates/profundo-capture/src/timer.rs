//! POSIX timers on a thread's CPU clock that signal that very thread.

use std::{io, mem, ptr};

use crate::clock::cpu_clock_of;

/// A timer of one thread.
#[derive(Debug)]
pub(crate) struct CpuTimer {
    timer: libc::timer_t,
    /// Children of a fork have no such timer, but may have one of their own with that number.
    process: u32,
}

// SAFETY: a timer id belongs to the process; the pointer type is glibc's disguise for a number.
unsafe impl Send for CpuTimer {}

impl CpuTimer {
    /// Starts a timer on a thread of this process. `value` comes with each SIGURG; the first
    /// one comes after `first` nanoseconds of the thread's CPU time.
    pub(crate) fn start(tid: u32, period: u64, first: u64, value: u64) -> io::Result<Self> {
        // SAFETY: zeroed is a valid sigevent; the fields that matter are set below.
        let mut event: libc::sigevent = unsafe { mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGURG;
        event.sigev_notify_thread_id = tid as i32;
        event.sigev_value = libc::sigval {
            sival_ptr: value as *mut libc::c_void,
        };
        let mut timer = ptr::null_mut();
        // SAFETY: both pointers are ours and valid during the call.
        if unsafe { libc::timer_create(cpu_clock_of(tid), &mut event, &mut timer) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let started = Self {
            timer,
            process: std::process::id(),
        };
        let spec = |nanos: u64| libc::timespec {
            tv_sec: (nanos / 1_000_000_000) as i64,
            tv_nsec: (nanos % 1_000_000_000) as i64,
        };
        let times = libc::itimerspec {
            it_interval: spec(period),
            it_value: spec(first.max(1)),
        };
        // SAFETY: the timer was just created.
        if unsafe { libc::timer_settime(timer, 0, &times, ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(started)
    }
}

impl Drop for CpuTimer {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // SAFETY: the timer exists and is deleted once.
            unsafe { libc::timer_delete(self.timer) };
        }
    }
}

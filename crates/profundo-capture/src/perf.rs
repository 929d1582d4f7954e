//! Task clocks of `perf_event_open` that signal the very thread that ran.

use std::io;
use std::os::fd::BorrowedFd;

use perf_event_open_sys as sys;
use profundo_linux::perf::{send_to_thread, task_clock};
use profundo_probe::handlers;

/// The requests that perf events take, as `_IO('$', 0)` and `_IO('$', 1)`.
mod request {
    pub(super) const ENABLE: u64 = 0x2400;
    pub(super) const DISABLE: u64 = 0x2401;
}

/// The way of the event to the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// SIGTRAP, sent synchronously; threads that start later inherit the event.
    Trap {
        /// The tag of this event's signals.
        tag: u64,
    },
    /// SIGURG to the one thread, as asynchronous I/O.
    Urgent,
}

/// An open task clock.
#[derive(Debug)]
pub(crate) struct TaskClock {
    /// Not an `OwnedFd`: a program may close every descriptor that it does not know, and the number
    /// may then be another file's.
    descriptor: i32,
    /// The process that opened it. Its children share the event, and must leave it alone.
    process: u32,
}

impl TaskClock {
    /// Opens a task clock on a thread of this process, not yet running. Threads that inherit it
    /// keep for ever the period that it has when they start.
    pub(crate) fn open(tid: u32, period: u64, signal: Signal) -> io::Result<Self> {
        let mut attr = task_clock(period);
        if let Signal::Trap { tag } = signal {
            attr.set_inherit(1);
            attr.set_inherit_thread(1);
            attr.set_remove_on_exec(1);
            attr.set_sigtrap(1);
            attr.sig_data = tag;
        } else {
            attr.__bindgen_anon_2.wakeup_events = 1;
        }
        let flags = sys::bindings::PERF_FLAG_FD_CLOEXEC;
        // SAFETY: the attribute is initialised and its size is stated.
        let descriptor =
            unsafe { libc::syscall(libc::SYS_perf_event_open, &raw mut attr, tid, -1, -1, flags) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        let clock = Self {
            descriptor: descriptor as i32,
            process: std::process::id(),
        };
        if signal == Signal::Urgent {
            clock.signal_thread(tid)?;
        }
        Ok(clock)
    }

    /// Has SIGURG sent to the thread at each overflow.
    fn signal_thread(&self, tid: u32) -> io::Result<()> {
        const F_SETSIG: i32 = 10;
        let fd = self.descriptor;
        if !handlers::add_our_descriptor(fd) {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        // SAFETY: the descriptor is open as long as this clock is.
        send_to_thread(unsafe { BorrowedFd::borrow_raw(fd) }, tid)?;
        // SAFETY: the descriptor is open.
        let ok = unsafe {
            libc::fcntl(fd, F_SETSIG, libc::SIGURG) == 0
                && libc::fcntl(fd, libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK) == 0
        };
        if ok {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    fn ioctl(&self, request: u64, argument: usize) -> io::Result<()> {
        // SAFETY: the argument is the one that a perf event takes, and no other file knows these
        // requests.
        let result = unsafe { libc::ioctl(self.descriptor, request as libc::Ioctl, argument) };
        if result < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    /// Starts the clock, on every thread that inherited it, too.
    pub(crate) fn enable(&self) -> io::Result<()> {
        self.ioctl(request::ENABLE, 0)
    }

    /// Stops the clock. False: the descriptor is not our event any more.
    pub(crate) fn disable(&self) -> bool {
        self.ioctl(request::DISABLE, 0).is_ok()
    }

    /// The descriptor, by which the thread's handler changes the period.
    pub(crate) fn descriptor(&self) -> u32 {
        self.descriptor as u32
    }
}

impl Drop for TaskClock {
    fn drop(&mut self) {
        // In a forked child the event goes on for the parent, and the descriptor is a copy.
        let is_ours = self.process != std::process::id() || self.disable();
        if is_ours {
            // SAFETY: the descriptor is the event that we opened, or its copy.
            unsafe { libc::close(self.descriptor) };
        }
    }
}

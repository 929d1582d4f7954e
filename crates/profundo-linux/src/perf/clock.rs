//! A task clock that signals the very thread that ran: by SIGTRAP where that is permitted, which
//! costs a third less, else by one that is asked for: SIGURG, or another where the program uses
//! that itself. The thread is another process's, but the descriptor is ours, so the program cannot
//! count, close or inherit it.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::{fs, io};

use perf_event_open_sys::bindings;

use super::{control, open, request, set_period};

/// The signal that a clock sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGTRAP, which the kernel delivers to the thread that the clock is on.
    Trap,
    /// The signal of this number; with 0 the clock only counts.
    Asked(i32),
}

impl Signal {
    /// Whether it kills a program without a handler.
    pub fn is_deadly(self) -> bool {
        !matches!(self.number(), 0 | libc::SIGURG)
    }

    /// Its number; 0 if there is none.
    pub fn number(self) -> i32 {
        match self {
            Self::Trap => libc::SIGTRAP,
            Self::Asked(number) => number,
        }
    }
}

/// Whether a clock may send SIGTRAP at all. Kernels before 5.18 kill a thread that blocks it.
pub fn may_trap() -> bool {
    static MAY: OnceLock<bool> = OnceLock::new();
    const SAFE: (u32, u32) = (5, 18);
    *MAY.get_or_init(|| {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease");
        release.is_ok_and(|release| version(&release) >= Some(SAFE))
    })
}

/// The first two numbers of a kernel's release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    let mut number = || numbers.next()?.parse().ok();
    Some((number()?, number()?))
}

fn is_unknown(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::E2BIG))
}

/// The attributes of a clock that is not running yet.
///
/// `exclude_kernel` always: with kernel samples, blocked calls would fail with EINTR, and an
/// ordinary user may not have them anyway.
pub fn task_clock(period: u64) -> bindings::perf_event_attr {
    let mut attr = bindings::perf_event_attr::default();
    attr.type_ = bindings::PERF_TYPE_SOFTWARE;
    attr.size = size_of::<bindings::perf_event_attr>() as u32;
    attr.config = u64::from(bindings::PERF_COUNT_SW_TASK_CLOCK);
    attr.__bindgen_anon_1.sample_period = period;
    attr.set_disabled(1);
    attr.set_exclude_kernel(1);
    attr.set_exclude_hv(1);
    attr
}

/// Has the signals of an open event sent to one thread.
pub fn send_to_thread(event: BorrowedFd<'_>, tid: u32) -> io::Result<()> {
    const F_SETOWN_EX: i32 = 15;
    #[repr(C)]
    struct Owner {
        kind: i32,
        pid: i32,
    }
    let owner = Owner {
        kind: 0,
        pid: tid as i32,
    };
    // SAFETY: the descriptor is open; F_OWNER_TID is 0 and `owner` has the kernel's layout.
    match unsafe { libc::fcntl(event.as_raw_fd(), F_SETOWN_EX, &raw const owner) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// An open task clock.
#[derive(Debug)]
pub struct TaskClock {
    event: OwnedFd,
    /// The signal that it sends.
    pub signal: Signal,
    /// Whether the kernel removes it when the thread executes another program.
    ends_at_exec: bool,
}

impl TaskClock {
    /// Opens a clock on a thread, not yet running.
    pub fn open(tid: u32, period: u64, signal: Signal) -> io::Result<Self> {
        let mut attr = task_clock(period);
        match signal {
            Signal::Trap => {
                attr.set_sigtrap(1);
                attr.sig_data = profundo_probe::traps::tag(tid);
            }
            Signal::Asked(_) => attr.__bindgen_anon_2.wakeup_events = 1,
        }
        attr.set_remove_on_exec(1);
        let opened = open(&mut attr, tid, -1).map(|event| (event, true));
        let (event, ends_at_exec) = match opened {
            // A kernel that does not know `remove_on_exec`.
            Err(error) if signal != Signal::Trap && is_unknown(&error) => {
                attr.set_remove_on_exec(0);
                (open(&mut attr, tid, -1)?, false)
            }
            opened => opened?,
        };
        let mut clock = Self {
            event,
            signal,
            ends_at_exec,
        };
        if let Signal::Asked(number) = signal {
            send_to_thread(clock.event.as_fd(), tid)?;
            clock.send(number)?;
        }
        Ok(clock)
    }

    /// Sends this signal from now on. The clock does not send SIGTRAP.
    pub fn send(&mut self, number: i32) -> io::Result<()> {
        const F_SETSIG: i32 = 10;
        let fd = self.event.as_raw_fd();
        // In another program, every other signal than this one would be deadly.
        let is_harmless = self.ends_at_exec || number == libc::SIGURG;
        let asked = number;
        let number = if is_harmless { number } else { 0 };
        let flags = match number {
            0 => libc::O_NONBLOCK,
            _ => libc::O_NONBLOCK | libc::O_ASYNC,
        };
        // SAFETY: the descriptor is open.
        let ok = unsafe {
            (number == 0 || libc::fcntl(fd, F_SETSIG, number) == 0)
                && libc::fcntl(fd, libc::F_SETFL, flags) == 0
        };
        if !ok {
            return Err(io::Error::last_os_error());
        }
        self.signal = Signal::Asked(asked);
        Ok(())
    }

    /// The clock's number, by which its signals are recognised.
    pub fn number(&self) -> i32 {
        self.event.as_raw_fd()
    }

    /// Lets the clock run.
    pub fn enable(&self) -> io::Result<()> {
        control(&self.event, request::ENABLE, 0)
    }

    /// Stops it.
    pub fn disable(&self) {
        let _ = control(&self.event, request::DISABLE, 0);
    }

    /// Changes the period.
    pub fn set_period(&self, nanoseconds: u64) {
        set_period(&self.event, nanoseconds);
    }

    /// The time that the thread ran on a CPU while the clock was enabled, in nanoseconds.
    pub fn ran(&self) -> Option<u64> {
        super::sampler::read_count(&self.event)
    }
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn a_kernels_version() {
        assert_eq!(version("6.18.44-fc-v669\n"), Some((6, 18)));
        assert_eq!(version("5.9-rc1"), Some((5, 9)));
        assert!(version("5.17.3") < Some((5, 18)));
        assert_eq!(version("odd"), None);
        assert_eq!(version(""), None);
    }
}

//! The kernel's perf events, opened on other processes.

mod call_clock;
mod clock;
mod instructions;
mod machine;
mod mapping;
mod native_calls;
mod record;
mod registers;
mod ring;
mod sampler;
mod sideband;
mod switches;
mod syscalls;

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use perf_event_open_sys::bindings::perf_event_attr;

pub use call_clock::CallClock;
pub use clock::{Signal, TaskClock, may_trap, send_to_thread, task_clock};
pub use instructions::Instructions;
pub use machine::MachineSampler;
pub use mapping::Mapping;
pub use native_calls::FunctionCounters;
pub use record::{Record, Returned, Sample};
pub use sampler::{Counter, Gathered, Sampled, Sampler, kernel_is_permitted};
pub use sideband::SideBand;
pub use switches::Switches;
pub use syscalls::{Begins, SyscallExits, Uncounted};

/// The requests that perf events take, as `_IO('$', n)` and `_IOW('$', n, u64)`.
mod request {
    pub(super) const ENABLE: u64 = 0x2400;
    pub(super) const DISABLE: u64 = 0x2401;
    pub(super) const PERIOD: u64 = 0x4008_2404;
    pub(super) const SET_OUTPUT: u64 = 0x2405;
    pub(super) const FILTER: u64 = 0x4008_2406;
}

/// Opens an event.
fn open(attr: &mut perf_event_attr, pid: u32, cpu: i32) -> io::Result<OwnedFd> {
    let flags = perf_event_open_sys::bindings::PERF_FLAG_FD_CLOEXEC;
    attr.size = size_of::<perf_event_attr>() as u32;
    // SAFETY: the attribute is initialised and its size is stated.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw mut *attr,
            pid,
            cpu,
            -1,
            flags,
        )
    };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made, and nothing else owns it.
    crate::sys::unless_last(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}

fn control(event: &OwnedFd, request: u64, argument: usize) -> io::Result<()> {
    // SAFETY: the argument is what the request takes of a perf event.
    let result = unsafe { libc::ioctl(event.as_raw_fd(), request as libc::Ioctl, argument) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

fn set_period(event: &OwnedFd, period: u64) {
    let period = &raw const period as usize;
    // Where it fails the clock goes on as before; weights are then off by the difference.
    let _ = control(event, request::PERIOD, period);
}

/// The CPUs that are online.
pub fn cpus() -> Vec<i32> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let found = parse_cpus(text.trim());
    if found.is_empty() {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        return (0..count as i32).collect();
    }
    found
}

fn parse_cpus(text: &str) -> Vec<i32> {
    /// More than any machine has.
    const MOST: i32 = 8192;
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<i32>(), last.parse::<i32>()) {
            cpus.extend(first.max(0)..=last.min(MOST));
        }
    }
    cpus
}

#[cfg(test)]
mod tests {
    use super::parse_cpus;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(parse_cpus("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(parse_cpus("0"), [0]);
        assert!(parse_cpus("").is_empty());
    }
}

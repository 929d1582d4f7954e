//! A task clock on a thread of another process, as the command opens it.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use perf_event_open_sys::bindings;

/// Opens one that does not run yet.
pub fn open(tid: u32, period: u64) -> io::Result<OwnedFd> {
    let mut attr = bindings::perf_event_attr::default();
    attr.type_ = bindings::PERF_TYPE_SOFTWARE;
    attr.size = size_of::<bindings::perf_event_attr>() as u32;
    attr.config = u64::from(bindings::PERF_COUNT_SW_TASK_CLOCK);
    attr.__bindgen_anon_1.sample_period = period;
    attr.__bindgen_anon_2.wakeup_events = 1;
    attr.set_disabled(1);
    attr.set_exclude_kernel(1);
    attr.set_exclude_hv(1);
    let flags = bindings::PERF_FLAG_FD_CLOEXEC;
    // SAFETY: the attribute is initialised and says how large it is.
    let file =
        unsafe { libc::syscall(libc::SYS_perf_event_open, &raw mut attr, tid, -1, -1, flags) };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened.
    let file = unsafe { OwnedFd::from_raw_fd(file as i32) };
    const F_SETSIG: i32 = 10;
    const F_SETOWN_EX: i32 = 15;
    let owner = [0, tid as i32];
    let raw = file.as_raw_fd();
    // SAFETY: the owner is a thread, as the kernel lays it out.
    let ok = unsafe {
        libc::fcntl(raw, F_SETOWN_EX, owner.as_ptr()) == 0
            && libc::fcntl(raw, F_SETSIG, libc::SIGURG) == 0
            && libc::fcntl(raw, libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK) == 0
    };
    if ok {
        Ok(file)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Lets it run.
pub fn enable(clock: &OwnedFd) {
    // SAFETY: the request takes no argument.
    unsafe { libc::ioctl(clock.as_raw_fd(), 0x2400, 0) };
}

/// Stops it.
pub fn disable(clock: &OwnedFd) {
    // SAFETY: the request takes no argument.
    unsafe { libc::ioctl(clock.as_raw_fd(), 0x2401, 0) };
}

/// True if this machine permits clocks; prints a note if not.
pub fn is_permitted() -> bool {
    let permitted = open(std::process::id(), 1_000_000);
    if let Err(error) = &permitted {
        profundo_testing::skip(&format!("no task clock can be opened: {error}"));
    }
    permitted.is_ok()
}

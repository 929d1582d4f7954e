//! System calls that the standard library lacks.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use profundo_wire::recording::Instant;

pub use profundo_scan::read_memory;

/// Sleeps until the word is woken, is no longer `expected`, or the timeout ends. The word may lie
/// in memory that other processes share.
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Duration) {
    let time = libc::timespec {
        tv_sec: timeout.as_secs() as i64,
        tv_nsec: timeout.subsec_nanos().into(),
    };
    // SAFETY: the word outlives the call, and the kernel only reads it and the time.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            expected,
            &raw const time,
        )
    };
}

/// Wakes all that sleep on the word.
pub fn futex_wake(word: &AtomicU32) {
    // SAFETY: the word outlives the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// A descriptor that becomes readable when the process ends.
pub fn pidfd_open(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: a call without pointers.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made, and nothing else owns it.
    unless_last(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}

/// Descriptors left for files that are opened briefly, such as those in `/proc`. If clocks took
/// all, nothing could be read, and each file that cannot be opened would seem to have a reason of
/// its own.
pub const DESCRIPTORS_KEPT_FREE: u64 = 10;

/// Closes a long-lived descriptor if hardly any are left.
pub fn unless_last(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    // The kernel gives the smallest free number.
    let number = descriptor.as_raw_fd() as u64;
    match limit(libc::RLIMIT_NOFILE) {
        Some((most, _)) if number + DESCRIPTORS_KEPT_FREE >= most => {
            Err(io::Error::from_raw_os_error(libc::EMFILE))
        }
        _ => Ok(descriptor),
    }
}

/// Whether each of these processes has ended.
pub fn which_ended<'a>(pidfds: impl Iterator<Item = &'a OwnedFd>) -> Vec<bool> {
    let mut polls: Vec<libc::pollfd> = pidfds
        .map(|pidfd| libc::pollfd {
            fd: pidfd.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    if polls.is_empty() {
        return Vec::new();
    }
    // SAFETY: the entries are valid and as many as said.
    unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, 0) };
    polls.iter().map(|poll| poll.revents != 0).collect()
}

/// The wait status of a process that was reaped. Kernels before 6.15 do not report it.
pub fn wait_status(pidfd: &OwnedFd) -> Option<i32> {
    /// `_IOWR(0xFF, 11, struct pidfd_info)`. The first of its 64 bytes is the mask of what is asked
    /// and answered; the last four hold the status.
    const PIDFD_GET_INFO: u64 = 0xC040_FF0B;
    const EXIT: u64 = 1 << 3;
    let mut info = [EXIT, 0, 0, 0, 0, 0, 0, 0];
    // SAFETY: the kernel writes at most as many bytes as the request says, which are ours.
    let failed = unsafe {
        let request = PIDFD_GET_INFO as libc::Ioctl;
        libc::ioctl(pidfd.as_raw_fd(), request, info.as_mut_ptr())
    };
    let [answered, .., last] = info;
    (failed == 0 && answered & EXIT != 0).then_some((last >> 32) as i32)
}

/// Reaps a child: its resource usage, and that of all children that it has reaped.
pub fn wait_for(pid: u32) -> io::Result<libc::rusage> {
    // SAFETY: numbers alone, so zeroed is a valid one.
    let mut taken: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: no status is asked for, and `taken` is ours to write.
        let found = unsafe { libc::wait4(pid as i32, std::ptr::null_mut(), 0, &mut taken) };
        if found == pid as i32 {
            return Ok(taken);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Whether a process or thread with that id exists.
pub fn is_alive(pid: u32) -> bool {
    // SAFETY: signal 0 looks and sends nothing.
    let found = pid != 0 && unsafe { libc::kill(pid as i32, 0) } == 0;
    found || (pid != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EPERM))
}

/// Whether a process has a thread of that id.
pub fn has_thread(pid: u32, tid: u32) -> bool {
    // SAFETY: signal 0 looks and sends nothing.
    let found = unsafe { libc::syscall(libc::SYS_tgkill, pid as i32, tid as i32, 0) } == 0;
    found || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

/// Copies pages of another process with one call, one after the other. Returns the number of bytes
/// read, up to the first page that is not mapped.
pub fn read_pages(pid: u32, starts: &[u64], size: usize, out: &mut [u8]) -> usize {
    let mut remote: Vec<libc::iovec> = Vec::new();
    for &start in starts {
        match remote.last_mut() {
            // Adjacent pages are one range.
            Some(last) if last.iov_base as u64 + last.iov_len as u64 == start => {
                last.iov_len += size;
            }
            _ => remote.push(libc::iovec {
                iov_base: start as *mut libc::c_void,
                iov_len: size,
            }),
        }
    }
    let local = libc::iovec {
        iov_base: out.as_mut_ptr().cast(),
        iov_len: out.len().min(starts.len() * size),
    };
    let count = remote.len() as libc::c_ulong;
    // SAFETY: the local part is ours to write; the remote ones are checked by the kernel.
    let read = unsafe { libc::process_vm_readv(pid as i32, &local, 1, remote.as_ptr(), count, 0) };
    usize::try_from(read).unwrap_or(0)
}

/// Returns memory that was freed to the system, where the C library keeps it.
pub fn return_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it moves no memory that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The CPU that this thread runs on; below zero if it is not known.
pub fn cpu() -> i32 {
    // SAFETY: a call that takes nothing.
    unsafe { libc::sched_getcpu() }
}

/// The time of a kernel clock in nanoseconds; 0 if the clock does not exist.
pub fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is ours to write.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return 0;
    }
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Now, on three clocks. The cycle counter is read before and after the monotonic clock; the
/// tightest of a few readings is taken, because this thread may be interrupted in between.
pub fn instant() -> Instant {
    const READINGS: usize = 3;
    let reading = || {
        let before = profundo_probe::clock::now();
        let monotonic = nanoseconds(libc::CLOCK_MONOTONIC);
        let width = profundo_probe::clock::now().wrapping_sub(before);
        (width, before + width / 2, monotonic)
    };
    let tightest = std::iter::repeat_with(reading).take(READINGS).min();
    let (_, cycles, monotonic) = tightest.unwrap_or_default();
    Instant {
        cycles,
        monotonic,
        unix: nanoseconds(libc::CLOCK_REALTIME),
    }
}

/// The id of this boot of the machine.
pub fn boot() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim_end().to_owned())
}

/// Our user id.
pub fn user() -> u32 {
    // SAFETY: a call that cannot fail.
    unsafe { libc::geteuid() }
}

/// Our group id.
pub fn group() -> u32 {
    // SAFETY: a call that cannot fail.
    unsafe { libc::getegid() }
}

/// A resource that has a limit, such as `RLIMIT_NOFILE`, as the C library has its number.
#[cfg(target_env = "gnu")]
pub type Resource = libc::__rlimit_resource_t;
/// A resource that has a limit, such as `RLIMIT_NOFILE`, as the C library has its number.
#[cfg(not(target_env = "gnu"))]
pub type Resource = libc::c_int;

/// A limit of this process: soft and hard.
pub fn limit(resource: Resource) -> Option<(u64, u64)> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is ours to write.
    let ok = unsafe { libc::getrlimit(resource, &mut limit) } == 0;
    ok.then_some((limit.rlim_cur, limit.rlim_max))
}

/// Raises a limit of this process to its hard value. Returns the old value if it has changed.
pub fn raise_limit(resource: Resource) -> Option<u64> {
    let (soft, hard) = limit(resource)?;
    let raised = libc::rlimit {
        rlim_cur: hard,
        rlim_max: hard,
    };
    // SAFETY: `raised` is valid during the call.
    let ok = soft < hard && unsafe { libc::setrlimit(resource, &raised) } == 0;
    ok.then_some(soft)
}

/// The calling thread's kernel id.
pub fn thread_id() -> u32 {
    profundo_probe::sys::thread_id()
}

/// Bytes of a file system that are available to us.
pub fn free_space(path: &std::path::Path) -> io::Result<u64> {
    file_system(path).map(|system| system.free)
}

/// A file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystem {
    /// Its kind, by the kernel's number.
    pub kind: i64,
    /// Its bytes that are available to us.
    pub free: u64,
    /// All its bytes.
    pub size: u64,
}

/// The file system of a path.
pub fn file_system(path: &std::path::Path) -> io::Result<FileSystem> {
    let path = std::ffi::CString::new(path.as_os_str().as_encoded_bytes())?;
    // SAFETY: the path ends in a NUL; zeroed is a valid answer, and it is ours to write.
    unsafe {
        let mut answer: libc::statfs = std::mem::zeroed();
        if libc::statfs(path.as_ptr(), &mut answer) != 0 {
            return Err(io::Error::last_os_error());
        }
        let bytes = |blocks: u64| blocks.saturating_mul(answer.f_bsize as u64);
        #[allow(clippy::unnecessary_cast, reason = "C libraries differ in the sign")]
        let kind = answer.f_type as i64;
        Ok(FileSystem {
            kind,
            free: bytes(answer.f_bavail),
            size: bytes(answer.f_blocks),
        })
    }
}

/// The length of the kernel's tick in nanoseconds; 0 if it is not known.
pub fn kernel_tick() -> u32 {
    let mut tick = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one timespec of ours.
    let done = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut tick) };
    match (done, tick.tv_sec) {
        (0, 0) => u32::try_from(tick.tv_nsec).unwrap_or(0),
        _ => 0,
    }
}

/// Whether an address is in the kernel.
pub fn is_kernels(address: u64) -> bool {
    address >= 1 << 63
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_has_ended_is_not_there() {
        // SAFETY: it takes nothing and cannot fail.
        let gettid = || unsafe { libc::syscall(libc::SYS_gettid) } as u32;
        let (pid, tid) = (std::process::id(), gettid());
        assert!(has_thread(pid, tid));
        let ended = std::thread::spawn(gettid).join().unwrap();
        // The kernel removes a thread a moment after it was joined.
        profundo_testing::wait_until("the thread's end", || !has_thread(pid, ended));
        assert!(!has_thread(1, tid), "it is one of another process");
    }
}

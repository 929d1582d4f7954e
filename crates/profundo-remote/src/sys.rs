//! The system calls that the standard library does not have.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

pub(crate) use profundo_scan::read_memory;
use profundo_wire::recording::Instant;

/// Sleeps until the word is woken, or is no longer `expected`, or the time is over. The word may
/// lie in memory that other processes share.
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, timeout: Duration) {
    let time = libc::timespec {
        tv_sec: timeout.as_secs() as libc::time_t,
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
pub(crate) fn futex_wake(word: &AtomicU32) {
    // SAFETY: the word outlives the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// A descriptor that becomes readable when the process ends.
pub(crate) fn pidfd_open(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: a call without pointers.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and is nobody else's.
    unless_last(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}

/// So many descriptors are left for files that are read and closed again, such as those in `/proc`. Where clocks
/// took all, nothing could be read any more, and each file that cannot be opened would seem to have a reason of its own.
pub(crate) const DESCRIPTORS_KEPT_FREE: u64 = 10;

/// Closes a descriptor that is kept for long, if there are hardly any left.
pub(crate) fn unless_last(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    // The kernel gives the smallest number that is free.
    let number = descriptor.as_raw_fd() as u64;
    match limit(libc::RLIMIT_NOFILE) {
        Some((most, _)) if number + DESCRIPTORS_KEPT_FREE >= most => {
            Err(io::Error::from_raw_os_error(libc::EMFILE))
        }
        _ => Ok(descriptor),
    }
}

/// Which of the processes have ended of which we hold descriptors.
pub(crate) fn which_ended<'a>(pidfds: impl Iterator<Item = &'a OwnedFd>) -> Vec<bool> {
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

/// What `wait` said to the parent of a process that has ended. Kernels before 6.15 do not tell.
pub(crate) fn wait_status(pidfd: &OwnedFd) -> Option<i32> {
    /// `_IOWR(0xFF, 11, struct pidfd_info)`, of whose 64 bytes the first word says what is asked
    /// and answered, and the last four hold the status.
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

/// Waits for a child that has ended: what it has taken, and all that it has waited for itself.
pub(crate) fn wait_for(pid: u32) -> io::Result<libc::rusage> {
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

/// Whether a process or thread of that id is there.
pub(crate) fn is_alive(pid: u32) -> bool {
    // SAFETY: signal 0 looks and sends nothing.
    let found = pid != 0 && unsafe { libc::kill(pid as i32, 0) } == 0;
    found || (pid != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EPERM))
}

/// Whether a process has a thread of that id.
pub(crate) fn has_thread(pid: u32, tid: u32) -> bool {
    // SAFETY: signal 0 looks and sends nothing.
    let found = unsafe { libc::syscall(libc::SYS_tgkill, pid as i32, tid as i32, 0) } == 0;
    found || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

/// Copies pages of another process by one call, one behind the other; returns how many bytes could be
/// read, which ends at the first page that is not there.
pub(crate) fn read_pages(pid: u32, starts: &[u64], size: usize, out: &mut [u8]) -> usize {
    let mut remote: Vec<libc::iovec> = Vec::new();
    for &start in starts {
        match remote.last_mut() {
            // Pages that lie one behind the other are one piece.
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

/// Asks the scheduler to give this thread a CPU soon after it wakes, and for a short time only. It gets no more
/// of the CPU than others. Kernels before 6.12 do not heed it.
pub(crate) fn ask_for_short_slices() {
    /// The shortest that there is, in nanoseconds.
    const SLICE: u64 = 100_000;
    const SIZE: u32 = 48;
    // SAFETY: zeroed attributes are those of an ordinary thread.
    let mut attributes: SchedAttr = unsafe { std::mem::zeroed() };
    // SAFETY: a structure of ours to write, as large as is said.
    let known = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, SIZE, 0) };
    if known != 0 || attributes.policy != libc::SCHED_OTHER as u32 {
        return;
    }
    attributes.size = SIZE;
    attributes.slice = SLICE;
    // SAFETY: it is only read. Where it is refused all stays as it was.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// As the kernel has it in its first version.
#[repr(C)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    slice: u64,
    deadline: u64,
    period: u64,
}

/// The CPU that this thread runs on; below zero if the kernel does not say.
pub(crate) fn cpu() -> i32 {
    // SAFETY: a call that takes nothing.
    unsafe { libc::sched_getcpu() }
}

/// A clock of the kernel's in nanoseconds; 0 if it does not exist.
pub(crate) fn nanoseconds(clock: libc::clockid_t) -> u64 {
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

/// Now, on three clocks. The cycle counter is read on both sides of the monotonic clock; of a few
/// readings the tightest is taken, because we may be interrupted in the middle of one.
pub(crate) fn instant() -> Instant {
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

/// A name of the machine's run, from its start to its end.
pub(crate) fn boot() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim_end().to_owned())
}

/// Our user id.
pub(crate) fn user() -> u32 {
    // SAFETY: a call that cannot fail.
    unsafe { libc::geteuid() }
}

/// A limit of this process, its present and its highest value.
pub(crate) fn limit(resource: u32) -> Option<(u64, u64)> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is ours to write.
    let ok = unsafe { libc::getrlimit(resource, &mut limit) } == 0;
    ok.then_some((limit.rlim_cur, limit.rlim_max))
}

/// Raises a limit of this process as far as it may; returns what it was, if that has changed.
pub(crate) fn raise_limit(resource: u32) -> Option<u64> {
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
pub(crate) fn thread_id() -> u32 {
    profundo_probe::sys::thread_id()
}

/// How many bytes a file system has left for us.
pub(crate) fn free_space(path: &std::path::Path) -> io::Result<u64> {
    file_system(path).map(|(_, free)| free)
}

/// Of which kind a file system is, by the number that the kernel gives it, and how many bytes it
/// has left for us.
pub(crate) fn file_system(path: &std::path::Path) -> io::Result<(i64, u64)> {
    let path = std::ffi::CString::new(path.as_os_str().as_encoded_bytes())?;
    // SAFETY: the path ends in a NUL; zeroed is a valid answer, and it is ours to write.
    unsafe {
        let mut answer: libc::statfs = std::mem::zeroed();
        if libc::statfs(path.as_ptr(), &mut answer) != 0 {
            return Err(io::Error::last_os_error());
        }
        let free = answer.f_bavail.saturating_mul(answer.f_bsize as u64);
        Ok((answer.f_type, free))
    }
}

/// How far the kernel's ticks lie apart, in nanoseconds; 0 if it does not say.
pub(crate) fn kernel_tick() -> u32 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_has_ended_is_not_there() {
        // SAFETY: it takes nothing and cannot fail.
        let own = || unsafe { libc::syscall(libc::SYS_gettid) } as u32;
        let (pid, tid) = (std::process::id(), own());
        assert!(has_thread(pid, tid));
        let ended = std::thread::spawn(own).join().unwrap();
        // The kernel lets go of it a moment after it was joined.
        let is_gone = (0..1000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            !has_thread(pid, ended)
        });
        assert!(is_gone);
        assert!(!has_thread(1, tid), "it is one of another process");
    }
}

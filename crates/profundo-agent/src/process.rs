//! The kernel's facts of the calling thread and its process.

use core::ffi::CStr;
use core::mem::MaybeUninit;

use profundo_probe::sys;

/// The kernel's process id. libc's function may be interposed by the program.
pub fn process_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { sys::call(libc::SYS_getpid, [0; 6]) as u32 }
}

/// The process id of the parent.
pub fn parent_id() -> u32 {
    // SAFETY: no arguments.
    unsafe { sys::call(libc::SYS_getppid, [0; 6]) as u32 }
}

/// True if a process exists, as far as it is visible here.
pub fn exists(process: u32) -> bool {
    // SAFETY: signal 0 asks and does nothing.
    let answer = unsafe { sys::call(libc::SYS_kill, [process as usize, 0, 0, 0, 0, 0]) };
    answer != -(libc::ESRCH as isize)
}

/// The time on a clock in nanoseconds; 0 if there is no such clock.
pub fn time(clock: libc::clockid_t) -> u64 {
    sys::time(clock)
}

/// The CPU time of a thread of this process in nanoseconds, by the kernel's number of it; 0 if it
/// has ended.
pub fn cpu_time_of(thread: u32) -> u64 {
    time(cpu_clock_of(thread))
}

/// The clock of a thread's CPU time, by the kernel's number of the thread.
pub fn cpu_clock_of(thread: u32) -> libc::clockid_t {
    /// The lowest bits of the clock's number: of one thread, and the scheduler's count.
    const OF_THREAD: i32 = 4 | 2;
    !(thread as i32) << 3 | OF_THREAD
}

/// The resources that the process has used so far.
#[derive(Clone, Copy)]
pub struct Usage {
    /// User time in nanoseconds.
    pub user: u64,
    /// System time in nanoseconds.
    pub system: u64,
    /// The peak of resident memory in bytes.
    pub peak: u64,
    /// Page faults that were served from memory.
    pub minor_faults: u64,
    /// Page faults that had to read.
    pub major_faults: u64,
}

/// The resources that the process has used so far.
pub fn usage() -> Usage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes one rusage; zeroed is a valid one.
    let usage = unsafe {
        let place = usage.as_mut_ptr() as usize;
        let whose = libc::RUSAGE_SELF as usize;
        sys::call(libc::SYS_getrusage, [whose, place, 0, 0, 0, 0]);
        usage.assume_init()
    };
    let nanos =
        |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Usage {
        user: nanos(usage.ru_utime),
        system: nanos(usage.ru_stime),
        peak: (usage.ru_maxrss as u64).wrapping_mul(1 << 10),
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
    }
}

/// True if there are no other threads; `false` if `/proc` does not say.
pub fn has_one_thread() -> bool {
    // A folder has one link from its parent, one of its own, and one of each subfolder.
    stat(c"/proc/self/task").is_some_and(|folder| folder.st_nlink == 3)
}

/// The number of the pid namespace; `None` if `/proc` does not say.
pub fn pid_namespace() -> Option<u64> {
    stat(c"/proc/self/ns/pid").map(|file| file.st_ino)
}

/// The kernel's facts of a file, without a descriptor.
fn stat(path: &CStr) -> Option<libc::stat> {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the path ends in a NUL; the kernel writes one stat; zeroed is a valid one.
    let (result, stat) = unsafe {
        let place = stat.as_mut_ptr() as usize;
        let here = libc::AT_FDCWD as usize;
        let path = path.as_ptr() as usize;
        let result = sys::call(libc::SYS_newfstatat, [here, path, place, 0, 0, 0]);
        (result, stat.assume_init())
    };
    (result == 0).then_some(stat)
}

/// True if the program's address space is unlimited.
pub fn has_unlimited_memory() -> bool {
    let limits = [libc::RLIMIT_AS, libc::RLIMIT_DATA];
    limits
        .iter()
        .all(|&resource| limit(resource as usize).is_none())
}

/// The limit of the program's address space in bytes, if there is one.
pub fn address_space_limit() -> Option<u64> {
    limit(libc::RLIMIT_AS as usize)
}

/// The limit of the first thread's stack, if there is one.
pub fn stack_limit() -> Option<u64> {
    limit(libc::RLIMIT_STACK as usize)
}

fn limit(what: usize) -> Option<u64> {
    let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: the kernel writes one rlimit; zeroed is a valid one.
    let (result, limit) = unsafe {
        let place = limit.as_mut_ptr() as usize;
        let result = sys::call(libc::SYS_prlimit64, [0, what, 0, place, 0, 0]);
        (result, limit.assume_init())
    };
    let is_limited = result == 0 && limit.rlim_cur != libc::RLIM_INFINITY;
    is_limited.then_some(limit.rlim_cur)
}

/// The signals that the calling thread blocks: bit n for signal n + 1.
pub fn blocked() -> u64 {
    const SET_BYTES: usize = 8;
    let mut mask = 0_u64;
    // SAFETY: the kernel writes eight bytes; nothing is changed.
    unsafe {
        let place = &raw mut mask as usize;
        sys::call(libc::SYS_rt_sigprocmask, [0, 0, place, SET_BYTES, 0, 0]);
    }
    mask
}

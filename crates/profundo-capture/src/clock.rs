//! The clocks that the library reads.

pub(crate) use profundo_linux::sys::{instant as now, nanoseconds};

/// The CPU clock of a thread of this process, by the kernel's encoding of clock ids.
pub(crate) fn cpu_clock_of(tid: u32) -> libc::clockid_t {
    const PER_THREAD: i32 = 4;
    const SCHEDULER: i32 = 2;
    (!(tid as i32) << 3) | PER_THREAD | SCHEDULER
}

/// The CPU time that a thread has used, in nanoseconds; 0 if it has ended.
pub(crate) fn cpu_of(tid: u32) -> u64 {
    nanoseconds(cpu_clock_of(tid))
}

/// User and system time of the whole process, in nanoseconds.
pub(crate) fn process_cpu() -> (u64, u64) {
    // SAFETY: zeroed is a valid rusage, and it is ours to write.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let nanos =
        |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    (nanos(usage.ru_utime), nanos(usage.ru_stime))
}

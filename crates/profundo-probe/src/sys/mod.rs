//! System calls without libc: libc's wrappers write `errno`, which belongs to the interrupted code.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
use aarch64 as arch;
#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
use x86_64 as arch;

use core::ffi::c_void;
use core::sync::atomic::AtomicU32;

/// Calls a function on another stack.
///
/// # Safety
/// `top` is the end, aligned to 16 bytes, of memory that is large enough for the function and has
/// no other user; the function takes this argument and does not unwind.
#[inline]
pub(crate) unsafe fn call_on(
    top: *mut u8,
    function: extern "C" fn(*mut c_void),
    argument: *mut c_void,
) {
    // SAFETY: passed on.
    unsafe { arch::call_on(top, function, argument) }
}

/// The calling thread's kernel id.
pub fn thread_id() -> u32 {
    // SAFETY: gettid takes no arguments and cannot fail.
    unsafe { arch::syscall4(libc::SYS_gettid, 0, 0, 0, 0) as u32 }
}

/// The kernel's counts for the calling thread so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// System time in nanoseconds. The kernel counts it at its ticks.
    pub system: u64,
    /// The number of context switches away from the thread.
    pub switches: u64,
}

/// The kernel's counts for the calling thread so far.
pub fn thread_usage() -> ThreadUsage {
    const RUSAGE_THREAD: usize = 1;
    let mut usage = core::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills in the structure, which is all zero if it does not.
    let usage = unsafe {
        arch::syscall4(
            libc::SYS_getrusage,
            RUSAGE_THREAD,
            usage.as_mut_ptr() as usize,
            0,
            0,
        );
        usage.assume_init()
    };
    let time = usage.ru_stime;
    ThreadUsage {
        system: time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000,
        switches: (usage.ru_nvcsw as u64).wrapping_add(usage.ru_nivcsw as u64),
    }
}

/// Has a timer run out after `first` nanoseconds, and then each `interval`.
pub fn set_timer(timer: u32, first: u64, interval: u64) {
    let spec = |nanos: u64| libc::timespec {
        tv_sec: (nanos / 1_000_000_000) as i64,
        tv_nsec: (nanos % 1_000_000_000) as i64,
    };
    let times = libc::itimerspec {
        it_interval: spec(interval),
        it_value: spec(first.max(1)),
    };
    // SAFETY: the times are ours. The kernel refuses a number that is no timer of this process's.
    unsafe {
        let times = (&raw const times) as usize;
        arch::syscall4(libc::SYS_timer_settime, timer as usize, 0, times, 0);
    }
}

/// Changes the period of a perf event, which starts anew. Other files do not know the request.
pub fn set_perf_period(descriptor: u32, nanoseconds: u64) {
    /// `_IOW('$', 4, u64)`.
    const PERIOD: usize = 0x4008_2404;
    let period = (&raw const nanoseconds) as usize;
    // SAFETY: the kernel reads eight bytes of ours.
    unsafe { arch::syscall4(libc::SYS_ioctl, descriptor as usize, PERIOD, period, 0) };
}

/// The time on a clock in nanoseconds; 0 if there is no such clock.
pub fn time(clock: i32) -> u64 {
    let mut now = core::mem::MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the kernel fills in the structure, which is all zero if it does not.
    let now = unsafe {
        let place = now.as_mut_ptr() as usize;
        arch::syscall4(libc::SYS_clock_gettime, clock as usize, place, 0, 0);
        now.assume_init()
    };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The CPU time of the calling thread so far, in nanoseconds.
pub fn thread_cpu_time() -> u64 {
    time(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The calling thread's name, 16 bytes with a NUL.
pub fn thread_name() -> [u8; 16] {
    let mut name = [0u8; 16];
    // SAFETY: PR_GET_NAME writes at most 16 bytes to the buffer given.
    unsafe {
        arch::syscall4(
            libc::SYS_prctl,
            libc::PR_GET_NAME as usize,
            name.as_mut_ptr() as usize,
            0,
            0,
        );
    }
    name
}

/// Whether the eight bytes at `address` can be read, at about 160 ns.
///
/// `rt_sigprocmask` with an impossible `how` copies its set from user memory first and only then
/// refuses: EFAULT says unreadable, EINVAL says readable. Nothing changes either way.
pub fn is_readable(address: u64) -> bool {
    const IMPOSSIBLE_HOW: usize = 4711;
    // SAFETY: the kernel checks the pointer itself; with this `how` no mask is changed.
    let result = unsafe {
        arch::syscall4(
            libc::SYS_rt_sigprocmask,
            IMPOSSIBLE_HOW,
            address as usize,
            0,
            8,
        )
    };
    result == -(libc::EINVAL as isize)
}

/// The eight bytes at `address`, if they can be read, whatever other threads unmap meanwhile.
pub fn read_word(address: u64) -> Option<u64> {
    let mut word = [0; 8];
    match copy(address, &mut word) {
        8 => Some(u64::from_ne_bytes(word)),
        // Where the call is not permitted, asking first is the best way left.
        refused if refused == -(libc::EPERM as isize) || refused == -(libc::ENOSYS as isize) => {
            let last = address.checked_add(7)?;
            (is_readable(address) && is_readable(last & !7)).then(|| {
                // SAFETY: both of the pages that the word can lie in were readable just now.
                unsafe { (address as *const u64).read_unaligned() }
            })
        }
        _ => None,
    }
}

/// Copies from our own memory, reading only what is mapped. Returns the bytes copied.
pub fn copy_checked(address: u64, out: &mut [u8]) -> usize {
    usize::try_from(copy(address, out)).unwrap_or(0)
}

/// The kernel's answer: the bytes copied, or a negative error.
fn copy(address: u64, out: &mut [u8]) -> isize {
    let local = libc::iovec {
        iov_base: out.as_mut_ptr().cast(),
        iov_len: out.len(),
    };
    let remote = libc::iovec {
        iov_base: address as *mut _,
        iov_len: out.len(),
    };
    // SAFETY: `local` describes `out`, which is ours to write; the kernel checks `remote`.
    unsafe {
        arch::syscall6(
            libc::SYS_process_vm_readv,
            arch::syscall4(libc::SYS_getpid, 0, 0, 0, 0) as usize,
            (&raw const local) as usize,
            1,
            (&raw const remote) as usize,
            1,
            0,
        )
    }
}

/// Wakes the threads that wait for a word in shared memory to change.
pub fn futex_wake(word: &AtomicU32) {
    // SAFETY: the kernel uses the address only as a name; nothing is written.
    unsafe {
        arch::syscall4(
            libc::SYS_futex,
            word.as_ptr() as usize,
            libc::FUTEX_WAKE as usize,
            i32::MAX as usize,
            0,
        );
    }
}

/// Waits until a word in shared memory is woken, is not `value`, or the time has passed.
pub fn futex_wait(word: &AtomicU32, value: u32, nanoseconds: u64) {
    let time = libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_nsec: (nanoseconds % 1_000_000_000) as i64,
    };
    // SAFETY: the word and the time are valid during the call.
    unsafe {
        arch::syscall4(
            libc::SYS_futex,
            word.as_ptr() as usize,
            libc::FUTEX_WAIT as usize,
            value as usize,
            (&raw const time) as usize,
        );
    }
}

/// Sleeps for a moment.
pub fn sleep_a_millisecond() {
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 1_000_000,
    };
    // SAFETY: the time is valid during the call; that it was interrupted is as good.
    unsafe {
        let time = (&raw const time) as usize;
        arch::syscall4(libc::SYS_nanosleep, time, 0, 0, 0)
    };
}

/// Lets another thread have the CPU.
pub fn let_others_run() {
    // SAFETY: no arguments.
    unsafe { arch::syscall4(libc::SYS_sched_yield, 0, 0, 0, 0) };
}

/// Sets the calling thread's mask of signals, bit n for signal n + 1; returns the one before.
pub fn set_signal_mask(mask: u64) -> u64 {
    let mut before = 0_u64;
    // SAFETY: both masks are eight bytes of ours.
    unsafe {
        arch::syscall4(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK as usize,
            (&raw const mask) as usize,
            (&raw mut before) as usize,
            8,
        );
    }
    before
}

/// A system call by its number, for calls without a function here. A negative result is an error.
///
/// # Safety
/// As the system call's own contract demands of its arguments.
pub unsafe fn call(number: i64, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: passed on.
    unsafe { arch::syscall6(number, a, b, c, d, e, f) }
}

/// Writes a one to an eventfd, which may be full already.
pub fn write_one(descriptor: i32) {
    let one = 1_u64;
    // SAFETY: the kernel checks the descriptor; eight bytes are read from `one`.
    unsafe {
        arch::syscall4(
            libc::SYS_write,
            descriptor as usize,
            (&raw const one) as usize,
            8,
            0,
        );
    }
}

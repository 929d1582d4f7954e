//! Work to sample, measured in CPU time, so that a loaded machine changes nothing.

use std::hint::black_box;
use std::time::Duration;

/// The CPU time of the calling thread.
pub fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the structure is ours and is written to.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(done, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Runs for this many milliseconds of CPU time, nearly all of them in itself.
#[inline(never)]
pub fn busy(milliseconds: u64) -> u64 {
    let until = cpu_time() + Duration::from_millis(milliseconds);
    let mut x = 1_u64;
    while cpu_time() < until {
        let mut i = 0;
        while i < 20_000 {
            x = black_box(x ^ i).rotate_left(5);
            i += 1;
        }
    }
    x
}

/// As `busy`, under another name.
#[inline(never)]
pub fn early(milliseconds: u64) -> u64 {
    black_box(busy(milliseconds)).wrapping_add(1)
}

/// As `busy`, under yet another name and with different code: the compiler would merge equal
/// functions.
#[inline(never)]
pub fn late(milliseconds: u64) -> u64 {
    black_box(busy(milliseconds)).wrapping_mul(3)
}

/// `late` below this many calls.
#[inline(never)]
pub fn deep(depth: u32, milliseconds: u64) -> u64 {
    if depth == 0 {
        return late(milliseconds);
    }
    black_box(deep(depth - 1, milliseconds)).wrapping_add(1)
}

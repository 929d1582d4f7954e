//! Work to be sampled, measured in CPU time so that a loaded machine changes nothing.

use std::hint::black_box;
use std::time::Duration;

/// The CPU time of the calling thread.
pub fn cpu_time() -> Duration {
    crate::sys::clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Runs for so many milliseconds of CPU time, nearly all of them in itself.
#[inline(never)]
pub fn busy(milliseconds: u64) -> u64 {
    let until = cpu_time() + Duration::from_millis(milliseconds);
    let mut x = 1_u64;
    while cpu_time() < until {
        x = x.wrapping_add(spin(20_000));
    }
    x
}

/// So many turns of a loop without system calls.
#[inline(never)]
pub fn spin(turns: u64) -> u64 {
    let mut x = 1_u64;
    let mut i = 0;
    while i < turns {
        x = black_box(x ^ i).rotate_left(5);
        i += 1;
    }
    x
}

/// `busy` at the end of so many calls.
#[inline(never)]
pub fn deep(depth: u32, milliseconds: u64) -> u64 {
    if depth == 0 {
        return black_box(busy(milliseconds));
    }
    black_box(deep(black_box(depth) - 1, milliseconds)).wrapping_add(1)
}

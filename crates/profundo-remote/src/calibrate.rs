//! What the kernel takes to deliver one signal and return from it, measured once.
//!
//! Handlers count their own cycles, but most of a sample's cost lies outside of them: the timer's
//! interrupt, the signal's delivery and the return. A thread that does nothing but read the cycle
//! counter sees these as gaps. It is measured in this command, which is as good as in the target.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::perf::{Signal, TaskClock};
use crate::sys;

/// Signals that came to the thread that measures.
static SEEN: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_: i32) {
    SEEN.fetch_add(1, Ordering::Relaxed);
}

/// The cost of one delivery in nanoseconds; `None` if it cannot be measured, or if this process
/// handles SIGTRAP itself.
pub(crate) fn delivery_cost() -> Option<u64> {
    let thread = std::thread::Builder::new().name("profundo".into());
    thread.spawn(measure).ok()?.join().ok()?
}

/// Spins for some milliseconds under a fast task clock whose signals do nothing.
fn measure() -> Option<u64> {
    const PERIOD: u64 = 100_000;
    /// So many gaps have a steady median; on a calm machine that takes four milliseconds.
    const ENOUGH: usize = 40;
    const AT_MOST: Duration = Duration::from_millis(15);
    let before = install()?;
    let clock = TaskClock::open(profundo_probe::sys::thread_id(), PERIOD, Signal::Trap).ok();
    let mut gaps = Vec::with_capacity(2 * ENOUGH);
    let (first, began) = (sys::instant(), Instant::now());
    let seen = SEEN.load(Ordering::Relaxed);
    let running = clock.as_ref().is_some_and(|clock| clock.enable().is_ok());
    while running && began.elapsed() < AT_MOST && gaps.len() < ENOUGH {
        let mut last = profundo_probe::clock::now();
        for _ in 0..1000 {
            let now = profundo_probe::clock::now();
            // A turn of this loop takes tens of cycles; a signal takes thousands.
            if now.wrapping_sub(last) > 1000 {
                gaps.push(now.wrapping_sub(last));
            }
            last = now;
        }
    }
    drop(clock);
    let last = sys::instant();
    let signals = SEEN.load(Ordering::Relaxed) - seen;
    // SAFETY: `before` is what was installed.
    unsafe { libc::sigaction(libc::SIGTRAP, &before, std::ptr::null_mut()) };
    if signals < 10 || gaps.is_empty() {
        return None;
    }
    // Other interrupts make gaps too, and the scheduler makes long ones: the median is neither.
    gaps.sort_unstable();
    let median = gaps.get(gaps.len() / 2)?;
    let cycles = last.cycles.saturating_sub(first.cycles).max(1);
    let nanos = last.monotonic.saturating_sub(first.monotonic);
    Some((u128::from(*median) * u128::from(nanos) / u128::from(cycles)) as u64)
}

/// Installs a handler where there is none.
fn install() -> Option<libc::sigaction> {
    // SAFETY: zeroed is a valid action, and both are ours.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        let asked = libc::sigaction(libc::SIGTRAP, std::ptr::null(), &mut before);
        if asked != 0 || ![libc::SIG_DFL, libc::SIG_IGN].contains(&before.sa_sigaction) {
            return None;
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count as extern "C" fn(i32) as usize;
        action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        (libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut()) == 0).then_some(before)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_delivery_costs_some_microseconds() {
        if let Some(cost) = super::delivery_cost() {
            assert!((200..200_000).contains(&cost), "{cost} ns");
        }
    }
}

//! What a task clock adds to each switch of the thread that it samples, measured once.
//!
//! The kernel stops the clock of a thread that leaves a CPU and starts that of the thread that comes. Two threads
//! that hand a byte to and fro on one CPU do nothing else: what they take longer with clocks is that.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::path::Path;
use std::sync::mpsc;

use profundo_probe::sys::{thread_cpu_time, thread_id};

use crate::calibrate::{OFTEN, keep_least, known};
use crate::modules::cache_folder;
use crate::perf::{Signal, TaskClock};

/// A recording of fewer switches is not worth the milliseconds.
const FEW: u64 = 200;

/// What each switch costs that a task clock has been part of, in nanoseconds, for a recording of so many: the least
/// that was measured since the machine was started, now or by recordings before. `None` if it is not known.
pub(crate) fn switch_cost(switches: u64, cache: Option<&Path>) -> Option<u64> {
    let kept = cache_folder(cache).map(|folder| folder.join("profundo/switches"));
    let before = kept.as_deref().and_then(|path| known(path, ""));
    let before_cost = before.map(|(cost, _)| cost);
    let is_known = before.is_some_and(|(_, measured)| measured >= OFTEN);
    if is_known || switches < FEW {
        return before_cost;
    }
    let Some(now) = measured() else {
        return before_cost;
    };
    Some(keep_least(kept.as_deref(), "", before, now))
}

/// What a switch takes more with clocks than without.
fn measured() -> Option<u64> {
    const TURNS: usize = 3;
    let (mut without, mut with) = (u64::MAX, u64::MAX);
    for _ in 0..TURNS {
        without = without.min(exchange(false)?);
        with = with.min(exchange(true)?);
    }
    with.checked_sub(without)
}

/// The CPU time of one switch between two threads, with a clock on each or without.
fn exchange(has_clocks: bool) -> Option<u64> {
    const ROUNDS: u64 = 300;
    let (here, there) = (pipe().ok()?, pipe().ok()?);
    let (tell, told) = mpsc::channel();
    let other = std::thread::Builder::new().name("profundo".into());
    let other = other.spawn(move || {
        pin()?;
        tell.send(()).ok()?;
        hand_over((here.0, there.1), ROUNDS, false, has_clocks)
    });
    let other = other.ok()?;
    let first = std::thread::Builder::new().name("profundo".into());
    let first = first.spawn(move || {
        pin()?;
        told.recv().ok()?;
        hand_over((there.0, here.1), ROUNDS, true, has_clocks)
    });
    // A thread that gives up drops its ends of the pipes, which ends the other one's wait.
    let first = first.ok()?.join().ok()?;
    let other = other.join().ok()?;
    Some((first? + other?) / (2 * ROUNDS))
}

/// Hands a byte over and waits for it, so many times; returns the CPU time that it took.
fn hand_over(
    (mut from, mut to): (PipeReader, PipeWriter),
    rounds: u64,
    begins: bool,
    has_clocks: bool,
) -> Option<u64> {
    /// As threads that are sampled have it, so that the kernel has a timer to start. It sends no signal.
    const PERIOD: u64 = 1_000_000;
    let clock = match has_clocks {
        true => Some(TaskClock::open(thread_id(), PERIOD, Signal::Asked(0)).ok()?),
        false => None,
    };
    if let Some(clock) = &clock {
        clock.enable().ok()?;
    }
    let began = thread_cpu_time();
    let mut byte = [0];
    for _ in 0..rounds {
        if begins {
            to.write_all(&byte).ok()?;
        }
        from.read_exact(&mut byte).ok()?;
        if !begins {
            to.write_all(&byte).ok()?;
        }
    }
    let took = thread_cpu_time().saturating_sub(began);
    drop(clock);
    Some(took)
}

/// Keeps the calling thread on the first CPU that it may use.
fn pin() -> Option<()> {
    // SAFETY: a zeroed set is an empty one, and both calls take one of this size.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of::<libc::cpu_set_t>();
        (libc::sched_getaffinity(0, size, &raw mut allowed) == 0).then_some(())?;
        let cpu = (0..libc::CPU_SETSIZE as usize).find(|&cpu| libc::CPU_ISSET(cpu, &allowed))?;
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut one);
        (libc::sched_setaffinity(0, size, &raw const one) == 0).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::measured;

    #[test]
    fn a_switch_costs_less_than_a_tenth_of_a_millisecond() {
        if let Some(cost) = measured() {
            assert!(cost < 100_000, "{cost} ns");
        }
    }
}

//! The cost that a recording adds to each context switch, measured once.
//!
//! The kernel stops the task clock of a thread that leaves a CPU and starts that of the thread that
//! comes. The side-band events are switched from thread to thread too, which costs little, but at
//! each switch. Two threads that hand a byte to and fro on one CPU do nothing but switch, so the
//! difference in their time is this cost.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::path::Path;
use std::sync::mpsc;

use profundo_linux::perf::{SideBand, Signal, TaskClock};
use profundo_probe::sys::{thread_cpu_time, thread_id};
use profundo_process::modules::cache_folder;

use super::delivery::{OFTEN, keep_least, known};

/// The cost to be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Added {
    /// A task clock on each thread.
    Clocks,
    /// The side-band events. A switch of them costs so little that a hundred are measured.
    SideBand,
}

/// The number of switches in the kept figure of the side-band.
const MANY: u64 = 100;

impl Added {
    /// A recording of fewer switches is not worth the milliseconds.
    fn few(self) -> u64 {
        match self {
            Self::Clocks => 200,
            Self::SideBand => 50_000,
        }
    }

    fn rounds(self) -> u64 {
        match self {
            Self::Clocks => 300,
            Self::SideBand => 3000,
        }
    }

    fn file(self) -> &'static str {
        match self {
            Self::Clocks => "profundo/clock-switches",
            Self::SideBand => "profundo/switches",
        }
    }
}

/// The cost of switches in nanoseconds: `clocked` ones of threads with task clocks, and `watched`
/// ones of threads with side-band events. Unknown costs are left out.
pub(crate) fn switch_cost(clocked: u64, watched: u64, cache: Option<&Path>) -> u64 {
    let by_clocks = cost(Added::Clocks, clocked, cache).unwrap_or(0);
    let by_events = cost(Added::SideBand, watched, cache).unwrap_or(0);
    // The counts are the programs' own, which may have written any.
    let by_events = watched.saturating_mul(by_events) / MANY;
    clocked.saturating_mul(by_clocks).saturating_add(by_events)
}

/// The added cost of a switch (a hundred for the side-band), for a recording of this many: the
/// least measured since the machine started, now or by earlier recordings.
fn cost(added: Added, switches: u64, cache: Option<&Path>) -> Option<u64> {
    let kept = cache_folder(cache).map(|folder| folder.join(added.file()));
    let before = kept.as_deref().and_then(|path| known(path, ""));
    let before_cost = before.map(|(cost, _)| cost);
    let is_known = before.is_some_and(|(_, measured)| measured >= OFTEN);
    if is_known || switches < added.few() {
        return before_cost;
    }
    let Some(now) = measured(added) else {
        return before_cost;
    };
    Some(keep_least(kept.as_deref(), "", before, now))
}

/// The difference of a switch with and without the addition; of a hundred for the side-band.
fn measured(added: Added) -> Option<u64> {
    const TURNS: usize = 3;
    let (mut without, mut with) = (u64::MAX, u64::MAX);
    for _ in 0..TURNS {
        without = without.min(exchange(None, added.rounds())?);
        with = with.min(exchange(Some(added), added.rounds())?);
    }
    let times = match added {
        Added::Clocks => 1,
        Added::SideBand => MANY,
    };
    Some(with.saturating_sub(without) * times / (2 * added.rounds()))
}

/// The CPU time of two threads that hand a byte to and fro.
fn exchange(added: Option<Added>, rounds: u64) -> Option<u64> {
    let first = std::thread::Builder::new().name("profundo".into());
    let first = first.spawn(move || {
        // The thread that is started below inherits both.
        pin()?;
        let _events = match added {
            Some(Added::SideBand) => Some(SideBand::open(thread_id()).ok()?),
            _ => None,
        };
        let has_clocks = added == Some(Added::Clocks);
        let (here, there) = (pipe().ok()?, pipe().ok()?);
        let (sender, receiver) = mpsc::channel();
        let other = std::thread::Builder::new().name("profundo".into());
        let other = other.spawn(move || {
            sender.send(()).ok()?;
            hand_over((here.0, there.1), rounds, false, has_clocks)
        });
        let other = other.ok()?;
        receiver.recv().ok()?;
        // A thread that gives up drops its ends of the pipes, which ends the other's wait.
        let first = hand_over((there.0, here.1), rounds, true, has_clocks);
        Some(first? + other.join().ok()??)
    });
    first.ok()?.join().ok()?
}

/// Hands a byte over and waits for it, `rounds` times. Returns the CPU time.
fn hand_over(
    (mut from, mut to): (PipeReader, PipeWriter),
    rounds: u64,
    begins: bool,
    has_clocks: bool,
) -> Option<u64> {
    /// The period of sampled threads, so that the kernel has a timer to start. No signal is sent.
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
    use super::{Added, MANY, measured};

    #[test]
    fn a_switch_costs_less_than_a_tenth_of_a_millisecond() {
        for (added, times) in [(Added::Clocks, 1), (Added::SideBand, MANY)] {
            if let Some(cost) = measured(added) {
                assert!(cost < 100_000 * times, "{added:?}: {cost} ns");
            }
        }
    }
}

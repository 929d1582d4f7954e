//! Threads that block our signal: their time is recorded without a stack, so that none of it is
//! lost silently.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use profundo_linux::proc;
use profundo_wire::{End, Gil, PythonEnd, SAMPLE_HEAD_WORDS, SampleHead, State};

use super::{Agent, ClockPlan};

/// A thread at a check.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) samples: u64,
    pub(super) cpu: u64,
}

/// The checks of a thread that does not run.
#[derive(Debug, Default)]
pub(super) struct Rests {
    /// The number of checks in a row in which it had not run.
    pub(super) idle: u8,
    /// The number of checks to be skipped because of that.
    pub(super) left: u8,
    /// Whether the present check has skipped it.
    pub(super) is_skipped: bool,
}

/// The threads that a check looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looked {
    /// Those that ran lately, and of the others those whose turn it is.
    Awake,
    /// Those that the same check has left out.
    Resting,
}

/// The facts of a check.
#[derive(Debug, Clone, Copy)]
struct Check {
    plan: ClockPlan,
    now: u64,
    has_lost: bool,
}

impl Agent {
    /// The unsampled time of the process since the last check, if a thread could be blocking.
    /// Otherwise the threads' times are not read.
    fn may_hide(&mut self, enough: u64) -> Option<u64> {
        let ran = Some(self.pid)
            .filter(|&pid| pid != 0)
            .and_then(proc::process_clock);
        let accounted = self.sampled + self.added_for_blocking;
        let hidden = ran.unwrap_or(u64::MAX).saturating_sub(accounted);
        let is_suspected = self.threads.iter().any(|thread| thread.suspected > 0);
        let may_hide = ran.is_none() || is_suspected || hidden > self.hidden.saturating_add(enough);
        let grown = hidden.saturating_sub(self.hidden);
        // Unsampled time that belongs to no single thread is ignored from now on.
        self.hidden = match may_hide {
            true => hidden,
            false => self.hidden.min(hidden),
        };
        may_hide.then_some(if ran.is_some() { grown } else { 0 })
    }

    /// Writes a sample for each thread whose time is not sampled because it blocks our signal, so
    /// that no time is lost silently.
    pub(crate) fn sample_blocking_threads(
        &mut self,
        plan: ClockPlan,
        now: u64,
        out: &mut Vec<u64>,
    ) {
        /// Reading the times of more threads takes longer than they are worth.
        const MOST_RESTING: usize = 256;
        // Acquire pairs with the agent's release. A program that the agent has left blocks nothing,
        // and is not sampled.
        if self.header().left.load(Ordering::Acquire) != 0 {
            return;
        }
        let enough = suspicious(plan.period);
        let Some(grown) = self.may_hide(enough) else {
            return;
        };
        let lost = self.loss();
        let has_lost = std::mem::replace(&mut self.lost, lost) != lost;
        let check = Check {
            plan,
            now,
            has_lost,
        };
        let found = self.look_at_threads(Looked::Awake, check, out);
        // A thread that rested has begun to run.
        let resting = self.threads.iter().filter(|it| it.rests.is_skipped);
        if grown > found.saturating_add(enough) && resting.count() <= MOST_RESTING {
            self.look_at_threads(Looked::Resting, check, out);
        }
    }

    /// Looks at some threads. Returns their unsampled time since they were looked at.
    fn look_at_threads(&mut self, looked: Looked, check: Check, out: &mut Vec<u64>) -> u64 {
        /// The largest number of checks skipped for a thread that does not run.
        const MOST: u8 = 15;
        let enough = suspicious(check.plan.period);
        let asked = self.asked();
        let map = Arc::clone(&self.map);
        let mut found = 0_u64;
        for thread in &mut self.threads {
            let was_skipped = std::mem::take(&mut thread.rests.is_skipped);
            if looked == Looked::Resting && !was_skipped {
                continue;
            }
            let is_sampled = thread.samples != thread.checked.samples;
            if is_sampled {
                thread.checked.samples = thread.samples;
                thread.rests = Rests::default();
                thread.is_blocking = false;
            } else if looked == Looked::Awake && thread.rests.left > 0 {
                thread.rests.left -= 1;
                thread.rests.is_skipped = true;
                continue;
            }
            let Some(record) = map
                .record(thread.index)
                .filter(|record| !record.has_ended())
            else {
                continue;
            };
            let ran = thread.ran(self.pid, record);
            let idle = match ran == thread.checked.cpu {
                true => thread.rests.idle.saturating_add(1).min(MOST),
                false => 0,
            };
            if !is_sampled {
                found = found.saturating_add(ran.saturating_sub(thread.checked.cpu));
            }
            thread.rests = Rests {
                idle,
                left: idle,
                is_skipped: false,
            };
            thread.checked.cpu = ran;
            let weight = ran.saturating_sub(thread.accounted);
            let before = std::mem::take(&mut thread.suspected);
            if weight <= enough {
                continue;
            }
            if check.has_lost {
                // The losses stand for this time, or for a part of it.
                thread.accounted += weight;
                continue;
            }
            let signal = thread.clock.as_ref().map_or(asked, |clock| clock.signal);
            let is_blocked = proc::blocks_signal(self.pid, thread.tid, signal.number());
            // A thread in our handler blocks the signal too, and its last samples cannot be taken
            // meanwhile.
            let more = before.min(weight);
            thread.is_blocking = more > enough;
            if thread.is_blocking {
                thread.was_blocking = true;
                thread.accounted += more;
                self.added_for_blocking += more;
                record.recorded_for.fetch_add(more, Ordering::Relaxed);
                out.extend(blocking_sample(
                    thread.index as u32 + 1,
                    thread.tid,
                    more,
                    check.now,
                ));
            }
            if is_blocked {
                thread.suspected = weight - if thread.is_blocking { more } else { 0 };
            }
        }
        found
    }
}

/// The CPU time without a sample from which a thread is suspected: a signal that is blocked for a
/// moment arrives sooner.
pub(super) fn suspicious(period: u64) -> u64 {
    const LEAST: u64 = 50_000_000;
    LEAST.max(3 * period)
}

/// A sample of a thread of which only the time is known.
pub(super) fn blocking_sample(
    number: u32,
    tid: u32,
    weight: u64,
    clock: u64,
) -> [u64; SAMPLE_HEAD_WORDS] {
    SampleHead {
        state: State::Running,
        end: End::SignalsBlocked,
        frames: 0,
        python: 0,
        python_end: PythonEnd::Whole,
        gil: Gil::None,
        clock,
        weight,
        task: 0,
        thread: number,
        tid,
        span: 0,
    }
    .to_words()
}

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
}

impl Agent {
    /// Whether the process has so much more unsampled time than at the last check that a thread
    /// could be blocking. Otherwise the threads' times are not read.
    fn may_hide(&mut self, enough: u64) -> bool {
        let ran = Some(self.pid)
            .filter(|&pid| pid != 0)
            .and_then(proc::process_clock);
        let accounted = self.sampled + self.added_for_blocking;
        let hidden = ran.unwrap_or(u64::MAX).saturating_sub(accounted);
        let is_suspected = self.threads.iter().any(|thread| thread.suspected > 0);
        let may_hide = ran.is_none() || is_suspected || hidden > self.hidden.saturating_add(enough);
        // Unsampled time that belongs to no single thread is ignored from now on.
        self.hidden = match may_hide {
            true => hidden,
            false => self.hidden.min(hidden),
        };
        may_hide
    }

    /// Writes a sample for each thread whose time is not sampled because it blocks our signal, so
    /// that no time is lost silently.
    pub(crate) fn sample_blocking_threads(
        &mut self,
        plan: ClockPlan,
        now: u64,
        out: &mut Vec<u64>,
    ) {
        /// The largest number of checks skipped for a thread that does not run.
        const MOST: u8 = 15;
        // Acquire pairs with the agent's release. A program that the agent has left blocks nothing,
        // and is not sampled.
        if self.header().left.load(Ordering::Acquire) != 0 {
            return;
        }
        let enough = suspicious(plan.period);
        if !self.may_hide(enough) {
            return;
        }
        let asked = self.asked();
        let lost = self.loss();
        let has_lost = std::mem::replace(&mut self.lost, lost) != lost;
        let map = Arc::clone(&self.map);
        for thread in &mut self.threads {
            if thread.samples != thread.checked.samples {
                thread.checked.samples = thread.samples;
                thread.rests = Rests::default();
                thread.is_blocking = false;
            } else if thread.rests.left > 0 {
                thread.rests.left -= 1;
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
            thread.rests = Rests { idle, left: idle };
            thread.checked.cpu = ran;
            let weight = ran.saturating_sub(thread.accounted);
            let before = std::mem::take(&mut thread.suspected);
            if weight <= enough {
                continue;
            }
            if has_lost {
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
                    now,
                ));
            }
            if is_blocked {
                thread.suspected = weight - if thread.is_blocking { more } else { 0 };
            }
        }
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

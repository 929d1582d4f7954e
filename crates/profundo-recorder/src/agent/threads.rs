//! The threads of a process with an agent: found by their records in the ring, emitted as they
//! change.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use profundo_linux::account::Account;
use profundo_linux::clock::Scale;
use profundo_linux::container;
use profundo_linux::perf::TaskClock;
use profundo_linux::proc;
use profundo_probe::ThreadRecord;
use profundo_probe::random::PeriodDraw;
use profundo_wire::recording::{Event, ThreadInfo};
use profundo_wire::traced::{TracedCalls, TracedPlace};

use super::blocking::{Checked, Rests, blocking_sample, suspicious};
use super::call_clocks::ThreadCalls;
use super::{Agent, ClockPlan};

/// A thread of the process.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) index: usize,
    pub(super) tid: u32,
    /// Its number in its own pid namespace.
    pub(super) inside: u32,
    pub(super) name: [u8; 16],
    pub(super) clock: Option<TaskClock>,
    /// The clock that samples its system calls.
    pub(super) calls: ThreadCalls,
    /// CPU time, where no clock counts it, and the time that the thread was alive.
    pub(super) cpu: Account,
    pub(super) alive: Account,
    pub(super) samples: u64,
    /// The CPU time that its samples stand for.
    pub(super) accounted: u64,
    /// Its state at the last check for blocking threads: threads that block our signal.
    pub(super) checked: Checked,
    pub(super) rests: Rests,
    /// The periods of its clock, and its number of samples when the last one began.
    pub(super) periods: PeriodDraw,
    pub(super) varied: u64,
    /// Whether it blocked our signal at the last check, or when its clock was stopped.
    pub(super) is_blocking: bool,
    /// Whether it ever blocked our signal.
    pub(super) was_blocking: bool,
    /// The time without a sample when it was found to block our signal at the last check.
    pub(super) suspected: u64,
    /// The time that it had run when its clock was opened.
    pub(super) ran_before: u64,
    /// Whether the kernel refused a clock. The thread has none then.
    pub(super) is_refused: bool,
}

impl Agent {
    /// Notes threads that have begun, without emitting them. Their own timers sample them; those
    /// that ask for clocks get them ([`Self::update_clocks`]).
    pub(crate) fn note_new_threads(&mut self, plan: ClockPlan) {
        let map = Arc::clone(&self.map);
        let met = map.met();
        if self.met == 0 {
            self.choose_signal(plan.mark);
        }
        while self.met < met {
            let Some(record) = map.record(self.met) else {
                break;
            };
            // The record is not filled in yet; its thread rings again.
            let inside = record.tid();
            if inside == 0 {
                break;
            }
            let tid = self.outside(inside);
            let mut thread = Thread {
                index: self.met,
                tid,
                inside,
                name: [0; 16],
                clock: None,
                calls: ThreadCalls::default(),
                cpu: Account::default(),
                alive: Account::default(),
                samples: 0,
                accounted: 0,
                checked: Checked::default(),
                rests: Rests::default(),
                periods: PeriodDraw::new(tid.into()),
                varied: 0,
                is_blocking: false,
                was_blocking: false,
                suspected: 0,
                ran_before: 0,
                is_refused: false,
            };
            self.numbers.insert(tid, self.met as u32 + 1);
            self.met += 1;
            if let Some(at) = self
                .renamed
                .iter()
                .rposition(|(renamed, _)| *renamed == tid)
            {
                record.set_name(self.renamed.swap_remove(at).1);
            }
            if plan.running {
                thread.alive.go(record.seen().0);
                // The main thread may have run another program before.
                thread.cpu.go(record.cpu_before.load(Ordering::Relaxed));
            }
            self.threads.push(thread);
        }
    }

    /// Our number of a thread, by the number that the program has for it.
    pub(crate) fn outside(&mut self, inside: u32) -> u32 {
        /// No thread has this number, so that no other thread is taken for one that has ended.
        const NO_THREAD: u32 = i32::MAX as u32;
        let Some(known) = &mut self.outside else {
            return inside;
        };
        // Numbers are used again.
        let is_it = |tid: &u32| proc::number_inside(self.pid, *tid) == Some(inside);
        if !known.get(&inside).is_some_and(is_it) {
            known.extend(container::threads(self.pid));
        }
        let found = known.get(&inside).copied();
        found.filter(is_it).unwrap_or(NO_THREAD)
    }

    /// Names the threads of counted calls by our numbers. Some have ended.
    pub(crate) fn name_outside(&self, calls: &mut TracedCalls) {
        let Some(known) = &self.outside else { return };
        for node in &mut calls.nodes {
            if let TracedPlace::Thread { tid, .. } = &mut node.place
                && let Some(outside) = known.get(tid)
            {
                *tid = *outside;
            }
        }
    }

    /// The plan for a clock that is opened now.
    pub(super) fn for_clocks(&self, plan: ClockPlan) -> ClockPlan {
        let running = plan.running && !self.is_silent;
        ClockPlan { running, ..plan }
    }

    /// Emits threads that are new, renamed or ended.
    pub(crate) fn emit_changed_threads(
        &mut self,
        key: u32,
        scale: &Scale,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        let map = Arc::clone(&self.map);
        let pid = self.pid;
        let mut ran = 0;
        // Another thread may have its number already.
        let forget = |numbers: &mut HashMap<u32, u32>, thread: &Thread| {
            if numbers.get(&thread.tid) == Some(&(thread.index as u32 + 1)) {
                numbers.remove(&thread.tid);
            }
        };
        let numbers = &mut self.numbers;
        self.threads.retain_mut(|thread| {
            let Some(record) = map.record(thread.index) else {
                forget(numbers, thread);
                return false;
            };
            let has_ended = record.has_ended();
            let name = record.name();
            if has_ended || name != thread.name {
                thread.name = name;
                sink(thread.event(key, pid, record, has_ended, scale));
            }
            if has_ended {
                ran = thread.ran(pid, record).saturating_add(ran);
                thread.emit_rest(key, pid, record, sink);
                record.clock.store(0, Ordering::Relaxed);
                forget(numbers, thread);
            }
            !has_ended
        });
        self.ran = self.ran.saturating_add(ran);
    }

    /// The time that all its threads, ended ones included, have run while they were sampled.
    pub(crate) fn ran(&self) -> u64 {
        let living = self.threads.iter().filter_map(|thread| {
            let record = self.map.record(thread.index)?;
            Some(thread.ran(self.pid, record))
        });
        living.fold(self.ran, u64::saturating_add)
    }

    /// Emits all living threads.
    pub(crate) fn emit_all_threads(
        &mut self,
        key: u32,
        is_over: bool,
        scale: &Scale,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        for thread in &mut self.threads {
            if let Some(record) = self.map.record(thread.index) {
                sink(thread.event(key, self.pid, record, is_over, scale));
                thread.emit_rest(key, self.pid, record, sink);
            }
        }
    }

    /// The number of a thread in the recording.
    pub(crate) fn number_of(&self, tid: u32) -> Option<u32> {
        self.numbers.get(&tid).copied()
    }

    /// The kernel reports that a thread has ended. Threads that ran before the agent came do not
    /// report it themselves.
    pub(crate) fn thread_ended(&mut self, tid: u32) {
        let Some(&number) = self.numbers.get(&tid) else {
            return;
        };
        let Some(record) = self.map.record(number as usize - 1) else {
            return;
        };
        let is_it = self
            .threads
            .iter()
            .any(|thread| thread.index + 1 == number as usize && thread.inside == record.tid());
        if is_it && record.finish_unreported() {
            // Release: the record is read in this turn or the next.
            self.header().news.store(1, Ordering::Release);
        }
    }

    /// Renames a thread.
    pub(crate) fn rename(&mut self, tid: u32, name: &[u8]) {
        /// A thread writes its name at its end, so only living threads matter.
        const MOST: usize = 256;
        let mut text = [0; 16];
        let length = name.len().min(15);
        if let (Some(to), Some(from)) = (text.get_mut(..length), name.get(..length)) {
            to.copy_from_slice(from);
        }
        let known = self.numbers.get(&tid);
        let known = known.map(|&number| self.map.record(number as usize - 1));
        match known {
            Some(Some(record)) => record.set_name(text),
            Some(None) => {}
            None if self.renamed.len() < MOST => self.renamed.push((tid, text)),
            None => {}
        }
    }

    pub(super) fn is_thread(&self, at: usize, index: usize) -> bool {
        self.threads
            .get(at)
            .is_some_and(|thread| thread.index == index)
    }
}

impl Thread {
    /// The thread's CPU time, where none of our clocks counts it.
    pub(super) fn cpu_now(&self, pid: u32, record: &ThreadRecord) -> u64 {
        let recorded = record.cpu.load(Ordering::Relaxed);
        if record.has_ended() && recorded != 0 {
            return recorded;
        }
        proc::thread_cpu(pid, self.tid).unwrap_or(recorded)
    }

    /// The time that it has run while it was sampled.
    pub(super) fn ran(&self, pid: u32, record: &ThreadRecord) -> u64 {
        match self.clock.as_ref().and_then(TaskClock::ran) {
            Some(ran) => self.ran_before.saturating_add(ran),
            None => self.cpu.at(self.cpu_now(pid, record)),
        }
    }

    /// Emits the last sample of a thread that blocks our signal and has ended, or is not checked
    /// again.
    pub(super) fn emit_rest(
        &mut self,
        process: u32,
        pid: u32,
        record: &ThreadRecord,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        let may_be_blocking = self.was_blocking || self.suspected > 0;
        let least = match (std::mem::take(&mut self.is_blocking), may_be_blocking) {
            (true, _) => 0,
            // It did not block the signal at the last check, but may have since.
            (false, true) => suspicious(0),
            (false, false) => return,
        };
        let weight = self.ran(pid, record).saturating_sub(self.accounted);
        if weight <= least {
            return;
        }
        self.accounted = self.accounted.saturating_add(weight);
        let now = profundo_probe::clock::now();
        let words = &blocking_sample(self.index as u32 + 1, self.tid, weight, now);
        sink(Event::Words { process, words });
    }

    pub(super) fn event(
        &self,
        process: u32,
        pid: u32,
        record: &ThreadRecord,
        is_over: bool,
        scale: &Scale,
    ) -> Event<'static> {
        let name = record.name();
        let length = name
            .iter()
            .position(|&byte| byte == 0)
            .unwrap_or(name.len());
        let name = String::from_utf8_lossy(name.get(..length).unwrap_or_default()).into_owned();
        let (first, last) = record.seen();
        let now = profundo_probe::clock::now();
        let end = if record.has_ended() || is_over {
            last.max(first)
        } else {
            now
        };
        let end = if is_over && !record.has_ended() {
            now
        } else {
            end
        };
        let cpu = self.ran(pid, record);
        Event::Thread {
            process,
            thread: ThreadInfo {
                number: self.index as u32 + 1,
                tid: self.tid,
                name,
                alive: scale.nanoseconds(self.alive.at(end)),
                cpu,
            },
            gil_wait: record.gil_wait(|cycles| scale.nanoseconds(cycles)),
        }
    }
}

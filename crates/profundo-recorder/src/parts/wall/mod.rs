//! Elapsed time: where threads wait, and for how long.
//!
//! The kernel records each context switch. So the length of a wait is known to the nanosecond, and
//! a thread that has not run since it was read need not be read again: a thousand idle ones cost
//! nothing. At each tick the threads that have left a CPU since the last one are read where they
//! block.
//!
//! A wait that is longer than a tick is nearly always read, and stands for its own length. Of
//! shorter waits some happen to be read; those share the time of all short ones. So each thread's
//! waiting adds up exactly, and only the places of short waits are an estimate.

mod spans;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use profundo_linux::perf::Switches;
use profundo_linux::random::Random;
use profundo_linux::sys;
use profundo_probe::shared::start_kind;
use profundo_process::reading::{Activity, activity};
use profundo_wire::{
    End, Gil, PythonEnd, Reader, Record, SAMPLE_HEAD_WORDS, SampleHead, State, WaitKind, wait_words,
};

use super::traffic::Traffic;
use super::{Change, Part, Sink, emit_words};
use crate::core::{Core, OpenFiles, Processes, ThreadId};
use crate::program::Program;

use spans::{Emission, Spans};

/// The default interval of ticks, in nanoseconds.
pub(crate) const TICK: u64 = 10_000_000;

/// Nanoseconds between two settlements of short waits.
const SETTLE: u64 = 1_000_000_000;
/// The factor of a tick while no thread runs.
const STILL: u64 = 3;
/// Reading may take this part of the time between two ticks.
const PART: u64 = 20;

/// Watches threads, if that is requested and permitted.
#[derive(Debug, Default)]
pub(crate) struct Wall {
    watch: Option<Watch>,
}

/// The watched threads.
#[derive(Debug)]
struct Watch {
    switches: Switches,
    threads: HashMap<u32, Thread>,
    /// Threads that have left a CPU and were not read since: of a thousand that sleep there is
    /// none.
    unread: HashSet<u32>,
    /// Their traffic, where the kernel counts it.
    traffic: Option<Traffic>,
    tick: u64,
    /// The time of the next tick, on the monotonic clock.
    next: u64,
    settled: u64,
    random: Random,
    /// Whether there was a context switch since the last tick.
    has_switched: bool,
    /// Whether changes were lost, which is noted once.
    has_lost: bool,
    /// The time up to which all changes are known.
    known_until: u64,
    /// Whether waiting threads must be found again, because changes were lost.
    has_to_find: bool,
    /// Waits that were open when sampling was paused, up to that time. They are emitted with the
    /// next words.
    stopped: Vec<DueSpan>,
}

#[derive(Debug)]
struct Thread {
    pid: u32,
    spans: Spans,
    /// Whether it had a context switch since its short waits were last settled.
    has_switched: bool,
}

impl Watch {
    /// Opens the records of switches of existing threads, and of all that they start.
    fn open(first: u32, others: &[u32], tick: u64) -> std::io::Result<Self> {
        let mut switches = Switches::open(first)?;
        others.iter().try_for_each(|&tid| switches.add(tid))?;
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        Ok(Self {
            switches,
            threads: HashMap::new(),
            unread: HashSet::new(),
            traffic: None,
            tick,
            next: now + tick,
            settled: now,
            random: Random::begin(),
            has_switched: false,
            has_lost: false,
            known_until: now,
            has_to_find: false,
            stopped: Vec::new(),
        })
    }

    /// Finds threads that wait already, for which there is no record.
    fn find_waiting(&mut self, processes: &Processes, now: u64) {
        for program in processes.programs.values() {
            self.find_waiting_of(program.pid, now);
        }
    }

    fn find_waiting_of(&mut self, pid: u32, now: u64) {
        let mut none = Vec::new();
        for tid in profundo_linux::proc::threads(pid) {
            if matches!(activity(pid, tid), Activity::Blocked(_)) {
                let spans = Spans::new(self.tick);
                let thread = self.threads.entry(tid).or_insert(Thread {
                    pid,
                    spans,
                    has_switched: true,
                });
                if thread.spans.is_off() {
                    continue;
                }
                thread.spans.change(Change::Out, now, &mut none);
                self.unread.insert(tid);
            }
        }
    }

    /// Forgets ended threads of living programs, of which there may be very many.
    fn forget_ended(&mut self, now: u64, due: &mut Vec<DueSpan>) {
        self.threads.retain(|&tid, thread| {
            // A thread that has been on a CPU for so long is checked.
            let has_switched = std::mem::replace(&mut thread.has_switched, false);
            if has_switched || !thread.spans.is_on() || sys::has_thread(thread.pid, tid) {
                return true;
            }
            thread.settle(tid, now, true, due);
            false
        });
    }

    /// Settles all open waits, up to now.
    fn settle_all(&mut self, due: &mut Vec<DueSpan>) {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        for (&tid, thread) in &mut self.threads {
            thread.settle(tid, now, true, due);
        }
    }

    /// The time until the next tick.
    fn until_tick(&self) -> Duration {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        Duration::from_nanos(self.next.saturating_sub(now))
    }

    /// Sets the next tick at a random time, so that no thread that sleeps in step with it is seen
    /// too often or never.
    fn set_next(&mut self, now: u64, has_samples: bool) {
        let part = self.random.below(self.tick + 1);
        let pause = self.tick / 2 + part;
        // While all threads sleep there is nothing to read.
        let is_still = !self.has_switched && !has_samples;
        self.next = now + if is_still { pause * STILL } else { pause };
        self.has_switched = false;
    }
}

impl Thread {
    /// Settles its short waits since the last time. With `all`, an open wait counts up to now.
    fn settle(&mut self, tid: u32, now: u64, all: bool, due: &mut Vec<DueSpan>) {
        let mut out = Vec::new();
        self.spans.settle(now, all, &mut out);
        due.extend(out.into_iter().map(|emission| (self.pid, tid, emission)));
    }
}

/// A stretch of a wait to be emitted: process, thread, and emission.
type DueSpan = (u32, u32, Emission);

impl Wall {
    /// Begins to watch existing threads and all that they start, if waits are recorded.
    pub(crate) fn watch(&mut self, core: &mut Core, pid: u32, tids: &[u32]) {
        let Some(tick) = core.options.wall else {
            return;
        };
        let Some((&first, others)) = tids.split_first() else {
            return;
        };
        let mut watch = match Watch::open(first, others, tick) {
            Ok(watch) => watch,
            Err(error) => {
                core.notes.push(format!(
                    "waiting is not recorded, because the kernel does not tell when threads leave a CPU: {}",
                    profundo_permits::perf_refused(&error)
                ));
                return;
            }
        };
        let now = watch.known_until;
        if core.options.traffic {
            match Traffic::begin(pid, tids, now) {
                Ok(traffic) => {
                    watch.traffic = Some(traffic);
                    core.transport.open_files = Some(OpenFiles::default());
                }
                Err(why) => core.notes.push(why),
            }
        }
        if core.running {
            watch.find_waiting(&core.processes, now);
        }
        self.watch = Some(watch);
    }

    /// Whether threads are watched.
    pub(crate) fn is_active(&self) -> bool {
        self.watch.is_some()
    }

    /// The time until the next tick.
    pub(crate) fn until_tick(&self) -> Duration {
        let watch = self.watch.as_ref();
        watch.map_or(Duration::MAX, Watch::until_tick)
    }

    /// Does a tick, if one is due.
    pub(crate) fn observe(&mut self, core: &mut Core, sink: &mut Sink<'_>) {
        self.emit_stopped(core, sink);
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let Some(watch) = self.watch.as_mut().filter(|watch| now >= watch.next) else {
            return;
        };
        watch.set_next(now, core.has_samples);
        let mut due = Vec::new();
        watch.follow_switches(core, &mut due);
        if !core.running {
            return;
        }
        watch.read_waiting(core, now, sink);
        if let Some(traffic) = &mut watch.traffic {
            traffic.read_due(core, watch.random.bits() as usize, watch.tick, sink);
        }
        // Not at each tick, which would cost too much for many threads.
        if now.saturating_sub(watch.settled) >= SETTLE {
            watch.settled = now;
            let has_to_find = std::mem::take(&mut watch.has_to_find);
            watch.forget_ended(now, &mut due);
            for (&tid, thread) in &mut watch.threads {
                let mut out = Vec::new();
                thread.spans.progress(now, &mut out);
                thread.spans.settle(now, false, &mut out);
                due.extend(out.into_iter().map(|emission| (thread.pid, tid, emission)));
            }
            if has_to_find {
                watch.find_waiting(&core.processes, now);
            }
        }
        emit(due, core, sink);
    }

    /// Emits the waits that were open at the pause, and the traffic up to then.
    pub(crate) fn emit_stopped(&mut self, core: &Core, sink: &mut Sink<'_>) {
        let Some(watch) = &mut self.watch else { return };
        let stopped = std::mem::take(&mut watch.stopped);
        if !stopped.is_empty() {
            emit(stopped, core, sink);
        }
        if let Some(traffic) = &mut watch.traffic {
            traffic.emit_stopped(core, sink);
        }
    }
}

impl Wall {
    /// The recording is divided here: continuing waits count up to now in its first part.
    pub(crate) fn divide(&mut self, core: &mut Core, sink: &mut Sink<'_>) {
        let Some(watch) = self.watch.as_mut().filter(|_| core.running) else {
            return;
        };
        let mut due = Vec::new();
        watch.follow_switches(core, &mut due);
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let mut out = Vec::new();
        for (&tid, thread) in &mut watch.threads {
            thread.spans.divide(now, &mut out);
            due.extend(out.drain(..).map(|emission| (thread.pid, tid, emission)));
        }
        emit(due, core, sink);
    }
}

impl Part for Wall {
    /// The threads of a program that ran before its agent came may wait already, and go on waiting.
    fn begin(&mut self, core: &mut Core, program: &mut Program) {
        let is_late = program
            .agent()
            .is_some_and(|agent| agent.header().kind.load(Ordering::Relaxed) == start_kind::LATE);
        if let Some(watch) = self.watch.as_mut().filter(|_| core.running && is_late) {
            let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
            watch.find_waiting_of(program.pid, now);
        }
    }

    /// Sampling is about to be paused. An open wait counts up to now: a thread that hangs may never
    /// be given a CPU again.
    fn pause(&mut self, core: &mut Core) {
        let Some(watch) = self.watch.as_mut().filter(|_| core.running) else {
            return;
        };
        let mut due = Vec::new();
        watch.follow_switches(core, &mut due);
        if let Some(traffic) = &mut watch.traffic {
            traffic.stop(core);
        }
        watch.settle_all(&mut due);
        watch.stopped.append(&mut due);
    }

    /// The time of the pause does not count.
    fn resume(&mut self, core: &mut Core) {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let Some(watch) = &mut self.watch else { return };
        let _ = watch.switches.read();
        for thread in watch.threads.values_mut() {
            thread.spans.lose_track();
        }
        (watch.known_until, watch.has_to_find) = (now, false);
        if let Some(traffic) = &mut watch.traffic {
            for program in core.processes.programs.values() {
                traffic.begin_anew(program.pid, now);
            }
        }
        watch.find_waiting(&core.processes, now);
    }

    /// Emits the rest of a program that has ended.
    fn ending(&mut self, core: &mut Core, key: u32, sink: &mut Sink<'_>) {
        let Some(pid) = core.processes.programs.get(&key).map(|program| program.pid) else {
            return;
        };
        let Some(watch) = &mut self.watch else { return };
        let mut due = Vec::new();
        watch.follow_switches(core, &mut due);
        let running = core.running;
        if let Some(traffic) = watch.traffic.as_mut().filter(|_| running) {
            traffic.finish(core, pid, sink);
        }
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        watch.threads.retain(|&tid, thread| {
            if thread.pid == pid && running {
                // A thread that has left the CPU for good has ended its wait.
                thread.spans.change(Change::In, now, &mut Vec::new());
                thread.settle(tid, now, true, &mut due);
            }
            thread.pid != pid
        });
        emit(due, core, sink);
    }

    /// Forgets the waits that were open at the pause, and the traffic up to then.
    fn clear(&mut self, _core: &mut Core) {
        if let Some(watch) = &mut self.watch {
            watch.stopped.clear();
            if let Some(traffic) = &mut watch.traffic {
                traffic.forget_stopped();
            }
        }
    }

    /// Emits the rest of all programs.
    fn stop(&mut self, core: &mut Core, sink: &mut Sink<'_>) {
        self.pause(core);
        self.emit_stopped(core, sink);
        self.watch = None;
        core.transport.open_files = None;
    }
}

impl Watch {
    fn follow_switches(&mut self, core: &mut Core, due: &mut Vec<DueSpan>) {
        let (switches, lost) = self.switches.read();
        self.has_switched |= lost || !switches.is_empty();
        if !core.running {
            return;
        }
        let known_until = self.known_until;
        self.known_until = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let mut out = Vec::new();
        if lost {
            // A thread that hangs has no more switches: it is found again by reading all threads.
            self.has_to_find = true;
            for (&tid, thread) in &mut self.threads {
                thread.spans.lose_track_since(known_until, &mut out);
                due.extend(out.drain(..).map(|emission| (thread.pid, tid, emission)));
            }
            if let Some(traffic) = &mut self.traffic {
                traffic.lose_track(sys::nanoseconds(libc::CLOCK_MONOTONIC));
            }
            if !std::mem::replace(&mut self.has_lost, true) {
                core.notes.push(
                    "threads come and go so fast that some of their waiting was not counted".into(),
                );
            }
        }
        for switch in switches {
            // A thread that has ended has no numbers.
            if switch.tid == 0 || switch.tid as i32 == -1 {
                continue;
            }
            let change = match (switch.is_out, switch.is_preempted) {
                (false, _) => Change::In,
                (true, false) => Change::Out,
                (true, true) => Change::Preempted,
            };
            let thread = self.threads.entry(switch.tid).or_insert_with(|| Thread {
                pid: switch.pid,
                spans: Spans::new(self.tick),
                has_switched: true,
            });
            thread.pid = switch.pid;
            thread.has_switched = true;
            if let Some(traffic) = &mut self.traffic {
                let (pid, tid) = (switch.pid, switch.tid);
                traffic.change(ThreadId { pid, tid }, change, switch.time);
            }
            thread.spans.change(change, switch.time, &mut out);
            match change {
                Change::Out => self.unread.insert(switch.tid),
                Change::In | Change::Preempted => self.unread.remove(&switch.tid),
            };
            due.extend(
                out.drain(..)
                    .map(|emission| (switch.pid, switch.tid, emission)),
            );
        }
    }

    /// Reads threads that have left a CPU since the last tick.
    fn read_waiting(&mut self, core: &mut Core, now: u64, sink: &mut Sink<'_>) {
        let threads = &self.threads;
        let is_unread = |thread: &&Thread| thread.spans.unread_since().is_some();
        self.unread
            .retain(|tid| threads.get(tid).is_some_and(|thread| is_unread(&thread)));
        let mut candidates: Vec<(u32, u32)> = self
            .unread
            .iter()
            .filter_map(|tid| Some((*tid, threads.get(tid)?.pid)))
            .collect();
        if candidates.is_empty() {
            return;
        }
        // If there are too many, each has the same chance.
        let count = candidates.len();
        let start = self.random.below(count as u64) as usize;
        candidates.rotate_left(start);
        let until = now + self.tick / PART;
        let mut by_program: HashMap<u32, Vec<u64>> = HashMap::new();
        let (store, scale) = (&core.transport.store, &core.scale);
        for (tid, pid) in candidates {
            if sys::nanoseconds(libc::CLOCK_MONOTONIC) > until {
                break;
            }
            let program = core.processes.program_mut(pid);
            let found = activity(pid, tid);
            let Some(thread) = self.threads.get_mut(&tid) else {
                continue;
            };
            match (found, program) {
                (Activity::Blocked(blocked), Some(program)) => {
                    let words = by_program.entry(program.key).or_default();
                    let read = program.read_waiting(tid, blocked, store, scale, words, sink);
                    if let Some(read) = read {
                        thread.spans.read(read.into());
                    }
                }
                // It runs again; the record of that will arrive.
                (Activity::Running, _) | (_, None) => {}
                (Activity::Ended | Activity::Hidden, _) => thread.spans.give_up(),
            }
        }
        emit_words(by_program, sink);
    }
}

/// Emits stretches of waits as samples.
fn emit(due: Vec<DueSpan>, core: &Core, sink: &mut Sink<'_>) {
    let mut by_program: HashMap<u32, Vec<u64>> = HashMap::new();
    for (pid, tid, emission) in due {
        let Some(&key) = core.processes.last_of.get(&pid) else {
            continue;
        };
        let (weight, until) = match &emission {
            Emission::At { weight, until, .. }
            | Emission::Unread { weight, until }
            | Emission::Cpu { weight, until } => (*weight, *until),
        };
        if weight == 0 {
            continue;
        }
        let clock = core.scale.cycles_at(until);
        let words = by_program.entry(key).or_default();
        let number = || core.processes.number_of(key, tid);
        let nowhere = |end| SampleHead {
            state: State::WallWaiting,
            end,
            frames: 0,
            python: 0,
            python_end: PythonEnd::Whole,
            gil: Gil::None,
            clock,
            weight,
            task: 0,
            thread: number().unwrap_or(0),
            tid,
            span: 0,
        };
        match emission {
            Emission::At { place, .. } => {
                let start = words.len();
                words.extend_from_slice(&place);
                if let Some(own) = words.get_mut(start..) {
                    weigh(own, weight, clock);
                }
            }
            Emission::Unread { .. } => words.extend(nowhere(End::Unread).to_words()),
            Emission::Cpu { .. } => {
                words.extend(wait_words(WaitKind::Cpu, ""));
                words.extend(nowhere(End::Unread).to_words());
            }
        }
    }
    emit_words(by_program, sink);
}

/// Sets the weight and the time of a sample.
fn weigh(words: &mut [u64], weight: u64, clock: u64) {
    let mut reader = Reader::new(words);
    let before = match reader.next() {
        Some(Ok(Record::Wait(wait))) => wait.words(),
        _ => 0,
    };
    let head = words.get_mut(before..).and_then(<[u64]>::first_chunk_mut);
    let Some(place) = head else { return };
    let Some(head) = SampleHead::from_words(*place) else {
        return;
    };
    let head = SampleHead {
        weight,
        clock,
        ..head
    };
    let words: [u64; SAMPLE_HEAD_WORDS] = head.to_words();
    *place = words;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_behind_its_wait_is_weighed() {
        let head = SampleHead {
            state: State::WallWaiting,
            end: End::Root,
            frames: 1,
            python: 0,
            python_end: PythonEnd::Whole,
            gil: Gil::None,
            clock: 0,
            weight: 0,
            task: 0,
            thread: 1,
            tid: 7,
            span: 0,
        };
        for mut words in [wait_words(WaitKind::Lock, "0x10"), Vec::new()] {
            words.extend(head.to_words());
            words.push(0x1234);
            weigh(&mut words, 55, 66);
            let found = Reader::new(&words).find_map(|record| match record {
                Ok(Record::Sample { head, frames, .. }) => Some((head, frames.to_vec())),
                _ => None,
            });
            let (found, frames) = found.unwrap();
            assert_eq!((found.weight, found.clock, found.tid), (55, 66, 7));
            assert_eq!(frames, [0x1234]);
        }
    }
}

//! Threads that wait: who does, since when, and where, as far as it is to be known.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use profundo_wire::recording::Event;
use profundo_wire::{
    End, Gil, PythonEnd, Reader, Record, SAMPLE_HEAD_WORDS, SampleHead, State, WaitKind, wait_words,
};

use super::Recorder;
use super::traffic::Watched;
use crate::perf::Switches;
use crate::reading::{Look, look};
use crate::sys;
use crate::wall::{Change, Emission, Spans};

/// Nanoseconds between two times that short waits are added up.
const SETTLE: u64 = 1_000_000_000;
/// So much longer is a tick while nobody runs.
const STILL: u64 = 3;
/// Reading may take this part of the time between two ticks.
const PART: u64 = 20;

/// The threads that are watched.
#[derive(Debug)]
pub(super) struct Wall {
    switches: Switches,
    threads: HashMap<u32, Thread>,
    /// Threads that have left a CPU and were not read since: of a thousand that sleep there is none.
    unread: HashSet<u32>,
    /// What they read and write, where the kernel tells it.
    pub(super) watched: Option<Watched>,
    pub(super) tick: u64,
    /// When the next tick is due, on the monotonic clock.
    next: u64,
    settled: u64,
    pub(super) random: u64,
    /// Whether anybody was given a CPU, or left one, since the last tick.
    has_switched: bool,
    /// Whether changes were lost, which is told once.
    has_lost: bool,
    /// Up to when all changes are known.
    known_until: u64,
    /// Whether threads that wait are to be found again, because changes were lost.
    has_to_find: bool,
    /// Waits that were still open when sampling stopped, up to that moment. They are told with the next words.
    stopped: Vec<DueSpan>,
}

#[derive(Debug)]
struct Thread {
    pid: u32,
    spans: Spans,
    /// Whether it was given a CPU, or left one, since short waits were added up last.
    has_switched: bool,
}

impl Wall {
    /// Forgets threads that have ended while their programs go on, of which there may be very many.
    fn bury(&mut self, now: u64, told: &mut Vec<DueSpan>) {
        self.threads.retain(|&tid, thread| {
            // Who has a CPU for so long is looked for.
            let is_quiet = !std::mem::replace(&mut thread.has_switched, false);
            if !is_quiet || !thread.spans.is_on() || sys::has_thread(thread.pid, tid) {
                return true;
            }
            let mut out = Vec::new();
            thread.spans.settle(now, true, &mut out);
            told.extend(out.into_iter().map(|it| (thread.pid, tid, it)));
            false
        });
    }

    /// How long it is until the next tick.
    pub(super) fn until_tick(&self) -> Duration {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        Duration::from_nanos(self.next.saturating_sub(now))
    }

    /// A number that nothing in the program goes by.
    fn draw(&mut self) -> u64 {
        // xorshift64*, whose high bits are good.
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32
    }
}

/// A thread's time to be told.
type DueSpan = (u32, u32, Emission);

impl Recorder {
    /// Begins to watch who waits, if that is wanted: threads that there are, and all that they start.
    pub(super) fn watch_waits(&mut self, pid: u32, tids: &[u32]) {
        let Some(tick) = self.options.wall else {
            return;
        };
        let Some((&first, others)) = tids.split_first() else {
            return;
        };
        let opened = Switches::open(first).and_then(|mut switches| {
            others.iter().try_for_each(|&tid| switches.add(tid))?;
            Ok(switches)
        });
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        match opened {
            Ok(switches) => {
                let watched = self.options.traffic.then(|| Watched::begin(pid, tids, now));
                let watched = watched.and_then(|begun| match begun {
                    Ok(watched) => Some(watched),
                    Err(why) => {
                        self.notes.push(why);
                        None
                    }
                });
                self.wall = Some(Wall {
                    switches,
                    threads: HashMap::new(),
                    unread: HashSet::new(),
                    watched,
                    tick,
                    next: now + tick,
                    settled: now,
                    random: profundo_probe::clock::now() | 1,
                    has_switched: false,
                    has_lost: false,
                    known_until: now,
                    has_to_find: false,
                    stopped: Vec::new(),
                });
                if self.running {
                    self.find_waiting(now);
                }
            }
            Err(error) => self.notes.push(format!(
                "waiting is not recorded, because the kernel does not tell when threads leave a CPU: {}",
                crate::permits::perf_refused(&error)
            )),
        }
    }

    /// Threads that wait already tell of no change.
    fn find_waiting(&mut self, now: u64) {
        let Some(wall) = &mut self.wall else { return };
        let mut none = Vec::new();
        for program in self.programs.values() {
            for tid in crate::proc::threads(program.pid) {
                if matches!(look(program.pid, tid), Look::Blocked(_)) {
                    let pid = program.pid;
                    let spans = Spans::new(wall.tick);
                    let thread = wall.threads.entry(tid).or_insert(Thread {
                        pid,
                        spans,
                        has_switched: true,
                    });
                    if thread.spans.is_off() {
                        continue;
                    }
                    thread.spans.change(Change::Out, now, &mut none);
                    wall.unread.insert(tid);
                }
            }
        }
    }

    /// Sampling goes on: what happened meanwhile does not count.
    pub(super) fn resume_waits(&mut self) {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let Some(wall) = &mut self.wall else { return };
        let _ = wall.switches.read();
        for thread in wall.threads.values_mut() {
            thread.spans.lose_track();
        }
        (wall.known_until, wall.has_to_find) = (now, false);
        if let Some(watched) = &mut wall.watched {
            for program in self.programs.values() {
                watched.begin_anew(program.pid, now);
            }
        }
        self.find_waiting(now);
    }

    /// Sampling is about to stop. A wait that is still open counts up to now: a thread that hangs may never be
    /// given a CPU again.
    pub(super) fn stop_waits(&mut self) {
        if !self.running || self.wall.is_none() {
            return;
        }
        let mut told = Vec::new();
        self.follow_switches(&mut told);
        self.stop_traffic();
        self.settle_all(&mut told);
        if let Some(wall) = &mut self.wall {
            wall.stopped.append(&mut told);
        }
    }

    /// Tells the waits that were open when sampling stopped.
    pub(super) fn tell_stopped_waits(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let Some(wall) = &mut self.wall else { return };
        let told = std::mem::take(&mut wall.stopped);
        if !told.is_empty() {
            self.tell_waits(told, sink);
        }
        self.tell_stopped_traffic(sink);
    }

    /// They are not wanted any more.
    pub(super) fn forget_stopped_waits(&mut self) {
        if let Some(wall) = &mut self.wall {
            wall.stopped.clear();
            if let Some(watched) = &mut wall.watched {
                watched.stopped.clear();
            }
        }
    }

    /// All waits that are open, up to now, and all that has not been told.
    fn settle_all(&mut self, told: &mut Vec<DueSpan>) {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let Some(wall) = &mut self.wall else { return };
        for (&tid, thread) in &mut wall.threads {
            let mut out = Vec::new();
            thread.spans.settle(now, true, &mut out);
            told.extend(out.into_iter().map(|it| (thread.pid, tid, it)));
        }
    }

    /// Does what is due of it.
    pub(super) fn look_at_waits(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        self.tell_stopped_waits(sink);
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let due = self.wall.as_ref().is_some_and(|wall| now >= wall.next);
        if !due {
            return;
        }
        if let Some(wall) = &mut self.wall {
            // At random, so that nothing that sleeps in step with us is seen too often or never.
            let part = wall.draw() % (wall.tick + 1);
            let pause = wall.tick / 2 + part;
            // Where everybody sleeps there is nothing to see.
            let is_still = !wall.has_switched && !self.has_samples;
            wall.next = now + if is_still { pause * STILL } else { pause };
            wall.has_switched = false;
        }
        let mut told = Vec::new();
        self.follow_switches(&mut told);
        if !self.running {
            return;
        }
        self.read_waiting(now, sink);
        self.look_at_traffic(sink);
        if let Some(wall) = &mut self.wall {
            // Not at each tick: of many threads that would be all that there is to do.
            if now.saturating_sub(wall.settled) >= SETTLE {
                wall.settled = now;
                let has_to_find = std::mem::take(&mut wall.has_to_find);
                wall.bury(now, &mut told);
                for (&tid, thread) in &mut wall.threads {
                    let mut out = Vec::new();
                    thread.spans.progress(now, &mut out);
                    thread.spans.settle(now, false, &mut out);
                    told.extend(out.into_iter().map(|it| (thread.pid, tid, it)));
                }
                if has_to_find {
                    self.find_waiting(now);
                }
            }
        }
        self.tell_waits(told, sink);
    }

    /// All that is left, at the end.
    pub(super) fn finish_waits(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        self.stop_waits();
        self.tell_stopped_waits(sink);
        self.wall = None;
    }

    /// Of a program that has ended, what is left.
    pub(super) fn finish_waits_of(&mut self, pid: u32, sink: &mut dyn FnMut(Event<'_>)) {
        let mut told = Vec::new();
        self.follow_switches(&mut told);
        if self.running {
            self.finish_traffic(Some(pid), sink);
        }
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let running = self.running;
        let Some(wall) = &mut self.wall else { return };
        wall.threads.retain(|&tid, thread| {
            if thread.pid == pid && running {
                let mut out = Vec::new();
                // Whoever has left the CPU for good waits no more.
                thread.spans.change(Change::In, now, &mut Vec::new());
                thread.spans.settle(now, true, &mut out);
                told.extend(out.into_iter().map(|it| (pid, tid, it)));
            }
            thread.pid != pid
        });
        self.tell_waits(told, sink);
    }

    fn follow_switches(&mut self, told: &mut Vec<DueSpan>) {
        let Some(wall) = &mut self.wall else { return };
        let (switches, lost) = wall.switches.read();
        wall.has_switched |= lost || !switches.is_empty();
        if !self.running {
            return;
        }
        let known_until = wall.known_until;
        wall.known_until = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let mut out = Vec::new();
        if lost {
            // Who hangs has no more changes: it is found again by looking at all threads.
            wall.has_to_find = true;
            for (&tid, thread) in &mut wall.threads {
                thread.spans.lose_track_since(known_until, &mut out);
                told.extend(out.drain(..).map(|it| (thread.pid, tid, it)));
            }
            if let Some(watched) = &mut wall.watched {
                watched.lose_track(sys::nanoseconds(libc::CLOCK_MONOTONIC));
            }
            if !std::mem::replace(&mut wall.has_lost, true) {
                self.notes.push(
                    "threads come and go so fast that some of their waiting was not counted".into(),
                );
            }
        }
        for switch in switches {
            // Of a thread that has ended there are no numbers any more.
            if switch.tid == 0 || switch.tid as i32 == -1 {
                continue;
            }
            let change = match (switch.is_out, switch.is_preempted) {
                (false, _) => Change::In,
                (true, false) => Change::Out,
                (true, true) => Change::Preempted,
            };
            let thread = wall.threads.entry(switch.tid).or_insert_with(|| Thread {
                pid: switch.pid,
                spans: Spans::new(wall.tick),
                has_switched: true,
            });
            thread.pid = switch.pid;
            thread.has_switched = true;
            if let Some(watched) = &mut wall.watched {
                watched.change((switch.pid, switch.tid), change, switch.time);
            }
            thread.spans.change(change, switch.time, &mut out);
            match change {
                Change::Out => wall.unread.insert(switch.tid),
                Change::In | Change::Preempted => wall.unread.remove(&switch.tid),
            };
            told.extend(out.drain(..).map(|it| (switch.pid, switch.tid, it)));
        }
    }

    /// Reads threads that have left a CPU since the last tick.
    fn read_waiting(&mut self, now: u64, sink: &mut dyn FnMut(Event<'_>)) {
        let Some(wall) = &mut self.wall else { return };
        let threads = &wall.threads;
        let is_unread = |thread: &&Thread| thread.spans.unread_since().is_some();
        wall.unread
            .retain(|tid| threads.get(tid).is_some_and(|thread| is_unread(&thread)));
        let mut candidates: Vec<(u32, u32)> = wall
            .unread
            .iter()
            .filter_map(|tid| Some((*tid, threads.get(tid)?.pid)))
            .collect();
        if candidates.is_empty() {
            return;
        }
        // If there are too many, each has the same chance.
        let count = candidates.len();
        let start = wall.draw() as usize % count;
        candidates.rotate_left(start);
        let until = now + wall.tick / PART;
        let mut by_program: HashMap<u32, Vec<u64>> = HashMap::new();
        for (tid, pid) in candidates {
            if sys::nanoseconds(libc::CLOCK_MONOTONIC) > until {
                break;
            }
            let key = self.last_of.get(&pid).copied();
            let program = key.and_then(|key| self.programs.get_mut(&key));
            let looked = look(pid, tid);
            let Some(thread) = self
                .wall
                .as_mut()
                .and_then(|wall| wall.threads.get_mut(&tid))
            else {
                continue;
            };
            match (looked, program) {
                (Look::Blocked(blocked), Some(program)) => {
                    let words = by_program.entry(program.key).or_default();
                    let read =
                        program.read_waiting(tid, blocked, &self.store, &self.scale, words, sink);
                    if let Some(read) = read {
                        thread.spans.read(read.into());
                    }
                }
                // It has been given a CPU meanwhile, which we shall hear of.
                (Look::Running, _) | (_, None) => {}
                (Look::Ended | Look::Hidden, _) => thread.spans.give_up(),
            }
        }
        for (process, words) in by_program {
            if !words.is_empty() {
                let words = &words;
                sink(Event::Words { process, words });
            }
        }
    }

    fn tell_waits(&mut self, told: Vec<DueSpan>, sink: &mut dyn FnMut(Event<'_>)) {
        let mut by_program: HashMap<u32, Vec<u64>> = HashMap::new();
        for (pid, tid, emission) in told {
            let Some(&key) = self.last_of.get(&pid) else {
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
            let clock = self.scale.cycles_at(until);
            let words = by_program.entry(key).or_default();
            let number = || self.number_of(key, tid);
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
        for (process, words) in by_program {
            let words = &words;
            sink(Event::Words { process, words });
        }
    }
}

/// Writes into a sample what it stands for and when.
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

//! Sampling without perf events. At each tick of our own, the threads that have run since the last
//! one are read: held for a moment if they run, or read where they block. A reading stands for the
//! nanoseconds that the thread has run since, by the kernel's count.
//!
//! Reading each thread's time would cost most where it yields least: of a thousand threads, nearly
//! all sleep. So the process's clock is read first. The times of threads that ran lately are read
//! at each tick. Others are read only while some of the process's time is unaccounted for, and only
//! for a small part of the time.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use profundo_linux::clock::Scale;
use profundo_linux::proc::{self, process_clock};
use profundo_linux::random::Random;
use profundo_linux::sys;
use profundo_process::copied_stack::modules;
use profundo_process::reading::{Unread, schedule};
use profundo_wire::recording::Event;
use profundo_wire::{End, Gil, PythonEnd, SampleHead, State};

use super::OutsideSampling;
use crate::core::{Core, ThreadId};
use crate::outside::{Outside, UnreadTime};
use crate::program::Way;

/// The part of the time between two ticks for reading, and the part for finding threads that have
/// not run lately.
const PART: u64 = 4;
const SEARCH: u64 = 50;
/// The number of ticks without running after which a thread is not read at each tick.
const RESTS: u32 = 10;
/// The number of ticks after which unread time is recorded without a stack.
const PATIENCE: u64 = 50;

/// The polled processes.
#[derive(Debug)]
pub(super) struct Polling {
    period: u64,
    /// The time of the next tick, on the monotonic clock.
    next: u64,
    random: Random,
    processes: HashMap<u32, Polled>,
}

#[derive(Debug, Default)]
struct Polled {
    /// The CPU time of the process at its last reading.
    ran: u64,
    /// The time of its next reading, on the monotonic clock.
    clock_due: u64,
    /// The part of it that belongs to no known thread. Negative if threads were read later than the
    /// process.
    owed: i64,
    threads: HashMap<u32, Thread>,
    /// The threads that ran lately.
    busy: Vec<u32>,
    /// The other threads that are still to be read in this round.
    others: VecDeque<u32>,
    /// Whether there is a round, and the unaccounted time when it began.
    is_round: bool,
    round: i64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Thread {
    /// Its CPU time at its last reading.
    ran: u64,
    /// The part of it that no reading stands for yet.
    unread: u64,
    /// The number of ticks in which it has not run.
    rests: u32,
}

/// The answer of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Ran,
    Rested,
    Ended,
}

impl Polling {
    pub(super) fn new(period: u64) -> Self {
        Self {
            period,
            next: 0,
            random: Random::begin(),
            processes: HashMap::new(),
        }
    }

    /// The time until the next tick.
    pub(super) fn until_tick(&self) -> Duration {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        Duration::from_nanos(self.next.saturating_sub(now))
    }

    /// Polls a process from now on.
    pub(super) fn begin(&mut self, pid: u32) {
        let mut polled = Polled {
            ran: process_clock(pid).unwrap_or(0),
            ..Polled::default()
        };
        for tid in proc::threads(pid) {
            let thread = Thread {
                ran: schedule(pid, tid).map_or(0, |(ran, _)| ran),
                rests: RESTS - 1,
                ..Thread::default()
            };
            polled.threads.insert(tid, thread);
            // At first every thread is read once.
            polled.busy.push(tid);
        }
        self.processes.insert(pid, polled);
    }

    /// Ignores the time used during a pause.
    pub(super) fn begin_anew(&mut self) {
        let pids: Vec<u32> = self.processes.keys().copied().collect();
        for pid in pids {
            self.begin(pid);
        }
    }

    /// Whether a tick is due; if so, sets the next one.
    fn is_due(&mut self, now: u64) -> bool {
        if now < self.next {
            return false;
        }
        // At a random time, so that no activity hides behind the rate.
        self.next = now + self.period / 2 + self.random.below(self.period + 1);
        true
    }
}

impl Polled {
    /// The threads that have run, with their unread time, and the ended ones.
    fn find_due(&mut self, pid: u32, period: u64, now: u64) -> (Vec<(u32, u64)>, Vec<u32>) {
        let mut ended = Vec::new();
        if now >= self.clock_due {
            self.ask_clock(pid, period, now);
        }
        // If there is no time for all, each has the same chance.
        let turn = now as usize % self.busy.len().max(1);
        self.busy.rotate_left(turn);
        let until = sys::nanoseconds(libc::CLOCK_MONOTONIC) + period / PART / 2;
        let mut asked = 0;
        for &tid in &self.busy {
            if sys::nanoseconds(libc::CLOCK_MONOTONIC) > until {
                break;
            }
            asked += 1;
            if ask(pid, tid, &mut self.threads, &mut self.owed) == Asked::Ended {
                ended.push(tid);
            }
        }
        // Otherwise the unaccounted time may be theirs.
        if asked == self.busy.len() {
            self.search(pid, period, &mut ended);
        }
        for tid in &ended {
            self.threads.remove(tid);
        }
        let threads = &self.threads;
        // Less than half a period waits: a sample counts as at least one.
        let is_due = |thread: &Thread| thread.unread >= period / 2;
        self.busy.retain(|tid| {
            let thread = threads.get(tid);
            thread.is_some_and(|thread| thread.rests < RESTS || is_due(thread))
        });
        let due = self.busy.iter().filter_map(|&tid| {
            let thread = threads.get(&tid).filter(|thread| is_due(thread))?;
            Some((tid, thread.unread))
        });
        (due.collect(), ended)
    }

    /// Reads the process's CPU time. The kernel sums it over all threads, so it is read less often
    /// if there are many.
    fn ask_clock(&mut self, pid: u32, period: u64, now: u64) {
        /// The reading takes less than one part in so many of the time.
        const RARE: u64 = 200;
        let clock = process_clock(pid);
        let took = sys::nanoseconds(libc::CLOCK_MONOTONIC).saturating_sub(now);
        self.clock_due = now + took * RARE;
        match clock {
            Some(ran) => {
                let more = ran.saturating_sub(self.ran) as i64;
                self.ran = ran;
                // If it is negative by more than a few kernel ticks, the counts are inexact.
                self.owed = self.owed.saturating_add(more).max(-4 * period as i64);
            }
            // The kernel does not report it: others are read as far as there is time.
            None => self.owed = i64::MAX,
        }
    }

    /// Reads threads that have not run lately, and new ones, until the process's time is accounted
    /// for.
    fn search(&mut self, pid: u32, period: u64, ended: &mut Vec<u32>) {
        let worth = (period / 10) as i64;
        let until = sys::nanoseconds(libc::CLOCK_MONOTONIC) + period / SEARCH;
        while self.owed > worth && sys::nanoseconds(libc::CLOCK_MONOTONIC) <= until {
            let Some(tid) = self.others.pop_front() else {
                if std::mem::take(&mut self.is_round) {
                    // All threads were read: the rest belongs to threads that have ended.
                    self.owed = self.owed.saturating_sub(self.round).max(0);
                } else {
                    self.is_round = true;
                    self.list(pid, ended);
                }
                continue;
            };
            match ask(pid, tid, &mut self.threads, &mut self.owed) {
                Asked::Ran => self.busy.insert(0, tid),
                Asked::Rested => {}
                Asked::Ended => ended.push(tid),
            }
        }
    }

    /// Begins another round of all threads that have not run lately.
    fn list(&mut self, pid: u32, ended: &mut Vec<u32>) {
        self.round = self.owed;
        let present: HashSet<u32> = proc::threads(pid).into_iter().collect();
        let busy: HashSet<u32> = self.busy.iter().copied().collect();
        for &tid in &present {
            match self.threads.entry(tid) {
                Entry::Occupied(_) if busy.contains(&tid) => {}
                Entry::Occupied(_) => self.others.push_back(tid),
                // It has begun since, so all of its time counts.
                Entry::Vacant(place) => {
                    place.insert(Thread::default());
                    self.others.push_front(tid);
                }
            }
        }
        let gone = self.threads.keys().filter(|tid| !present.contains(tid));
        ended.extend(gone);
    }

    /// Clears a thread's unread time: a reading stands for it, or it was recorded without one.
    fn settled(&mut self, tid: u32) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.unread = 0;
        }
    }
}

/// Reads the CPU time of one thread.
fn ask(pid: u32, tid: u32, threads: &mut HashMap<u32, Thread>, owed: &mut i64) -> Asked {
    let Some((ran, _)) = schedule(pid, tid) else {
        return Asked::Ended;
    };
    let thread = threads.entry(tid).or_default();
    let more = ran.saturating_sub(thread.ran);
    thread.ran = ran;
    thread.unread += more;
    *owed = owed.saturating_sub(more as i64);
    thread.rests = if more > 0 { 0 } else { thread.rests + 1 };
    match more {
        0 => Asked::Rested,
        _ => Asked::Ran,
    }
}

impl OutsideSampling {
    /// Begins to poll a process.
    pub(super) fn poll_process(&mut self, core: &Core, pid: u32) {
        let period = core.options.period;
        let polling = self.polling.get_or_insert_with(|| Polling::new(period));
        polling.begin(pid);
        self.sees_the_kernel();
    }

    /// Reads the threads that have run since the last tick, if another one is due.
    pub(crate) fn read_due_runners(&mut self, core: &mut Core, sink: &mut dyn FnMut(Event<'_>)) {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let Some(polling) = &mut self.polling else {
            return;
        };
        if !polling.is_due(now) || !core.running {
            return;
        }
        let period = polling.period;
        let known = &core.processes;
        (polling.processes).retain(|&pid, _| known.program_of(pid).is_some());
        let due: Vec<_> = polling
            .processes
            .iter_mut()
            .map(|(&pid, polled)| (pid, polled.find_due(pid, period, now)))
            .collect();
        for (pid, (due, ended)) in due {
            self.read_runners(core, pid, &due, &ended, now + period / PART, sink);
        }
    }

    /// Records the time that no reading stands for, at the end.
    pub(crate) fn finish_polling(&mut self, core: &mut Core, sink: &mut dyn FnMut(Event<'_>)) {
        let Some(polling) = self.polling.take().filter(|_| core.running) else {
            return;
        };
        for (pid, mut polled) in polling.processes {
            let Some(program) = core.processes.program_mut(pid) else {
                continue;
            };
            let Way::Outside(outside) = &mut program.way else {
                continue;
            };
            let process = program.key;
            let mut words = Vec::new();
            let mut tids: Vec<u32> = polled.threads.keys().copied().collect();
            tids.sort_unstable();
            // Many threads that have hardly run share a sample.
            let mut rest = (0, 0);
            for tid in tids {
                ask(pid, tid, &mut polled.threads, &mut polled.owed);
                let unread = polled.threads.get(&tid).map_or(0, |thread| thread.unread);
                rest = (tid, rest.1 + unread);
                if rest.1 >= polling.period / 2 {
                    record_unread(
                        process,
                        UnreadTime {
                            thread: ThreadId { pid, tid },
                            weight: rest.1,
                        },
                        outside,
                        &core.scale,
                        &mut words,
                        sink,
                    );
                    rest.1 = 0;
                }
            }
            if let (tid @ 1.., weight @ 1..) = rest {
                record_unread(
                    process,
                    UnreadTime {
                        thread: ThreadId { pid, tid },
                        weight,
                    },
                    outside,
                    &core.scale,
                    &mut words,
                    sink,
                );
            }
            if !words.is_empty() {
                let words = &words;
                sink(Event::Words { process, words });
            }
        }
    }

    fn read_runners(
        &mut self,
        core: &mut Core,
        pid: u32,
        due: &[(u32, u64)],
        ended: &[u32],
        until: u64,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        let now = profundo_probe::clock::now();
        let Some(program) = core.processes.program_mut(pid) else {
            return;
        };
        let key = program.key;
        program.refresh_modules(now, &mut core.transport.store, sink);
        program.find_python(sink);
        let list = modules(&program.modules, &core.transport.store);
        let Way::Outside(outside) = &mut program.way else {
            return;
        };
        let mut words = Vec::new();
        let mut settled = Vec::new();
        let mut leads_out = false;
        for &(tid, weight) in due {
            if sys::nanoseconds(libc::CLOCK_MONOTONIC) > until {
                break;
            }
            let thread = ThreadId { pid, tid };
            let ran = UnreadTime { thread, weight };
            let read = outside.read_runner(key, ran, &list, &core.scale, &mut words, sink);
            let is_late = weight > core.options.period * PATIENCE;
            match read {
                Ok(is_lost) => {
                    leads_out |= is_lost;
                    settled.push(tid);
                }
                // It comes again at the next tick, with its time.
                Err(Unread::Late | Unread::Dear) if !is_late => {}
                Err(_) => {
                    outside.give_up_runner(weight);
                    record_unread(key, ran, outside, &core.scale, &mut words, sink);
                    settled.push(tid);
                }
            }
        }
        for &tid in ended {
            outside.thread_ended(key, tid, now, &core.scale, sink);
        }
        program.maps_changed |= leads_out;
        let polled = self
            .polling
            .as_mut()
            .and_then(|polling| polling.processes.get_mut(&pid));
        if let Some(polled) = polled {
            for tid in settled {
                polled.settled(tid);
            }
        }
        if !words.is_empty() {
            let (process, words) = (key, &words);
            sink(Event::Words { process, words });
        }
    }
}

/// Records a sample without a stack for a thread that could not be read.
fn record_unread(
    key: u32,
    ran: UnreadTime,
    outside: &mut Outside,
    scale: &Scale,
    words: &mut Vec<u64>,
    sink: &mut dyn FnMut(Event<'_>),
) {
    let UnreadTime { thread: id, weight } = ran;
    let clock = profundo_probe::clock::now();
    let thread = outside.number_of(key, id, clock, scale, sink);
    // If the thread runs Python, it counts as a sample whose frames could not be read.
    let python_end = match outside.process.as_mut() {
        Some(process) if process.runs_python(id.tid) => {
            process.count_unreadable();
            PythonEnd::Broken
        }
        _ => PythonEnd::Whole,
    };
    let head = SampleHead {
        state: State::Running,
        end: End::Gone,
        frames: 0,
        python: 0,
        python_end,
        gil: Gil::None,
        clock,
        weight,
        task: 0,
        thread,
        tid: id.tid,
        span: 0,
    };
    words.extend(head.to_words());
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_process::reading::{Activity, activity};
    use profundo_testing::wait_until;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Instant;

    fn spin(until: Duration) {
        let began = Instant::now();
        while began.elapsed() < until {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_thread_that_has_run_is_found_among_many_sleepers() {
        const SLEEPERS: usize = 300;
        const PERIOD: u64 = 10_000_000;
        let (done, wait) = mpsc::channel::<()>();
        let wait = std::sync::Arc::new(std::sync::Mutex::new(wait));
        let sleepers: Vec<_> = (0..SLEEPERS)
            .map(|_| {
                let wait = std::sync::Arc::clone(&wait);
                let sleep = move || drop(wait.lock().map(|wait| wait.recv()));
                thread::Builder::new()
                    .stack_size(1 << 17)
                    .spawn(sleep)
                    .unwrap()
            })
            .collect();
        // Other tests run in this process.
        let pid = std::process::id();
        let mut polling = Polling::new(PERIOD);
        polling.begin(pid);
        assert!(polling.processes[&pid].threads.len() > SLEEPERS);
        let (sender, receiver) = mpsc::channel();
        let (go, begin) = mpsc::channel::<()>();
        let spinner = thread::spawn(move || {
            sender.send(sys::thread_id()).unwrap();
            begin.recv().unwrap();
            spin(Duration::from_millis(400));
        });
        let spinner_id = receiver.recv().unwrap();
        go.send(()).unwrap();
        let polled = polling.processes.get_mut(&pid).unwrap();
        let mut found = 0;
        let began = Instant::now();
        while !spinner.is_finished() && began.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(10));
            let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
            let (due, ended) = polled.find_due(pid, PERIOD, now);
            for (tid, weight) in due {
                found += if tid == spinner_id { weight } else { 0 };
                polled.settled(tid);
            }
            if ended.contains(&spinner_id) {
                break;
            }
        }
        spinner.join().unwrap();
        drop(done);
        drop(sleepers);
        // It may have waited for a CPU, but all of its time was found.
        assert!(found > 20_000_000, "{found}");
        assert!(found <= 60_000_000_000, "{found}");
    }

    #[test]
    fn a_process_that_sleeps_is_asked_once() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = child.id();
        wait_until("the sleep", || match activity(pid, pid) {
            Activity::Blocked(blocked) => {
                [libc::SYS_clock_nanosleep, libc::SYS_nanosleep].contains(&blocked.call)
            }
            _ => false,
        });
        let mut polling = Polling::new(10_000_000);
        polling.begin(pid);
        let polled = polling.processes.get_mut(&pid).unwrap();
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let rests = |polled: &Polled| polled.threads[&pid].rests;
        for _ in 0..5 {
            let (due, ended) = polled.find_due(pid, 10_000_000, now);
            assert!(due.is_empty() && ended.is_empty());
            assert_eq!(rests(polled), RESTS, "its threads are asked once");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(process_clock(pid), None);
    }

    #[test]
    fn ticks_come_at_random_and_as_often_as_asked() {
        let mut polling = Polling::new(1000);
        let mut now = 5_000_000;
        let began = now;
        let mut last = 0;
        let mut steps = std::collections::HashSet::new();
        for _ in 0..4000 {
            assert!(polling.is_due(now));
            assert!(!polling.is_due(now));
            last = polling.next;
            steps.insert(last - now);
            now = last;
        }
        let mean = (last - began) as f64 / 4000.0;
        assert!((mean - 1000.0).abs() < 40.0, "{mean}");
        assert!(steps.len() > 500);
    }
}

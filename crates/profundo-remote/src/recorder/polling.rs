//! Sampling without perf events. At each tick of our own, the threads that have run since the last one are
//! read: held for a moment if they run, or where they block. A reading stands for the nanoseconds that
//! the thread has run meanwhile, as the kernel counts them.
//!
//! Asking each thread would cost most where it brings least: of a thousand threads, nearly all sleep. So the
//! process's own clock is asked first. Threads that ran lately are asked at each tick, and others only as
//! long as some of the process's time is nobody's, for a small part of the time.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use profundo_wire::recording::{Engine, Event};
use profundo_wire::{End, Gil, PythonEnd, SampleHead, State};

use super::Recorder;
use crate::clock::Scale;
use crate::copied_stack::modules;
use crate::outside::Outside;
use crate::proc::{self, process_clock};
use crate::program::Way;
use crate::reading::{Unread, schedule};
use crate::sys;

/// Asking and reading may take this part of the time between two ticks, and looking for threads that
/// have not run lately this.
const PART: u64 = 4;
const SEARCH: u64 = 50;
/// A thread that has not run for so many ticks is not asked at each of them.
const RESTS: u32 = 10;
/// What could not be read for so many ticks is told without a stack.
const PATIENCE: u64 = 50;

/// The processes that are sampled so.
#[derive(Debug)]
pub(super) struct Polling {
    period: u64,
    /// When the next tick is due, on the monotonic clock.
    next: u64,
    random: u64,
    processes: HashMap<u32, Polled>,
}

#[derive(Debug, Default)]
struct Polled {
    /// The CPU time of the process, as last asked.
    ran: u64,
    /// When that is to be asked again, on the monotonic clock.
    clock_due: u64,
    /// How much of it is no known thread's. Below zero where threads were asked later than the process.
    owed: i64,
    threads: HashMap<u32, Thread>,
    /// Those that ran lately.
    busy: Vec<u32>,
    /// Those that are still to be asked in this round of all others.
    others: VecDeque<u32>,
    /// Whether there is such a round, and what was owed when it began.
    is_round: bool,
    round: i64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Thread {
    /// Its CPU time, as last asked.
    ran: u64,
    /// Of that, what no reading stands for yet.
    unread: u64,
    /// For how many ticks it has not run.
    rests: u32,
}

/// What a thread was found to be doing.
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
            random: profundo_probe::clock::now() | 1,
            processes: HashMap::new(),
        }
    }

    /// How long it is until the next tick.
    pub(super) fn until_tick(&self) -> Duration {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        Duration::from_nanos(self.next.saturating_sub(now))
    }

    /// What a process does from now on counts.
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
            // At first all of them are asked, once.
            polled.busy.push(tid);
        }
        self.processes.insert(pid, polled);
    }

    /// What was done meanwhile does not count.
    pub(super) fn begin_anew(&mut self) {
        let pids: Vec<u32> = self.processes.keys().copied().collect();
        for pid in pids {
            self.begin(pid);
        }
    }

    /// Whether a tick is due; if so, the next one is set.
    fn is_due(&mut self, now: u64) -> bool {
        if now < self.next {
            return false;
        }
        // xorshift64*, whose high bits are good. At random, so that nothing hides behind the rate.
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        let bits = self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        self.next = now + self.period / 2 + bits % (self.period + 1);
        true
    }
}

impl Polled {
    /// Which threads have run, and for how long; those that have ended.
    fn look(&mut self, pid: u32, period: u64, now: u64) -> (Vec<(u32, u64)>, Vec<u32>) {
        let mut ended = Vec::new();
        if now >= self.clock_due {
            self.ask_clock(pid, period, now);
        }
        // Where there is no time for all, each has the same chance.
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
        // Else what is owed may be theirs.
        if asked == self.busy.len() {
            self.search(pid, period, &mut ended);
        }
        for tid in &ended {
            self.threads.remove(tid);
        }
        let threads = &self.threads;
        // What is less waits until it is as much: a sample counts as one at least.
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

    /// Asks how long all threads together have run. The kernel adds that up from each of them, so of many it
    /// is asked less often.
    fn ask_clock(&mut self, pid: u32, period: u64, now: u64) {
        /// What it takes is a part of the time that is less than one in so many.
        const RARE: u64 = 200;
        let clock = process_clock(pid);
        let took = sys::nanoseconds(libc::CLOCK_MONOTONIC).saturating_sub(now);
        self.clock_due = now + took * RARE;
        match clock {
            Some(ran) => {
                let more = ran.saturating_sub(self.ran) as i64;
                self.ran = ran;
                // Below zero by more than a few ticks of the kernel's it is not owed, but miscounted.
                self.owed = self.owed.saturating_add(more).max(-4 * period as i64);
            }
            // Nobody tells: others are asked as far as there is time for it.
            None => self.owed = i64::MAX,
        }
    }

    /// Asks threads that have not run lately, and new ones, until the process's time is accounted for.
    fn search(&mut self, pid: u32, period: u64, ended: &mut Vec<u32>) {
        let worth = (period / 10) as i64;
        let until = sys::nanoseconds(libc::CLOCK_MONOTONIC) + period / SEARCH;
        while self.owed > worth && sys::nanoseconds(libc::CLOCK_MONOTONIC) <= until {
            let Some(tid) = self.others.pop_front() else {
                if std::mem::take(&mut self.is_round) {
                    // All were asked: what is still owed since then was of threads that have ended.
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

    /// Begins another round of all that are not busy.
    fn list(&mut self, pid: u32, ended: &mut Vec<u32>) {
        self.round = self.owed;
        let present: HashSet<u32> = proc::threads(pid).into_iter().collect();
        let busy: HashSet<u32> = self.busy.iter().copied().collect();
        for &tid in &present {
            match self.threads.entry(tid) {
                Entry::Occupied(_) if busy.contains(&tid) => {}
                Entry::Occupied(_) => self.others.push_back(tid),
                // It has begun meanwhile, so all that it ran counts.
                Entry::Vacant(place) => {
                    place.insert(Thread::default());
                    self.others.push_front(tid);
                }
            }
        }
        let gone = self.threads.keys().filter(|tid| !present.contains(tid));
        ended.extend(gone);
    }

    /// What there was of a thread stands for by a reading now, or by none.
    fn settled(&mut self, tid: u32) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.unread = 0;
        }
    }
}

/// Asks one thread how long it has run.
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

impl Recorder {
    /// Begins to sample a process so.
    pub(super) fn poll_process(&mut self, pid: u32) {
        let period = self.options.period;
        let polling = self.polling.get_or_insert_with(|| Polling::new(period));
        polling.begin(pid);
        self.outside.sees_the_kernel();
    }

    /// Reads the threads that have run since the last tick, if another one is due.
    pub(super) fn look_at_runners(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let Some(polling) = &mut self.polling else {
            return;
        };
        if !polling.is_due(now) || !self.running {
            return;
        }
        let period = polling.period;
        let known = |pid: &u32| {
            let key = self.last_of.get(pid);
            key.is_some_and(|key| self.programs.contains_key(key))
        };
        polling.processes.retain(|pid, _| known(pid));
        let looked: Vec<_> = polling
            .processes
            .iter_mut()
            .map(|(&pid, polled)| (pid, polled.look(pid, period, now)))
            .collect();
        for (pid, (due, ended)) in looked {
            self.read_runners(pid, &due, &ended, now + period / PART, sink);
        }
    }

    /// The time that no reading stands for, at the end.
    pub(super) fn finish_polling(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let Some(polling) = self.polling.take().filter(|_| self.running) else {
            return;
        };
        for (pid, mut polled) in polling.processes {
            let key = self.last_of.get(&pid);
            let Some(program) = key.and_then(|key| self.programs.get_mut(key)) else {
                continue;
            };
            let Way::Outside(outside) = &mut program.way else {
                continue;
            };
            let process = program.key;
            let mut words = Vec::new();
            let mut tids: Vec<u32> = polled.threads.keys().copied().collect();
            tids.sort_unstable();
            // Of many threads that have hardly run each had its part of what is one sample together.
            let mut rest = (0, 0);
            for tid in tids {
                ask(pid, tid, &mut polled.threads, &mut polled.owed);
                let unread = polled.threads.get(&tid).map_or(0, |thread| thread.unread);
                rest = (tid, rest.1 + unread);
                if rest.1 >= polling.period / 2 {
                    tell_unread(
                        process,
                        (pid, tid, rest.1),
                        outside,
                        &self.scale,
                        &mut words,
                        sink,
                    );
                    rest.1 = 0;
                }
            }
            if let (tid @ 1.., weight @ 1..) = rest {
                tell_unread(
                    process,
                    (pid, tid, weight),
                    outside,
                    &self.scale,
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
        pid: u32,
        due: &[(u32, u64)],
        ended: &[u32],
        until: u64,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        let now = profundo_probe::clock::now();
        let key = self.last_of.get(&pid);
        let Some(program) = key.and_then(|key| self.programs.get_mut(key)) else {
            return;
        };
        let key = program.key;
        program.refresh_modules(now, &mut self.store, sink);
        program.look_for_python(sink);
        let list = modules(&program.modules, &self.store);
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
            let ids = (key, pid, tid);
            let read = outside.read_runner(ids, weight, &list, &self.scale, &mut words, sink);
            let is_late = weight > self.options.period * PATIENCE;
            match read {
                Ok(is_lost) => {
                    leads_out |= is_lost;
                    settled.push(tid);
                }
                // It is there at the next tick, and so is what it has run.
                Err(Unread::Late | Unread::Dear) if !is_late => {}
                Err(_) => {
                    outside.give_up_runner(weight);
                    let unread = (pid, tid, weight);
                    tell_unread(key, unread, outside, &self.scale, &mut words, sink);
                    settled.push(tid);
                }
            }
        }
        for &tid in ended {
            outside.thread_ended(key, tid, now, &self.scale, sink);
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

    /// Whether threads are looked at, because perf events are not permitted.
    pub(super) fn is_polling(&self) -> bool {
        self.engine == Engine::ProcPoll
    }
}

/// A sample of a thread that ran for so long and was not read.
fn tell_unread(
    key: u32,
    (pid, tid, weight): (u32, u32, u64),
    outside: &mut Outside,
    scale: &Scale,
    words: &mut Vec<u64>,
    sink: &mut dyn FnMut(Event<'_>),
) {
    let clock = profundo_probe::clock::now();
    let thread = outside.number_of(key, (pid, tid), clock, scale, sink);
    // Where a thread runs Python, the reason is the same as that of any sample whose frames could not be read.
    let python_end = match outside.process.as_mut() {
        Some(process) if process.runs_python(tid) => {
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
        tid,
    };
    words.extend(head.to_words());
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn who_has_run_is_found_among_many_who_sleep() {
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
        // Other tests run in it, too.
        let pid = std::process::id();
        let mut polling = Polling::new(PERIOD);
        polling.begin(pid);
        assert!(polling.processes[&pid].threads.len() > SLEEPERS);
        let (told, hear) = mpsc::channel();
        let (go, begin) = mpsc::channel::<()>();
        let spinner = thread::spawn(move || {
            told.send(sys::thread_id()).unwrap();
            begin.recv().unwrap();
            spin(Duration::from_millis(400));
        });
        let spinner_id = hear.recv().unwrap();
        go.send(()).unwrap();
        let polled = polling.processes.get_mut(&pid).unwrap();
        let mut found = 0;
        let began = Instant::now();
        while !spinner.is_finished() && began.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(10));
            let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
            let (due, ended) = polled.look(pid, PERIOD, now);
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
        // It need not have had a CPU all the time, but what it had was found.
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
        let began = Instant::now();
        // Until it sleeps.
        while !matches!(
            crate::reading::look(pid, pid),
            crate::reading::Look::Blocked(_)
        ) {
            assert!(began.elapsed() < Duration::from_secs(30));
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(30));
        let mut polling = Polling::new(10_000_000);
        polling.begin(pid);
        let polled = polling.processes.get_mut(&pid).unwrap();
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let rests = |polled: &Polled| polled.threads[&pid].rests;
        for _ in 0..5 {
            let (due, ended) = polled.look(pid, 10_000_000, now);
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

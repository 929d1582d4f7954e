//! A process with an agent: its ring is drained, its threads get clocks.

mod clocks;
mod signal;
mod words;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use profundo_probe::ThreadRecord;
use profundo_probe::phase::PeriodDraw;
use profundo_probe::shared::{CHUNKS, COMMAND_BYTES, Header, Ring, start_kind};
use profundo_wire::recording::{Event, LossCounts, ThreadInfo};
use profundo_wire::{End, Gil, PythonEnd, Reader, Record, SampleHead, State};

use crate::account::Account;
use crate::clock::Scale;
use crate::perf::{Signal, TaskClock};
use crate::proc;
use crate::session::{Directory, RingMap, SumsMap};

pub(crate) use words::Words;

/// What has to be known to open a clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClockPlan {
    /// Whether the threads' clocks are ours at all, rather than the agent's timers.
    pub(crate) ours: bool,
    pub(crate) period: u64,
    pub(crate) running: bool,
    /// What the tables begin with.
    pub(crate) mark: u64,
}

/// What sampling costs the threads that are sampled.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    /// Cycles that handlers ran.
    pub(crate) cycles: u64,
    /// How often one ran.
    pub(crate) handled: u64,
    /// How often threads were switched.
    pub(crate) switches: u64,
    /// How often of that while they had task clocks.
    pub(crate) clocked: u64,
}

impl Cost {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            cycles: self.cycles + other.cycles,
            handled: self.handled + other.handled,
            switches: self.switches + other.switches,
            clocked: self.clocked + other.clocked,
        }
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        Self {
            cycles: self.cycles.saturating_sub(other.cycles),
            handled: self.handled.saturating_sub(other.handled),
            switches: self.switches.saturating_sub(other.switches),
            clocked: self.clocked.saturating_sub(other.clocked),
        }
    }
}

/// A thread of the process.
#[derive(Debug)]
struct Thread {
    index: usize,
    tid: u32,
    name: [u8; 16],
    clock: Option<TaskClock>,
    /// CPU time, where there is no clock to tell it, and the time it was alive.
    cpu: Account,
    alive: Account,
    samples: u64,
    /// The CPU time that its samples stand for.
    told: u64,
    /// Samples and CPU time at the last look for threads that block our signal.
    looked: (u64, u64),
    /// How many such looks it had not run at all, and how many are to be left out because of that.
    rests: (u8, u8),
    /// The periods of its clock, and how many samples it had when the last one began.
    periods: PeriodDraw,
    varied: u64,
    /// Whether it was found to block our signal at the last look, or when its clock was stopped.
    is_deaf: bool,
    /// Whether that was ever told of it.
    was_deaf: bool,
    /// How much of its time no sample stood for when it was found to block our signal at the last look.
    suspected: u64,
    /// How long it had run when its clock was opened.
    ran_before: u64,
    /// Whether a clock was refused. It goes on without one.
    is_refused: bool,
}

/// The agent's side of a process.
#[derive(Debug)]
pub(crate) struct Agent {
    /// The ring's number.
    pub(crate) index: usize,
    pub(crate) map: Arc<RingMap>,
    /// Where it counts what it allocates, if it does.
    pub(crate) sums: Option<SumsMap>,
    /// The process; 0 once it has become another program.
    pid: u32,
    threads: Vec<Thread>,
    /// The numbers that threads have in the recording, by the kernel's, of those that live.
    numbers: HashMap<u32, u32>,
    /// How many threads were met. Those that ended are not kept.
    met: usize,
    generation: u64,
    /// Which signal the clocks send.
    signal: Signal,
    /// Whether the clocks stand still because a thread is about to execute another program.
    is_silent: bool,
    /// Whether the list of modules could not be published and is to be.
    pub(crate) unpublished: bool,
    handled: u64,
    /// The same at the last look for debuggers.
    handled_before: u64,
    /// How long threads have run that have ended.
    ran: u64,
    /// What all samples stand for, and those of threads without clocks.
    sampled: u64,
    by_ticks: u64,
    /// Names of threads that have not been met yet.
    renamed: Vec<(u32, [u8; 16])>,
    /// How many threads have no clock, and what the kernel said last.
    pub(crate) without_clock: usize,
    pub(crate) refusal: Option<io::Error>,
    /// Whether what its start has cost is no part of the recording.
    forgets_start: bool,
    /// What had been lost at the last look for threads that block our signal.
    lost: LossCounts,
    /// What was told for such threads, and for how long all threads together had run at that look without being sampled.
    told_for_deaf: u64,
    hidden: u64,
}

impl Agent {
    pub(crate) fn new(index: usize, map: Arc<RingMap>, pid: u32) -> Self {
        Self {
            index,
            map,
            sums: None,
            pid,
            threads: Vec::new(),
            numbers: HashMap::new(),
            met: 0,
            generation: 0,
            signal: Signal::Asked(libc::SIGURG),
            is_silent: false,
            unpublished: false,
            handled: 0,
            handled_before: 0,
            ran: 0,
            sampled: 0,
            by_ticks: 0,
            renamed: Vec::new(),
            without_clock: 0,
            refusal: None,
            forgets_start: false,
            lost: LossCounts::default(),
            told_for_deaf: 0,
            hidden: 0,
        }
    }

    pub(crate) fn ring(&self) -> &Ring {
        self.map.ring()
    }

    pub(crate) fn header(&self) -> &Header {
        &self.map.ring().header
    }

    /// What its start has cost in nanoseconds, unless that was to be forgotten.
    pub(crate) fn start_cost(&self) -> u64 {
        match self.forgets_start {
            true => 0,
            false => self.header().ends.start_cost.load(Ordering::Relaxed),
        }
    }

    /// Whether the loader has loaded it into this program while that was recorded.
    pub(crate) fn was_loaded(&self) -> bool {
        let kind = self.header().kind.load(Ordering::Relaxed);
        kind == start_kind::EXEC && !self.forgets_start
    }

    /// What the main thread is called, which is the program's name until somebody changes it.
    pub(crate) fn main_name(&self) -> Option<String> {
        let name = self.map.record(0)?.name();
        let end = name.iter().position(|&byte| byte == 0);
        let name = name.get(..end.unwrap_or(name.len()))?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    /// The command line that the agent has written down, and whether that is all of it; empty after a fork.
    pub(crate) fn command(&self) -> (String, bool) {
        let header = self.header();
        // Acquire pairs with the agent's release.
        let length = header.command_bytes.load(Ordering::Acquire) as usize;
        let is_whole = (1..COMMAND_BYTES).contains(&length);
        let words = header.command.iter().take(length.div_ceil(8));
        let bytes: Vec<u8> = words
            .flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes())
            .take(length)
            .collect();
        (profundo_wire::command::line(&bytes), is_whole)
    }

    /// The next list's number.
    pub(crate) fn next_generation(&mut self) -> u64 {
        self.generation += 1;
        self.generation
    }

    /// Notes threads that have begun. Nothing is told yet. Their own timers sample them; those that ask for clocks
    /// get them ([`Self::mind_paces`]).
    pub(crate) fn meet(&mut self, plan: ClockPlan) {
        let met = self.map.met();
        if self.met == 0 {
            self.choose_signal(plan.mark);
        }
        while self.met < met {
            let Some(record) = self.map.record(self.met) else {
                break;
            };
            // It is being filled in; its thread rings again.
            let tid = record.tid();
            if tid == 0 {
                break;
            }
            let mut thread = Thread {
                index: self.met,
                tid,
                name: [0; 16],
                clock: None,
                cpu: Account::default(),
                alive: Account::default(),
                samples: 0,
                told: 0,
                looked: (0, 0),
                rests: (0, 0),
                periods: PeriodDraw::new(tid.into()),
                varied: 0,
                is_deaf: false,
                was_deaf: false,
                suspected: 0,
                ran_before: 0,
                is_refused: false,
            };
            self.numbers.insert(tid, self.met as u32 + 1);
            self.met += 1;
            if let Some(at) = self.renamed.iter().rposition(|(it, _)| *it == tid) {
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

    /// The plan for a clock that is opened now.
    fn for_clocks(&self, plan: ClockPlan) -> ClockPlan {
        let running = plan.running && !self.is_silent;
        ClockPlan { running, ..plan }
    }

    /// Tells of threads that are new or have ended.
    pub(crate) fn tell(&mut self, key: u32, scale: &Scale, sink: &mut dyn FnMut(Event<'_>)) {
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
                ran += thread.ran(pid, record);
                thread.tell_rest((key, pid), record, sink);
                record.clock.store(0, Ordering::Relaxed);
                forget(numbers, thread);
            }
            !has_ended
        });
        self.ran += ran;
    }

    /// How long all its threads have run, those that ended included, while they were sampled.
    pub(crate) fn ran(&self) -> u64 {
        let living = self.threads.iter().filter_map(|thread| {
            let record = self.map.record(thread.index)?;
            Some(thread.ran(self.pid, record))
        });
        self.ran + living.sum::<u64>()
    }

    /// Tells all that is known of the threads that live.
    pub(crate) fn tell_all(
        &mut self,
        key: u32,
        is_over: bool,
        scale: &Scale,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        for thread in &mut self.threads {
            if let Some(record) = self.map.record(thread.index) {
                sink(thread.event(key, self.pid, record, is_over, scale));
                thread.tell_rest((key, self.pid), record, sink);
            }
        }
    }

    /// The number that a thread has in the recording.
    pub(crate) fn number_of(&self, tid: u32) -> Option<u32> {
        self.numbers.get(&tid).copied()
    }

    /// A thread's name has changed.
    pub(crate) fn rename(&mut self, tid: u32, name: &[u8]) {
        /// A thread says at its end what it is called, so only those that go on matter.
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

    /// What was sampled before is no part of the recording.
    pub(crate) fn clear(&mut self) {
        self.forgets_start = true;
        self.by_ticks = 0;
    }

    /// What the samples of threads without task clocks stand for.
    pub(crate) fn by_ticks(&self) -> u64 {
        self.by_ticks
    }

    /// Lets all clocks run, or stops them.
    pub(crate) fn set_running(&mut self, running: bool, now: u64) {
        if running {
            self.header().resumed.fetch_add(1, Ordering::Relaxed);
        }
        self.header()
            .enabled
            .store(u32::from(running), Ordering::Relaxed);
        for thread in &mut self.threads {
            let Some(record) = self.map.record(thread.index) else {
                continue;
            };
            match &thread.clock {
                Some(clock) if running && !self.is_silent => drop(clock.enable()),
                Some(clock) => clock.disable(),
                None => {}
            }
            let cpu = thread.cpu_now(self.pid, record);
            if running {
                thread.alive.go(now);
                thread.cpu.go(cpu);
            } else {
                thread.alive.stop(now);
                thread.cpu.stop(cpu);
            }
        }
    }

    /// What the kernel says of the process from now on is not about this program, which has become another one.
    pub(crate) fn note_replaced(&mut self) {
        self.pid = 0;
    }

    /// Stops and closes all clocks: the program is another one, or none.
    pub(crate) fn close_clocks(&mut self) {
        for thread in &mut self.threads {
            thread.clock = None;
        }
    }

    /// Whether handlers have run since this was asked last.
    pub(crate) fn is_busy(&mut self) -> bool {
        let handled = self.header().counters.handled.load(Ordering::Relaxed)
            ^ self.header().counters.taken.load(Ordering::Relaxed) << 32;
        std::mem::replace(&mut self.handled, handled) != handled
    }

    /// Takes the words out of all chunks: those of each in the order of time, and the chunks in
    /// the order of their first samples. Of the last words also those that a thread did not live
    /// to let go of.
    pub(crate) fn drain(&mut self, last: bool, words: &mut Words) {
        words.clear();
        for chunk in 0..CHUNKS {
            let start = words.len();
            let taken = if last {
                self.map.take_last(chunk, words.end())
            } else {
                self.map.take(chunk, words.end())
            };
            if taken {
                let (first, is_unfinished) = self.count(words.since(start));
                words.close_chunk(first, start, is_unfinished);
            }
        }
        words.sort();
    }

    /// Opens the file that the process counts its allocations in, once it is there.
    pub(crate) fn open_sums(&mut self, directory: &Directory) {
        if self.sums.is_none() {
            self.sums = SumsMap::open(directory.path(), self.index);
        }
    }

    /// Appends stacks that have got numbers, where allocations are counted. Returns whether there are more.
    pub(crate) fn drain_stacks(&mut self, words: &mut Words) -> bool {
        let Some(sums) = &mut self.sums else {
            return false;
        };
        let start = words.len();
        let are_more = sums.new_stacks(words.end());
        sums.provide();
        let new = words.since(start);
        if !new.is_empty() {
            let is_unfinished =
                Reader::new(new).any(|record| matches!(record, Ok(Record::Again(_))));
            words.close_chunk(u64::MAX, start, is_unfinished);
        }
        are_more
    }

    /// Counts each thread's samples; returns when the first one was taken, and whether any is to be
    /// walked again.
    fn count(&mut self, words: &[u64]) -> (u64, bool) {
        let mut first = u64::MAX;
        let mut is_unfinished = false;
        let mut last: Option<usize> = None;
        for record in Reader::new(words) {
            let head = match record {
                Ok(Record::Sample { head, .. }) => head,
                Ok(Record::Again(_)) => {
                    is_unfinished = true;
                    continue;
                }
                _ => continue,
            };
            first = first.min(head.clock);
            let index = (head.thread as usize).wrapping_sub(1);
            let at = match last.filter(|&at| self.is_thread(at, index)) {
                Some(at) => Some(at),
                None => self
                    .threads
                    .binary_search_by_key(&index, |thread| thread.index)
                    .ok(),
            };
            if let Some(thread) = at.and_then(|at| self.threads.get_mut(at)) {
                thread.samples += 1;
                thread.told += head.weight;
                if thread.clock.is_none() {
                    self.by_ticks += head.weight;
                }
            }
            self.sampled += head.weight;
            last = at;
        }
        (first, is_unfinished)
    }

    /// Whether the process has run for so much longer than its samples say, since this was so last, that a thread could
    /// have. Else there is no need to ask for each thread's time.
    fn may_hide(&mut self, enough: u64) -> bool {
        let ran = Some(self.pid)
            .filter(|&pid| pid != 0)
            .and_then(proc::process_clock);
        let told = self.sampled + self.told_for_deaf;
        let hidden = ran.unwrap_or(u64::MAX).saturating_sub(told);
        let is_suspected = self.threads.iter().any(|thread| thread.suspected > 0);
        let may_hide = ran.is_none() || is_suspected || hidden > self.hidden.saturating_add(enough);
        // What no thread is found to hide by itself is of no more interest.
        self.hidden = match may_hide {
            true => hidden,
            false => self.hidden.min(hidden),
        };
        may_hide
    }

    fn is_thread(&self, at: usize, index: usize) -> bool {
        self.threads
            .get(at)
            .is_some_and(|thread| thread.index == index)
    }

    /// Writes a sample for each thread that has run for longer than its samples say because it blocks our
    /// signal, so that no time is lost in silence.
    pub(crate) fn look_for_deaf(&mut self, plan: ClockPlan, now: u64, out: &mut Vec<u64>) {
        /// So many looks are left out at most for a thread that does not run.
        const MOST: u8 = 15;
        // Acquire pairs with the agent's release. Who has been left blocks nothing, and is not sampled.
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
            if thread.samples != thread.looked.0 {
                thread.looked.0 = thread.samples;
                thread.rests = (0, 0);
                thread.is_deaf = false;
            } else if thread.rests.1 > 0 {
                thread.rests.1 -= 1;
                continue;
            }
            let Some(record) = map.record(thread.index).filter(|it| !it.has_ended()) else {
                continue;
            };
            let ran = thread.ran(self.pid, record);
            let rests = match ran == thread.looked.1 {
                true => thread.rests.0.saturating_add(1).min(MOST),
                false => 0,
            };
            thread.rests = (rests, rests);
            thread.looked.1 = ran;
            let weight = ran.saturating_sub(thread.told);
            let before = std::mem::take(&mut thread.suspected);
            if weight <= enough {
                continue;
            }
            if has_lost {
                // That stands for this time, or for a part of it.
                thread.told += weight;
                continue;
            }
            let signal = thread.clock.as_ref().map_or(asked, |clock| clock.signal);
            let is_blocked = proc::blocks_signal(self.pid, thread.tid, signal.number());
            // A thread in our handler blocks it too, and its last samples cannot be taken meanwhile.
            let deaf = before.min(weight);
            thread.is_deaf = deaf > enough;
            if thread.is_deaf {
                thread.was_deaf = true;
                thread.told += deaf;
                self.told_for_deaf += deaf;
                record.told_for.fetch_add(deaf, Ordering::Relaxed);
                out.extend(deaf_sample(thread.index as u32 + 1, thread.tid, deaf, now));
            }
            if is_blocked {
                thread.suspected = weight - if thread.is_deaf { deaf } else { 0 };
            }
        }
    }

    /// What was lost so far.
    pub(crate) fn loss(&self) -> LossCounts {
        let counters = &self.header().counters;
        LossCounts {
            buffer_full: counters.buffer_full.load(Ordering::Relaxed),
            overwritten: 0,
            reentrant: counters.reentrant.load(Ordering::Relaxed),
            thread_table_full: counters.thread_table_full.load(Ordering::Relaxed),
        }
    }

    /// What sampling has cost its threads.
    pub(crate) fn cost(&self) -> Cost {
        let counters = &self.header().counters;
        Cost {
            cycles: counters.cycles.load(Ordering::Relaxed),
            handled: counters.handled.load(Ordering::Relaxed),
            switches: counters.switches.load(Ordering::Relaxed),
            clocked: counters.clocked_switches.load(Ordering::Relaxed),
        }
    }
}

impl Thread {
    /// The thread's CPU time, where no clock of ours tells.
    fn cpu_now(&self, pid: u32, record: &ThreadRecord) -> u64 {
        let told = record.cpu.load(Ordering::Relaxed);
        if record.has_ended() && told != 0 {
            return told;
        }
        proc::thread_cpu(pid, self.tid).unwrap_or(told)
    }

    /// How long it has run while it was sampled.
    fn ran(&self, pid: u32, record: &ThreadRecord) -> u64 {
        match self.clock.as_ref().and_then(TaskClock::ran) {
            Some(ran) => self.ran_before + ran,
            None => self.cpu.at(self.cpu_now(pid, record)),
        }
    }

    /// Writes the last sample of a thread that blocks our signal and has ended, or is not
    /// looked at again.
    fn tell_rest(
        &mut self,
        (process, pid): (u32, u32),
        record: &ThreadRecord,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        let may_be_deaf = self.was_deaf || self.suspected > 0;
        let least = match (std::mem::take(&mut self.is_deaf), may_be_deaf) {
            (true, _) => 0,
            // It has not blocked it at the last look, but may have done so since.
            (false, true) => suspicious(0),
            (false, false) => return,
        };
        let weight = self.ran(pid, record).saturating_sub(self.told);
        if weight <= least {
            return;
        }
        self.told += weight;
        let now = profundo_probe::clock::now();
        let words = &deaf_sample(self.index as u32 + 1, self.tid, weight, now);
        sink(Event::Words { process, words });
    }

    fn event(
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

/// More CPU time than this without a sample is suspicious: a signal that is blocked for a moment comes after it.
fn suspicious(period: u64) -> u64 {
    const LEAST: u64 = 50_000_000;
    LEAST.max(3 * period)
}

/// A sample of a thread of which nothing is known but that it ran.
fn deaf_sample(number: u32, tid: u32, weight: u64, clock: u64) -> [u64; 5] {
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
    }
    .to_words()
}

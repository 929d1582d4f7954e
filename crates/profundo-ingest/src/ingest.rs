//! A profile that grows with the events of a recorder.
//!
//! Samples come chunk by chunk, each chunk in the order of one thread's time. They are held back
//! until two more clock events have come. By then every thread's earlier samples are there, and
//! they are appended to the profile in the order of time. A sample that comes later still stands
//! behind younger ones; a reader that needs the order sorts, which costs little.

use profundo_model::{Engine, Growing, Heap, Nanos, Profile, SampleKind};
use profundo_wire::recording::{Event, Finish, Instant, Start};
use profundo_wire::traced::TracedCalls;

use self::memory::Allocations;
use self::meta::{energy, meta};
use self::programs::Programs;
use self::samples::{PATIENCE, Samples};
use crate::clock::Clock;
use crate::generated::{Generated, Split};
use crate::heap::{Moments, sampling};
use crate::qualified::QualifiedNames;
use crate::readings::Readings;
use crate::spans::Spans;
use crate::threads_and_tasks::{Numbers, Threads};

mod calls;
mod clear;
mod memory;
mod meta;
mod pieces;
mod processes;
mod program;
pub(crate) mod programs;
mod records;
mod samples;

/// The default limit of the stack table's rows, some 40 bytes each.
pub const MOST_STACKS: usize = 8 << 20;

/// Turns the events of a recorder into a profile, as they happen.
///
/// ```
/// use profundo_ingest::Ingest;
/// use profundo_wire::recording::{Event, Finish, ProcessInfo, Start};
///
/// let mut ingest = Ingest::new(Start::default());
/// ingest.event(Event::Process(ProcessInfo { key: 1, pid: 4711, ..ProcessInfo::default() }));
/// let profile = ingest.finish(Finish::default());
/// assert_eq!(profile.processes[0].pid, 4711);
/// ```
#[derive(Debug)]
pub struct Ingest {
    profile: Profile,
    clock: Clock,
    programs: Programs,
    samples: Samples,
    readings: Readings,
    allocations: Allocations,
    generated: Generated,
    spans: Spans,
    /// Calls of processes, taken in at the end, when the clock is known best.
    calls: Vec<(u32, TracedCalls)>,
    /// The time from the recording's start to the last clearing, in nanoseconds.
    cleared: u64,
    /// The limit of the stack table's rows; beyond it, new stacks are cut short.
    most_stacks: usize,
    /// The sum of all samples' weights.
    weights: u64,
}

/// The limit of all weights together, in nanoseconds: some seventy years. Only a program that
/// writes nonsense into its buffer exceeds it, and sums of weights are to be numbers all the same.
const MOST_WEIGHT: u64 = 1 << 61;

impl Ingest {
    /// An empty profile.
    pub fn new(start: Start) -> Self {
        let profile = Profile {
            meta: meta(&start),
            heap: Heap {
                sampling: sampling(start.allocations),
                copying: sampling(start.copies.1),
                copies_from: start.copies.0,
                ..Heap::default()
            },
            ..Profile::default()
        };
        Self::with(profile, start)
    }

    /// Continues the profile of a killed recorder, as read from its file. `start` is that
    /// recorder's start, and the keys of programs are those that it gave. Threads are recognised by
    /// the kernel's ids, modules and code objects by the file. The samples in the profile stay
    /// there.
    pub fn resume(profile: Profile, start: Start) -> Self {
        Self::with(profile, start)
    }

    fn with(profile: Profile, start: Start) -> Self {
        Self {
            clock: Clock::new(start.started),
            programs: Programs::after(&profile),
            samples: Samples::default(),
            readings: Readings::default(),
            allocations: Allocations::after(&profile.heap),
            generated: Generated::default(),
            spans: Spans::default(),
            calls: Vec::new(),
            cleared: 0,
            most_stacks: MOST_STACKS,
            weights: 0,
            profile,
        }
    }

    /// Limits the rows of the stack table. Beyond them, new stacks keep only the known part and the
    /// innermost frame, with `[callers not kept]` between them. The calls of a program must not
    /// fill the memory, even if it never repeats one.
    pub fn max_stacks(mut self, rows: usize) -> Self {
        self.most_stacks = rows;
        self
    }

    /// The only process keeps the numbers of its threads.
    pub(crate) fn single(mut self) -> Self {
        self.programs.set_single();
        self
    }

    /// Sets the source of qualified names, for interpreters that do not know them.
    pub fn qualified_names(mut self, names: QualifiedNames) -> Self {
        self.programs.shared().names.set_source(names);
        self
    }

    /// The profile so far, without the held back samples.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The profile so far, to remove samples that have been written: they need not stay in memory.
    /// Its tables must only grow.
    pub fn profile_mut(&mut self) -> &mut Profile {
        &mut self.profile
    }

    /// The number of samples held back.
    pub fn held_back(&self) -> usize {
        self.samples.len()
    }

    /// Takes in an event. Events of an unknown process are kept under a process without a name.
    pub fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Clock(now) => self.advance(now),
            Event::Process(info) => self.process(&info),
            Event::Modules { process, modules } => self.modules(process, &modules),
            Event::Thread {
                process,
                thread,
                gil_wait,
            } => self.thread(process, &thread, gil_wait),
            Event::Words { process, words } => self.words(process, words),
            Event::Generated { process, codes } => {
                let (program, _) = self.programs.get(process, &mut self.profile);
                program.generates = true;
                self.generated.add(program.id(), codes);
            }
            Event::Runtime {
                process,
                runtime,
                module,
            } => self.runtime(process, &runtime, &module),
            Event::Loss { process, loss } => self.count_loss(process, loss),
            Event::Sites {
                process,
                clock,
                sites,
                peak,
            } => self.sums(process, clock, &sites, peak.bytes),
            Event::Energy(used) => self.profile.meta.energy = Some(energy(used)),
            Event::Gauge(gauge) => {
                let (program, _) = self.programs.get(gauge.process, &mut self.profile);
                self.readings.add_gauge(program.id(), gauge);
            }
            Event::Unreachable { process, found } => self.unreachable(process, &found),
            Event::Calls { process, calls } => {
                let (program, _) = self.programs.get(process, &mut self.profile);
                program.has_calls = true;
                self.calls.push((process, calls));
            }
            Event::Cleared(at) => self.clear(at),
            Event::Ended(end) => self.ended(&end),
            // The reader of the files has turned counters into calls.
            Event::Collections { .. } | Event::Tallies { .. } => {}
            Event::Note(note) => self.note(note),
        }
    }

    /// Names the places in generated code by what is known so far.
    pub fn name_generated(&mut self) {
        let registry = &self.programs.shared().registry;
        self.generated.name_unnamed(&mut self.profile, registry);
    }

    /// Gives spans and marks so far their rows, which they have from the end on otherwise. Those
    /// whose names are not known yet wait.
    pub fn settle_spans(&mut self) {
        if self.clock.is_known() {
            (self.spans).flush_known(self.clock, &mut self.profile);
        }
    }

    /// Takes in the rest, and returns the profile. Only generated code has native names yet.
    pub fn finish(self, finish: Finish) -> Profile {
        let (mut profile, split) = self.finish_unsplit(finish);
        split.apply(&mut profile);
        profile
    }

    /// Like [`finish`](Self::finish), for samples that are elsewhere: they still have to be split
    /// where addresses of generated code had several meanings.
    pub fn finish_unsplit(mut self, finish: Finish) -> (Profile, Split) {
        self.clock.learn(finish.ended);
        for waiting in &mut self.samples.waiting {
            waiting.retries = PATIENCE;
        }
        self.retry();
        self.flush(u64::MAX);
        (self.spans).flush(self.clock, finish.ended.cycles, &mut self.profile);
        let when = Moments {
            clock: self.clock,
            now: finish.ended.cycles,
        };
        self.allocations.sites.retry(when, &mut self.profile.heap);
        self.take_in_unknown_sites();
        self.mend_peaks();
        self.take_in_calls();
        (self.programs).settle_times(&self.clock, &mut self.profile);
        let meta = &mut self.profile.meta;
        meta.duration = Nanos(finish.duration);
        let is_cpu = meta.kind == SampleKind::Cpu && meta.engine != Engine::Unknown;
        // On the wall clock the samples are not meant to add up to CPU time.
        meta.cpu = is_cpu.then_some(Nanos(finish.cpu));
        meta.own_cost = finish.own_cost.map(Nanos);
        meta.recorder_cpu = finish.recorder_cpu.map(Nanos);
        meta.by_ticks = (finish.by_ticks > 0).then_some(Nanos(finish.by_ticks));
        if self.profile.stacks.len() >= self.most_stacks {
            self.profile.meta.notes.push(format!(
                "the program has more than {} different stacks and prefixes: of those that came later \
                 only the innermost frame and known callers are kept",
                self.most_stacks
            ));
        }
        self.profile.name_reasons();
        let registry = &self.programs.shared().registry;
        let split = self.generated.name_all(&mut self.profile, registry);
        // Code numbers and a process's modules are not needed any more.
        self.profile.growing = Growing::default();
        (self.profile, split)
    }

    fn advance(&mut self, now: Instant) {
        let was_known = self.clock.is_known();
        self.clock.learn(now);
        let elapsed = self.clock.since_start(now.cycles);
        let meta = &mut self.profile.meta;
        meta.duration = meta.duration.max(elapsed);
        self.retry();
        if self.clock.is_known() {
            self.flush(self.samples.flush_until);
            if !was_known {
                (self.programs).settle_times(&self.clock, &mut self.profile);
            }
        }
        self.samples.flush_until = now.cycles;
        self.programs.release();
    }

    /// Appends to the profile what was held back: the samples up to a time, and all else.
    fn flush(&mut self, until: u64) {
        let (clock, profile, spans) = (self.clock, &mut self.profile, &mut self.spans);
        self.readings.flush(clock, profile);
        self.allocations.blocks.flush(clock, spans, profile);
        self.samples.flush(until, clock, spans, profile);
    }

    /// Adds a note, unless it is there already.
    fn note(&mut self, note: String) {
        if !self.profile.meta.notes.contains(&note) {
            self.profile.meta.notes.push(note);
        }
    }

    /// The library's knowledge of its only process.
    pub(crate) fn threads(&mut self, key: u32) -> (&mut Threads, &mut Profile, &mut Numbers) {
        let (program, shared) = self.programs.get(key, &mut self.profile);
        (&mut program.threads, &mut self.profile, &mut shared.numbers)
    }

    /// The number of programs with tables.
    #[cfg(test)]
    pub(crate) fn present_programs(&self) -> usize {
        self.programs.count_present()
    }
}

//! A profile that grows with what a recorder tells.
//!
//! Samples come chunk by chunk, each chunk in the order of one thread's time. They are held back
//! until the clock has been told twice more, which is when every thread's samples up to then are
//! there, and appended to the profile in the order of time. A sample that comes later still
//! stands behind younger ones; whoever needs the order sorts, and finds little to do.

use std::collections::VecDeque;

use profundo_model::{
    Energy, EnergyZone, Engine, Growing, Heap, LocationId, Meta, Nanos, Process, ProcessId,
    Profile, Sample, SampleKind, StringId, ThreadId,
};
use profundo_wire::recording::{self, Event, Finish, Instant, LossCounts, Start};
use profundo_wire::traced::TracedCalls;
use profundo_wire::{Call, End, Reader, Record, SampleHead, Traffic, Wait};
use rustc_hash::FxHashMap;

use self::ended::Past;
use self::kinds::{gil, state};
use crate::clock::Clock;
use crate::files::Files;
use crate::gauge::Gauges;
use crate::generated::{Extents, Owners, Split, is_kernels, name_all, name_unnamed};
use crate::heap::{AllocationRecord, Blocks, Moments, NO_TIME, Sites, sampling};
use crate::modules::Registry;
use crate::qualified::Qualified;
use crate::stacks::Stacks;
use crate::threads_and_tasks::{Numbering, Numbers, People, root_task_of};
use crate::traffic::traffic_of;
use crate::waits::{Waits, waiting};

mod asked;
mod calls;
mod clear;
pub(crate) mod ended;
mod kinds;
mod memory;
mod processes;

/// Samples that are held back at most. A recorder that never tells the time gets them in the
/// order in which they came.
const HELD_BACK: usize = 1 << 18;

/// Rows of the stack table, some 40 bytes each, if nothing else is asked for.
pub const MOST_STACKS: usize = 8 << 20;

/// How far a key may be ahead of those before it.
const FAR: usize = 1 << 12;

/// How often the clock is told before a sample whose code objects are still missing is taken as
/// it is: another thread recorded them, and its records may come later.
const PATIENCE: u8 = 3;

/// Turns what a recorder tells into a profile, as it happens.
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
    registry: Registry,
    numbers: Numbers,
    processes: FxHashMap<u32, Program>,
    /// The names of functions whose interpreter knows only bare ones.
    qualified: Qualified,
    /// Those that have ended a while ago, and of which hardly anything will be told.
    past: FxHashMap<u32, Past>,
    /// How often the clock was told.
    tellings: u64,
    /// Programs that have ended, and at which telling what their records meant is given back.
    ended: VecDeque<(u32, u64)>,
    /// Samples that are held back, with the cycle counter in place of the time.
    held_back: Vec<Sample>,
    /// What was read and written, until it is known what the cycle counter means.
    traffic: Vec<(ThreadId, Traffic)>,
    gauges: Gauges,
    /// Up to where samples may be let go at the next telling of the time.
    told: u64,
    /// Samples that wait for a code object.
    waiting: Vec<Waiting>,
    /// The last sample of an allocation, until what was allocated is told.
    allocating: Option<Sample>,
    blocks: Blocks,
    sites: Sites,
    /// How long after the recording's beginning it was cleared, in nanoseconds.
    cleared: u64,
    /// Whether the only process keeps its own numbers.
    is_single: bool,
    /// What processes have called, which is taken in at the end: only then the clock is known well.
    calls: Vec<(u32, TracedCalls)>,
    /// How many processes the profile had when it was gone on with.
    rows_before: usize,
    /// Rows of the stack table from which on stacks that are new are cut short.
    most_stacks: usize,
    /// Code that programs have generated, and when stacks that may be in it were sampled.
    generated: Owners,
    extents: Extents,
}

/// What is known of one program.
#[derive(Debug)]
struct Program {
    id: ProcessId,
    stacks: Stacks,
    waits: Waits,
    files: Files,
    people: People,
    lost: LossCounts,
    /// What of that was to be forgotten.
    lost_cleared: LossCounts,
    /// The path of the interpreter's module.
    interpreter: Option<StringId>,
    started: u64,
    ended: Option<u64>,
    /// Whether it is the later half of a process that the profile had.
    is_resumed: bool,
    /// Whether it has generated code.
    generates: bool,
    /// Whether it has told of calls, which are taken in at the end.
    has_calls: bool,
}

#[derive(Debug)]
struct Waiting {
    process: u32,
    head: SampleHead,
    words: Box<[u64]>,
    /// What its thread waits for.
    wait: Option<LocationId>,
    /// What it was at.
    file: StringId,
    /// What it has allocated.
    allocated: Option<AllocationRecord>,
    tellings: u8,
}

impl Ingest {
    /// A profile without anything.
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

    /// Goes on with a profile whose recorder was killed, as it was read from the file. `start` is
    /// what that recorder began with, and the keys of programs are those that it gave. Threads are
    /// known again by the kernel's ids, modules and code objects from the file. The samples that
    /// the profile has stay in it.
    pub fn resume(profile: Profile, start: Start) -> Self {
        Self::with(profile, start)
    }

    fn with(profile: Profile, start: Start) -> Self {
        Self {
            clock: Clock::new(start.started),
            registry: Registry::of(&profile),
            numbers: Numbers::after(&profile),
            rows_before: profile.processes.len(),
            processes: FxHashMap::default(),
            past: FxHashMap::default(),
            tellings: 0,
            ended: VecDeque::new(),
            held_back: Vec::new(),
            traffic: Vec::new(),
            gauges: Gauges::default(),
            told: 0,
            waiting: Vec::new(),
            allocating: None,
            blocks: Blocks::after(&profile.heap),
            sites: Sites::of(&profile.heap),
            cleared: 0,
            is_single: false,
            calls: Vec::new(),
            most_stacks: MOST_STACKS,
            generated: Owners::default(),
            extents: Extents::default(),
            qualified: Qualified::default(),
            profile,
        }
    }

    /// How many rows the stack table may have before of stacks that are new only the known part
    /// and the innermost frame are kept, with `[callers not kept]` between them. What a program
    /// calls must not fill the memory, even if it never calls it twice.
    pub fn max_stacks(mut self, rows: usize) -> Self {
        self.most_stacks = rows;
        self
    }

    /// The only process keeps the numbers that its threads have.
    pub(crate) fn single(mut self) -> Self {
        self.is_single = true;
        self
    }

    /// The profile so far, without the samples that are held back.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The profile so far, to take samples out that have been written: they need not stay in
    /// memory. Its tables must only grow.
    pub fn profile_mut(&mut self) -> &mut Profile {
        &mut self.profile
    }

    /// How many samples are held back.
    pub fn held_back(&self) -> usize {
        self.held_back.len() + self.waiting.len()
    }

    /// Takes in what a recorder tells. What belongs to a process that it never told of is kept
    /// under one without a name.
    pub fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Clock(now) => self.tell_time(now),
            Event::Process(info) => self.process(&info),
            Event::Modules { process, modules } => {
                let (program, profile) = self.program(process);
                let id = program.0.id;
                program.0.generates |= modules
                    .iter()
                    .any(|module| profundo_model::is_generated_code(&module.path));
                program.0.stacks.modules(profile, program.1, id, &modules);
                if let Some(path) = program.0.interpreter {
                    program
                        .0
                        .stacks
                        .module_map()
                        .mark_interpreter(profile, path);
                }
            }
            Event::Thread {
                process,
                thread,
                gil_wait,
            } => {
                let (program, profile) = self.program(process);
                if program.0.is_resumed {
                    adopt(program.0, profile, thread.number, thread.tid);
                }
                let knows = program.0.interpreter.is_some() || gil_wait > 0;
                let gil_wait = knows.then_some(gil_wait);
                let people = &mut program.0.people;
                people.tell(profile, program.2, &thread, gil_wait);
            }
            Event::Words { process, words } => self.words(process, words),
            Event::Generated { process, codes } => {
                let ((program, ..), _) = self.program(process);
                program.generates = true;
                let id = program.id;
                let map = self.generated.maps.entry(id).or_default();
                for code in codes {
                    match is_kernels(code.start) {
                        true => self.generated.kernel.tell(code),
                        false => map.tell(code),
                    }
                }
            }
            Event::Runtime {
                process,
                runtime,
                module,
            } => {
                let (program, profile) = self.program(process);
                let path = profile.strings.intern(&module);
                program.0.interpreter = Some(path);
                program
                    .0
                    .stacks
                    .module_map()
                    .mark_interpreter(profile, path);
                let runtime = profile.strings.intern(&runtime);
                profile.processes[program.0.id.index()].runtime = runtime;
            }
            Event::Loss { process, loss } => {
                self.count_loss(process, loss);
            }
            Event::Sites {
                process,
                clock,
                sites,
                peak,
            } => self.sums(process, clock, &sites, peak.bytes),
            Event::Energy(used) => self.profile.meta.energy = Some(energy(used)),
            Event::Gauge(told) => {
                let id = self.program(told.process).0.0.id;
                self.gauges.untold.push((id, told));
            }
            Event::Unreachable { process, found } => self.unreachable(process, &found),
            Event::Calls { process, calls } => {
                self.program(process).0.0.has_calls = true;
                self.calls.push((process, calls));
            }
            Event::Cleared(at) => self.clear(at),
            Event::Ended(end) => self.ended(&end),
            // Whoever reads files has made calls of counters.
            Event::Collections { .. } | Event::Tallies { .. } => {}
            Event::Note(note) => {
                if !self.profile.meta.notes.contains(&note) {
                    self.profile.meta.notes.push(note);
                }
            }
        }
    }

    /// Names the places in generated code by what is known so far.
    pub fn name_generated(&mut self) {
        self.generated.modules = self.registry.generated().clone().into_iter().collect();
        name_unnamed(&mut self.profile, &mut self.generated);
    }

    /// What is left is taken in, and the profile given away. Nothing in it has a native name yet but
    /// what lies in generated code.
    pub fn finish(self, finish: Finish) -> Profile {
        let (mut profile, split) = self.finish_unsplit(finish);
        split.apply(&mut profile);
        profile
    }

    /// The same, for one whose samples are elsewhere: where addresses of generated code have meant
    /// several things, they still have to be told apart.
    pub fn finish_unsplit(mut self, finish: Finish) -> (Profile, Split) {
        self.clock.learn(finish.ended);
        for waiting in &mut self.waiting {
            waiting.tellings = PATIENCE;
        }
        self.retry();
        self.let_go(u64::MAX);
        let when = Moments {
            clock: self.clock,
            now: finish.ended.cycles,
        };
        self.sites.retry(when, &mut self.profile.heap);
        self.take_in_unknown_sites();
        self.mend_peaks();
        self.take_in_calls();
        self.settle_times();
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
        self.generated.modules = self.registry.generated().clone().into_iter().collect();
        let split = name_all(&mut self.profile, &mut self.generated, &self.extents);
        // Nobody will ask for code by its number any more, or for modules by a process.
        self.profile.growing = Growing::default();
        (self.profile, split)
    }

    /// The program with a key, what all programs share, and the profile.
    fn program(&mut self, key: u32) -> ((&mut Program, &mut Registry, &mut Numbers), &mut Profile) {
        let Self {
            profile,
            processes,
            registry,
            numbers,
            is_single,
            rows_before,
            past,
            ..
        } = self;
        let program = processes.entry(key).or_insert_with(|| {
            if let Some(past) = past.get(&key) {
                return past.again(key, *is_single);
            }
            let index = (key as usize).saturating_sub(1);
            let had = *rows_before;
            let rows = &mut profile.processes;
            // Programs have their rows in the order of their keys, whoever is met first: so they
            // are found again in a recording that is gone on with.
            let is_near = index < rows.len() + FAR;
            let index = if is_near { index } else { rows.len() };
            rows.resize(rows.len().max(index + 1), Process::default());
            let mut program = Program::new(ProcessId::from_index(index), key, *is_single);
            if index < had {
                program.is_resumed = true;
                program.stacks.resume(profile, program.id);
            }
            program
        });
        ((program, registry, numbers), profile)
    }

    fn words(&mut self, process: u32, words: &[u64]) {
        let mut wait = None;
        for record in Reader::new(words) {
            match record {
                Ok(Record::Code(code)) => {
                    let mut names = std::mem::take(&mut self.qualified);
                    let ((program, ..), profile) = self.program(process);
                    (program.stacks).code(profile, program.id, &code, &mut names);
                    self.qualified = names;
                }
                Ok(Record::ThreadName(told)) => {
                    let ((program, _, numbers), profile) = self.program(process);
                    if program.is_resumed {
                        adopt(program, profile, told.head.thread, told.head.tid);
                    }
                    let name: String = told.name.characters().collect();
                    program.people.name(profile, numbers, &told.head, &name);
                }
                Ok(Record::TaskName(told)) => {
                    let ((program, ..), profile) = self.program(process);
                    let name: String = told.name.characters().collect();
                    program
                        .people
                        .task_name(profile, told.head.task, name.into());
                }
                Ok(Record::Traffic(told)) => {
                    let ((program, _, numbers), profile) = self.program(process);
                    if program.is_resumed {
                        adopt(program, profile, told.thread, told.tid);
                    }
                    let whose = (told.thread, told.tid);
                    let thread = program.people.thread(profile, numbers, whose);
                    if !self.clock.is_before(told.from) {
                        self.traffic.push((thread, told));
                    }
                }
                Ok(Record::Opened(told)) => {
                    let ((program, ..), profile) = self.program(process);
                    program.files.open(profile, &told);
                }
                Ok(Record::Call(call)) => self.call(process, &call),
                Ok(Record::Block(block)) => self.allocated(process, AllocationRecord::Block(block)),
                Ok(Record::Site(site)) => self.allocated(process, AllocationRecord::Site(site)),
                Ok(Record::Freed(freed)) => self.blocks.freed(process, &freed),
                Ok(Record::Wait(told)) => wait = Some(self.wait(process, &told)),
                Ok(Record::Sample {
                    head,
                    frames,
                    python,
                }) => {
                    let wait = wait.take();
                    if !self.sample(process, &head, (frames, python), wait, false) {
                        self.waiting.push(Waiting {
                            process,
                            head,
                            words: [frames, python].concat().into(),
                            wait,
                            file: StringId::default(),
                            allocated: None,
                            tellings: 0,
                        });
                    }
                }
                // It would take the modules' tables, and who has them has used it.
                Ok(Record::Again(_)) => {}
                Err(error) => {
                    let note = format!("part of the buffer was unreadable: {error}");
                    self.event(Event::Note(note));
                }
            }
        }
        if self.held_back.len() >= HELD_BACK && self.clock.is_known() {
            self.let_go(u64::MAX);
        }
    }

    /// The sample that was just taken in was in a system call on a file.
    fn call(&mut self, process: u32, call: &Call) {
        let ((program, ..), _) = self.program(process);
        let Some(file) = program.files.get(call.descriptor, call.clock) else {
            return;
        };
        let waiting = self.waiting.last_mut();
        let waiting = waiting.filter(|it| it.process == process && it.head.clock == call.clock);
        let taken = self.held_back.last_mut();
        match (waiting, taken) {
            (Some(waiting), _) => waiting.file = file,
            (None, Some(sample)) if sample.clock == call.clock => sample.file = file,
            _ => {}
        }
    }

    /// The place that stands for what a thread waits for.
    fn wait(&mut self, process: u32, told: &Wait<'_>) -> LocationId {
        let ((program, ..), profile) = self.program(process);
        program.waits.place(profile, told)
    }

    /// Whether the sample could be taken in.
    fn sample(
        &mut self,
        process: u32,
        head: &SampleHead,
        (frames, python): (&[u64], &[u64]),
        wait: Option<LocationId>,
        at_once: bool,
    ) -> bool {
        let most = self.most_stacks;
        let ((program, _, numbers), profile) = self.program(process);
        let stacks = &mut program.stacks;
        let own = stacks.own_frames(head, frames, python);
        let is_cut = own < frames.len();
        let frames = frames.get(..own).unwrap_or(frames);
        let head = &SampleHead {
            end: if is_cut { End::Root } else { head.end },
            ..*head
        };
        let is_empty = frames.is_empty() && python.is_empty();
        let stack = match wait {
            Some(wait) if is_empty => profile.stacks.intern(None, wait),
            _ => {
                let stack = stacks.intern(profile, head, frames, python, at_once, most);
                let Some(stack) = stack else { return false };
                match wait {
                    Some(wait) => waiting(profile, stack, wait, most),
                    None => stack,
                }
            }
        };
        let (id, generates) = (program.id, program.generates);
        if program.is_resumed {
            adopt(program, profile, head.thread, head.tid);
        }
        let (thread, task) = program.people.of(profile, numbers, head, |task| {
            program.stacks.task_name(task)
        });
        let is_allocation = head.state == profundo_wire::State::Allocating;
        match head.end {
            // What is lost of these is no time.
            _ if is_allocation => {}
            End::Truncated => profile.meta.loss.truncated += 1,
            End::Broken | End::FramePointerUnknown => profile.meta.loss.broken += 1,
            _ => match head.python_end {
                profundo_wire::PythonEnd::Whole => {}
                profundo_wire::PythonEnd::Truncated => profile.meta.loss.truncated += 1,
                profundo_wire::PythonEnd::Broken => profile.meta.loss.broken += 1,
            },
        }
        let sample = Sample {
            time: NO_TIME,
            weight: Nanos(head.weight),
            clock: head.clock,
            thread,
            task,
            stack,
            state: state(head.state),
            gil: gil(head.gil),
            ..Sample::default()
        };
        match is_allocation {
            true => self.allocating = Some(sample),
            false if self.clock.is_before(head.clock) => {}
            false => self.held_back.push(sample),
        }
        if generates {
            let seen = self
                .extents
                .entry(stack)
                .or_insert((head.clock, head.clock));
            *seen = (seen.0.min(head.clock), seen.1.max(head.clock));
        }
        if !python.is_empty() {
            self.generated.walked.insert(id);
        }
        true
    }

    fn tell_time(&mut self, now: Instant) {
        let was_known = self.clock.is_known();
        self.clock.learn(now);
        let elapsed = self.clock.since_start(now.cycles);
        let meta = &mut self.profile.meta;
        meta.duration = meta.duration.max(elapsed);
        self.retry();
        if self.clock.is_known() {
            self.let_go(self.told);
            if !was_known {
                self.settle_times();
            }
        }
        self.told = now.cycles;
        self.give_back();
    }

    /// Tries again what waits for a code object.
    fn retry(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain_mut(|sample| {
            sample.tellings += 1;
            let (frames, python) = sample.words.split_at(usize::from(sample.head.frames));
            let at_once = sample.tellings > PATIENCE;
            let words = (frames, python);
            let is_taken = self.sample(sample.process, &sample.head, words, sample.wait, at_once);
            match (is_taken, sample.allocated) {
                (true, Some(told)) => self.allocated(sample.process, told),
                (true, None) => {
                    if let Some(taken) = self.held_back.last_mut() {
                        taken.file = sample.file;
                    }
                }
                (false, _) => {}
            }
            !is_taken
        });
        self.waiting = waiting;
    }

    /// Appends the samples up to a time to the profile, in order.
    fn let_go(&mut self, upto: u64) {
        let clock = self.clock;
        let traffic = self.traffic.drain(..);
        let traffic = traffic.map(|(thread, told)| traffic_of(thread, &told, clock));
        self.profile.traffic.extend(traffic);
        self.blocks.let_go(clock, &mut self.profile.heap);
        self.gauges.let_go(clock, &mut self.profile.heap);
        if self.held_back.is_empty() {
            return;
        }
        // Each chunk is one thread's, in order; together they are merged by the clock they share.
        self.held_back.sort_by_key(|sample| sample.clock);
        let ripe = self
            .held_back
            .partition_point(|sample| sample.clock <= upto);
        self.profile
            .samples
            .extend(self.held_back.drain(..ripe).map(|sample| Sample {
                time: clock.since_start(sample.clock),
                ..sample
            }));
    }

    /// What the library's recording knows of its only process.
    pub(crate) fn people(&mut self, key: u32) -> (&mut People, &mut Profile, &mut Numbers) {
        let ((program, _, numbers), profile) = self.program(key);
        (&mut program.people, profile, numbers)
    }
}

impl Program {
    fn new(id: ProcessId, key: u32, is_single: bool) -> Self {
        let numbering = match (is_single, id.0 == 0) {
            (true, _) => Numbering::Own,
            (false, true) => Numbering::First,
            (false, false) => Numbering::Later,
        };
        let key = if is_single { 0 } else { key };
        Self {
            id,
            stacks: Stacks::default(),
            waits: Waits::default(),
            files: Files::default(),
            people: People::new(id, numbering, key),
            lost: LossCounts::default(),
            lost_cleared: LossCounts::default(),
            interpreter: None,
            started: 0,
            ended: None,
            is_resumed: false,
            generates: false,
            has_calls: false,
        }
    }
}

/// Lets a thread be the one that the profile had under the kernel's number.
fn adopt(program: &mut Program, profile: &Profile, number: u32, tid: u32) {
    if program.people.knows(number) {
        return;
    }
    let threads = profile.threads.iter();
    let known = threads.filter(|(_, row)| row.process == program.id && row.tid == tid);
    if let Some((id, row)) = known.last() {
        let root = profile.tasks.find_number(root_task_of(row.number));
        let is_named = row.name != StringId::default();
        program.people.adopt(number, id, root, (tid, is_named));
    }
}

fn energy(used: recording::EnergyUsed) -> Energy {
    let zone = |zone: recording::ZoneUsed| EnergyZone {
        name: zone.name,
        microjoules: zone.microjoules,
        is_counted: zone.is_counted,
    };
    Energy {
        zones: used.zones.into_iter().map(zone).collect(),
        duration: Nanos(used.duration),
        machine_cpu: Nanos(used.machine_cpu),
        program_cpu: Nanos(used.program_cpu),
    }
}

fn meta(start: &Start) -> Meta {
    let engine = match start.engine {
        recording::Engine::PerfSignal => Engine::PerfSignal,
        recording::Engine::CpuTimer => Engine::CpuTimer,
        recording::Engine::PerfRing => Engine::PerfRing,
        recording::Engine::ProcPoll => Engine::ProcPoll,
        recording::Engine::Wall => Engine::Wall,
        recording::Engine::None => Engine::Unknown,
    };
    Meta {
        engine,
        kind: match engine == Engine::Wall || start.is_wall {
            true => SampleKind::Wall,
            false => SampleKind::Cpu,
        },
        period: Nanos(start.period),
        started_at_unix: start.started.unix,
        ..Meta::default()
    }
}

//! What readers fill: tables by the names that files use, rows of samples, sites and calls. It
//! makes the profile.

use profundo_model::{
    Amount, Call, Clock, CodeAddress, FrameId, FrameKey, Language, LocationId, LocationKind, Many,
    Module, ModuleId, Nanos, Process, ProcessId, Profile, Role, Sample, SampleKind, Site, StackId,
    State, StringId, Task, TaskId, Thread, ThreadId, Tracing,
};
use rustc_hash::FxHashMap;

use crate::code::julia;
use crate::{Warning, language_of};

/// A profile in the making.
#[derive(Debug, Default)]
pub struct Builder {
    /// The profile, for what has no method here.
    pub profile: Profile,
    warnings: Vec<Warning>,
    processes: FxHashMap<u32, ProcessId>,
    threads: FxHashMap<(u32, u64), ThreadId>,
    /// The first module of each path.
    modules: FxHashMap<StringId, ModuleId>,
    /// Locations of several frames.
    inlined: FxHashMap<(Box<[FrameId]>, Option<ModuleId>), LocationId>,
    /// The samples behind each row of the profile.
    samples: Vec<u64>,
    /// Whether all rows have a place in time.
    timed: Timed,
    /// The sums of all weights, and of the samples behind all rows.
    weight: u64,
    count: u64,
    left_out: FxHashMap<&'static str, (u64, String)>,
}

/// The largest sum of all weights, 36 years of nanoseconds: sums over it stay within 64 bits.
const MOST: u64 = 1 << 60;

/// The rows that have a place in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Timed {
    /// All of them, so far.
    #[default]
    All,
    /// Some rows have no time.
    Some,
}

/// A function at a line, as a file names it. Unknown parts are empty, or 0.
#[derive(Debug, Clone, Copy, Default)]
pub struct Named<'a> {
    /// The bare name.
    pub function: &'a str,
    /// The name with its parameters, where both are known.
    pub signature: &'a str,
    /// The path of the file.
    pub file: &'a str,
    /// The line.
    pub line: u32,
    /// The language, where the file says it; by default that of the name and the path.
    pub language: Option<Language>,
    /// Whether it was inlined into the next outer frame.
    pub is_inlined: bool,
}

/// A row of samples with one stack.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The stack.
    pub stack: StackId,
    /// The thread; [`Builder::only_thread`] where the file has none.
    pub thread: ThreadId,
    /// Nanoseconds, or a number of events.
    pub weight: u64,
    /// The number of samples that it stands for: 1 for a sample as it was taken.
    pub samples: u64,
    /// The time when it was taken, in nanoseconds on any clock; `None` for sums.
    pub time: Option<u64>,
    /// The activity of the thread.
    pub state: State,
}

impl Builder {
    /// Adds a gap of the file.
    pub fn warn(&mut self, warning: Warning) {
        self.warnings.push(warning);
    }

    /// Counts something that does not fit the format. `what` is in the plural, `first` the place.
    pub fn leave_out(&mut self, what: &'static str, first: impl FnOnce() -> String) {
        let row = self.left_out.entry(what);
        row.or_insert_with(|| (0, first())).0 += 1;
    }

    /// Adds a sentence for the reader.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.profile.meta.notes.contains(&note) {
            self.profile.meta.notes.push(note);
        }
    }

    /// Sets the quantity of the samples. Events have a name, unless they are samples.
    pub fn weighs(&mut self, kind: SampleKind, event: &str) {
        self.profile.meta.kind = kind;
        self.profile.meta.event = event.to_owned();
    }

    /// Says that the weights of samples are numbers of events of this name, all of which were
    /// counted.
    pub fn counts(&mut self, event: &str) {
        self.weighs(SampleKind::Events, event);
        self.profile.meta.period = Nanos(1);
    }

    /// The id of a frame.
    pub fn frame(&mut self, named: Named<'_>) -> FrameId {
        let Named {
            function,
            signature,
            file,
            line,
            language,
            is_inlined,
        } = named;
        let language = language.unwrap_or_else(|| language_of(function, file));
        let package = (language == Language::Julia).then(|| julia::short_path(file));
        let (prefix, rest) = match package.flatten() {
            Some((package, rest)) => (format!("@{package}"), rest),
            None => (String::new(), ""),
        };
        self.profile.frame(FrameKey {
            function,
            signature,
            file,
            prefix: &prefix,
            rest,
            line,
            language,
            inlined: is_inlined,
        })
    }

    /// The location of a function.
    pub fn location(&mut self, named: Named<'_>) -> LocationId {
        let frame = self.frame(named);
        self.location_of(frame, None)
    }

    /// The location of a frame alone.
    pub fn location_of(&mut self, frame: FrameId, module: Option<ModuleId>) -> LocationId {
        let kind = LocationKind::Invented(u64::from(frame.0) + 1);
        let id = self.profile.locations.intern(kind, module);
        if self.profile.locations.get(id).frames.is_empty() {
            self.profile.locations.set_frames(id, &[frame]);
        }
        id
    }

    /// The location of a function with others inlined into it: the innermost first, the function
    /// itself last.
    pub fn inlined(&mut self, frames: &[FrameId], module: Option<ModuleId>) -> LocationId {
        if let [frame] = *frames {
            return self.location_of(frame, module);
        }
        if let Some(&id) = self.inlined.get(&(frames.into(), module)) {
            return id;
        }
        // Beyond the numbers of frames.
        let number = (1 << 32) + self.inlined.len() as u64;
        let kind = LocationKind::Invented(number);
        let id = self.profile.locations.intern(kind, module);
        self.profile.locations.set_frames(id, frames);
        self.inlined.insert((frames.into(), module), id);
        id
    }

    /// The location of an address that has no name yet.
    pub fn address(&mut self, address: CodeAddress, module: Option<ModuleId>) -> LocationId {
        let kind = LocationKind::Code(address);
        self.profile.locations.intern(kind, module)
    }

    /// The module of a path.
    pub fn module(&mut self, path: &str) -> ModuleId {
        let name = self.profile.strings.intern(path);
        if let Some(&id) = self.modules.get(&name) {
            return id;
        }
        self.add_module(Module {
            path: name,
            role: Role::of_path(path),
            ..Module::default()
        })
    }

    /// A file with this build id that lies in memory, with the number to subtract from addresses
    /// there. It is a new module each time.
    pub fn mapped_module(&mut self, path: &str, build_id: &[u8], bias: u64) -> ModuleId {
        let path_id = self.profile.strings.intern(path);
        self.add_module(Module {
            path: path_id,
            bias,
            build_id: build_id.to_owned(),
            role: Role::of_path(path),
            ..Module::default()
        })
    }

    /// Adds a module. [`Builder::module`] is the first one of its path.
    pub fn add_module(&mut self, module: Module) -> ModuleId {
        let path = module.path;
        let id = self.profile.modules.push(module);
        self.modules.entry(path).or_insert(id);
        id
    }

    /// A location called from a stack.
    pub fn stack(&mut self, parent: Option<StackId>, location: LocationId) -> StackId {
        self.profile.stacks.intern(parent, location)
    }

    /// The stack of these locations, the outermost first.
    pub fn stack_of(&mut self, locations: impl IntoIterator<Item = LocationId>) -> Option<StackId> {
        let stacks = &mut self.profile.stacks;
        let push = |parent, location| Some(stacks.intern(parent, location));
        locations.into_iter().fold(None, push)
    }

    /// The process with this number. A name that comes later is its name.
    pub fn process(&mut self, pid: u32, command: &str) -> ProcessId {
        let profile = &mut self.profile;
        let id = *self.processes.entry(pid).or_insert_with(|| {
            profile.processes.push(Process {
                pid,
                ..Process::default()
            });
            ProcessId::from_index(profile.processes.len() - 1)
        });
        if !command.is_empty() {
            let command = self.profile.strings.intern(command);
            self.profile.processes[id.index()].command = command;
        }
        id
    }

    /// The thread with this number in its process. A name that comes later is its name.
    pub fn thread(&mut self, pid: u32, tid: u64, name: &str) -> ThreadId {
        let process = self.process(pid, "");
        let profile = &mut self.profile;
        let number = profile.threads.len() as u64 + 1;
        let id = *self.threads.entry((pid, tid)).or_insert_with(|| {
            profile.threads.push(Thread {
                number,
                // Numbers that are no kernel's are left out.
                tid: u32::try_from(tid).unwrap_or(0),
                process,
                ..Thread::default()
            })
        });
        if !name.is_empty() {
            let name = self.profile.strings.intern(name);
            self.profile.threads.get_mut(id).name = name;
        }
        id
    }

    /// The thread of a file that has none.
    pub fn only_thread(&mut self) -> ThreadId {
        self.thread(0, 0, "")
    }

    /// Adds a row of samples. One of no weight is left out, but where it was taken at an instant.
    pub fn sample(&mut self, row: Row) {
        if row.weight == 0 && row.time.is_none() {
            return;
        }
        if row.time.is_none() {
            self.timed = Timed::Some;
        }
        let (weight, samples) = (
            row.weight.min(MOST - self.weight),
            row.samples.clamp(1, (MOST - self.count).max(1)),
        );
        if (weight, samples) != (row.weight, row.samples.max(1)) {
            self.leave_out("values", || format!("{}", row.weight));
        }
        self.weight += weight;
        self.count = (self.count + samples).min(MOST);
        self.samples.push(samples);
        self.profile.samples.push(Sample {
            time: Nanos(row.time.unwrap_or(0)),
            weight: Nanos(weight),
            thread: row.thread,
            stack: row.stack,
            state: row.state,
            ..Sample::default()
        });
    }

    /// Makes this a profile of counted calls, with times by this clock.
    pub fn begin_calls(&mut self, clock: Clock) {
        self.weighs(SampleKind::Traced, "");
        self.profile.traced.tracing = Tracing::Calls;
        self.profile.traced.clock = clock;
        self.profile.meta.lacks_times = true;
    }

    /// Adds the calls of a function in one place of the tree, with a sample of their own time.
    /// Those without own time have one, too: calls and samples stay in step.
    pub fn call(&mut self, mut call: Call) {
        let own = call.own.0.min(MOST - self.weight);
        if own != call.own.0 {
            self.leave_out("values", || format!("{}", call.own.0));
        }
        self.weight += own;
        call.own = Nanos(own);
        self.samples.push(1);
        self.profile.samples.push(Sample {
            weight: call.own,
            thread: call.thread,
            stack: call.stack,
            ..Sample::default()
        });
        self.profile.traced.calls.push(call);
    }

    /// Adds the memory of a stack: what is in use, and all that was allocated. Where a file has
    /// only the first, that is all that is known to have been allocated.
    pub fn site_in_use(
        &mut self,
        process: ProcessId,
        stack: StackId,
        in_use: Amount,
        allocated: Amount,
    ) {
        let allocated = Amount {
            count: allocated.count.max(in_use.count),
            bytes: allocated.bytes.max(in_use.bytes),
        };
        let sites = &mut self.profile.heap.sites;
        sites.push(Site {
            process,
            stack,
            allocated,
            freed: Amount {
                count: allocated.count - in_use.count,
                bytes: allocated.bytes - in_use.bytes,
            },
            number: u32::try_from(sites.len()).unwrap_or(u32::MAX),
            ..Site::default()
        });
    }

    /// The earliest time of a row so far.
    pub(crate) fn first_time(&self) -> Option<u64> {
        self.profile
            .samples
            .iter()
            .map(|sample| sample.time.0)
            .min()
    }

    /// The profile and the gaps.
    pub(crate) fn finish(mut self) -> (Profile, Vec<Warning>) {
        self.limit_sites();
        self.give_tasks();
        self.give_times();
        self.give_period();
        self.gather();
        for (what, (count, first)) in std::mem::take(&mut self.left_out) {
            self.warnings.push(Warning::LeftOut { count, what, first });
        }
        if self.profile.processes.is_empty() {
            self.profile.processes.push(Process::default());
        }
        if Process::mend_parents(&mut self.profile.processes) > 0 {
            self.note(
                "some processes would be their own ancestors: they are shown without a parent",
            );
        }
        (self.profile, self.warnings)
    }

    /// The sums over all sites stay within 64 bits, too.
    fn limit_sites(&mut self) {
        let mut left = [[MOST; 2]; 4];
        let mut limited = false;
        let mut limit = |amount: &mut Amount, left: &mut [u64; 2]| {
            let (bytes, count) = (amount.bytes.min(left[0]), amount.count.min(left[1]));
            limited |= (bytes, count) != (amount.bytes, amount.count);
            (amount.bytes, amount.count) = (bytes, count);
            *left = [left[0] - bytes, left[1] - count];
        };
        for site in &mut self.profile.heap.sites {
            limit(&mut site.allocated, &mut left[0]);
            limit(&mut site.freed, &mut left[1]);
            limit(&mut site.temporary, &mut left[2]);
            limit(&mut site.at_peak, &mut left[3]);
        }
        if limited {
            self.leave_out("amounts of memory", || "larger than any memory".to_owned());
        }
    }

    /// Each thread has its root task, which no format knows of.
    fn give_tasks(&mut self) {
        let profile = &mut self.profile;
        if !profile.tasks.is_empty() {
            return;
        }
        let roots: Vec<TaskId> = (profile.threads.iter())
            .map(|(_, thread)| Task {
                number: thread.number,
                is_root: true,
                ..Task::default()
            })
            .map(|task| profile.tasks.push(task))
            .collect();
        let root = |thread: ThreadId| roots.get(thread.index()).copied().unwrap_or_default();
        for sample in &mut profile.samples {
            sample.task = root(sample.thread);
        }
        for span in &mut profile.spans.each {
            span.task = root(span.thread);
        }
        for mark in &mut profile.spans.marks {
            mark.task = root(mark.thread);
        }
        for block in &mut profile.heap.blocks {
            block.task = roots[block.thread.index()];
        }
    }

    /// Times begin at 0 and grow; sums have none. Spans and marks have the clock of the samples.
    fn give_times(&mut self) {
        let profile = &mut self.profile;
        if self.timed == Timed::Some {
            profile.meta.lacks_times = true;
            profile
                .samples
                .iter_mut()
                .for_each(|row| row.time = Nanos(0));
            return;
        }
        let spans = &mut profile.spans;
        let named = (spans.each.iter().map(|span| span.from.0))
            .chain(spans.marks.iter().map(|mark| mark.time.0));
        let times = profile.samples.iter().map(|sample| sample.time.0);
        let ends = times.chain(named).fold(None, |ends, time| {
            let (first, last) = ends.unwrap_or((time, time));
            Some((time.min(first), time.max(last)))
        });
        let Some((first, last)) = ends else {
            return;
        };
        for span in &mut spans.each {
            span.from.0 -= first;
            span.to = span.to.map(|to| Nanos(to.0.saturating_sub(first)));
        }
        for mark in &mut spans.marks {
            mark.time.0 -= first;
        }
        if profile.meta.duration.0 == 0 {
            profile.meta.duration = Nanos(last - first);
        }
        for sample in &mut profile.samples {
            sample.time.0 -= first;
        }
        if !profile.samples.is_sorted_by_key(|sample| sample.time) {
            let mut rows: Vec<(Sample, u64)> = (profile
                .samples
                .iter()
                .copied()
                .zip(self.samples.iter().copied()))
            .collect();
            rows.sort_by_key(|(sample, _)| sample.time);
            (profile.samples, self.samples) = rows.into_iter().unzip();
        }
    }

    /// The usual weight of a sample, where the file does not say it.
    fn give_period(&mut self) {
        let meta = &mut self.profile.meta;
        if meta.period.0 > 0 || !matches!(meta.kind, SampleKind::Cpu | SampleKind::Wall) {
            return;
        }
        let weights = self.profile.samples.iter().map(|sample| sample.weight.0);
        let weight = weights.fold(0, u64::saturating_add);
        let samples = (self.samples.iter().copied()).fold(0, u64::saturating_add);
        meta.period = Nanos(weight / samples.max(1));
    }

    /// Rows that stand for several samples, and rows without times.
    fn gather(&mut self) {
        let profile = &mut self.profile;
        let is_gathered = profile.meta.lacks_times || self.samples.iter().any(|&many| many > 1);
        if !is_gathered {
            return;
        }
        let is_time = matches!(profile.meta.kind, SampleKind::Cpu | SampleKind::Wall);
        let rows = profile.samples.iter().zip(&self.samples);
        profile.gathered.rows = rows
            .map(|(sample, &samples)| {
                let weight = sample.weight.0;
                Many {
                    samples,
                    count: if is_time { samples } else { weight },
                    squares: weight as f64 * weight as f64 / samples as f64,
                    merged: 0,
                    last: sample.time,
                }
            })
            .collect();
    }
}

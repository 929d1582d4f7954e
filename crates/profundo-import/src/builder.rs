//! What readers fill: tables by the names that files use, rows of samples, sites and calls. It makes
//! the profile.

use profundo_model::{
    CodeAddress, FrameId, FrameKey, Language, LocationId, LocationKind, Many, ModuleId, Nanos,
    Process, ProcessId, Profile, Sample, SampleKind, StackId, State, Task, TaskId, Thread,
    ThreadId,
};
use rustc_hash::FxHashMap;

use crate::{Warning, language_of};

/// A profile in the making.
#[derive(Debug, Default)]
pub struct Builder {
    /// The profile, for what has no method here.
    pub profile: Profile,
    warnings: Vec<Warning>,
    processes: FxHashMap<u32, ProcessId>,
    threads: FxHashMap<(u32, u64), ThreadId>,
    modules: FxHashMap<Box<str>, ModuleId>,
    /// Locations of several frames.
    inlined: FxHashMap<(Box<[FrameId]>, Option<ModuleId>), LocationId>,
    /// The samples behind each row of the profile.
    samples: Vec<u64>,
    /// Whether all rows have a place in time.
    timed: Timed,
    left_out: FxHashMap<&'static str, (u64, String)>,
}

/// The rows that have a place in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Timed {
    /// All of them, so far.
    #[default]
    All,
    /// Not all.
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
        self.profile.frame(FrameKey {
            function,
            signature,
            file,
            line,
            language,
            inlined: is_inlined,
            ..FrameKey::default()
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
        if let Some(&id) = self.modules.get(path) {
            return id;
        }
        let id = self.profile.hand_made_module(path);
        self.modules.insert(path.into(), id);
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
        self.samples.push(row.samples.max(1));
        self.profile.samples.push(Sample {
            time: Nanos(row.time.unwrap_or(0)),
            weight: Nanos(row.weight),
            thread: row.thread,
            stack: row.stack,
            state: row.state,
            ..Sample::default()
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
        (self.profile, self.warnings)
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
        for sample in &mut profile.samples {
            sample.task = roots[sample.thread.index()];
        }
        for block in &mut profile.heap.blocks {
            block.task = roots[block.thread.index()];
        }
    }

    /// Times begin at 0 and grow; sums have none.
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
        let times = || profile.samples.iter().map(|sample| sample.time.0);
        let (Some(first), Some(last)) = (times().min(), times().max()) else {
            return;
        };
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

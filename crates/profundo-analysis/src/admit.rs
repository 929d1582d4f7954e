//! The samples that a filter passes, worked out once for each thread, task and stack, so that a
//! sample costs a few look-ups.

use profundo_model::{
    FrameId, Gil, Nanos, ProcessId, Profile, Sample, SpanId, StackId, Task, TaskId, Thread,
    ThreadId,
};

use crate::filter::{LabelChoice, ProcessChoice, SpanChoice, TaskChoice, ThreadChoice};
use crate::transform::{By, matching};
use crate::{Filter, pattern};

/// A filter, worked out for a profile.
pub(crate) struct Admitted {
    /// By thread.
    threads: Vec<bool>,
    /// By task.
    tasks: Vec<bool>,
    /// By path of spans, where spans matter.
    spans: Option<Vec<bool>>,
    /// By stack, where stacks matter.
    stacks: Option<Vec<bool>>,
    /// By process.
    processes: Vec<bool>,
    /// Whether only processes and stacks matter.
    is_timeless: bool,
    from: u64,
    to: u64,
    /// The states of the interpreter's lock, where they matter.
    gil: Vec<Gil>,
}

impl Admitted {
    pub(crate) fn new(profile: &Profile, filter: &Filter) -> Self {
        let processes = processes(profile, filter);
        let programs = profile.programs();
        // A thread has a row in each program of its process. Its number is that of the last.
        let has_number = |id: ThreadId, thread: &Thread, is_meant: &dyn Fn(u64) -> bool| {
            is_meant(thread.number) || is_meant(profile.threads.get(programs.thread(id)).number)
        };
        let is_named = |id: ThreadId, thread: &Thread| {
            let name = profile.strings.get(thread.name);
            filter.named_threads.is_empty()
                || filter.named_threads.iter().any(|choice| match choice {
                    &ThreadChoice::Number(number) => {
                        has_number(id, thread, &|its| its == number)
                            || u64::from(thread.tid) == number
                                && profile.threads.find_number(number).is_none()
                    }
                    ThreadChoice::Name(pattern) => pattern.is_in(name),
                })
        };
        let threads = profile.threads.iter().map(|(id, thread)| {
            has_number(id, thread, &|its| filter.threads.contains(its))
                && processes
                    .get(thread.process.index())
                    .copied()
                    .unwrap_or(true)
                && is_named(id, thread)
        });
        let is_named = |task: &Task| {
            let name = profile.strings.get(task.name);
            filter.named_tasks.is_empty()
                || filter.named_tasks.iter().any(|choice| match choice {
                    &TaskChoice::Number(number) => task.number == number,
                    TaskChoice::Name(pattern) => pattern.is_in(name),
                })
        };
        let tasks = (profile.tasks.iter())
            .map(|(_, task)| filter.tasks.contains(task.number) && is_named(task));
        Self {
            threads: threads.collect(),
            tasks: tasks.collect(),
            spans: spans(profile, filter),
            stacks: stacks(profile, filter),
            is_timeless: filter.is_timeless(),
            from: filter.from.map_or(0, |time| time.0),
            to: filter.to.map_or(u64::MAX, |time| time.0),
            gil: filter.gil.clone(),
            processes,
        }
    }

    pub(crate) fn thread(&self, thread: ThreadId) -> bool {
        self.threads[thread.index()]
    }

    pub(crate) fn sample(&self, sample: &Sample) -> bool {
        (self.gil.is_empty() || self.gil.contains(&sample.gil))
            && self.span(sample.span)
            && self.at(sample.thread, sample.task, sample.time, sample.stack)
    }

    /// Whether an event of a thread passes. The state of the interpreter's lock is unknown then: if
    /// the filter names one, it does not.
    pub(crate) fn event(
        &self,
        thread: ThreadId,
        task: TaskId,
        time: Nanos,
        stack: StackId,
        span: SpanId,
    ) -> bool {
        self.gil.is_empty() && self.span(span) && self.at(thread, task, time, stack)
    }

    fn at(&self, thread: ThreadId, task: TaskId, time: Nanos, stack: StackId) -> bool {
        self.threads[thread.index()]
            && self.tasks[task.index()]
            && (self.from..self.to).contains(&time.0)
            && self.stack(stack)
    }

    /// Whether an event of a thread passes, whatever its task and its span: if the filter names
    /// one, it does not.
    pub(crate) fn by_thread(&self, thread: ThreadId, time: Nanos, stack: StackId) -> bool {
        self.gil.is_empty()
            && self.spans.is_none()
            && self.tasks.iter().all(|passes| *passes)
            && self.threads[thread.index()]
            && (self.from..self.to).contains(&time.0)
            && self.stack(stack)
    }

    /// Whether a sum of a process on a stack passes, whatever its thread and time: if the filter
    /// names a thread or a time, it does not.
    pub(crate) fn sum(&self, process: ProcessId, stack: StackId) -> bool {
        self.is_timeless
            && self.processes.get(process.index()).copied().unwrap_or(true)
            && self.stack(stack)
    }

    /// Whether a path of spans passes.
    pub(crate) fn span(&self, span: SpanId) -> bool {
        (self.spans.as_ref()).is_none_or(|spans| spans[span.index()])
    }

    /// Whether a sum of spans passes, whatever its task: if the filter names a task, it does not.
    pub(crate) fn sum_of_spans(
        &self,
        process: ProcessId,
        thread: Option<ThreadId>,
        span: SpanId,
    ) -> bool {
        let by_thread = match thread {
            Some(thread) => self.threads[thread.index()],
            // Those of several threads pass where all do.
            None => self.threads.iter().all(|passes| *passes),
        };
        by_thread
            && self.processes.get(process.index()).copied().unwrap_or(true)
            && self.tasks.iter().all(|passes| *passes)
            && self.span(span)
    }

    /// The times that pass.
    pub(crate) fn times(&self) -> (u64, u64) {
        (self.from, self.to)
    }

    /// Whether a span passes by its thread, its task and its path.
    pub(crate) fn owner(&self, thread: ThreadId, task: TaskId, span: SpanId) -> bool {
        self.threads[thread.index()] && self.tasks[task.index()] && self.span(span)
    }

    fn stack(&self, stack: StackId) -> bool {
        (self.stacks.as_ref()).is_none_or(|stacks| stacks[stack.index()])
    }
}

/// By process, whether it passes.
pub(crate) fn processes(profile: &Profile, filter: &Filter) -> Vec<bool> {
    let is_meant = |process: &profundo_model::Process| {
        filter.processes.is_empty()
            || filter.processes.iter().any(|choice| match choice {
                &ProcessChoice::Pid(pid) => process.pid == pid,
                ProcessChoice::Command(pattern) => {
                    pattern.is_in(profile.strings.get(process.command))
                }
            })
    };
    let rows = (0..).map(ProcessId::from_index).zip(&profile.processes);
    rows.map(|(id, process)| has_labels(profile, id, &filter.labels) && is_meant(process))
        .collect()
}

/// Whether a process has, of each key that is named, one of the values.
fn has_labels(profile: &Profile, process: ProcessId, labels: &[LabelChoice]) -> bool {
    let is_there = |choice: &LabelChoice| {
        let key = profile.strings.find(&choice.key);
        let value = key.and_then(|key| profile.label_of(process, key));
        value.is_some_and(|value| choice.is_value(profile.strings.get(value)))
    };
    labels.iter().all(|wanted| {
        let mut of_this_key = labels.iter().filter(|choice| choice.key == wanted.key);
        of_this_key.any(is_there)
    })
}

/// By path of spans, whether it passes: it or one around it is meant. `None`: all do.
fn spans(profile: &Profile, filter: &Filter) -> Option<Vec<bool>> {
    if filter.spans.is_empty() {
        return None;
    }
    let mut passing: Vec<bool> = Vec::with_capacity(profile.spans.paths.len());
    for (_, path) in profile.spans.paths.iter() {
        let around = path.parent.is_some_and(|parent| passing[parent.index()]);
        let is_outside = passing.is_empty();
        let is_meant = |choice: &SpanChoice| choice.is_path(profile, path);
        passing.push(around || !is_outside && filter.spans.iter().any(is_meant));
    }
    Some(passing)
}

/// By stack, whether it passes. `None`: all do.
pub(crate) fn stacks(profile: &Profile, filter: &Filter) -> Option<Vec<bool>> {
    if let Some(left_out) = filter.transformed {
        let stacks = 0..profile.stacks.len();
        return Some(stacks.map(|index| index != left_out.index()).collect());
    }
    let mut passing: Option<Vec<bool>> = None;
    let mut add = |stacks: Vec<bool>| match &mut passing {
        Some(passing) => {
            for (passes, also) in passing.iter_mut().zip(stacks) {
                *passes &= also;
            }
        }
        None => passing = Some(stacks),
    };
    if !filter.files.is_empty() {
        let files = pattern::files(profile, &filter.files);
        let frames = profile.frames.iter().map(|frame| files[frame.file.index()]);
        add(with_any(profile, &frames.collect::<Vec<bool>>()));
    }
    if !filter.functions.is_empty() {
        let mut frames = vec![false; profile.frames.len()];
        for pattern in &filter.functions {
            for (frame, meant) in frames.iter_mut().zip(pattern::functions(profile, pattern)) {
                *frame |= meant;
            }
        }
        add(with_any(profile, &frames));
    }
    if !filter.focus.is_empty() {
        add(through_any(
            profile,
            &matching(profile, &filter.focus, By::Any),
        ));
    }
    if !filter.ignore.is_empty() {
        let ignored = through_any(profile, &matching(profile, &filter.ignore, By::Any));
        add(ignored.into_iter().map(|is_ignored| !is_ignored).collect());
    }
    passing
}

/// By stack, whether any of these frames is on it.
fn with_any(profile: &Profile, frames: &[bool]) -> Vec<bool> {
    let is_meant = |frame: &FrameId| frames[frame.index()];
    let locations: Vec<bool> = (profile.locations.iter())
        .map(|(_, location)| location.frames.iter().any(is_meant))
        .collect();
    through_any(profile, &locations)
}

/// By stack, whether any of these locations is on it. A caller is stored before its callees.
fn through_any(profile: &Profile, locations: &[bool]) -> Vec<bool> {
    let mut stacks: Vec<bool> = Vec::with_capacity(profile.stacks.len());
    for stack in profile.stacks.iter() {
        let above = stack
            .parent
            .is_some_and(|caller: StackId| stacks[caller.index()]);
        stacks.push(above || locations[stack.location.index()]);
    }
    stacks
}

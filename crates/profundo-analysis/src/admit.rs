//! Which samples a filter lets through, worked out once for each thread, task and stack, so that
//! a sample costs a few look-ups.

use profundo_model::{
    FrameId, Nanos, ProcessId, Profile, Sample, StackId, Task, TaskId, Thread, ThreadId,
};

use crate::filter::{ProcessChoice, TaskChoice, ThreadChoice};
use crate::{Filter, pattern};

/// A filter, worked out for a profile.
pub(crate) struct Admitted {
    /// By thread.
    threads: Vec<bool>,
    /// By task.
    tasks: Vec<bool>,
    /// By stack, where stacks matter.
    stacks: Option<Vec<bool>>,
    /// By process.
    processes: Vec<bool>,
    /// Whether only processes and stacks matter.
    is_timeless: bool,
    from: u64,
    to: u64,
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
            stacks: stacks(profile, filter),
            is_timeless: filter.is_timeless(),
            from: filter.from.map_or(0, |it| it.0),
            to: filter.to.map_or(u64::MAX, |it| it.0),
            processes,
        }
    }

    pub(crate) fn thread(&self, thread: ThreadId) -> bool {
        self.threads[thread.index()]
    }

    pub(crate) fn sample(&self, sample: &Sample) -> bool {
        self.event(sample.thread, sample.task, sample.time, sample.stack)
    }

    /// Whether what a thread did passes.
    pub(crate) fn event(
        &self,
        thread: ThreadId,
        task: TaskId,
        time: Nanos,
        stack: StackId,
    ) -> bool {
        self.threads[thread.index()]
            && self.tasks[task.index()]
            && (self.from..self.to).contains(&time.0)
            && self.stack(stack)
    }

    /// Whether what a thread did passes, in whichever task: if somebody asks for one, it is not known to.
    pub(crate) fn by_thread(&self, thread: ThreadId, time: Nanos, stack: StackId) -> bool {
        self.tasks.iter().all(|passes| *passes)
            && self.threads[thread.index()]
            && (self.from..self.to).contains(&time.0)
            && self.stack(stack)
    }

    /// Whether what a process did on a stack passes, whichever of its threads did it and when: if
    /// somebody asks for a thread or a time, it is not known to.
    pub(crate) fn sum(&self, process: ProcessId, stack: StackId) -> bool {
        self.is_timeless
            && self.processes.get(process.index()).copied().unwrap_or(true)
            && self.stack(stack)
    }

    fn stack(&self, stack: StackId) -> bool {
        (self.stacks.as_ref()).is_none_or(|stacks| stacks[stack.index()])
    }
}

/// By process, whether it passes.
pub(crate) fn processes(profile: &Profile, filter: &Filter) -> Vec<bool> {
    let passes = |process: &profundo_model::Process| {
        filter.processes.is_empty()
            || filter.processes.iter().any(|choice| match choice {
                &ProcessChoice::Pid(pid) => process.pid == pid,
                ProcessChoice::Command(pattern) => {
                    pattern.is_in(profile.strings.get(process.command))
                }
            })
    };
    profile.processes.iter().map(passes).collect()
}

/// By stack, whether it passes.
fn stacks(profile: &Profile, filter: &Filter) -> Option<Vec<bool>> {
    let in_files = (!filter.files.is_empty()).then(|| {
        let files = pattern::files(profile, &filter.files);
        let frames = profile.frames.iter().map(|frame| files[frame.file.index()]);
        with_any(profile, &frames.collect::<Vec<bool>>())
    });
    let in_functions = (!filter.functions.is_empty()).then(|| {
        let mut frames = vec![false; profile.frames.len()];
        for pattern in &filter.functions {
            for (frame, meant) in frames.iter_mut().zip(pattern::functions(profile, pattern)) {
                *frame |= meant;
            }
        }
        with_any(profile, &frames)
    });
    match (in_files, in_functions) {
        (Some(mut files), Some(functions)) => {
            for (stack, function) in files.iter_mut().zip(functions) {
                *stack &= function;
            }
            Some(files)
        }
        (files, functions) => files.or(functions),
    }
}

/// By stack, whether any of these frames is on it. A caller is stored before what it calls.
fn with_any(profile: &Profile, frames: &[bool]) -> Vec<bool> {
    let is_meant = |frame: &FrameId| frames[frame.index()];
    let locations: Vec<bool> = (profile.locations.iter())
        .map(|(_, location)| location.frames.iter().any(is_meant))
        .collect();
    let mut stacks: Vec<bool> = Vec::with_capacity(profile.stacks.len());
    for stack in profile.stacks.iter() {
        let above = stack
            .parent
            .is_some_and(|caller: StackId| stacks[caller.index()]);
        stacks.push(above || locations[stack.location.index()]);
    }
    stacks
}

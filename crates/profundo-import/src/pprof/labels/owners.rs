//! Processes, threads and tasks by what labels say of them. Any part may be missing, and those that
//! are there tell them apart.

use std::borrow::Cow;

use profundo_model::{Process, ProcessId, StringId, Task, TaskId, Thread, ThreadId};
use rustc_hash::FxHashMap;

use crate::Builder;

/// The owners so far.
#[derive(Debug, Default)]
pub(super) struct Owners {
    processes: FxHashMap<(u32, StringId), ProcessId>,
    threads: FxHashMap<ThreadKey, ThreadId>,
    tasks: FxHashMap<(u64, StringId), TaskId>,
    /// Tasks before their rows are made: those of the threads come first.
    named: Vec<Task>,
}

/// The identity of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ThreadKey {
    process: ProcessId,
    number: u64,
    tid: u64,
    /// Threads without numbers differ by their names.
    name: StringId,
}

/// What labels say.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted<'a> {
    pub pid: Option<u32>,
    pub process: Cow<'a, str>,
    pub tid: Option<u64>,
    pub number: Option<u64>,
    pub thread: Cow<'a, str>,
    pub task_number: Option<u64>,
    pub task: Cow<'a, str>,
}

impl Owners {
    /// The thread and the task. The task's id is that of [`Owners::finish`].
    pub(super) fn get(
        &mut self,
        builder: &mut Builder,
        wanted: &Wanted<'_>,
    ) -> (ThreadId, Option<TaskId>) {
        let is_threadless = wanted.pid.is_none()
            && wanted.process.is_empty()
            && wanted.tid.is_none()
            && wanted.number.is_none()
            && wanted.thread.is_empty();
        let thread = match is_threadless {
            true => builder.only_thread(),
            false => self.thread(builder, wanted),
        };
        let task = wanted.task_number.map(|number| {
            // Ours have their numbers for names where they have no other.
            let name = match *wanted.task == *format!("{number:#x}") {
                true => "",
                false => &wanted.task,
            };
            let name = builder.profile.strings.intern(name);
            *self.tasks.entry((number, name)).or_insert_with(|| {
                self.named.push(Task {
                    number,
                    name,
                    ..Task::default()
                });
                TaskId::from_index(self.named.len() - 1)
            })
        });
        (thread, task)
    }

    fn thread(&mut self, builder: &mut Builder, wanted: &Wanted<'_>) -> ThreadId {
        let process = self.process(builder, wanted);
        let number = wanted.number.unwrap_or(0);
        // Ours have their numbers for names where they have no other.
        let name = match number > 0 && *wanted.thread == *format!("thread {number}") {
            true => "",
            false => wanted.thread.trim(),
        };
        let profile = &mut builder.profile;
        let name = profile.strings.intern(name);
        let tid = wanted.tid.unwrap_or(0);
        let key = ThreadKey {
            process,
            number,
            tid,
            name: match (number, tid) {
                (0, 0) => name,
                _ => StringId::default(),
            },
        };
        *self.threads.entry(key).or_insert_with(|| {
            let next = profile.threads.len() as u64 + 1;
            profile.threads.push(Thread {
                number: if number > 0 { number } else { next },
                // Numbers that are no kernel's are left out.
                tid: u32::try_from(tid).unwrap_or(0),
                name,
                process,
                ..Thread::default()
            })
        })
    }

    fn process(&mut self, builder: &mut Builder, wanted: &Wanted<'_>) -> ProcessId {
        let profile = &mut builder.profile;
        let command = profile.strings.intern(wanted.process.trim());
        let pid = wanted.pid.unwrap_or(0);
        *self.processes.entry((pid, command)).or_insert_with(|| {
            profile.processes.push(Process {
                pid,
                command,
                ..Process::default()
            });
            ProcessId::from_index(profile.processes.len() - 1)
        })
    }

    /// Makes the rows of tasks, where there are any: each thread has its root task, and behind
    /// those stand the named ones.
    pub(super) fn finish(self, builder: &mut Builder) {
        if self.named.is_empty() {
            return;
        }
        let profile = &mut builder.profile;
        for (_, thread) in profile.threads.iter() {
            profile.tasks.push(Task {
                number: thread.number,
                is_root: true,
                ..Task::default()
            });
        }
        for task in self.named {
            profile.tasks.push(task);
        }
    }
}

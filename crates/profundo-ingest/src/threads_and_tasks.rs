//! The threads and tasks of one process, by the numbers in its records.

use profundo_model::{Nanos, ProcessId, Profile, StringId, Task, TaskId, Thread, ThreadId};
use profundo_wire::recording::ThreadInfo;
use profundo_wire::{SampleHead, ThreadNameHead, python_task, python_task_code};
use rustc_hash::FxHashMap;

/// The thread number under which parked tasks are shown: Julia's choice, above any real one.
pub const PARKED: u64 = 32768;

/// Threads that the recorder has not announced have numbers from here on: this plus the kernel's.
const UNTOLD: u32 = 1 << 31;

/// Numbers of root tasks begin here: thread 1's own task is this plus one. No wrapped task, no
/// thread and no real address has such a number.
const ROOT_TASK: u64 = 0xF0F0_0000_0000;

/// The numbers that threads have in reports: unique in the recording, as they are met. Number 1
/// is kept for the main thread of the first process.
#[derive(Debug)]
pub(crate) struct Numbers {
    next: u64,
}

impl Numbers {
    /// The numbers that a profile has left.
    pub(crate) fn after(profile: &Profile) -> Self {
        let used = profile.threads.iter().map(|(_, thread)| thread.number);
        let used = used.filter(|&number| number != PARKED).max();
        Self {
            next: used.unwrap_or(1).max(1) + 1,
        }
    }

    fn take(&mut self) -> u64 {
        // No thread may be taken for "no thread".
        self.next += u64::from(self.next == PARKED);
        self.next += 1;
        self.next - 1
    }
}

/// How threads of a process are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// As in their records: the only process.
    Own,
    /// In the recording as a whole, from 1.
    First,
    /// In the recording as a whole, after others.
    Later,
}

/// The threads and tasks of a process.
#[derive(Debug)]
pub(crate) struct People {
    process: ProcessId,
    numbering: Numbering,
    /// Told apart from the tasks of other processes by this.
    tag: u64,
    /// Whether an earlier half of the recording may have its tasks.
    is_resumed: bool,
    threads: FxHashMap<u32, Row>,
    /// By the kernel's number of threads, the one that has had it last.
    by_tid: FxHashMap<u32, u32>,
    /// The first thread that was met.
    first: Option<ThreadId>,
    tasks: FxHashMap<u64, TaskId>,
    /// What the program calls tasks, as far as it calls them anything.
    task_names: FxHashMap<u64, Box<str>>,
    /// What is known of threads that no record has yet.
    strangers: FxHashMap<u32, ThreadInfo>,
    /// How long threads had been alive, had run and had waited for the interpreter's lock when that was forgotten.
    cleared: FxHashMap<u32, [u64; 3]>,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    id: ThreadId,
    root: Option<TaskId>,
    /// Whether its name is the one that the interpreter has for it, or was known before: what the
    /// kernel has for it is no news then.
    is_named: bool,
}

impl People {
    pub(crate) fn new(process: ProcessId, numbering: Numbering, key: u32) -> Self {
        Self {
            process,
            numbering,
            tag: u64::from(key.saturating_sub(1)) << 48,
            is_resumed: false,
            threads: FxHashMap::default(),
            by_tid: FxHashMap::default(),
            first: None,
            tasks: FxHashMap::default(),
            task_names: FxHashMap::default(),
            strangers: FxHashMap::default(),
            cleared: FxHashMap::default(),
        }
    }

    /// What is known of a thread that may never be met in a record. A process that has run for
    /// long has met many that are long gone.
    pub(crate) fn stranger(&mut self, info: &ThreadInfo) {
        self.strangers.insert(info.number, info.clone());
    }

    /// A thread was met, or more is known of it.
    pub(crate) fn tell(
        &mut self,
        profile: &mut Profile,
        numbers: &mut Numbers,
        info: &ThreadInfo,
        gil_wait: Option<u64>,
    ) {
        let row = self.row(profile, numbers, info.number, info.tid);
        let name = profile.strings.intern(&info.name);
        let thread = profile.threads.get_mut(row.id);
        let before = std::mem::replace(&mut thread.tid, info.tid);
        if before != info.tid {
            note_tid(&mut self.by_tid, info.number, info.tid);
        }
        if !info.name.is_empty() && !row.is_named {
            thread.name = name;
        }
        let [alive, cpu, waited] = self.cleared.get(&info.number).copied().unwrap_or_default();
        thread.alive = Some(Nanos(info.alive.saturating_sub(alive)));
        thread.cpu = Some(Nanos(info.cpu.saturating_sub(cpu)));
        thread.gil_wait = gil_wait.map(|it| Nanos(it.saturating_sub(waited)));
        if let Some(task) = row.root {
            profile.tasks.get_mut(task).name = thread.name;
        }
    }

    /// Forgets how long threads have been alive and have run so far.
    pub(crate) fn clear(&mut self, profile: &mut Profile) {
        for (&number, row) in &self.threads {
            let thread = profile.threads.get_mut(row.id);
            let so_far = [&mut thread.alive, &mut thread.cpu, &mut thread.gil_wait];
            let before = self.cleared.entry(number).or_default();
            for (before, so_far) in before.iter_mut().zip(so_far) {
                if let Some(so_far) = so_far {
                    *before += std::mem::take(&mut so_far.0);
                }
            }
        }
    }

    /// The interpreter has a name for a thread.
    pub(crate) fn name(
        &mut self,
        profile: &mut Profile,
        numbers: &mut Numbers,
        head: &ThreadNameHead,
        name: &str,
    ) {
        if name.is_empty() {
            return;
        }
        let row = self.row(profile, numbers, head.thread, head.tid);
        let name = profile.strings.intern(name);
        profile.threads.get_mut(row.id).name = name;
        if let Some(task) = row.root {
            profile.tasks.get_mut(task).name = name;
        }
        let is_named = true;
        self.threads.insert(head.thread, Row { is_named, ..row });
    }

    /// What the interpreter calls a thread.
    pub(crate) fn call(
        &mut self,
        profile: &mut Profile,
        (thread, task): (ThreadId, TaskId),
        name: &str,
    ) {
        let name = profile.strings.intern(name);
        profile.threads.get_mut(thread).name = name;
        profile.tasks.get_mut(task).name = name;
        for row in self.threads.values_mut().filter(|row| row.id == thread) {
            row.is_named = true;
        }
    }

    /// What a task that was wrapped is called and where it was made, if a record has it.
    pub(crate) fn task_is(&mut self, profile: &mut Profile, number: u64, name: &str, at: &str) {
        if let Some(&id) = self.tasks.get(&number) {
            let name = profile.strings.intern(name);
            let spawned_at = profile.strings.intern(at);
            let task = profile.tasks.get_mut(id);
            (task.name, task.spawned_at) = (name, spawned_at);
        }
    }

    /// The program has a name for a task.
    pub(crate) fn task_name(&mut self, profile: &mut Profile, number: u64, name: Box<str>) {
        let is_full = self.task_names.len() >= MOST_TASKS;
        if name.is_empty() || is_full || self.task_names.contains_key(&number) {
            return;
        }
        if let Some(&task) = self.tasks.get(&number) {
            let coroutine = profile.strings.get(profile.tasks.get(task).name);
            let both = both_names(&name, coroutine);
            let both = profile.strings.intern(&both);
            profile.tasks.get_mut(task).name = both;
        }
        self.task_names.insert(number, name);
    }

    /// The thread and the task of a record. Thread 0 without a kernel's number stands for "no
    /// thread": a parked task's samples. With one, it is a thread that the process's agent has not
    /// numbered: it has just begun, or has ended. Outside any wrapped task it is the thread's own root task. `name` names a task
    /// that is new.
    pub(crate) fn of(
        &mut self,
        profile: &mut Profile,
        numbers: &mut Numbers,
        head: &SampleHead,
        name: impl FnOnce(u64) -> Option<StringId>,
    ) -> (ThreadId, TaskId) {
        let is_unnumbered = head.thread == 0 && head.tid != 0 && head.task == 0;
        if is_unnumbered && self.numbering != Numbering::Own {
            return self.by_tid(profile, numbers, head.tid);
        }
        let row = self.row(profile, numbers, head.thread, head.tid);
        let task = match (head.task, row.root) {
            (0, Some(task)) => task,
            (0, None) => self.root(profile, head.thread, row),
            (number, _) => self.wrapped(profile, number, name),
        };
        (row.id, task)
    }

    /// Their process.
    pub(crate) fn process(&self) -> ProcessId {
        self.process
    }

    /// A thread by the kernel's number of it, and its own task. 0: the first that there is.
    pub(crate) fn by_tid(
        &mut self,
        profile: &mut Profile,
        numbers: &mut Numbers,
        tid: u32,
    ) -> (ThreadId, TaskId) {
        // Numbers of threads that have ended are used again.
        let known = match tid {
            0 => self.threads.keys().min().copied(),
            _ => self.number_of(profile, tid),
        };
        let number = known.unwrap_or(UNTOLD | tid);
        let row = self.row(profile, numbers, number, tid);
        let task = match row.root {
            Some(task) => task,
            None => self.root(profile, number, row),
        };
        (row.id, task)
    }

    /// A thread by its number; where that is not known any more, by the kernel's, and if nothing was
    /// heard of it either, the first of its process.
    pub(crate) fn thread(
        &mut self,
        profile: &mut Profile,
        numbers: &mut Numbers,
        (number, tid): (u32, u32),
    ) -> ThreadId {
        if number == 0 && !self.is_resumed {
            let last = self.number_of(profile, tid);
            let last = last.and_then(|number| self.threads.get(&number));
            if let Some(id) = last.map(|row| row.id).or(self.first) {
                return id;
            }
        }
        let process = self.process;
        let own = || (profile.threads.iter()).filter(|(_, row)| row.process == process);
        let known = match number {
            0 => own()
                .filter(|(_, row)| row.tid == tid)
                .last()
                .or_else(|| own().next()),
            _ => None,
        };
        match known {
            Some((id, _)) => id,
            None => self.row(profile, numbers, number, tid).id,
        }
    }

    /// The last thread that had one of the kernel's numbers.
    fn number_of(&self, profile: &Profile, tid: u32) -> Option<u32> {
        let number = *self.by_tid.get(&tid)?;
        let row = self.threads.get(&number)?;
        (profile.threads.get(row.id).tid == tid).then_some(number)
    }

    fn row(&mut self, profile: &mut Profile, numbers: &mut Numbers, number: u32, tid: u32) -> Row {
        if let Some(&row) = self.threads.get(&number) {
            return row;
        }
        // It was met before it was announced.
        if tid != 0
            && number != 0
            && let Some(row) = self.threads.remove(&(UNTOLD | tid))
        {
            self.threads.insert(number, row);
            // It had a higher number.
            self.by_tid.insert(tid, number);
            return row;
        }
        let shown = match (number, self.numbering) {
            (0, _) => PARKED,
            (_, Numbering::Own) => u64::from(number),
            (1, Numbering::First) => 1,
            _ => numbers.take(),
        };
        let mut thread = Thread {
            number: shown,
            tid,
            process: self.process,
            ..Thread::default()
        };
        if let Some(info) = self.strangers.get(&number) {
            thread.tid = info.tid;
            thread.name = profile.strings.intern(&info.name);
            thread.alive = Some(Nanos(info.alive));
            thread.cpu = Some(Nanos(info.cpu));
        } else if number == 0 {
            thread.tid = 0;
            thread.name = profile.strings.intern("no thread");
        }
        note_tid(&mut self.by_tid, number, thread.tid);
        let id = profile.threads.push(thread);
        self.first.get_or_insert(id);
        let row = Row {
            id,
            root: None,
            is_named: false,
        };
        self.threads.insert(number, row);
        row
    }

    /// Whether a record or an account of the thread was met.
    pub(crate) fn knows(&self, number: u32) -> bool {
        self.threads.contains_key(&number)
    }

    /// A thread that an earlier half of the recording has, perhaps with a name.
    pub(crate) fn adopt(
        &mut self,
        number: u32,
        id: ThreadId,
        root: Option<TaskId>,
        (tid, is_named): (u32, bool),
    ) {
        self.is_resumed = true;
        note_tid(&mut self.by_tid, number, tid);
        self.threads
            .entry(number)
            .or_insert(Row { id, root, is_named });
    }

    fn root(&mut self, profile: &mut Profile, number: u32, row: Row) -> TaskId {
        let thread = profile.threads.get(row.id);
        let (name, shown) = (thread.name, thread.number);
        let shown = if number == 0 { 0 } else { shown };
        let task = profile.tasks.push(Task {
            number: ROOT_TASK + shown,
            name,
            is_root: true,
            ..Task::default()
        });
        let root = Some(task);
        self.threads.insert(number, Row { root, ..row });
        task
    }

    /// The number by which a task is known: where there are very many, all later ones of one coroutine
    /// are one, for they must not fill the memory.
    fn told_apart(&self, number: u64) -> u64 {
        match python_task_code(number) {
            0 => number,
            _ if self.tasks.len() < MOST_TASKS || self.tasks.contains_key(&number) => number,
            code => python_task(code, 0, 0),
        }
    }

    fn wrapped(
        &mut self,
        profile: &mut Profile,
        number: u64,
        name: impl FnOnce(u64) -> Option<StringId>,
    ) -> TaskId {
        let number = self.told_apart(number);
        let shown = number.wrapping_add(self.tag);
        let is_resumed = self.is_resumed;
        *self.tasks.entry(number).or_insert_with(|| {
            let known = is_resumed.then(|| profile.tasks.find_number(shown));
            if let Some(id) = known.flatten() {
                return id;
            }
            let mut name = name(number).unwrap_or_default();
            if let Some(own) = self.task_names.get(&number) {
                let both = both_names(own, profile.strings.get(name));
                name = profile.strings.intern(&both);
            }
            profile.tasks.push(Task {
                number: shown,
                name,
                ..Task::default()
            })
        })
    }
}

/// A thread has this one of the kernel's numbers. Of several, the one that was met last has it.
fn note_tid(by_tid: &mut FxHashMap<u32, u32>, number: u32, tid: u32) {
    if tid != 0 {
        let last = by_tid.entry(tid).or_insert(number);
        *last = number.max(*last);
    }
}

/// How many of a process's tasks are told apart. A server may make one for each request.
const MOST_TASKS: usize = 1 << 16;

/// What a task is shown as that the program calls `own`: with its coroutine, unless that says the
/// same or is there already.
fn both_names(own: &str, coroutine: &str) -> String {
    let has_both = coroutine
        .strip_prefix(own)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(" (") && rest.ends_with(')'));
    if has_both {
        return coroutine.to_owned();
    }
    if coroutine.is_empty() {
        return own.to_owned();
    }
    format!("{own} ({coroutine})")
}

/// The number of a thread's root task in reports.
pub(crate) fn root_task_of(thread: u64) -> u64 {
    ROOT_TASK + thread
}

//! The threads and tasks of one process, by the numbers in its records.

use profundo_model::{Nanos, ProcessId, Profile, StringId, Task, TaskId, Thread, ThreadId};
use profundo_wire::recording::ThreadInfo;
use profundo_wire::{SampleHead, ThreadNameHead, python_task, python_task_code};
use rustc_hash::FxHashMap;

/// The number of the thread for parked tasks: Julia's choice, above any real one.
pub const PARKED: u64 = 32768;

/// The numbers of unannounced threads: this plus the kernel's id.
const UNANNOUNCED: u32 = 1 << 31;

/// Numbers of root tasks begin here: thread 1's own task is this plus one. No wrapped task, no
/// thread and no real address has such a number.
const ROOT_TASK: u64 = 0xF0F0_0000_0000;

/// The numbers of threads in reports: unique in the recording, in the order of arrival. Number 1 is
/// kept for the main thread of the first process.
#[derive(Debug)]
pub(crate) struct Numbers {
    next: u64,
    /// In a recording in pieces, the numbers of this piece's threads by the keys of their processes
    /// and their own numbers there, and those of the piece before.
    given: FxHashMap<(u32, u32), u64>,
    given_before: FxHashMap<(u32, u32), u64>,
    is_piece: bool,
}

impl Numbers {
    /// The free numbers after those of a profile.
    pub(crate) fn after(profile: &Profile) -> Self {
        let used = profile.threads.iter().map(|(_, thread)| thread.number);
        let used = used.filter(|&number| number != PARKED).max();
        Self {
            next: used.unwrap_or(1).max(1) + 1,
            given: FxHashMap::default(),
            given_before: FxHashMap::default(),
            is_piece: false,
        }
    }

    /// The numbers of a recording's first piece.
    pub(crate) fn in_pieces(&mut self) {
        self.is_piece = true;
    }

    /// The numbers of the next piece: a thread that is in both keeps its number.
    pub(crate) fn next_piece(&mut self) -> Self {
        Self {
            next: self.next,
            given: FxHashMap::default(),
            given_before: std::mem::take(&mut self.given),
            is_piece: true,
        }
    }

    /// The number of a thread that has none yet in this profile.
    fn of(&mut self, key: u32, thread: u32) -> u64 {
        if !self.is_piece {
            return self.take();
        }
        let known = self.given.get(&(key, thread)).copied();
        let known = known.or_else(|| self.given_before.get(&(key, thread)).copied());
        let number = known.unwrap_or_else(|| self.take());
        self.given.insert((key, thread), number);
        number
    }

    fn take(&mut self) -> u64 {
        // No thread may get the number for "no thread".
        self.next += u64::from(self.next == PARKED);
        self.next += 1;
        self.next - 1
    }
}

/// The numbering of a process's threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// The numbers of the records: for the only process.
    AsRecorded,
    /// Numbers of the whole recording, from 1.
    First,
    /// Numbers of the whole recording, after those of others.
    Later,
}

/// The threads and tasks of a process.
#[derive(Debug)]
pub(crate) struct Threads {
    process: ProcessId,
    key: u32,
    numbering: Numbering,
    /// Distinguishes its tasks from those of other processes.
    tag: u64,
    /// Whether its tasks may be in the recording that is continued.
    is_resumed: bool,
    threads: FxHashMap<u32, Row>,
    /// By kernel id, the last thread that had it.
    by_tid: FxHashMap<u32, u32>,
    /// The first known thread.
    first: Option<ThreadId>,
    tasks: FxHashMap<u64, TaskId>,
    /// The program's own names for tasks, where it has any.
    task_names: FxHashMap<u64, Box<str>>,
    /// Announced threads without a record.
    expected: FxHashMap<u32, ThreadInfo>,
    /// The time that threads had lived, run and waited for the interpreter's lock at the last
    /// clearing.
    cleared: FxHashMap<u32, [u64; 3]>,
}

/// A thread in the profile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) id: ThreadId,
    /// Its root task, if it has one already.
    pub(crate) root: Option<TaskId>,
    /// Whether its name is the interpreter's, or was known before: the kernel's name does not
    /// replace it.
    pub(crate) is_named: bool,
}

impl Threads {
    pub(crate) fn new(process: ProcessId, numbering: Numbering, key: u32) -> Self {
        Self {
            process,
            key,
            numbering,
            tag: u64::from(key.saturating_sub(1)) << 48,
            is_resumed: false,
            threads: FxHashMap::default(),
            by_tid: FxHashMap::default(),
            first: None,
            tasks: FxHashMap::default(),
            task_names: FxHashMap::default(),
            expected: FxHashMap::default(),
            cleared: FxHashMap::default(),
        }
    }

    /// Takes in an announced thread that may never have a record. A process that has run for long
    /// has had many threads.
    pub(crate) fn expect(&mut self, info: &ThreadInfo) {
        self.expected.insert(info.number, info.clone());
    }

    /// Takes in a thread that is new, or of which more is known now.
    pub(crate) fn update(
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
        thread.gil_wait = gil_wait.map(|wait| Nanos(wait.saturating_sub(waited)));
        if let Some(task) = row.root {
            profile.tasks.get_mut(task).name = thread.name;
        }
    }

    /// Ignores the time that threads have lived and run so far.
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

    /// Takes in the interpreter's name for a thread.
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

    /// Sets the interpreter's name of a thread.
    pub(crate) fn set_name(
        &mut self,
        profile: &mut Profile,
        thread: ThreadId,
        task: TaskId,
        name: &str,
    ) {
        let name = profile.strings.intern(name);
        profile.threads.get_mut(thread).name = name;
        profile.tasks.get_mut(task).name = name;
        for row in self.threads.values_mut().filter(|row| row.id == thread) {
            row.is_named = true;
        }
    }

    /// Takes in the name and the origin of a wrapped task, if a record has it.
    pub(crate) fn describe_task(
        &mut self,
        profile: &mut Profile,
        number: u64,
        name: &str,
        at: &str,
    ) {
        if let Some(&id) = self.tasks.get(&number) {
            let name = profile.strings.intern(name);
            let spawned_at = profile.strings.intern(at);
            let task = profile.tasks.get_mut(id);
            (task.name, task.spawned_at) = (name, spawned_at);
        }
    }

    /// Takes in the program's name for a task.
    pub(crate) fn name_task(&mut self, profile: &mut Profile, number: u64, name: Box<str>) {
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

    /// The thread and the task of a record. Thread 0 without a kernel id stands for "no thread": a
    /// parked task's samples. With one, it is a thread that the process's agent has not numbered:
    /// it has just started, or has ended. Outside any wrapped task it is the thread's own root
    /// task. `name` names a task that is new.
    pub(crate) fn of_sample(
        &mut self,
        profile: &mut Profile,
        numbers: &mut Numbers,
        head: &SampleHead,
        name: impl FnOnce(u64) -> Option<StringId>,
    ) -> (ThreadId, TaskId) {
        let is_unnumbered = head.thread == 0 && head.tid != 0 && head.task == 0;
        if is_unnumbered && self.numbering != Numbering::AsRecorded {
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

    /// A thread by its kernel id, and its own task. 0: the first one.
    pub(crate) fn by_tid(
        &mut self,
        profile: &mut Profile,
        numbers: &mut Numbers,
        tid: u32,
    ) -> (ThreadId, TaskId) {
        // The kernel's ids are used again after the end of a thread.
        let known = match tid {
            0 => self.threads.keys().min().copied(),
            _ => self.number_of(profile, tid),
        };
        let number = known.unwrap_or(UNANNOUNCED | tid);
        let row = self.row(profile, numbers, number, tid);
        let task = match row.root {
            Some(task) => task,
            None => self.root(profile, number, row),
        };
        (row.id, task)
    }

    /// A thread by its number; if that is unknown, by its kernel id; if that is unknown, too, the
    /// first of its process.
    pub(crate) fn thread(
        &mut self,
        profile: &mut Profile,
        numbers: &mut Numbers,
        number: u32,
        tid: u32,
    ) -> ThreadId {
        if number == 0 && !self.is_resumed {
            let last = self.number_of(profile, tid);
            let last = last.and_then(|number| self.threads.get(&number));
            if let Some(id) = last.map(|row| row.id).or(self.first) {
                return id;
            }
        }
        let process = self.process;
        let known = || (profile.threads.iter()).filter(|(_, row)| row.process == process);
        let known = match number {
            0 => known()
                .filter(|(_, row)| row.tid == tid)
                .last()
                .or_else(|| known().next()),
            _ => None,
        };
        match known {
            Some((id, _)) => id,
            None => self.row(profile, numbers, number, tid).id,
        }
    }

    /// The last thread with a kernel id.
    fn number_of(&self, profile: &Profile, tid: u32) -> Option<u32> {
        let number = *self.by_tid.get(&tid)?;
        let row = self.threads.get(&number)?;
        (profile.threads.get(row.id).tid == tid).then_some(number)
    }

    fn row(&mut self, profile: &mut Profile, numbers: &mut Numbers, number: u32, tid: u32) -> Row {
        if let Some(&row) = self.threads.get(&number) {
            return row;
        }
        // Its records came before its announcement.
        if tid != 0
            && number != 0
            && let Some(row) = self.threads.remove(&(UNANNOUNCED | tid))
        {
            self.threads.insert(number, row);
            // It had a higher number.
            self.by_tid.insert(tid, number);
            return row;
        }
        let shown = match (number, self.numbering) {
            (0, _) => PARKED,
            (_, Numbering::AsRecorded) => u64::from(number),
            (1, Numbering::First) => 1,
            _ => numbers.of(self.key, number),
        };
        let mut thread = Thread {
            number: shown,
            tid,
            process: self.process,
            ..Thread::default()
        };
        if let Some(info) = self.expected.get(&number) {
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

    /// Whether the thread had a record or an announcement.
    pub(crate) fn knows(&self, number: u32) -> bool {
        self.threads.contains_key(&number)
    }

    /// Adds a thread of the recording that is continued, perhaps with a name.
    pub(crate) fn adopt(&mut self, number: u32, tid: u32, row: Row) {
        self.is_resumed = true;
        note_tid(&mut self.by_tid, number, tid);
        self.threads.entry(number).or_insert(row);
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

    /// The number for a task: where there are very many, all later ones of one coroutine share a
    /// number, for they must not fill the memory.
    fn kept_number(&self, number: u64) -> u64 {
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
        let number = self.kept_number(number);
        let shown = number.wrapping_add(self.tag);
        let is_resumed = self.is_resumed;
        *self.tasks.entry(number).or_insert_with(|| {
            let known = is_resumed.then(|| profile.tasks.find_number(shown));
            if let Some(id) = known.flatten() {
                return id;
            }
            let mut name = name(number).unwrap_or_default();
            if let Some(given) = self.task_names.get(&number) {
                let both = both_names(given, profile.strings.get(name));
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

/// Gives a kernel id to a thread. Of several, the latest one keeps it.
fn note_tid(by_tid: &mut FxHashMap<u32, u32>, number: u32, tid: u32) {
    if tid != 0 {
        let last = by_tid.entry(tid).or_insert(number);
        *last = number.max(*last);
    }
}

/// The limit of distinct tasks of a process. A server may make one for each request.
const MOST_TASKS: usize = 1 << 16;

/// The shown name of a task that the program calls `given`: with its coroutine, unless both are
/// equal or the name has it already.
fn both_names(given: &str, coroutine: &str) -> String {
    let has_both = coroutine
        .strip_prefix(given)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(" (") && rest.ends_with(')'));
    if has_both {
        return coroutine.to_owned();
    }
    if coroutine.is_empty() {
        return given.to_owned();
    }
    format!("{given} ({coroutine})")
}

/// The number of a thread's root task in reports.
pub(crate) fn root_task_of(thread: u64) -> u64 {
    ROOT_TASK + thread
}

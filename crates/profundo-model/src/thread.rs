//! Threads and the processes that they belong to.

use crate::{Nanos, OriginId, ProcessId, StringId, ThreadId};

/// One program in one process: a process that replaces itself by `exec` becomes another row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Process {
    /// The kernel's process id.
    pub pid: u32,
    /// The command line, joined by spaces.
    pub command: StringId,
    /// The process that started it, where that is in the recording too. For a program started by
    /// `exec`, the one that it replaced.
    pub parent: Option<ProcessId>,
    /// The time when it was first seen, since the start of the recording.
    pub started: Option<Nanos>,
    /// The time when it ended.
    pub ended: Option<Nanos>,
    /// The kind of its end.
    pub end: ProcessEnd,
    /// User time that it used, by the kernel's count.
    pub user: Option<Nanos>,
    /// System time that it used.
    pub system: Option<Nanos>,
    /// Its interpreter, such as `CPython 3.12.1`; empty where there is none.
    pub runtime: StringId,
    /// The names of its environment variables, never their values.
    pub environment: Vec<StringId>,
    /// Its own labels, such as its container, where all processes of a machine were recorded. No
    /// key occurs twice.
    pub labels: Vec<(StringId, StringId)>,
    /// The recording that it comes from, where the profile has several or this one has labels.
    pub origin: Option<OriginId>,
}

impl Process {
    /// Drops missing parents and those of processes that are their own ancestors; to be called once
    /// all rows are known. Returns the number of dropped ones.
    pub fn mend_parents(processes: &mut [Self]) -> usize {
        const NEW: u8 = 0;
        const ON_THE_WAY: u8 = 1;
        const SOUND: u8 = 2;
        let mut marks = vec![NEW; processes.len()];
        let mut dropped = 0;
        for start in 0..processes.len() {
            let mut path = Vec::new();
            let mut at = start;
            while marks[at] == NEW {
                marks[at] = ON_THE_WAY;
                path.push(at);
                let Some(parent) = processes[at].parent else {
                    break;
                };
                if marks
                    .get(parent.index())
                    .is_none_or(|&mark| mark == ON_THE_WAY)
                {
                    processes[at].parent = None;
                    dropped += 1;
                    break;
                }
                at = parent.index();
            }
            path.into_iter().for_each(|row| marks[row] = SOUND);
        }
        dropped
    }
}

/// The kind of a program's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ProcessEnd {
    /// Unknown, or not ended.
    #[default]
    Unknown,
    /// An exit with this code.
    Exited(u8),
    /// Killed by this signal.
    Killed(u8),
    /// By `exec`: the process goes on as another row.
    Replaced,
}

/// A thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Thread {
    /// The number that reports show and `threads` filters by: 1 is the main thread, the others are
    /// numbered in the order of their first samples. Never 0.
    pub number: u64,
    /// The kernel's thread id.
    pub tid: u32,
    /// The thread's name; Julia shows its pool here.
    pub name: StringId,
    /// Its process.
    pub process: ProcessId,
    /// Its lifetime during the recording, where known.
    pub alive: Option<Nanos>,
    /// Its CPU time during the recording by the kernel's count, where known.
    pub cpu: Option<Nanos>,
    /// Its wait for the interpreter's lock, where known.
    pub gil_wait: Option<Nanos>,
}

/// Threads by id.
#[derive(Debug, Clone, Default)]
pub struct ThreadTable {
    threads: Vec<Thread>,
}

impl ThreadTable {
    /// Adds a thread.
    pub fn push(&mut self, thread: Thread) -> ThreadId {
        self.threads.push(thread);
        ThreadId::from_index(self.threads.len() - 1)
    }

    /// The row of `id`.
    pub fn get(&self, id: ThreadId) -> &Thread {
        &self.threads[id.index()]
    }

    /// The row of `id`, to complete it.
    pub fn get_mut(&mut self, id: ThreadId) -> &mut Thread {
        &mut self.threads[id.index()]
    }

    /// The first thread with this number.
    pub fn find_number(&self, number: u64) -> Option<ThreadId> {
        self.threads
            .iter()
            .position(|thread| thread.number == number)
            .map(ThreadId::from_index)
    }

    /// The number of threads.
    pub fn len(&self) -> usize {
        self.threads.len()
    }

    /// True if there are no threads.
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// All rows in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (ThreadId, &Thread)> {
        self.threads
            .iter()
            .enumerate()
            .map(|(i, row)| (ThreadId::from_index(i), row))
    }
}

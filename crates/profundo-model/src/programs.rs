//! Which rows are one process. A process that becomes another program by `exec` has a row for each
//! program, so that time can be counted by program; its main thread goes on, and has a row for each
//! program as well.

use crate::{ProcessId, Profile, ThreadId};

/// The programs of each process, and the threads that are one thread of the kernel's.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    /// By program, the first and the last program of its process.
    firsts: Vec<ProcessId>,
    lasts: Vec<ProcessId>,
    /// By program, the number of programs that its process was before.
    befores: Vec<u32>,
    /// By thread, its row in the last program of its process.
    threads: Vec<ThreadId>,
    processes: usize,
}

impl Programs {
    /// The first program of the process that `program` belongs to.
    pub fn first(&self, program: ProcessId) -> ProcessId {
        self.firsts.get(program.index()).copied().unwrap_or(program)
    }

    /// The last program of the process that `program` belongs to: the process is named after it.
    pub fn last(&self, program: ProcessId) -> ProcessId {
        self.lasts.get(program.index()).copied().unwrap_or(program)
    }

    /// The number of programs that the process was before it became `program`.
    pub fn before(&self, program: ProcessId) -> u32 {
        self.befores.get(program.index()).copied().unwrap_or(0)
    }

    /// The row of the same thread in the last program of its process.
    pub fn thread(&self, thread: ThreadId) -> ThreadId {
        self.threads.get(thread.index()).copied().unwrap_or(thread)
    }

    /// The number of processes.
    pub fn processes(&self) -> usize {
        self.processes
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        let rows = self.threads.iter().enumerate();
        rows.filter(|(index, last)| *index == last.index()).count()
    }
}

impl Profile {
    /// The program that this one replaced by `exec`.
    pub fn program_before(&self, process: ProcessId) -> Option<ProcessId> {
        let process = self.processes.get(process.index())?;
        let before = process.parent?;
        let is_same = self.processes.get(before.index())?.pid == process.pid;
        is_same.then_some(before)
    }

    /// The rows that are one process, and the rows that are one thread.
    pub fn programs(&self) -> Programs {
        let ids = || (0..self.processes.len()).map(ProcessId::from_index);
        // Each program comes after one at most, and before one at most, so a path along them from a
        // program without a predecessor has an end.
        let mut next: Vec<Option<ProcessId>> = vec![None; self.processes.len()];
        for id in ids() {
            if let Some(before) = self.program_before(id) {
                next[before.index()] = Some(id);
            }
        }
        let follows = |id: ProcessId| {
            let before = self.program_before(id);
            before.is_some_and(|before| next[before.index()] == Some(id))
        };
        let mut found = Programs {
            firsts: ids().collect(),
            lasts: ids().collect(),
            befores: vec![0; self.processes.len()],
            ..Programs::default()
        };
        for first in ids().filter(|&id| !follows(id)) {
            let way = || std::iter::successors(Some(first), |id| next[id.index()]);
            let last = way().last().unwrap_or(first);
            for (before, id) in (0..).zip(way()) {
                found.firsts[id.index()] = first;
                found.lasts[id.index()] = last;
                found.befores[id.index()] = before;
            }
        }
        let is_last = |id: &ProcessId| found.last(*id) == *id;
        found.processes = ids().filter(is_last).count();
        found.threads = self.threads_that_go_on(&found);
        found
    }

    /// By thread, its row in the last program of its process. Of several threads, `exec` leaves the
    /// main thread.
    fn threads_that_go_on(&self, programs: &Programs) -> Vec<ThreadId> {
        let mut mains: Vec<Option<ThreadId>> = vec![None; self.processes.len()];
        for (id, thread) in self.threads.iter() {
            let process = thread.process.index();
            let is_main = (self.processes.get(process)).is_some_and(|row| row.pid == thread.tid);
            if is_main && let Some(main) = mains.get_mut(process) {
                main.get_or_insert(id);
            }
        }
        // By the last program: the main thread of the last program that has one.
        let mut lasts: Vec<Option<(u32, ThreadId)>> = vec![None; self.processes.len()];
        for (index, main) in mains.iter().enumerate() {
            let Some(main) = *main else { continue };
            let id = ProcessId::from_index(index);
            let last = &mut lasts[programs.last(id).index()];
            let of_this = (programs.before(id), main);
            *last = Some(last.map_or(of_this, |of_other| of_other.max(of_this)));
        }
        let last_of = |(id, thread): (ThreadId, &crate::Thread)| {
            let main = mains.get(thread.process.index()).copied().flatten();
            let last = main.filter(|&main| main == id).and_then(|_| {
                let last = programs.last(thread.process);
                lasts.get(last.index()).copied().flatten()
            });
            last.map_or(id, |(_, last)| last)
        };
        self.threads.iter().map(last_of).collect()
    }

    /// The number of processes. One that becomes another program by `exec` has a row for each, and
    /// is one process.
    pub fn process_count(&self) -> usize {
        self.programs().processes()
    }

    /// The number of threads. The main thread goes on when a process becomes another program.
    pub fn thread_count(&self) -> usize {
        self.programs().threads()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Process, ProcessId, Profile, Thread, ThreadId};

    fn profile(rows: &[(u32, Option<u32>)]) -> Profile {
        let mut profile = Profile::default();
        for (index, &(pid, parent)) in rows.iter().enumerate() {
            profile.processes.push(Process {
                pid,
                parent: parent.map(ProcessId),
                ..Process::default()
            });
            profile.threads.push(Thread {
                tid: pid,
                process: ProcessId::from_index(index),
                ..Thread::default()
            });
        }
        profile
    }

    #[test]
    fn programs_of_one_process_are_one_process() {
        // 7 becomes three programs, and has a child that becomes another program.
        let rows = [
            (7, None),
            (7, Some(0)),
            (8, Some(1)),
            (7, Some(1)),
            (8, Some(2)),
        ];
        let profile = profile(&rows);
        let programs = profile.programs();
        let lasts: Vec<u32> = (0..5).map(|id| programs.last(ProcessId(id)).0).collect();
        assert_eq!(lasts, [3, 3, 4, 3, 4]);
        let firsts: Vec<u32> = (0..5).map(|id| programs.first(ProcessId(id)).0).collect();
        assert_eq!(firsts, [0, 0, 2, 0, 2]);
        let befores: Vec<u32> = (0..5).map(|id| programs.before(ProcessId(id))).collect();
        assert_eq!(befores, [0, 1, 0, 2, 1]);
        let threads: Vec<u32> = (0..5).map(|id| programs.thread(ThreadId(id)).0).collect();
        assert_eq!(threads, [3, 3, 4, 3, 4]);
        assert_eq!((programs.processes(), programs.threads()), (2, 2));
    }

    #[test]
    fn rows_that_contradict_each_other_end() {
        // Each is the other's parent, and two claim to come after the same program.
        let rows = [
            (7, Some(1)),
            (7, Some(0)),
            (9, None),
            (9, Some(2)),
            (9, Some(2)),
        ];
        let programs = profile(&rows).programs();
        let lasts: Vec<u32> = (0..5).map(|id| programs.last(ProcessId(id)).0).collect();
        assert_eq!(lasts, [0, 1, 4, 3, 4]);
        assert_eq!(programs.processes(), 4);
    }
}

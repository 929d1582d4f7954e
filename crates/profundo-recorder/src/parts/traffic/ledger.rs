//! The bytes that threads read and write, by the kernel's counts of threads that have run.
//!
//! A thread that sleeps reads and writes nothing, so only threads that were given a CPU since their
//! last reading are read. After a thread has ended, the bytes since its last reading are only in
//! the process's count: the part of that count not yet attributed is attributed to the ended
//! thread. But the kernel adds the counts of reaped children to a process's count, and does not
//! separate them. So the count of a process that has reaped a child is not used until the end. Then
//! the part of the first process's count not attributed to any thread is what threads and children
//! did in their last moments, or in lives that were too short to be read.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;

use profundo_linux::io_counters::{Counters, read};

use crate::parts::Change;

/// The time for which changes of an ended process may still arrive, in nanoseconds.
const LATE: u64 = 2_000_000_000;

/// The number of files that are kept open, one for each thread that is read.
const MOST_OPEN: usize = 64;

/// The bytes that a thread has read and written within a stretch of monotonic time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The number of voluntary context switches.
    pub(crate) waits: u32,
    pub(crate) counters: Counters,
}

/// The counts of a whole process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Whole {
    pub(crate) counters: Counters,
    /// A number that grows with each reaped child, whose counts are then included.
    pub(crate) children: u64,
}

/// The source of the counts.
pub(crate) trait Counts {
    /// The counts of a thread.
    fn of_thread(&mut self, pid: u32, tid: u32) -> io::Result<Counters>;
    /// The counts of a process with all its threads, ended ones included.
    fn of_process(&mut self, pid: u32) -> io::Result<Whole>;
    /// Whether a thread runs, or waits for a CPU.
    fn runs(&mut self, pid: u32, tid: u32) -> bool;
    /// Forgets a thread that is not read again.
    fn forget(&mut self, tid: u32);
}

/// The threads and processes that are read.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    threads: HashMap<u32, Thread>,
    /// The threads to be read: of a thousand that sleep there is none.
    due: HashSet<u32>,
    processes: HashMap<u32, Process>,
    /// Processes that lost a thread since their whole count was last read.
    bereaved: HashSet<u32>,
    /// Ended processes, with the time of their ends: an unreaped one can still be read, and would
    /// be attributed all of its bytes once more.
    ended: HashMap<u32, u64>,
    /// The attributed counts of those.
    counted_of_ended: Counters,
    /// The kernel's refusal, if any.
    refused: Option<io::Error>,
}

#[derive(Debug)]
struct Thread {
    pid: u32,
    last: Counters,
    /// The time since which its bytes are not attributed.
    ran_since: Option<u64>,
    is_on: bool,
    waits: u32,
}

#[derive(Debug, Default)]
struct Process {
    /// The count of the process when it was first watched.
    before: Whole,
    /// The counts attributed since.
    counted: Counters,
    /// A thread that has ended since the whole count was last read, and the time of the thread's
    /// last reading.
    ended: Option<(u32, u64)>,
}

impl Ledger {
    /// Begins with existing threads; their earlier bytes are ignored.
    pub(crate) fn begin(&mut self, pid: u32, tids: &[u32], now: u64, counts: &mut impl Counts) {
        let before = match counts.of_process(pid) {
            Ok(before) => before,
            Err(error) => return self.note(error),
        };
        self.processes.insert(
            pid,
            Process {
                before,
                ..Process::default()
            },
        );
        for &tid in tids {
            match counts.of_thread(pid, tid) {
                Ok(last) => {
                    let thread = Thread {
                        // A sleeping thread is read once more, and then when it has been woken.
                        is_on: counts.runs(pid, tid),
                        ..Thread::new(pid, last, Some(now))
                    };
                    self.threads.insert(tid, thread);
                    self.due.insert(tid);
                }
                Err(error) => self.note(error),
            }
        }
    }

    /// Notes that a thread was given a CPU or left it.
    pub(crate) fn change(&mut self, pid: u32, tid: u32, change: Change, time: u64) {
        if self.ended.contains_key(&pid) {
            return;
        }
        let thread = self
            .threads
            .entry(tid)
            .or_insert_with(|| Thread::new(pid, Counters::default(), None));
        thread.pid = pid;
        self.due.insert(tid);
        thread.ran_since.get_or_insert(time);
        thread.is_on = change == Change::In;
        thread.waits += u32::from(change == Change::Out);
    }

    /// Changes were lost: every thread may have run, and is read once.
    pub(crate) fn lose_track(&mut self, now: u64) {
        for (&tid, thread) in &mut self.threads {
            self.due.insert(tid);
            thread.ran_since.get_or_insert(now);
        }
        // The bytes of threads that run unnoticed are attributed at their next reading.
        self.bereaved.clear();
        for process in self.processes.values_mut() {
            process.before.children = u64::MAX;
        }
    }

    /// Reads the threads that have run, from a random start on, while `goes_on` returns true.
    pub(crate) fn read(
        &mut self,
        now: u64,
        start: usize,
        counts: &mut impl Counts,
        mut goes_on: impl FnMut() -> bool,
        out: &mut Vec<Stretch>,
    ) {
        self.ended.retain(|_, &mut ended| now < ended + LATE);
        // Before the threads: bytes of the meantime must not be attributed twice.
        let bereaved = self.bereaved.iter();
        let bereaved: Vec<(u32, io::Result<Whole>)> =
            bereaved.map(|&pid| (pid, counts.of_process(pid))).collect();
        let mut tids: Vec<u32> = self.due.iter().copied().collect();
        let middle = start % tids.len().max(1);
        tids.rotate_left(middle);
        let mut is_complete = true;
        for tid in tids {
            if !goes_on() {
                is_complete = false;
                break;
            }
            self.read_thread(tid, now, counts, out);
        }
        // The unattributed bytes may belong to a thread that was not read.
        if is_complete {
            for (pid, all) in bereaved {
                self.attribute_rest(pid, all.ok(), now, out);
            }
        }
    }

    /// Attributes the rest of a program that has ended or was replaced.
    pub(crate) fn finish(
        &mut self,
        pid: u32,
        now: u64,
        counts: &mut impl Counts,
        out: &mut Vec<Stretch>,
    ) {
        let all = counts.of_process(pid).ok();
        let threads = self.threads.iter();
        let of_process = threads.filter(|(_, thread)| thread.pid == pid);
        let tids: Vec<u32> = of_process.map(|(&tid, _)| tid).collect();
        for tid in tids {
            self.read_thread(tid, now, counts, out);
        }
        if let Some(process) = self.processes.get_mut(&pid) {
            process.ended.get_or_insert((pid, now));
        }
        self.attribute_rest(pid, all, now, out);
    }

    /// At the end of the recording or of the first process: the bytes of the first process not yet
    /// attributed to a thread; their time is unknown.
    pub(crate) fn finish_first(
        &mut self,
        pid: u32,
        now: u64,
        counts: &mut impl Counts,
        out: &mut Vec<Stretch>,
    ) {
        let Ok(all) = counts.of_process(pid) else {
            return;
        };
        let mut counted = self.counted_of_ended;
        // Living processes are not in any other's count, but whether they live is known late.
        self.processes
            .values()
            .for_each(|process| counted.add(&process.counted));
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        let rest = all.counters.since(&process.before.counters).since(&counted);
        if rest == Counters::default() {
            return;
        }
        process.counted.add(&rest);
        out.push(Stretch {
            pid,
            tid: pid,
            from: now,
            to: now,
            waits: 0,
            counters: rest,
        });
    }

    /// Forgets a process that has ended: its number may be used again.
    pub(crate) fn forget(&mut self, pid: u32, now: u64, counts: &mut impl Counts) {
        self.ended.insert(pid, now);
        self.bereaved.remove(&pid);
        if let Some(process) = self.processes.remove(&pid) {
            self.counted_of_ended.add(&process.counted);
        }
        self.threads.retain(|&tid, thread| {
            if thread.pid == pid {
                counts.forget(tid);
                self.due.remove(&tid);
            }
            thread.pid != pid
        });
    }

    /// All watched processes.
    pub(crate) fn pids(&self) -> Vec<u32> {
        let mut pids: Vec<u32> = self.threads.values().map(|thread| thread.pid).collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    /// The kernel's refusal, if there was one since the last call.
    pub(crate) fn take_refused(&mut self) -> Option<io::Error> {
        self.refused.take()
    }

    fn note(&mut self, error: io::Error) {
        if !is_gone(&error) {
            self.refused.get_or_insert(error);
        }
    }

    fn read_thread(
        &mut self,
        tid: u32,
        now: u64,
        counts: &mut impl Counts,
        out: &mut Vec<Stretch>,
    ) {
        let Some(thread) = self.threads.get_mut(&tid) else {
            self.due.remove(&tid);
            return;
        };
        let Some(from) = thread.ran_since else { return };
        let pid = thread.pid;
        match counts.of_thread(pid, tid) {
            Ok(counters) => {
                // Smaller counts are those of another thread with the same number.
                let last = match counters.is_ahead_of(&thread.last) {
                    true => thread.last,
                    false => Counters::default(),
                };
                let more = counters.since(&last);
                thread.last = counters;
                thread.ran_since = thread.is_on.then_some(now);
                if !thread.is_on {
                    self.due.remove(&tid);
                }
                let waits = std::mem::take(&mut thread.waits);
                if more == Counters::default() {
                    return;
                }
                self.processes.entry(pid).or_default().counted.add(&more);
                out.push(Stretch {
                    pid,
                    tid,
                    from,
                    to: now,
                    waits,
                    counters: more,
                });
            }
            // There is no descriptor left for it at the moment.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => {}
            Err(error) => {
                counts.forget(tid);
                self.due.remove(&tid);
                if is_gone(&error) {
                    let process = self.processes.entry(pid).or_default();
                    process.ended.get_or_insert((tid, from));
                    self.bereaved.insert(pid);
                    self.threads.remove(&tid);
                } else {
                    thread.ran_since = None;
                    self.note(error);
                }
            }
        }
    }

    /// Attributes the unattributed part of a process's count to a thread that has ended.
    fn attribute_rest(&mut self, pid: u32, all: Option<Whole>, now: u64, out: &mut Vec<Stretch>) {
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        self.bereaved.remove(&pid);
        let Some((tid, from)) = process.ended.take() else {
            return;
        };
        let before = process.before;
        let Some(all) = all.filter(|all| all.children == before.children) else {
            return;
        };
        let rest = all.counters.since(&before.counters).since(&process.counted);
        if rest == Counters::default() {
            return;
        }
        process.counted.add(&rest);
        out.push(Stretch {
            pid,
            tid,
            from: from.min(now),
            to: now,
            waits: 0,
            counters: rest,
        });
    }
}

impl Thread {
    fn new(pid: u32, last: Counters, ran_since: Option<u64>) -> Self {
        Self {
            pid,
            last,
            ran_since,
            is_on: false,
            waits: 0,
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH))
}

/// The files in `/proc`, of which some stay open.
#[derive(Debug, Default)]
pub(crate) struct Files {
    open: HashMap<u32, File>,
}

impl Counts for Files {
    fn of_thread(&mut self, pid: u32, tid: u32) -> io::Result<Counters> {
        if let Some(file) = self.open.get(&tid) {
            return read(file);
        }
        let file = File::open(format!("/proc/{pid}/task/{tid}/io"))?;
        let counters = read(&file)?;
        if self.open.len() < MOST_OPEN {
            self.open.insert(tid, file);
        }
        Ok(counters)
    }

    fn of_process(&mut self, pid: u32) -> io::Result<Whole> {
        let counters = read(&File::open(format!("/proc/{pid}/io"))?)?;
        // After the count: a child that was reaped in between is noticed. Every child has a page
        // fault.
        let children = profundo_linux::proc::stat(pid).map_or(0, |stat| stat.faults_of_children);
        Ok(Whole { counters, children })
    }

    fn runs(&mut self, pid: u32, tid: u32) -> bool {
        profundo_linux::proc::thread_state(pid, tid) == Some(b'R')
    }

    fn forget(&mut self, tid: u32) {
        self.open.remove(&tid);
    }
}

#[cfg(test)]
#[path = "ledger/tests.rs"]
mod tests;

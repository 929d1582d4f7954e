//! What threads read and write: the kernel's own counts, looked at of those that have run.
//!
//! A thread that sleeps reads and writes nothing, so it is not looked at; whoever has been given a CPU
//! since the last look is. What a thread did after its last look is in nobody's count but the whole
//! process's once it has ended: what that one is ahead of all that was told is told as the ended thread's.
//! But the kernel adds to a process's count those of children that it has waited for, and nobody can tell
//! them apart. So the count of a process that has done that is not used until the end: what the first
//! process is ahead of all that was told of anybody then is what threads and children did in their last
//! moments, or in lives that were too short to be looked at.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::spans::Change;

/// For so long, in nanoseconds, changes are still told of a process that has ended.
const LATE: u64 = 2_000_000_000;

/// How many files are kept open, one for each thread that is looked at.
const MOST_OPEN: usize = 64;

/// What has been read and written so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counters {
    pub(crate) read: u64,
    pub(crate) written: u64,
    pub(crate) fetched: u64,
    pub(crate) stored: u64,
}

/// What a thread has read and written within a stretch of monotonic time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// How often it left a CPU by itself.
    pub(crate) waits: u32,
    pub(crate) counters: Counters,
}

/// What a whole process has read and written so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Whole {
    pub(crate) counters: Counters,
    /// A number that grows with each child that the process has waited for, whose counts are in it then.
    pub(crate) children: u64,
}

/// Where counts are read.
pub(crate) trait Counts {
    /// Those of a thread.
    fn of_thread(&mut self, pid: u32, tid: u32) -> io::Result<Counters>;
    /// Those of a process with all its threads, the ended ones too.
    fn of_process(&mut self, pid: u32) -> io::Result<Whole>;
    /// Whether a thread has a CPU, or would have one.
    fn runs(&mut self, pid: u32, tid: u32) -> bool;
    /// A thread will not be asked for again.
    fn forget(&mut self, tid: u32);
}

/// Who is looked at.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    threads: HashMap<u32, Thread>,
    /// Those that are to be looked at: of a thousand that sleep there is none.
    due: HashSet<u32>,
    processes: HashMap<u32, Process>,
    /// Processes that a thread has gone from since they were looked at as a whole.
    bereaved: HashSet<u32>,
    /// Processes that have ended, and when: who has not been waited for can be asked again, and would tell
    /// all of it once more.
    ended: HashMap<u32, u64>,
    /// What was told of those.
    told_of_ended: Counters,
    /// Why the kernel does not tell, once it has refused.
    refused: Option<io::Error>,
}

#[derive(Debug)]
struct Thread {
    pid: u32,
    last: Counters,
    /// Since when it may have read and written what was not told.
    ran_since: Option<u64>,
    is_on: bool,
    waits: u32,
}

#[derive(Debug, Default)]
struct Process {
    /// What it had read and written when it began to be watched.
    before: Whole,
    /// What was told of it since.
    told: Counters,
    /// A thread that has ended since the process was looked at as a whole, and when it was looked at last.
    ended: Option<(u32, u64)>,
}

impl Traffic {
    /// Begins with threads that there are already: what they did before is of no interest.
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
                        // Who sleeps is looked at once more, and then when it has been woken.
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

    /// A thread was given a CPU or left it.
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

    /// Changes were lost: anybody may have run, and is looked at once.
    pub(crate) fn lose_track(&mut self, now: u64) {
        for (&tid, thread) in &mut self.threads {
            self.due.insert(tid);
            thread.ran_since.get_or_insert(now);
        }
        // Who runs unnoticed is ahead of what was told, and will tell it.
        self.bereaved.clear();
        for process in self.processes.values_mut() {
            process.before.children = u64::MAX;
        }
    }

    /// Looks at those that have run, in an order that begins anywhere, for as long as `goes_on` says so.
    pub(crate) fn look(
        &mut self,
        (now, start): (u64, usize),
        counts: &mut impl Counts,
        mut goes_on: impl FnMut() -> bool,
        out: &mut Vec<Stretch>,
    ) {
        self.ended.retain(|_, &mut ended| now < ended + LATE);
        // Before the threads: what they do meanwhile must not be told twice.
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
            self.look_at(tid, now, counts, out);
        }
        // Whoever was not looked at may have what the whole is ahead.
        if is_complete {
            for (pid, all) in bereaved {
                self.tell_rest(pid, all.ok(), now, out);
            }
        }
    }

    /// A program has ended, or became another one: what is left of it.
    pub(crate) fn finish(
        &mut self,
        pid: u32,
        now: u64,
        counts: &mut impl Counts,
        out: &mut Vec<Stretch>,
    ) {
        let all = counts.of_process(pid).ok();
        let own = self.threads.iter().filter(|(_, it)| it.pid == pid);
        let tids: Vec<u32> = own.map(|(&tid, _)| tid).collect();
        for tid in tids {
            self.look_at(tid, now, counts, out);
        }
        if let Some(process) = self.processes.get_mut(&pid) {
            process.ended.get_or_insert((pid, now));
        }
        self.tell_rest(pid, all, now, out);
    }

    /// At the end of all, or of the first process: what it is ahead of everybody. Nobody knows when that was.
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
        let mut told = self.told_of_ended;
        // Those that still live are in no other's count, but whether they do is known late.
        self.processes.values().for_each(|it| told.add(&it.told));
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        let rest = all.counters.since(&process.before.counters).since(&told);
        if rest == Counters::default() {
            return;
        }
        process.told.add(&rest);
        out.push(Stretch {
            pid,
            tid: pid,
            from: now,
            to: now,
            waits: 0,
            counters: rest,
        });
    }

    /// A process is gone, and its number may be another one's.
    pub(crate) fn forget(&mut self, pid: u32, now: u64, counts: &mut impl Counts) {
        self.ended.insert(pid, now);
        self.bereaved.remove(&pid);
        if let Some(process) = self.processes.remove(&pid) {
            self.told_of_ended.add(&process.told);
        }
        self.threads.retain(|&tid, thread| {
            if thread.pid == pid {
                counts.forget(tid);
                self.due.remove(&tid);
            }
            thread.pid != pid
        });
    }

    /// All processes that are watched.
    pub(crate) fn pids(&self) -> Vec<u32> {
        let mut pids: Vec<u32> = self.threads.values().map(|thread| thread.pid).collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    /// Why the kernel does not tell, if it has refused since this was asked.
    pub(crate) fn take_refused(&mut self) -> Option<io::Error> {
        self.refused.take()
    }

    fn note(&mut self, error: io::Error) {
        if !is_gone(&error) {
            self.refused.get_or_insert(error);
        }
    }

    fn look_at(&mut self, tid: u32, now: u64, counts: &mut impl Counts, out: &mut Vec<Stretch>) {
        let Some(thread) = self.threads.get_mut(&tid) else {
            self.due.remove(&tid);
            return;
        };
        let Some(from) = thread.ran_since else { return };
        let pid = thread.pid;
        match counts.of_thread(pid, tid) {
            Ok(counters) => {
                // Fewer than before are another thread's, which has the number now.
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
                self.processes.entry(pid).or_default().told.add(&more);
                out.push(Stretch {
                    pid,
                    tid,
                    from,
                    to: now,
                    waits,
                    counters: more,
                });
            }
            // There is no descriptor left for it, for now.
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

    /// What a whole process is ahead of all that was told is told as that of a thread that has ended.
    fn tell_rest(&mut self, pid: u32, all: Option<Whole>, now: u64, out: &mut Vec<Stretch>) {
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
        let rest = all.counters.since(&before.counters).since(&process.told);
        if rest == Counters::default() {
            return;
        }
        process.told.add(&rest);
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

impl Counters {
    /// Reads the file of a thread or a process.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let number = |name: &str| {
            let mut lines = text.lines();
            let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            value.trim().parse().ok()
        };
        Some(Self {
            read: number("rchar")?,
            written: number("wchar")?,
            fetched: number("read_bytes")?,
            stored: number("write_bytes")?,
        })
    }

    fn is_ahead_of(&self, other: &Self) -> bool {
        self.read >= other.read && self.written >= other.written
    }

    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            read: self.read.saturating_sub(before.read),
            written: self.written.saturating_sub(before.written),
            fetched: self.fetched.saturating_sub(before.fetched),
            stored: self.stored.saturating_sub(before.stored),
        }
    }

    fn add(&mut self, more: &Self) {
        self.read = self.read.saturating_add(more.read);
        self.written = self.written.saturating_add(more.written);
        self.fetched = self.fetched.saturating_add(more.fetched);
        self.stored = self.stored.saturating_add(more.stored);
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
        // After the count: a child that was waited for in between is noticed. There is none without a
        // page fault.
        let children = crate::proc::stat(pid).map_or(0, |stat| stat.faults_of_children);
        Ok(Whole { counters, children })
    }

    fn runs(&mut self, pid: u32, tid: u32) -> bool {
        crate::proc::thread_state(pid, tid) == Some(b'R')
    }

    fn forget(&mut self, tid: u32) {
        self.open.remove(&tid);
    }
}

/// Reads such a file from its beginning.
pub(crate) fn read(file: &File) -> io::Result<Counters> {
    let mut text = [0; 512];
    let length = file.read_at(&mut text, 0)?;
    let text = text.get(..length).unwrap_or_default();
    Counters::parse(text).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
#[path = "traffic/tests.rs"]
mod tests;

//! What a program takes of the machine, with all that it starts: time on the CPUs, memory, page faults, bytes. The
//! kernel counts all of it anyway. The program is asked nothing, nothing is loaded into it, and it is not sampled.
//!
//! What a process has taken is added to its parent's account when the parent waits for it. Children that nobody
//! waits for are in no account: daemons, double forks, all children of who ignores SIGCHLD. Their CPU time comes
//! from a counter that they inherit; which processes there are, from what the kernel tells of beginnings and ends.

mod machine;
mod quota;
mod tree;
mod unwaited;

use std::io;
use std::time::Duration;

use crate::perf::Counter;
use crate::permits::{self, Gap};
use crate::wall::Counters;
use crate::{proc, sys};

pub use machine::{Machine, Surroundings};
pub use unwaited::Unwaited;

use tree::Tree;
use unwaited::Times;

/// Between two looks at the processes of a tree.
const EVERY: u64 = 100_000_000;

/// What becoming a program may add to the memory of what it was before.
const ON_THE_WAY: u64 = 1 << 20;

/// What a program has taken. Times are nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct Usage {
    /// From its start to its end.
    pub real: u64,
    /// On CPUs, in code of programs and libraries.
    pub user: u64,
    /// On CPUs, in the kernel.
    pub system: u64,
    /// What of both nobody waited for.
    pub unwaited: Unwaited,
    /// Why that is not known.
    pub gap: Option<Gap>,
    /// The most bytes that one process had in memory.
    pub peak_resident: u64,
    /// Whether that may be less: a process that has just been forked has a part of ours.
    pub peak_is_bound: bool,
    /// The most that was seen in memory of all processes together, if there was more than one.
    pub tree_resident: Option<u64>,
    /// Page faults for which nothing was read from a disk, and the others.
    pub minor_faults: u64,
    /// See above.
    pub major_faults: u64,
    /// How often a thread gave its CPU away, because it had to wait.
    pub voluntary: u64,
    /// How often it was taken away.
    pub involuntary: u64,
    /// Bytes that calls have read and written. `None`: the kernel does not count them.
    pub calls: Option<(u64, u64)>,
    /// Bytes that were read from disks and that are to be written there.
    pub disk: (u64, u64),
    /// How many processes there were, and how many threads; `None`: nobody told.
    pub processes: Option<u64>,
    /// See above.
    pub threads: Option<u64>,
    /// How many of them ran on when it had ended.
    pub still_running: Option<u64>,
    /// What the machine did meanwhile.
    pub machine: Machine,
}

/// Counts for one program.
#[derive(Debug)]
pub struct Meter {
    pid: u32,
    counter: Result<Counter, Gap>,
    tree: Option<Tree>,
    before: Option<Before>,
    surroundings: Surroundings,
    began: u64,
    looked: u64,
}

/// How the process stood when it became the program.
#[derive(Debug, Clone, Copy)]
pub struct Before {
    /// When that was, on the monotonic clock.
    pub time: libc::timespec,
    /// What it had taken until then.
    pub taken: libc::rusage,
    /// Bytes that it had read and written.
    pub bytes: (u64, u64),
}

impl Meter {
    /// For a child of ours that waits to become the program.
    pub fn of(pid: u32) -> Self {
        let counter = Counter::of_program(pid).map_err(|error| permits::perf_refused(&error));
        Self {
            pid,
            tree: counter.is_ok().then(|| Tree::of(pid).ok()).flatten(),
            counter,
            before: None,
            surroundings: Surroundings::default(),
            began: 0,
            looked: 0,
        }
    }

    /// The child is let go at once.
    pub fn begin(&mut self) {
        self.surroundings = Surroundings::now();
        self.began = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        self.looked = self.began;
    }

    /// It has become the program, and what it had taken before does not count.
    pub fn began(&mut self, before: Option<Before>) {
        if let Some(Before { time, .. }) = before {
            self.began = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
        }
        self.before = before;
    }

    /// What can be polled, so that nothing is missed that the kernel tells.
    pub fn descriptors(&self) -> Vec<i32> {
        let tree = self.tree.as_ref();
        tree.map_or_else(Vec::new, |tree| tree.descriptors().collect())
    }

    /// How long there is nothing to do but what [`descriptors`](Self::descriptors) ask for.
    pub fn patience(&self) -> Duration {
        match &self.tree {
            None => Duration::MAX,
            Some(_) => {
                let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
                Duration::from_nanos((self.looked + EVERY).saturating_sub(now))
            }
        }
    }

    /// Takes what the kernel has told, and looks at the processes if it is time.
    pub fn turn(&mut self) {
        let Some(tree) = &mut self.tree else { return };
        tree.listen();
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        if now >= self.looked + EVERY {
            tree.look();
            self.looked = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        }
    }

    /// When the program has ended: what it has taken. It is waited for, and gone from the kernel's table.
    pub fn finish(mut self) -> io::Result<Usage> {
        let real = sys::nanoseconds(libc::CLOCK_MONOTONIC).saturating_sub(self.began);
        let counted = self.counter.as_ref().map(Counter::read);
        let alive = self.tree.as_mut().map(Tree::end);
        let counters = Counters::parse(&proc::read(self.pid, "io"));
        let machine = self.surroundings.until_now();
        let ours = counters.is_none().then(own_counters).flatten();
        let taken = sys::wait_for(self.pid)?;
        let counters = counters.or_else(|| {
            let (before, asking) = ours?;
            let mut all = own_counters()?.0.since(&before);
            all.read = all.read.saturating_sub(asking);
            Some(all)
        });
        // SAFETY: numbers alone, so zeroed is a valid one.
        let before = self
            .before
            .map_or(unsafe { std::mem::zeroed() }, |before| before.taken);
        let bytes = self.before.map_or((0, 0), |before| before.bytes);
        let waited = Times {
            user: micros(taken.ru_utime).saturating_sub(micros(before.ru_utime)),
            system: micros(taken.ru_stime).saturating_sub(micros(before.ru_stime)),
        };
        let tree = self.tree.as_ref();
        let (unwaited, gap) = match counted {
            Ok(Some(_)) if tree.is_some_and(Tree::has_escaped) => (Unwaited::Unknown, None),
            Ok(Some(counted)) => {
                let seen = tree.map(Tree::seen).unwrap_or_default();
                let out_of_sight = machine.stolen + machine.interrupted;
                (unwaited::of(counted, waited, &seen, out_of_sight), None)
            }
            Ok(None) => (Unwaited::Unknown, None),
            Err(gap) => (Unwaited::Unknown, Some(gap.clone())),
        };
        // Who does not count any more does not hear of beginnings either.
        let tree = tree.filter(|_| unwaited != Unwaited::Unknown);
        let (user, system) = match unwaited {
            Unwaited::Some { user, system, .. } => (waited.user + user, waited.system + system),
            Unwaited::None | Unwaited::Unknown => (waited.user, waited.system),
        };
        let resident = |taken: &libc::rusage| taken.ru_maxrss as u64 * 1024;
        let peak = resident(&taken);
        let less =
            |all: libc::c_long, before: libc::c_long| (all as u64).saturating_sub(before as u64);
        Ok(Usage {
            real,
            user,
            system,
            unwaited,
            gap,
            peak_resident: peak,
            peak_is_bound: peak <= resident(&before) + ON_THE_WAY,
            tree_resident: tree
                .and_then(Tree::most_resident)
                .map(|most| most.max(peak)),
            minor_faults: less(taken.ru_minflt, before.ru_minflt),
            major_faults: less(taken.ru_majflt, before.ru_majflt),
            voluntary: less(taken.ru_nvcsw, before.ru_nvcsw),
            involuntary: less(taken.ru_nivcsw, before.ru_nivcsw),
            disk: match &counters {
                Some(counters) => (counters.fetched, counters.stored),
                None => (taken.ru_inblock as u64 * 512, taken.ru_oublock as u64 * 512),
            },
            calls: counters.map(|counters| {
                let read = counters.read.saturating_sub(bytes.0);
                (read, counters.written.saturating_sub(bytes.1))
            }),
            processes: tree.and_then(Tree::processes),
            threads: tree.and_then(Tree::threads),
            still_running: alive.flatten().filter(|_| tree.is_some()),
            machine,
        })
    }
}

/// What we have read and written ourselves, and what asking for that adds to it. The kernel adds what a child has done as
/// soon as we have waited for it, and says so to anybody: of a process that has ended it says it to few.
fn own_counters() -> Option<(Counters, u64)> {
    let text = proc::read(std::process::id(), "io");
    Some((Counters::parse(&text)?, text.len() as u64))
}

fn micros(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
}

//! The resources that a program and its descendants use: CPU time, memory, page faults, bytes. The
//! kernel counts all of it anyway. The program is asked nothing, nothing is loaded into it, and it
//! is not sampled.
//!
//! The kernel adds a process's usage to its parent's when the parent reaps it. Unreaped processes
//! are in no account: daemons, double forks, children of a parent that ignores SIGCHLD. Their CPU
//! time comes from an inherited counter, and the list of processes from the kernel's records of
//! beginnings and ends.

mod machine;
mod quota;
mod tree;
mod unwaited;

use std::io;
use std::time::Duration;

use profundo_linux::io_counters::Counters;
use profundo_linux::perf::Counter;
use profundo_linux::proc;
use profundo_linux::sys;
use profundo_permits::{Gap, perf_refused};

pub use machine::{Machine, Surroundings};
pub use unwaited::Unwaited;

use tree::Tree;
use unwaited::Times;

/// The interval of readings of a tree's processes.
const EVERY: u64 = 100_000_000;

/// The memory that an `exec` itself may add to the process's peak.
const ON_THE_WAY: u64 = 1 << 20;

/// The resources that a program has used. Times are nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct Usage {
    /// The time from its start to its end.
    pub real: u64,
    /// CPU time in user code.
    pub user: u64,
    /// CPU time in the kernel.
    pub system: u64,
    /// The part of `user + system` used by processes that were never reaped.
    pub unwaited: Unwaited,
    /// The reason why that part is not known.
    pub gap: Option<Gap>,
    /// The largest peak of resident memory of one process.
    pub peak_resident: u64,
    /// Whether the peak is only an upper bound: a process that has just been forked shares a part
    /// of ours.
    pub peak_is_bound: bool,
    /// The largest sum of resident memory of all processes at once, if there was more than one.
    pub tree_resident: Option<u64>,
    /// Minor page faults: nothing was read from a disk.
    pub minor_faults: u64,
    /// Major page faults.
    pub major_faults: u64,
    /// Voluntary context switches.
    pub voluntary: u64,
    /// Involuntary context switches.
    pub involuntary: u64,
    /// Bytes that system calls have read and written. `None`: the kernel does not count them.
    pub calls: Option<(u64, u64)>,
    /// Bytes read from disks, and bytes to be written to disks.
    pub disk: (u64, u64),
    /// The number of processes; `None` if it is not known.
    pub processes: Option<u64>,
    /// The number of threads; `None` if it is not known.
    pub threads: Option<u64>,
    /// The number of processes that still ran when the program had ended.
    pub still_running: Option<u64>,
    /// The machine's other activity meanwhile.
    pub machine: Machine,
}

/// Measures one program.
#[derive(Debug)]
pub struct Meter {
    pid: u32,
    counter: Result<Counter, Gap>,
    tree: Option<Tree>,
    before: Option<Before>,
    surroundings: Surroundings,
    began: u64,
    last_read: u64,
}

/// The state of the process at the `exec` of the program.
#[derive(Debug, Clone, Copy)]
pub struct Before {
    /// The time of the `exec`, on the monotonic clock.
    pub time: libc::timespec,
    /// The resources used until then.
    pub taken: libc::rusage,
    /// Bytes read and written until then.
    pub bytes: (u64, u64),
}

impl Meter {
    /// Prepares for a child of ours that waits before its `exec`.
    pub fn of(pid: u32) -> Self {
        let counter = Counter::of_program(pid).map_err(|error| perf_refused(&error));
        Self {
            pid,
            tree: counter.is_ok().then(|| Tree::of(pid).ok()).flatten(),
            counter,
            before: None,
            surroundings: Surroundings::default(),
            began: 0,
            last_read: 0,
        }
    }

    /// The child is about to be released.
    pub fn begin(&mut self) {
        self.surroundings = Surroundings::now();
        self.began = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        self.last_read = self.began;
    }

    /// The child has executed the program. Its earlier usage is subtracted.
    pub fn began(&mut self, before: Option<Before>) {
        if let Some(Before { time, .. }) = before {
            self.began = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
        }
        self.before = before;
    }

    /// The descriptors to poll, so that none of the kernel's records is missed.
    pub fn descriptors(&self) -> Vec<i32> {
        let tree = self.tree.as_ref();
        tree.map_or_else(Vec::new, |tree| tree.descriptors().collect())
    }

    /// The time until something is due, unless one of the [`descriptors`](Self::descriptors)
    /// becomes readable.
    pub fn patience(&self) -> Duration {
        match &self.tree {
            None => Duration::MAX,
            Some(_) => {
                let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
                Duration::from_nanos((self.last_read + EVERY).saturating_sub(now))
            }
        }
    }

    /// Takes the kernel's records, and reads the processes if it is time.
    pub fn turn(&mut self) {
        let Some(tree) = &mut self.tree else { return };
        tree.listen();
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        if now >= self.last_read + EVERY {
            tree.read();
            self.last_read = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        }
    }

    /// Reaps the ended program, and returns the resources that it used.
    pub fn finish(mut self) -> io::Result<Usage> {
        let real = sys::nanoseconds(libc::CLOCK_MONOTONIC).saturating_sub(self.began);
        let counted = self.counter.as_ref().map(Counter::read);
        let alive = self.tree.as_mut().map(Tree::end);
        let counters = Counters::parse(&proc::read(self.pid, "io"));
        let machine = self.surroundings.until_now();
        let ours = counters.is_none().then(our_counters).flatten();
        let taken = sys::wait_for(self.pid)?;
        let counters = counters.or_else(|| {
            let (before, asking) = ours?;
            let mut all = our_counters()?.0.since(&before);
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
        // Without a working counter there are no records of beginnings either.
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

/// The bytes that this process has read and written, and those that the reading itself adds. The
/// kernel adds a child's bytes once it is reaped, and shows them to any user; those of an unreaped
/// child it shows to few.
fn our_counters() -> Option<(Counters, u64)> {
    let text = proc::read(std::process::id(), "io");
    Some((Counters::parse(&text)?, text.len() as u64))
}

fn micros(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
}

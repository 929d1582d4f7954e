//! The processes of a tree: the kernel reports beginnings and ends, and ten times per second their
//! memory and CPU time are read, in case they are never reaped.

use std::collections::BTreeMap;
use std::io;

use profundo_linux::perf::{Record, SideBand, cpus};
use profundo_linux::proc;

use super::unwaited::{Seen, Times};

/// The event of beginnings and ends exists on each CPU, and every fork and every new thread copies
/// all of them, which takes it a microsecond or two for each. On larger machines counting would
/// slow the program down.
const MOST_CPUS: usize = 16;

/// Reading one process takes some 30 microseconds, during which the end of the program is not
/// noticed.
const MOST_LOOKS: usize = 64;

/// The processes of a tree.
#[derive(Debug)]
pub(super) struct Tree {
    first: u32,
    band: SideBand,
    /// The processes that have not ended.
    members: BTreeMap<u32, Member>,
    processes: u64,
    threads: u64,
    /// Whether some may be missing.
    has_gaps: bool,
    /// Our own user and group; `None`: root, whose counter goes on in programs of other users.
    rights: Option<(u32, u32)>,
    /// Whether a program with other rights was executed: the kernel reports its end at its
    /// beginning, and nothing after that.
    has_escaped: bool,
    /// The largest sum of resident memory at one reading.
    most_resident: u64,
    /// Whether several were ever seen at once.
    were_several: bool,
    /// The process read last, where not all are read at once.
    last: u32,
    seen: Seen,
}

#[derive(Debug, Default)]
struct Member {
    threads: u64,
    times: Times,
    resident: u64,
    /// Whether its parent ended before it did.
    is_orphan: bool,
}

impl Tree {
    /// A tree of a process without children.
    pub(super) fn of(first: u32) -> io::Result<Self> {
        if cpus().len() > MOST_CPUS {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let member = Member {
            threads: 1,
            ..Member::default()
        };
        Ok(Self {
            first,
            band: SideBand::of_beginnings(first)?,
            members: BTreeMap::from([(first, member)]),
            processes: 1,
            threads: 1,
            has_gaps: false,
            rights: rights(),
            has_escaped: false,
            most_resident: 0,
            were_several: false,
            last: 0,
            seen: Seen::default(),
        })
    }

    pub(super) fn descriptors(&self) -> impl Iterator<Item = i32> {
        self.band.descriptors()
    }

    /// Takes the kernel's records.
    pub(super) fn listen(&mut self) {
        for (_, record) in self.band.read() {
            self.take(&record);
        }
    }

    fn take(&mut self, record: &Record) {
        match *record {
            Record::Fork { pid, parent, .. } => {
                self.threads += 1;
                self.members.entry(pid).or_default().threads += 1;
                if pid != parent {
                    self.processes += 1;
                }
            }
            Record::Exit { pid, .. } => {
                let Some(member) = self.members.get_mut(&pid) else {
                    return;
                };
                member.threads = member.threads.saturating_sub(1);
                if member.threads == 0 {
                    let is_left = |ours| proc::owner(pid).is_some_and(|theirs| theirs != ours);
                    self.has_escaped |= self.rights.is_some_and(is_left);
                    self.gone(pid);
                }
            }
            Record::Lost { .. } => self.has_gaps = true,
            Record::Comm { .. } | Record::Mmap { .. } => {}
        }
    }

    /// A process has ended: its last reading is final.
    fn gone(&mut self, pid: u32) {
        let Some(member) = self.members.remove(&pid) else {
            return;
        };
        let sum = match member.is_orphan {
            true => &mut self.seen.orphans,
            false => &mut self.seen.others,
        };
        if pid != self.first {
            sum.user += member.times.user;
            sum.system += member.times.system;
        }
    }

    /// Reads the processes, if there has been more than one; no more of them than can be read
    /// quickly.
    pub(super) fn read(&mut self) {
        if self.processes < 2 {
            return;
        }
        self.were_several |= self.members.len() > 1;
        let after = self.members.range(self.last + 1..).map(|(&pid, _)| pid);
        let before = self.members.range(..=self.last).map(|(&pid, _)| pid);
        let turn: Vec<u32> = after.chain(before).take(MOST_LOOKS).collect();
        self.last = turn.last().copied().unwrap_or(0);
        for pid in turn {
            self.read_process(pid);
        }
        let resident = self.members.values().map(|member| member.resident).sum();
        self.most_resident = self.most_resident.max(resident);
    }

    /// Reads a process. Returns whether it has not ended.
    fn read_process(&mut self, pid: u32) -> bool {
        let Some(stat) = proc::stat(pid) else {
            // The record of its end may have been lost.
            self.gone(pid);
            return false;
        };
        let has_parent = self.members.contains_key(&stat.parent);
        if let Some(member) = self.members.get_mut(&pid) {
            member.times = Times {
                user: stat.user + stat.user_of_children,
                system: stat.system + stat.system_of_children,
            };
            member.resident = stat.resident;
            member.is_orphan = pid != self.first && !has_parent;
        }
        !stat.has_ended()
    }

    /// The first process has ended: reads all others, and counts those that still run.
    pub(super) fn end(&mut self) -> Option<u64> {
        self.listen();
        let mut others: Vec<u32> = self.members.keys().copied().collect();
        others.retain(|&pid| pid != self.first);
        let mut running = 0;
        for pid in others {
            running += u64::from(self.read_process(pid));
            if let Some(member) = self.members.get(&pid) {
                self.seen.alive.user += member.times.user;
                self.seen.alive.system += member.times.system;
            }
        }
        (!self.has_gaps).then_some(running)
    }

    /// Whether a program with another user's rights was executed: what it and its descendants used
    /// is not counted.
    pub(super) fn has_escaped(&self) -> bool {
        self.has_escaped
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen
    }

    /// The largest sum of resident memory of all processes at once, if several were seen at once.
    pub(super) fn most_resident(&self) -> Option<u64> {
        self.were_several.then_some(self.most_resident)
    }

    pub(super) fn processes(&self) -> Option<u64> {
        (!self.has_gaps).then_some(self.processes)
    }

    pub(super) fn threads(&self) -> Option<u64> {
        (!self.has_gaps).then_some(self.threads)
    }
}

fn rights() -> Option<(u32, u32)> {
    // SAFETY: both ask who we are, and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    (user != 0).then_some((user, group))
}

//! Which processes there are, by what the kernel tells of beginnings and ends, and what is seen of them ten times
//! per second: what they have in memory, and what CPU time they have had, should nobody wait for them.

use std::collections::BTreeMap;
use std::io;

use super::unwaited::{Seen, Times};
use crate::perf::{Record, SideBand, cpus};
use crate::proc;

/// What tells of beginnings and ends is an event for each CPU, which every fork and every new thread makes a copy of:
/// that takes it a microsecond or two for each. On larger machines a program would be slower for being counted.
const MOST_CPUS: usize = 16;

/// Looking at one takes some 30 microseconds, while which the end of the program is not seen.
const MOST_LOOKS: usize = 64;

/// The processes of a tree.
#[derive(Debug)]
pub(super) struct Tree {
    first: u32,
    band: SideBand,
    /// Those that have not ended.
    members: BTreeMap<u32, Member>,
    processes: u64,
    threads: u64,
    /// Whether there may have been others.
    has_gaps: bool,
    /// Our own rights, as user and group; `None`: those of root, whose programs count on with others.
    rights: Option<(u32, u32)>,
    /// Whether a program was seen that has other rights: the kernel tells of its end when it begins, and then nothing more.
    has_escaped: bool,
    /// The most that all had in memory when they were looked at.
    most_resident: u64,
    /// Whether several were ever seen at once.
    were_several: bool,
    /// Who was looked at last, where not all are at once.
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
    /// Of a process that has not started anything yet.
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

    /// Takes what the kernel has told.
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

    /// A process has ended: what was seen of it last is all that will be known.
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

    /// Looks at the processes, if there has been more than one: at so many of them that it does not take long.
    pub(super) fn look(&mut self) {
        if self.processes < 2 {
            return;
        }
        self.were_several |= self.members.len() > 1;
        let after = self.members.range(self.last + 1..).map(|(&pid, _)| pid);
        let before = self.members.range(..=self.last).map(|(&pid, _)| pid);
        let turn: Vec<u32> = after.chain(before).take(MOST_LOOKS).collect();
        self.last = turn.last().copied().unwrap_or(0);
        for pid in turn {
            self.look_at(pid);
        }
        let resident = self.members.values().map(|member| member.resident).sum();
        self.most_resident = self.most_resident.max(resident);
    }

    /// Returns whether it is there and has not ended.
    fn look_at(&mut self, pid: u32) -> bool {
        let Some(stat) = proc::stat(pid) else {
            // A word of its end may have been lost.
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

    /// When the first process has ended: looks at all others, and counts those that have not.
    pub(super) fn end(&mut self) -> Option<u64> {
        self.listen();
        let mut others: Vec<u32> = self.members.keys().copied().collect();
        others.retain(|&pid| pid != self.first);
        let mut running = 0;
        for pid in others {
            running += u64::from(self.look_at(pid));
            if let Some(member) = self.members.get(&pid) {
                self.seen.alive.user += member.times.user;
                self.seen.alive.system += member.times.system;
            }
        }
        (!self.has_gaps).then_some(running)
    }

    /// Whether there was a program with another user's rights: what it and its children did is in no count.
    pub(super) fn has_escaped(&self) -> bool {
        self.has_escaped
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen
    }

    /// The most that all had in memory at once, if they were ever seen so.
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

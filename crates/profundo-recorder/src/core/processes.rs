//! The processes that are recorded: the living programs, new processes that are not yet classified,
//! and what is kept of ended ones for their children.
//!
//! A process may run several programs, one after the other (exec). Each program has a key, which is
//! its number in the recording.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::Ordering;

use profundo_linux::proc;
use profundo_linux::sys;
use profundo_process::modules::ModuleList;
use profundo_session::RingMap;

use crate::program::{Program, Way};

/// The kernel's numbers of a thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadId {
    /// Its process.
    pub(crate) pid: u32,
    pub(crate) tid: u32,
}

/// A new process. It is not known yet how it can be sampled.
#[derive(Debug, Clone)]
pub(crate) struct Newcomer {
    /// The program that forked it, or that it ran before.
    pub(crate) parent: u32,
    /// The process that forked it, if that was itself a newcomer then: its program is the parent
    /// once it is entered.
    pub(crate) forked_by: Option<u32>,
    /// Its command, as far as the kernel has reported it.
    pub(crate) command: String,
    /// The time at which it began to run the command, on the monotonic clock.
    pub(crate) began: u64,
    /// The time of its end, according to the kernel.
    pub(crate) ended: Option<u64>,
    /// The time at which it executed a program, on the monotonic clock; 0 if it has not.
    pub(crate) executed: u64,
    /// Whether its program's file was examined.
    pub(crate) is_examined: bool,
    /// Whether it has inherited its parent's clocks.
    pub(crate) inherits_clocks: bool,
    /// The time at which the recorder first saw it, on the monotonic clock.
    pub(crate) seen: u64,
}

/// The modules of a program that has ended.
#[derive(Debug)]
struct EndedModules {
    pid: u32,
    started: u64,
    modules: ModuleList,
}

/// The recorded processes.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    /// The living programs, by their keys.
    pub(crate) programs: BTreeMap<u32, Program>,
    /// The last key in use.
    pub(crate) last_key: u32,
    /// The programs of the known rings, by the rings' numbers. 0: an agent was refused.
    pub(crate) by_ring: HashMap<usize, u32>,
    /// The last program of each process, ended ones included, for their children.
    pub(crate) last_of: HashMap<u32, u32>,
    /// The time of that program's beginning, in cycles.
    pub(crate) last_began: HashMap<u32, u64>,
    /// New processes that are not classified yet.
    pub(crate) newcomers: HashMap<u32, Newcomer>,
    /// User and system time of processes when they executed another program.
    pub(crate) times_at_exec: HashMap<u32, (u64, u64)>,
    /// The modules of recently ended programs.
    ended_modules: VecDeque<EndedModules>,
    /// The first process.
    pub(crate) root: Option<u32>,
    /// The time at which the first process ended, while its parent had not yet reported how.
    root_gone: Option<u64>,
    /// The process whose clocks are opened before it is recorded.
    pub(crate) aimed: Option<u32>,
    /// Its descendants before that, as pairs of child and parent.
    pub(crate) children_before: Option<Vec<(u32, u32)>>,
}

impl Processes {
    /// A key for a new program.
    pub(crate) fn next_key(&mut self) -> u32 {
        self.last_key += 1;
        self.last_key
    }

    /// The keys of the living programs.
    pub(crate) fn keys(&self) -> Vec<u32> {
        self.programs.keys().copied().collect()
    }

    /// The keys of the living programs that meet a condition.
    pub(crate) fn keys_of(&self, condition: impl Fn(&Program) -> bool) -> Vec<u32> {
        let programs = self.programs.values().filter(|program| condition(program));
        programs.map(|program| program.key).collect()
    }

    /// The living program of a process, if it is recorded.
    pub(crate) fn program_of(&self, pid: u32) -> Option<u32> {
        let key = *self.last_of.get(&pid)?;
        self.programs.contains_key(&key).then_some(key)
    }

    /// The living program of a process.
    pub(crate) fn program_mut(&mut self, pid: u32) -> Option<&mut Program> {
        let key = self.last_of.get(&pid)?;
        self.programs.get_mut(key)
    }

    /// The number of a thread, while it is known.
    pub(crate) fn number_of(&self, key: u32, tid: u32) -> Option<u32> {
        match &self.programs.get(&key)?.way {
            Way::Agent(agent) => agent.number_of(tid),
            Way::Outside(outside) => outside.known_number(tid),
        }
    }

    /// Whether an agent has already reported what the kernel reports now: a program of this process
    /// began at that time, in cycles, or later. It may have ended by now.
    pub(crate) fn has_begun_since(&self, pid: u32, cycles: u64) -> bool {
        let began = self.last_began.get(&pid);
        began.is_some_and(|&began| began >= cycles)
    }

    /// Enters a new process that is not classified yet, forked by another process.
    pub(crate) fn expect(&mut self, pid: u32, forked_by: u32, began: u64) {
        let of_newcomer = self.newcomers.get(&forked_by);
        let parent = match (self.program_of(forked_by), of_newcomer) {
            (Some(key), _) => key,
            (None, Some(newcomer)) => newcomer.parent,
            (None, None) => self.last_of.get(&forked_by).copied().unwrap_or(0),
        };
        // A child runs its parent's program until it executes another.
        let command = match (self.programs.get(&parent), of_newcomer) {
            (Some(program), _) => program.command.clone(),
            (None, Some(newcomer)) => newcomer.command.clone(),
            (None, None) => String::new(),
        };
        let inherits_clocks = match self.programs.get(&parent) {
            Some(program) => matches!(program.way, Way::Outside(_)),
            None => false,
        };
        let newcomer = Newcomer {
            parent,
            forked_by: of_newcomer.map(|_| forked_by),
            command,
            began,
            ended: None,
            executed: 0,
            is_examined: false,
            inherits_clocks,
            seen: sys::nanoseconds(libc::CLOCK_MONOTONIC),
        };
        self.newcomers.insert(pid, newcomer);
    }

    /// A process that was a newcomer is entered as this program: the program is the parent of the
    /// children that the process has forked meanwhile.
    pub(crate) fn adopt(&mut self, pid: u32, key: u32, command: &str) {
        let children = self.newcomers.values_mut();
        for child in children.filter(|child| child.forked_by == Some(pid)) {
            child.parent = key;
            child.forked_by = None;
            if child.executed == 0 {
                command.clone_into(&mut child.command);
            }
        }
    }

    /// Whether a living process is sampled from outside.
    pub(crate) fn is_sampled_outside(&self, pid: u32) -> bool {
        let of_pid = self.program_of(pid).and_then(|key| self.programs.get(&key));
        of_pid.is_some_and(|program| {
            let ended = sys::which_ended(program.pidfd.iter());
            matches!(program.way, Way::Outside(_)) && ended == [false]
        })
    }

    /// The modules of the process that forked the one with this ring: the child begins with the
    /// same.
    pub(crate) fn modules_of_parent(&self, map: &RingMap, pid: u32) -> ModuleList {
        let header = &map.ring().header;
        let ring = header.parent_ring.load(Ordering::Relaxed) as usize;
        let parent = self
            .by_ring
            .get(&ring)
            .and_then(|key| self.programs.get(key));
        if let Some(parent) = parent.filter(|parent| parent.pid == pid) {
            return parent.modules.clone();
        }
        // The parent ended before its child was handled.
        let started = header.started.load(Ordering::Relaxed);
        let mut ended = self.ended_modules.iter().rev();
        let parent = ended.find(|ended| ended.pid == pid && ended.started <= started);
        parent.map_or_else(ModuleList::default, |ended| ended.modules.clone())
    }

    /// The first child of a process that has begun and ended without being entered.
    pub(crate) fn ended_child(&self, parent: u32) -> Option<u32> {
        let parent = self.last_of.get(&parent)?;
        let children = (self.newcomers.iter())
            .filter(|(pid, child)| child.parent == *parent && !sys::is_alive(**pid));
        let first = children.min_by_key(|(_, child)| child.began)?;
        Some(*first.0)
    }

    /// Keeps the modules of an ended program, for children that are handled later.
    pub(crate) fn keep_modules(&mut self, program: &mut Program) {
        /// The number of processes that may begin and end between two turns.
        const KEPT: usize = 256;
        self.ended_modules.push_back(EndedModules {
            pid: program.pid,
            started: program.started,
            modules: std::mem::take(&mut program.modules),
        });
        if self.ended_modules.len() > KEPT {
            self.ended_modules.pop_front();
        }
    }

    /// Forgets ended processes beyond the number needed as parents.
    pub(crate) fn forget_ended(&mut self) {
        const MANY: usize = 1 << 16;
        if self.last_of.len() <= MANY {
            return;
        }
        let programs = &self.programs;
        self.last_of.retain(|_, key| programs.contains_key(key));
        let last_of = &self.last_of;
        self.last_began.retain(|pid, _| last_of.contains_key(pid));
    }

    /// Whether the program is the caller's child and was reaped, so that the caller is about to
    /// report how it ended.
    pub(crate) fn is_waited_for(&mut self, key: u32) -> bool {
        /// After this time the caller is not expected to.
        const LONG: u64 = 100_000_000;
        let Some(program) = self.programs.get(&key) else {
            return false;
        };
        if Some(program.pid) != self.root || program.how.is_some() {
            return false;
        }
        if proc::stat(program.pid).is_some_and(|stat| stat.has_ended()) {
            return false;
        }
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        now.saturating_sub(*self.root_gone.get_or_insert(now)) < LONG
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A busy recorder hears of a program's children before it has answered the program.
    #[test]
    fn children_of_a_newcomer_become_children_of_its_program() {
        let mut processes = Processes::default();
        processes.expect(10, 0, 1000);
        processes.newcomers.get_mut(&10).unwrap().command = "make".to_owned();
        processes.expect(11, 10, 2000);
        processes.expect(12, 10, 3000);
        let executed = processes.newcomers.get_mut(&12).unwrap();
        executed.command = "cc".to_owned();
        executed.executed = 3500;
        processes.expect(13, 99, 4000);
        assert_eq!(processes.newcomers[&11].parent, 0);

        processes.newcomers.remove(&10);
        processes.adopt(10, 7, "/usr/bin/make all");
        let parents = [11, 12, 13].map(|pid| {
            let child = &processes.newcomers[&pid];
            (child.parent, child.command.as_str())
        });
        assert_eq!(parents, [(7, "/usr/bin/make all"), (7, "cc"), (0, "")]);
    }
}

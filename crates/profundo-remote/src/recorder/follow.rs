//! Processes, as the kernel tells of them, or as `/proc` shows them where it does not.

use profundo_wire::recording::{Event, HowEnded};

use super::Recorder;
use super::outside::Begun;
use crate::perf::Record;
use crate::proc;
use crate::program::Way;
use crate::session::{forget_copy, is_copy};
use crate::sys;

/// A process that has begun, or executed something, gets this long for its agent to say hello.
const HELLO_WITHIN: u64 = 100_000_000;

/// Nanoseconds between two looks at `/proc`.
const POLL: u64 = 100_000_000;

/// A process that has begun.
#[derive(Debug, Clone)]
pub(super) struct Newcomer {
    /// The program that forked it, or that it was before.
    pub(super) parent: u32,
    /// What it runs, as far as the kernel has told.
    pub(super) command: String,
    /// When it began to run that, on the monotonic clock.
    pub(super) began: u64,
    /// When the kernel has told of its end.
    pub(super) ended: Option<u64>,
    /// When it has executed something, on the monotonic clock; 0 if it has not.
    pub(super) executed: u64,
    /// Whether what it executes has been looked at.
    looked: bool,
    /// Whether it has clocks that count from outside, because its parent has.
    inherits_clocks: bool,
    seen: u64,
}

impl Recorder {
    /// Waits for a process to say who it is.
    pub(super) fn expect(&mut self, pid: u32, parent: u32, command: String, began: u64) {
        let inherits_clocks = match self.programs.get(&parent) {
            Some(program) => matches!(program.way, Way::Outside(_)),
            None => false,
        };
        let newcomer = Newcomer {
            parent,
            command,
            began,
            ended: None,
            executed: 0,
            looked: false,
            inherits_clocks,
            seen: sys::nanoseconds(libc::CLOCK_MONOTONIC),
        };
        self.newcomers.insert(pid, newcomer);
    }

    /// Whether what the kernel tells of has been told by an agent already, which may be gone by now.
    fn is_known(&self, pid: u32, time: u64) -> bool {
        let began = self.last_began.get(&pid);
        began.is_some_and(|&began| began >= self.scale.cycles_at(time))
    }

    pub(super) fn program_of(&self, pid: u32) -> Option<u32> {
        let key = *self.last_of.get(&pid)?;
        self.programs.contains_key(&key).then_some(key)
    }

    /// Heeds what the kernel has told since the last look.
    pub(super) fn follow(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let records = match &self.side_band {
            Some(side_band) => side_band.read(),
            None if self.outside.reads => std::mem::take(&mut self.outside.told),
            None => {
                self.poll();
                Vec::new()
            }
        };
        if !records.is_empty() {
            // Their times are compared with those of the agents.
            self.scale.look();
        }
        for (time, record) in records {
            match record {
                Record::Fork { pid, parent, .. } if pid != parent => {
                    self.forked(pid, parent, time);
                }
                Record::Fork { .. } => {}
                Record::Comm {
                    pid,
                    name,
                    exec: true,
                    ..
                } => self.executed(pid, time, &name, sink),
                Record::Comm { pid, tid, name, .. } => self.renamed(pid, tid, &name),
                Record::Mmap { pid, mapping } => {
                    let at = self.scale.cycles_at(time);
                    if let Some(key) = self.program_of(pid)
                        && let Some(program) = self.programs.get_mut(&key)
                    {
                        program.maps_changed = true;
                        // Before that the process may have been another program.
                        if let Some(mapping) = mapping.filter(|_| at > program.started) {
                            program.told.tell(at, mapping);
                        }
                    }
                }
                Record::Exit { pid, tid } => self.thread_ended(pid, tid, time, sink),
                // Nobody knows what of: everything is looked at again.
                Record::Lost { .. } => {
                    for program in self.programs.values_mut() {
                        program.maps_changed = true;
                    }
                }
            }
        }
        self.look_at_newcomers(sink);
    }

    fn forked(&mut self, pid: u32, parent: u32, time: u64) {
        if !self.is_known(pid, time) {
            // Another process had the number before.
            self.times_at_exec.remove(&pid);
        }
        if !self.options.follow || self.program_of(pid).is_some() || self.is_known(pid, time) {
            return;
        }
        let key = match self.program_of(parent) {
            Some(key) => key,
            None => match self.newcomers.get(&parent) {
                Some(newcomer) => newcomer.parent,
                None => self.last_of.get(&parent).copied().unwrap_or(0),
            },
        };
        // A child is what its parent is, until it executes something.
        let command = match (self.programs.get(&key), self.newcomers.get(&parent)) {
            (Some(program), _) => program.command.clone(),
            (None, Some(newcomer)) => newcomer.command.clone(),
            (None, None) => String::new(),
        };
        self.rings.expect_several();
        self.expect(pid, key, command, time);
    }

    fn renamed(&mut self, pid: u32, tid: u32, name: &[u8]) {
        let key = self.program_of(pid);
        let program = key.and_then(|key| self.programs.get_mut(&key));
        match program.map(|program| &mut program.way) {
            Some(Way::Agent(agent)) => agent.rename(tid, name),
            Some(Way::Outside(outside)) => outside.rename(tid, name),
            None => {}
        }
    }

    /// A process runs another program now.
    fn executed(&mut self, pid: u32, time: u64, name: &[u8], sink: &mut dyn FnMut(Event<'_>)) {
        self.forget_deferred(pid);
        let at = self.scale.cycles_at(time);
        let mut parent = None;
        if let Some(key) = self.program_of(pid)
            && let Some(program) = self.programs.get(&key)
        {
            if program.started >= at {
                // That is the program which has said hello meanwhile.
                return;
            }
            self.end_program(key, HowEnded::Replaced, sink);
            parent = Some(key);
        }
        if !self.options.follow && self.root != Some(pid) || self.is_known(pid, time) {
            return;
        }
        let known = self.newcomers.get(&pid).map(|newcomer| newcomer.parent);
        let parent = parent.or(known).or_else(|| self.last_of.get(&pid).copied());
        let newcomer = Newcomer {
            parent: parent.unwrap_or(0),
            command: String::from_utf8_lossy(name).into_owned(),
            began: time,
            ended: None,
            executed: time,
            looked: false,
            inherits_clocks: false,
            seen: time,
        };
        self.newcomers.insert(pid, newcomer);
    }

    fn thread_ended(&mut self, pid: u32, tid: u32, time: u64, sink: &mut dyn FnMut(Event<'_>)) {
        let now = profundo_probe::clock::now();
        let Some(key) = self.program_of(pid) else {
            if pid == tid {
                match self.newcomers.get_mut(&pid) {
                    Some(newcomer) => {
                        newcomer.ended = Some(time);
                        self.passed(pid, sink);
                    }
                    None => forget_copy(self.directory.control(), pid),
                }
            }
            return;
        };
        // Samples that were taken before this are in the rings still.
        if self.outside.is_active() {
            self.sample_outside(sink);
        }
        let scale = self.scale;
        if let Some(program) = self.programs.get_mut(&key)
            && let Way::Outside(outside) = &mut program.way
            && pid != tid
        {
            outside.thread_ended(key, tid, now, &scale, sink);
        }
    }

    /// Decides on processes that nobody has said hello from.
    fn look_at_newcomers(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        /// A child that neither executes anything nor says hello: it was made without `fork`.
        const FORGOTTEN: u64 = 3_000_000_000;
        if self.newcomers.is_empty() {
            return;
        }
        let told = self.newcomers.iter().filter(|(_, it)| it.ended.is_some());
        let told: Vec<u32> = told.map(|(&pid, _)| pid).collect();
        for pid in told {
            self.passed(pid, sink);
        }
        // Who has made a copy says so a moment later.
        let control = self.directory.control();
        (self.newcomers).retain(|&pid, newcomer| !is_copy(control, pid, newcomer.began));
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let mut outside = Vec::new();
        let mut ended = Vec::new();
        let mut newcomers = std::mem::take(&mut self.newcomers);
        for (&pid, newcomer) in &mut newcomers {
            if newcomer.executed == 0 {
                let waited = now.saturating_sub(newcomer.seen);
                if waited <= HELLO_WITHIN || self.is_deferred(pid) {
                    continue;
                }
                if self.is_another(pid, newcomer) {
                    outside.push((pid, newcomer.parent, Begun::Before));
                } else if self.has_no_agent(pid, newcomer) {
                    outside.push((pid, newcomer.parent, Begun::ByFork));
                } else if waited > FORGOTTEN && Some(pid) != self.root {
                    ended.push(pid);
                }
                continue;
            }
            let late = now.saturating_sub(newcomer.executed) > HELLO_WITHIN;
            if !newcomer.looked || late {
                newcomer.looked = true;
                if late || super::outside::is_closed_to_agents(pid, self.options.agent.is_some()) {
                    outside.push((pid, newcomer.parent, Begun::Before));
                }
            }
        }
        self.newcomers = newcomers;
        for pid in ended {
            self.newcomers.remove(&pid);
        }
        for (pid, parent, begun) in outside {
            self.begin_outside(pid, parent, begun, sink);
            // It is in the books now, or gone.
            self.newcomers.remove(&pid);
        }
    }

    /// Whether the child of a fork is on its own: its agent got no ring, and its parent's clocks are not its.
    fn has_no_agent(&self, pid: u32, newcomer: &Newcomer) -> bool {
        Some(pid) != self.root
            && !newcomer.inherits_clocks
            && !self.rings.has(pid, self.directory.control())
    }

    /// Whether a process runs another file than its parent, although the kernel has not told that it executed
    /// one: it takes its word back when a process gets another user's rights.
    fn is_another(&self, pid: u32, newcomer: &Newcomer) -> bool {
        let before = match self.programs.get(&newcomer.parent) {
            Some(program) => program.pid,
            None => std::process::id(),
        };
        proc::runs_another_program(pid, before)
    }

    /// Without the kernel's word: looks for new children, and for processes that run another
    /// program than before.
    fn poll(&mut self) {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        if now.saturating_sub(self.polled) < POLL {
            return;
        }
        self.polled = now;
        for newcomer in self.newcomers.values_mut() {
            // Nobody tells when it executes; the wait for its agent begins when it was seen.
            if newcomer.executed == 0 {
                newcomer.executed = newcomer.seen;
            }
        }
        // Agents tell of their processes themselves, so this is for what they cannot enter.
        if !self.options.follow {
            return;
        }
        for (pid, parent) in proc::children() {
            let is_ours =
                self.last_of.contains_key(&parent) || self.newcomers.contains_key(&parent);
            if is_ours && !self.last_of.contains_key(&pid) && !self.newcomers.contains_key(&pid) {
                let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
                self.forked(pid, parent, now);
            }
        }
        let gone: Vec<u32> = self
            .newcomers
            .keys()
            .copied()
            .filter(|&pid| !sys::is_alive(pid))
            .collect();
        for pid in gone {
            self.newcomers.remove(&pid);
        }
    }
}

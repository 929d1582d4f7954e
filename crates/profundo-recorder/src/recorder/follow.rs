//! Following processes, as the kernel reports them, or by polling `/proc` where it does not.

use profundo_linux::perf::Record;
use profundo_linux::proc;
use profundo_linux::sys;
use profundo_session::{forget_copy, is_copy};
use profundo_wire::recording::{Event, HowEnded};

use super::Recorder;
use crate::core::Newcomer;
use crate::engines::{Begun, is_closed_to_agents};
use crate::program::Way;

/// The time that a new process, or a new program, has for its agent to say hello.
const HELLO_WITHIN: u64 = 100_000_000;

/// Nanoseconds between two readings of `/proc`.
const POLL: u64 = 100_000_000;

impl Recorder {
    /// Handles the kernel's records since the last turn.
    pub(super) fn follow(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        if self.outside.has_machine() {
            self.end_replaced(sink);
            return;
        }
        let records = match &self.side_band {
            Some(side_band) => side_band.read(),
            None if self.outside.reads => std::mem::take(&mut self.outside.records),
            None => {
                self.poll();
                Vec::new()
            }
        };
        if !records.is_empty() {
            // Their times are compared with those of the agents.
            self.core.scale.measure();
        }
        for (time, record) in records {
            match record {
                Record::Fork { pid, parent, .. } if pid != parent => {
                    self.core.transport.numbers.learn(pid);
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
                    let at = self.core.scale.cycles_at(time);
                    if let Some(program) = self.core.processes.program_mut(pid) {
                        program.maps_changed = true;
                        // Before that the process may have run another program.
                        if let Some(mapping) = mapping.filter(|_| at > program.started) {
                            program.mapping_history.add(at, mapping);
                        }
                    }
                }
                Record::Exit { pid, tid } => self.thread_ended(pid, tid, time, sink),
                // The lost records may be about any process: everything is checked.
                Record::Lost { .. } => {
                    for program in self.core.processes.programs.values_mut() {
                        program.maps_changed = true;
                    }
                }
            }
        }
        self.decide_newcomers(sink);
    }

    /// Whether an agent has already reported what the kernel reports now.
    fn is_known(&self, pid: u32, time: u64) -> bool {
        let cycles = self.core.scale.cycles_at(time);
        self.core.processes.has_begun_since(pid, cycles)
    }

    fn forked(&mut self, pid: u32, parent: u32, time: u64) {
        if !self.is_known(pid, time) {
            // Another process had the number before.
            self.core.processes.times_at_exec.remove(&pid);
        }
        if !self.core.options.follow
            || self.core.processes.program_of(pid).is_some()
            || self.is_known(pid, time)
        {
            return;
        }
        self.core.transport.rings.expect_several();
        self.core.processes.expect(pid, parent, time);
    }

    fn renamed(&mut self, pid: u32, tid: u32, name: &[u8]) {
        let program = self.core.processes.program_mut(pid);
        match program.map(|program| &mut program.way) {
            Some(Way::Agent(agent)) => agent.rename(tid, name),
            Some(Way::Outside(outside)) => outside.rename(tid, name),
            None => {}
        }
    }

    /// A process has executed another program.
    fn executed(&mut self, pid: u32, time: u64, name: &[u8], sink: &mut dyn FnMut(Event<'_>)) {
        self.core.forget_deferred(pid);
        let at = self.core.scale.cycles_at(time);
        let mut parent = None;
        if let Some(key) = self.core.processes.program_of(pid)
            && let Some(program) = self.core.processes.programs.get(&key)
        {
            if program.started >= at {
                // The program has said hello meanwhile.
                return;
            }
            self.end_program(key, HowEnded::Replaced, sink);
            parent = Some(key);
        }
        if !self.core.options.follow && self.core.processes.root != Some(pid)
            || self.is_known(pid, time)
        {
            return;
        }
        let known = self.core.processes.newcomers.get(&pid);
        let forked_by = known.and_then(|newcomer| newcomer.forked_by);
        let parent = parent
            .or(known.map(|newcomer| newcomer.parent))
            .or_else(|| self.core.processes.last_of.get(&pid).copied());
        let newcomer = Newcomer {
            parent: parent.unwrap_or(0),
            forked_by,
            command: String::from_utf8_lossy(name).into_owned(),
            began: time,
            ended: None,
            executed: time,
            is_examined: false,
            inherits_clocks: false,
            seen: time,
        };
        self.core.processes.newcomers.insert(pid, newcomer);
    }

    fn thread_ended(&mut self, pid: u32, tid: u32, time: u64, sink: &mut dyn FnMut(Event<'_>)) {
        let now = profundo_probe::clock::now();
        let Some(key) = self.core.processes.program_of(pid) else {
            if pid == tid {
                match self.core.processes.newcomers.get_mut(&pid) {
                    Some(newcomer) => {
                        newcomer.ended = Some(time);
                        self.core.enter_short_lived(pid, sink);
                    }
                    None => forget_copy(self.core.control(), pid),
                }
            }
            return;
        };
        // Samples from before are still in the rings.
        if self.outside.is_active() {
            self.outside.sample(&mut self.core, sink);
        }
        let scale = self.core.scale;
        let program = self.core.processes.programs.get_mut(&key);
        match program.map(|program| &mut program.way) {
            Some(Way::Outside(outside)) if pid != tid => {
                outside.thread_ended(key, tid, now, &scale, sink);
            }
            Some(Way::Agent(agent)) if pid != tid => agent.thread_ended(tid),
            _ => {}
        }
    }

    /// Decides on processes whose agents have not said hello.
    fn decide_newcomers(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        /// The time after which a child is given up that neither executes a program nor says hello:
        /// it was made without `fork`.
        const FORGOTTEN: u64 = 3_000_000_000;
        if self.core.processes.newcomers.is_empty() {
            return;
        }
        let ended = self
            .core
            .processes
            .newcomers
            .iter()
            .filter(|(_, newcomer)| newcomer.ended.is_some());
        let ended: Vec<u32> = ended.map(|(&pid, _)| pid).collect();
        for pid in ended {
            self.core.enter_short_lived(pid, sink);
        }
        // A copy is announced a moment later.
        let control = self.core.transport.directory.control();
        (self.core.processes.newcomers)
            .retain(|&pid, newcomer| !is_copy(control, pid, newcomer.began));
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let mut outside = Vec::new();
        let mut ended = Vec::new();
        let mut newcomers = std::mem::take(&mut self.core.processes.newcomers);
        for (&pid, newcomer) in &mut newcomers {
            if newcomer.executed == 0 {
                let waited = now.saturating_sub(newcomer.seen);
                if waited <= HELLO_WITHIN || self.core.is_deferred(pid) {
                    continue;
                }
                if self.is_another(pid, newcomer) {
                    outside.push((pid, newcomer.parent, Begun::Before));
                } else if self.has_no_agent(pid, newcomer) {
                    outside.push((pid, newcomer.parent, Begun::ByFork));
                } else if waited > FORGOTTEN && Some(pid) != self.core.processes.root {
                    ended.push(pid);
                }
                continue;
            }
            let late = now.saturating_sub(newcomer.executed) > HELLO_WITHIN;
            if !newcomer.is_examined || late {
                newcomer.is_examined = true;
                if late || is_closed_to_agents(pid, self.core.options.agent.is_some()) {
                    outside.push((pid, newcomer.parent, Begun::Before));
                }
            }
        }
        self.core.processes.newcomers = newcomers;
        for pid in ended {
            self.core.processes.newcomers.remove(&pid);
        }
        for (pid, parent, begun) in outside {
            self.begin_outside(pid, parent, begun, sink);
            // It was entered, or has ended.
            self.core.processes.newcomers.remove(&pid);
        }
    }

    /// Whether the child of a fork is not sampled at all: its agent got no ring, and it has not
    /// inherited its parent's clocks.
    fn has_no_agent(&self, pid: u32, newcomer: &Newcomer) -> bool {
        Some(pid) != self.core.processes.root
            && !newcomer.inherits_clocks
            && !self.core.transport.has_ring(pid)
    }

    /// Whether a process runs another file than its parent, although the kernel has not reported an
    /// exec: the record is withdrawn if the process gets another user's rights.
    fn is_another(&self, pid: u32, newcomer: &Newcomer) -> bool {
        let before = match self.core.processes.programs.get(&newcomer.parent) {
            Some(program) => program.pid,
            None => std::process::id(),
        };
        proc::runs_another_program(pid, before)
    }

    /// Without the kernel's records: finds new children, and processes that run another program
    /// than before.
    fn poll(&mut self) {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        if now.saturating_sub(self.schedule.polled) < POLL {
            return;
        }
        self.schedule.polled = now;
        for newcomer in self.core.processes.newcomers.values_mut() {
            // The time of an exec is not known; the wait for its agent begins when it was seen.
            if newcomer.executed == 0 {
                newcomer.executed = newcomer.seen;
            }
        }
        // Agents report their processes themselves, so this finds those without one.
        if !self.core.options.follow {
            return;
        }
        for (pid, parent) in proc::children() {
            let is_ours = self.core.processes.last_of.contains_key(&parent)
                || self.core.processes.newcomers.contains_key(&parent);
            if is_ours
                && !self.core.processes.last_of.contains_key(&pid)
                && !self.core.processes.newcomers.contains_key(&pid)
            {
                let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
                self.forked(pid, parent, now);
            }
        }
        let gone: Vec<u32> = self
            .core
            .processes
            .newcomers
            .keys()
            .copied()
            .filter(|&pid| !sys::is_alive(pid))
            .collect();
        for pid in gone {
            self.core.processes.newcomers.remove(&pid);
        }
    }
}

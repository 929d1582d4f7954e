//! A process with an agent has begun: it gets its modules and its clock at once, because it waits.
//! Its events are emitted after that.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use profundo_linux::proc;
use profundo_linux::sys;
use profundo_probe::shared::{ring_state, start_kind};
use profundo_process::modules::ModuleList;
use profundo_session::RingMap;
use profundo_wire::recording::{Event, HowEnded};

use super::Recorder;
use crate::agent::Agent;
use crate::core::Core;
use crate::program::{Program, Way};

/// The number of no process, for one that has ended in a container before its number was known.
const NO_PROCESS: u32 = i32::MAX as u32;

impl Recorder {
    /// Answers all processes that have said hello.
    pub(super) fn answer_arrivals(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let mut arrived: Vec<(u64, usize, Arc<RingMap>)> = self
            .core
            .transport
            .rings
            .taken(self.core.transport.directory.control())
            .into_iter()
            .filter(|(index, _)| !self.core.processes.by_ring.contains_key(index))
            .filter_map(|(index, map)| {
                let header = &map.ring().header;
                // Acquire pairs with the agent's release: the header is filled in.
                let state = header.state.load(Ordering::Acquire);
                let started = header.started.load(Ordering::Relaxed);
                (state == ring_state::HELLO).then_some((started, index, map))
            })
            .collect();
        arrived.sort_by_key(|(started, index, _)| (*started, *index));
        let (processes, numbers) = (&self.core.processes, &mut self.core.transport.numbers);
        let is_orphan = |(_, _, map): &(u64, usize, Arc<RingMap>)| {
            let header = &map.ring().header;
            let mut number = |word: &AtomicU32| numbers.outside(word.load(Ordering::Relaxed));
            let (pid, parent) = (number(&header.pid), number(&header.parent));
            let Some(pid) = pid else { return true };
            !processes.newcomers.contains_key(&pid)
                && !parent.is_some_and(|parent| processes.last_of.contains_key(&parent))
        };
        if arrived.iter().any(is_orphan) {
            // Its parent has deferred its own entry, and the kernel has reported both.
            self.follow(sink);
        }
        for (_, index, map) in arrived {
            self.core.transport.silent.remove(&index);
            self.answer_hello(index, map, sink);
            // Others may wait for a ring meanwhile.
            self.core.transport.provide();
        }
    }

    fn answer_hello(&mut self, index: usize, map: Arc<RingMap>, sink: &mut dyn FnMut(Event<'_>)) {
        let header = &map.ring().header;
        let inside = header.pid.load(Ordering::Relaxed);
        let numbers = &mut self.core.transport.numbers;
        let above = numbers.outside(header.parent.load(Ordering::Relaxed));
        let above = above.unwrap_or(NO_PROCESS);
        let pid = numbers.outside(inside).unwrap_or_else(|| {
            // It has ended before it could be looked at: its parent's first child that has.
            let pid = self.core.processes.ended_child(above);
            pid.inspect(|&pid| numbers.note(inside, pid))
                .unwrap_or(NO_PROCESS)
        });
        let pidfd = sys::pidfd_open(pid);
        // It ended between two turns; its samples are kept all the same.
        let is_gone = pidfd.as_ref().is_err_and(is_gone);
        let forked = header.kind.load(Ordering::Relaxed) == start_kind::FORK;
        let started = header.started.load(Ordering::Relaxed);
        let modules = if forked {
            self.core.processes.modules_of_parent(&map, above)
        } else {
            ModuleList::default()
        };
        let key = self.core.processes.last_key + 1;
        let is_elsewhere = numbers.namespace().is_some();
        let agent = Agent::new(index, Arc::clone(&map), pid, is_elsewhere);
        let mut program = Program::new(key, pid, started, Way::Agent(Box::new(agent)), modules);
        program.pidfd = pidfd.ok();
        if !forked || program.modules.loaded().is_empty() {
            let maps = proc::read(pid, "maps");
            program.modules.refresh(
                pid,
                &maps,
                started,
                &program.mapping_history,
                &mut self.core.transport.store,
            );
            if self.core.is_left_outside(&program.modules) {
                answer(&map, ring_state::REFUSED);
                self.core.processes.by_ring.insert(index, 0);
                return;
            }
        }
        self.core.processes.last_key = key;
        if key > 1 {
            self.core.transport.rings.expect_several();
        }
        let plan = self.core.clock_plan();
        program.epoch = self.core.transport.store.epoch;
        program.publish();
        program.allow_rewalks();
        if let Way::Agent(agent) = &mut program.way {
            agent.note_new_threads(plan);
            let enabled = u32::from(self.core.running);
            agent.header().enabled.store(enabled, Ordering::Relaxed);
        }
        for part in self.parts.all() {
            part.hello(&mut self.core, key, pid);
        }
        answer(&map, ring_state::READY);
        self.core.processes.by_ring.insert(index, key);
        if let Some(kept) = self.core.transport.directory.keys().0.get(index) {
            kept.store(key, Ordering::Relaxed);
        }
        let is_first =
            Some(pid) != self.core.processes.root && self.core.processes.program_of(pid).is_none();
        // A child may load its agent late, when it is sampled from outside already.
        let goes_on = !forked || self.core.processes.is_sampled_outside(pid);
        let parent = self.parent_of(&program, goes_on, sink);
        if goes_on {
            // After an exec, the times of the earlier program continue.
            match self.core.processes.times_at_exec.remove(&pid) {
                // One program ends where the next begins, so that both add up.
                Some(times) => program.times = times,
                // A child's time before this exec is in no other account.
                None if is_first => {}
                None => drop(program.read_times()),
            }
            program.times_before = program.times;
            program.user.go(program.times.0);
            program.system.go(program.times.1);
        } else {
            program.user.go(0);
            program.system.go(0);
        }
        if !self.core.running {
            program.pause();
        }
        for part in self.parts.all() {
            part.begin(&mut self.core, &mut program);
        }
        self.core.enter(program, parent, sink);
        if is_gone {
            self.end_program(key, HowEnded::Unknown, sink);
        }
    }

    /// The program that forked this one, or was replaced by it.
    fn parent_of(
        &mut self,
        program: &Program,
        goes_on: bool,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> u32 {
        let Some(agent) = program.agent() else {
            return 0;
        };
        let pid = program.pid;
        let replaced = self.core.processes.keys_of(|other| other.pid == pid);
        let mut parent = None;
        for key in replaced {
            // A fork with a known process number: the earlier process has ended, and its number was
            // reused.
            let how = match goes_on {
                true => HowEnded::Replaced,
                false => HowEnded::Unknown,
            };
            self.end_program(key, how, sink);
            parent = Some(key).filter(|_| goes_on);
        }
        let processes = &self.core.processes;
        let newcomer = processes
            .newcomers
            .get(&pid)
            .map(|newcomer| newcomer.parent);
        let numbers = &mut self.core.transport.numbers;
        let above = numbers.outside(agent.header().parent.load(Ordering::Relaxed));
        let by_pid = above.and_then(|above| processes.last_of.get(&above));
        let first = parent.or(newcomer.filter(|&key| key != 0));
        first.or(by_pid.copied()).unwrap_or(0)
    }
}

impl Core {
    /// Enters a program, and emits it.
    pub(crate) fn enter(
        &mut self,
        mut program: Program,
        parent: u32,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        let newcomer = self.processes.newcomers.remove(&program.pid);
        self.processes.last_of.insert(program.pid, program.key);
        self.processes
            .last_began
            .insert(program.pid, program.started);
        // A child of a fork has its parent's command line, even if the parent has ended or executed
        // another program.
        let forked = program
            .agent()
            .is_some_and(|agent| agent.header().kind.load(Ordering::Relaxed) == start_kind::FORK);
        if let Some(newcomer) = newcomer
            .as_ref()
            .filter(|newcomer| forked && newcomer.executed == 0)
        {
            // It may have deferred its entry.
            let began = self.scale.cycles_at(newcomer.began);
            program.started = program.started.min(began);
        }
        let of_parent = self.processes.programs.get(&parent).filter(|_| forked);
        program.command = match of_parent {
            _ if !program.command.is_empty() => std::mem::take(&mut program.command),
            Some(parent) => parent.command.clone(),
            // By now the process may have ended, or run another program.
            None => match program.agent().map(Agent::command) {
                Some((command, true)) => command,
                noted => Some(proc::command_line(program.pid))
                    .filter(|command| !command.is_empty())
                    .or(noted.map(|(command, _)| command))
                    .unwrap_or_default(),
            },
        };
        if program.command.is_empty() {
            // It has ended: its main thread has left its name. The kernel may have reported only
            // the fork so far, and not the exec.
            let name = program.agent().and_then(Agent::main_name);
            program.command = name
                .filter(|name| !name.is_empty())
                .or(newcomer.map(|known| known.command))
                .unwrap_or_default();
        }
        self.processes
            .adopt(program.pid, program.key, &program.command);
        program.introduce(parent, self.options.agent.as_deref(), sink);
        self.processes.programs.insert(program.key, program);
    }

    /// Whether a program with these modules is sampled from outside, although an agent could come
    /// into it: Go has stacks and signal handling of its own.
    pub(super) fn is_left_outside(&self, modules: &ModuleList) -> bool {
        self.can_sample_outside()
            && (modules.loaded().iter())
                .filter_map(|module| module.file.as_ref())
                .any(|file| file.compiled().is_go)
    }
}

fn answer(map: &RingMap, state: u32) {
    let word = &map.ring().header.state;
    // Release pairs with the agent's acquire: modules and clocks exist.
    word.store(state, Ordering::Release);
    sys::futex_wake(word);
}

fn is_gone(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESRCH)
}

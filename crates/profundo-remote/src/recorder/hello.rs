//! A process with an agent has begun: it gets its modules and its clock at once, because it waits;
//! what is to be told of it comes after that.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use profundo_probe::shared::{ring_state, start_kind};
use profundo_wire::recording::{Event, HowEnded};

use super::Recorder;
use crate::agent::Agent;
use crate::modules::{ModuleList, publish};
use crate::proc;
use crate::program::{Program, Way};
use crate::session::RingMap;
use crate::sys;

impl Recorder {
    /// Answers all processes that have said hello.
    pub(super) fn greet(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let mut arrived: Vec<(u64, usize, Arc<RingMap>)> = self
            .rings
            .taken(self.directory.control())
            .into_iter()
            .filter(|(index, _)| !self.by_ring.contains_key(index))
            .filter_map(|(index, map)| {
                let header = &map.ring().header;
                // Acquire pairs with the agent's release: the header is filled in.
                let state = header.state.load(Ordering::Acquire);
                let started = header.started.load(Ordering::Relaxed);
                (state == ring_state::HELLO).then_some((started, index, map))
            })
            .collect();
        arrived.sort_by_key(|(started, index, _)| (*started, *index));
        let is_orphan = |(_, _, map): &(u64, usize, Arc<RingMap>)| {
            let header = &map.ring().header;
            let (pid, parent) = (&header.pid, &header.parent);
            !self.newcomers.contains_key(&pid.load(Ordering::Relaxed))
                && !self.last_of.contains_key(&parent.load(Ordering::Relaxed))
        };
        if arrived.iter().any(is_orphan) {
            // Its parent has put off its own entry, and the kernel has told of both.
            self.follow(sink);
        }
        for (_, index, map) in arrived {
            self.silent.remove(&index);
            self.greet_one(index, map, sink);
            // Others may wait for a ring meanwhile.
            self.rings.provide(self.directory.control());
        }
    }

    fn greet_one(&mut self, index: usize, map: Arc<RingMap>, sink: &mut dyn FnMut(Event<'_>)) {
        let header = &map.ring().header;
        let pid = header.pid.load(Ordering::Relaxed);
        let pidfd = sys::pidfd_open(pid);
        // It came and went between two looks; what it left is worth having all the same.
        let is_gone = pidfd.as_ref().is_err_and(is_gone);
        let forked = header.kind.load(Ordering::Relaxed) == start_kind::FORK;
        let started = header.started.load(Ordering::Relaxed);
        let modules = if forked {
            self.modules_of_parent(&map)
        } else {
            ModuleList::default()
        };
        let key = self.keys + 1;
        let agent = Agent::new(index, Arc::clone(&map), pid);
        let mut program = Program::new(key, pid, started, Way::Agent(Box::new(agent)), modules);
        program.pidfd = pidfd.ok();
        if !forked || program.modules.loaded().is_empty() {
            let maps = proc::read(pid, "maps");
            program
                .modules
                .refresh(pid, &maps, started, &program.told, &mut self.store);
            if self.refuses(&program) {
                answer(&map, ring_state::REFUSED);
                self.by_ring.insert(index, 0);
                return;
            }
        }
        self.keys = key;
        if key > 1 {
            self.rings.expect_several();
        }
        let plan = self.clock_plan();
        program.epoch = self.store.epoch;
        program.publish();
        program.allow_again();
        if let Way::Agent(agent) = &mut program.way {
            agent.meet(plan);
            let enabled = u32::from(self.running);
            agent.header().enabled.store(enabled, Ordering::Relaxed);
        }
        self.begin_gauges_of(key, pid);
        answer(&map, ring_state::READY);
        self.by_ring.insert(index, key);
        if let Some(kept) = self.directory.keys().0.get(index) {
            kept.store(key, Ordering::Relaxed);
        }
        let is_first = Some(pid) != self.root && self.program_of(pid).is_none();
        // A child may come to its agent late, when it is sampled from outside already.
        let goes_on = !forked || self.is_sampled_outside(pid);
        let parent = self.parent_of(&program, goes_on, sink);
        if goes_on {
            // An exec goes on with the times of the program before.
            match self.times_at_exec.remove(&pid) {
                // The one ends where the other begins, so that both add up.
                Some(times) => program.times = times,
                // What a child has used before it executed this is in no other account.
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
        if !self.running {
            program.pause();
        }
        self.look_for_tallies(&mut program);
        self.enter(program, parent, sink);
        if is_gone {
            self.end_program(key, HowEnded::Unknown, sink);
        }
    }

    /// Enters a program into the books, and tells of it.
    pub(super) fn enter(
        &mut self,
        mut program: Program,
        parent: u32,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        let newcomer = self.newcomers.remove(&program.pid);
        self.last_of.insert(program.pid, program.key);
        self.last_began.insert(program.pid, program.started);
        // A child of a fork has its parent's, even if it is gone by now, or runs another program.
        let forked = program
            .agent()
            .is_some_and(|agent| agent.header().kind.load(Ordering::Relaxed) == start_kind::FORK);
        if let Some(newcomer) = newcomer.as_ref().filter(|it| forked && it.executed == 0) {
            // It may have put off its entry.
            let began = self.scale.cycles_at(newcomer.began);
            program.started = program.started.min(began);
        }
        let of_parent = self.programs.get(&parent).filter(|_| forked);
        program.command = match of_parent {
            Some(parent) => parent.command.clone(),
            // By now the process may have ended, or be another program.
            None => match program.agent().map(Agent::command) {
                Some((command, true)) => command,
                noted => Some(proc::command_line(program.pid))
                    .filter(|command| !command.is_empty())
                    .or(noted.map(|(command, _)| command))
                    .unwrap_or_default(),
            },
        };
        if program.command.is_empty() {
            // It has ended: its main thread has left its name. The kernel may not have told yet what it
            // executed, but only that it was forked.
            let name = program.agent().and_then(Agent::main_name);
            program.command = name
                .filter(|name| !name.is_empty())
                .or(newcomer.map(|known| known.command))
                .unwrap_or_default();
        }
        program.introduce(parent, self.options.agent.as_deref(), sink);
        self.programs.insert(program.key, program);
    }

    /// Whether a process that lives is sampled from outside.
    fn is_sampled_outside(&self, pid: u32) -> bool {
        let of_pid = self.program_of(pid).and_then(|key| self.programs.get(&key));
        of_pid.is_some_and(|program| {
            let ended = sys::which_ended(program.pidfd.iter());
            matches!(program.way, Way::Outside(_)) && ended == [false]
        })
    }

    /// Which program forked this one, or was replaced by it.
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
        let replaced: Vec<u32> = self
            .programs
            .values()
            .filter(|other| other.pid == pid)
            .map(|other| other.key)
            .collect();
        let mut parent = None;
        for key in replaced {
            // A fork in a process known before: that one has ended, and its number was used again.
            let how = match goes_on {
                true => HowEnded::Replaced,
                false => HowEnded::Unknown,
            };
            self.end_program(key, how, sink);
            parent = Some(key).filter(|_| goes_on);
        }
        let newcomer = self.newcomers.get(&pid).map(|newcomer| newcomer.parent);
        let by_pid = self
            .last_of
            .get(&agent.header().parent.load(Ordering::Relaxed));
        let first = parent.or(newcomer.filter(|&key| key != 0));
        first.or(by_pid.copied()).unwrap_or(0)
    }

    /// The modules of the process that forked this one: the child has the same, to begin with.
    fn modules_of_parent(&self, map: &RingMap) -> ModuleList {
        let header = &map.ring().header;
        let ring = header.parent_ring.load(Ordering::Relaxed) as usize;
        let parent = self
            .by_ring
            .get(&ring)
            .and_then(|key| self.programs.get(key));
        let pid = header.parent.load(Ordering::Relaxed);
        if let Some(parent) = parent.filter(|parent| parent.pid == pid) {
            return parent.modules.clone();
        }
        // The parent has ended before we came to its child.
        let started = header.started.load(Ordering::Relaxed);
        let mut ended = self.ended_modules.iter().rev();
        let parent = ended.find(|(of, began, _)| *of == pid && *began <= started);
        parent.map_or_else(ModuleList::default, |(_, _, modules)| modules.clone())
    }

    /// Keeps the modules of a program that has ended, for children that we come to later.
    pub(super) fn keep_modules(&mut self, program: &mut Program) {
        /// As many processes as may begin and end between two looks.
        const KEPT: usize = 256;
        let modules = std::mem::take(&mut program.modules);
        let kept = &mut self.ended_modules;
        kept.push_back((program.pid, program.started, modules));
        if kept.len() > KEPT {
            kept.pop_front();
        }
    }

    /// Whether the program is better sampled from outside.
    fn refuses(&self, program: &Program) -> bool {
        let main = program.modules.loaded().iter();
        // Go has its own stacks and its own idea of signals.
        self.can_sample_outside()
            && main
                .filter_map(|module| module.file.as_ref())
                .any(|file| file.compiled().is_go)
    }
}

impl Program {
    /// Publishes the list of modules in the ring.
    pub(crate) fn publish(&mut self) {
        if let Way::Agent(agent) = &mut self.way {
            let generation = agent.next_generation();
            agent.unpublished = !publish(agent.map.ring(), &self.modules, generation);
        }
    }
}

fn answer(map: &RingMap, state: u32) {
    let word = &map.ring().header.state;
    // Release pairs with the agent's acquire: modules and clocks are there.
    word.store(state, Ordering::Release);
    sys::futex_wake(word);
}

fn is_gone(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESRCH)
}

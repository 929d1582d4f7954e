//! A program in a process, from its beginning to its end, however it is sampled.

mod python;
mod rewalk;
mod times;

use std::os::fd::OwnedFd;

use profundo_linux::account::Account;
use profundo_linux::clock::Scale;
use profundo_linux::proc;
use profundo_process::copied_stack::modules;
use profundo_process::modules::{Changes, MappingHistory, ModuleList, Store, publish};
use profundo_process::reading::{Blocked, Process, Reading, ReadingWords};
use profundo_unwind::Module;
use profundo_wire::recording::{Event, HowEnded, LossCounts, ProcessInfo};
use profundo_wire::{End, State};

use crate::agent::Agent;
use crate::core::ThreadId;
use crate::outside::Outside;

use rewalk::RewalkState;

/// The way of its sampling.
#[derive(Debug)]
pub(crate) enum Way {
    /// By an agent in it.
    Agent(Box<Agent>),
    /// By perf rings.
    Outside(Outside),
}

/// A program.
#[derive(Debug)]
pub(crate) struct Program {
    /// Its number in the recording.
    pub(crate) key: u32,
    pub(crate) pid: u32,
    /// Its command line.
    pub(crate) command: String,
    /// Its labels, where all processes are recorded.
    pub(crate) labels: Vec<(String, String)>,
    /// The time of its beginning, in cycles.
    pub(crate) started: u64,
    pub(crate) way: Way,
    pub(crate) pidfd: Option<OwnedFd>,
    pub(crate) modules: ModuleList,
    /// The store's epoch when the list was published.
    pub(crate) epoch: u64,
    /// Whether its maps must be read again.
    pub(crate) maps_changed: bool,
    /// The earliest next reading of the maps after readings without a change, in cycles.
    not_before: u64,
    patience: u64,
    /// User and system time, counted only while sampling.
    pub(crate) user: Account,
    pub(crate) system: Account,
    /// Both at the last reading.
    pub(crate) times: (u64, u64),
    /// Both at the program's beginning: the process may have run another one before.
    pub(crate) times_before: (u64, u64),
    /// Both at the last clear.
    pub(crate) times_cleared: (u64, u64),
    /// The time that could be sampled until then, if that is counted from outside.
    pub(crate) outside_cleared: u64,
    /// Whether its process runs another program by now, whose times are not its own.
    pub(crate) is_over: bool,
    /// The wait status, if it was the caller's child.
    pub(crate) how: Option<HowEnded>,
    /// The number of emitted garbage collections.
    pub(crate) collections: u64,
    /// Whether the interpreter is known to record them.
    pub(crate) collections_entered: bool,
    /// The losses emitted last.
    pub(crate) loss: LossCounts,
    /// Reads its threads where they wait, if its agent samples them where they run.
    pub(crate) waits: Option<Box<Process>>,
    /// Whether the interpreter was emitted.
    pub(crate) runtime_emitted: bool,
    /// The mappings that the kernel has recorded.
    pub(crate) mapping_history: MappingHistory,
    /// The state of repeated walks.
    pub(crate) rewalks: RewalkState,
}

impl Program {
    pub(crate) fn new(key: u32, pid: u32, started: u64, way: Way, modules: ModuleList) -> Self {
        Self {
            key,
            pid,
            command: String::new(),
            labels: Vec::new(),
            started,
            way,
            pidfd: None,
            modules,
            epoch: 0,
            maps_changed: false,
            not_before: 0,
            patience: 0,
            user: Account::default(),
            system: Account::default(),
            times: (0, 0),
            times_before: (0, 0),
            times_cleared: (0, 0),
            outside_cleared: 0,
            is_over: false,
            how: None,
            collections: 0,
            collections_entered: false,
            loss: LossCounts::default(),
            waits: None,
            runtime_emitted: false,
            mapping_history: MappingHistory::default(),
            rewalks: RewalkState::new(),
        }
    }

    pub(crate) fn agent(&self) -> Option<&Agent> {
        match &self.way {
            Way::Agent(agent) => Some(agent),
            Way::Outside(_) => None,
        }
    }

    /// Emits the program, before all events that belong to it.
    pub(crate) fn introduce(
        &self,
        parent: u32,
        agent: Option<&std::path::Path>,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        sink(Event::Process(ProcessInfo {
            key: self.key,
            pid: self.pid,
            parent,
            command: self.command.clone(),
            directory: match self.way {
                Way::Agent(_) => proc::directory(self.pid),
                Way::Outside(_) => proc::first_directory(self.pid),
            },
            environment: proc::environment_names(self.pid, agent),
            labels: self.labels.clone(),
            started: self.started,
        }));
        let modules = self.modules.infos(self.started);
        if !modules.is_empty() {
            let process = self.key;
            sink(Event::Modules { process, modules });
        }
    }

    /// Reads the maps again, if they may have changed, and emits new and unmapped modules. Returns
    /// whether the list must be published.
    pub(crate) fn refresh_modules(
        &mut self,
        now: u64,
        store: &mut Store,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> bool {
        /// The first interval of rereading the maps for stacks that lead out of the modules. Each
        /// reading without a change doubles it.
        const FIRST: u64 = 20_000_000;
        const LONGEST: u64 = 3_000_000_000;
        if !self.maps_changed || now < self.not_before {
            return false;
        }
        let changed = self.find_modules(now, store, sink);
        self.patience = match changed {
            true => 0,
            false => (self.patience * 2).clamp(FIRST, LONGEST),
        };
        self.not_before = now + self.patience;
        changed
    }

    /// Reads the maps, and emits new and unmapped modules. Returns whether the list must be
    /// published.
    pub(crate) fn find_modules(
        &mut self,
        now: u64,
        store: &mut Store,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> bool {
        self.maps_changed = false;
        let maps = proc::read(self.pid, "maps");
        let history = &mut self.mapping_history;
        let mut changes = match maps.is_empty() {
            true => Changes::default(),
            false => self.modules.refresh(self.pid, &maps, now, history, store),
        };
        // Modules that came and went between two readings, or whose process ended before they were
        // read.
        let gone = history.recall(self.pid, &self.modules, now, store);
        changes.modules.extend(gone);
        if !changes.modules.is_empty() {
            sink(Event::Modules {
                process: self.key,
                modules: changes.modules,
            });
        }
        changes.any
    }

    /// Its modules for a walk of a stack that was copied just now.
    pub(crate) fn modules_now<'a>(&self, now: u64, store: &'a Store) -> Vec<Module<'a>> {
        match self.mapping_history.is_settled(now) {
            true => modules(&self.modules, store),
            false => self.mapping_history.modules_at(&self.modules, now, store),
        }
    }

    /// Reads a thread where it waits. New records go to `words`. Returns the sample, unless the
    /// thread moved meanwhile or is not known.
    pub(crate) fn read_waiting(
        &mut self,
        tid: u32,
        blocked: Blocked,
        store: &Store,
        scale: &Scale,
        words: &mut Vec<u64>,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> Option<Vec<u64>> {
        let clock = profundo_probe::clock::now();
        let pid = self.pid;
        let number = match &mut self.way {
            Way::Agent(agent) => agent.number_of(tid)?,
            Way::Outside(outside) => {
                outside.number_of(self.key, ThreadId { pid, tid }, clock, scale, sink)
            }
        };
        let process = match &mut self.way {
            Way::Outside(outside) => outside.process.get_or_insert_default(),
            Way::Agent(_) => self
                .waits
                .get_or_insert_with(|| Box::new(Process::beside_an_agent())),
        };
        process.find_python(pid, &self.modules);
        let reading = Reading {
            tid,
            number,
            clock,
            weight: 0,
            state: State::WallWaiting,
        };
        let list = modules(&self.modules, store);
        let mut sample = Vec::new();
        let out = ReadingWords {
            words,
            sample: &mut sample,
        };
        let stack = process.read_blocked(pid, reading, blocked, &list, out);
        (stack.end != End::Gone).then_some(sample)
    }

    /// Starts or stops its clocks.
    pub(crate) fn set_running(&mut self, running: bool, now: u64) {
        if let Way::Agent(agent) = &mut self.way {
            agent.set_running(running, now);
        }
        if running {
            self.resume();
        } else {
            self.pause();
        }
    }

    /// Emits the losses, if there are more than before.
    pub(crate) fn emit_loss(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let Some(agent) = self.agent() else { return };
        let loss = agent.loss();
        if loss != self.loss {
            self.loss = loss;
            let process = self.key;
            sink(Event::Loss { process, loss });
        }
    }

    /// Emits all its threads.
    pub(crate) fn emit_threads(
        &mut self,
        now: u64,
        scale: &profundo_linux::clock::Scale,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        let key = self.key;
        match &mut self.way {
            Way::Agent(agent) => {
                agent.emit_changed_threads(key, scale, sink);
                agent.emit_all_threads(key, false, scale, sink);
            }
            Way::Outside(outside) => outside.emit_threads(key, now, scale, sink),
        }
    }

    /// Ends the recording of a living program.
    pub(crate) fn finish(&mut self, now: u64) {
        self.read_times();
        if let Way::Agent(agent) = &mut self.way {
            agent.set_running(false, now);
        }
    }

    /// Publishes the list of modules in the ring.
    pub(crate) fn publish(&mut self) {
        if let Way::Agent(agent) = &mut self.way {
            let generation = agent.next_generation();
            agent.unpublished = !publish(agent.map.ring(), &self.modules, generation);
        }
    }
}

/// The end of a process, by its wait status.
pub(crate) fn how_ended(status: i32) -> HowEnded {
    if libc::WIFEXITED(status) {
        HowEnded::Exited(libc::WEXITSTATUS(status) as u8)
    } else if libc::WIFSIGNALED(status) {
        HowEnded::Killed(libc::WTERMSIG(status) as u8)
    } else {
        HowEnded::Unknown
    }
}

//! A program in a process, from its beginning to its end, however it is sampled.

use std::os::fd::OwnedFd;

use profundo_wire::recording::{Event, HowEnded, LossCounts, ProcessEnd, ProcessInfo};
use profundo_wire::{End, State};

use crate::account::Account;
use crate::agent::Agent;
use crate::clock::Scale;
use crate::copied_stack::modules;
use crate::modules::{Changes, MappingHistory, ModuleList, Store};
use crate::outside::Outside;
use crate::proc;
use crate::reading::{Blocked, Process, Reading};
use crate::recorder::AgainState;
use crate::tallies::Accounts;

/// How its samples are made.
#[derive(Debug)]
pub(crate) enum Way {
    /// By an agent inside.
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
    /// When it began, in cycles.
    pub(crate) started: u64,
    pub(crate) way: Way,
    pub(crate) pidfd: Option<OwnedFd>,
    pub(crate) modules: ModuleList,
    /// How far the store was when the list was published.
    pub(crate) epoch: u64,
    /// Whether its maps are to be read again.
    pub(crate) maps_changed: bool,
    /// When its maps may be read again although nothing came of it the last times, in cycles.
    not_before: u64,
    patience: u64,
    /// User and system time, of which only that while sampling counts.
    pub(crate) user: Account,
    pub(crate) system: Account,
    /// Both, as last read.
    pub(crate) times: (u64, u64),
    /// Both, when the program began: the process may have run another one before.
    pub(crate) times_before: (u64, u64),
    /// Both, when what was recorded was cleared.
    pub(crate) times_cleared: (u64, u64),
    /// And what could have been sampled of it by then, if that is counted from outside.
    pub(crate) outside_cleared: u64,
    /// What `wait` said, if it was our caller's child.
    pub(crate) how: Option<HowEnded>,
    /// How many collections of garbage were told of.
    pub(crate) collections: u64,
    /// Whether it is known that there will be any.
    pub(crate) tells_collections: bool,
    /// What was told of its losses last.
    pub(crate) loss: LossCounts,
    /// Reads its threads where they wait, if it has an agent that samples where they run.
    pub(crate) waits: Option<Box<Process>>,
    /// Whether the interpreter was told of.
    pub(crate) runtime_told: bool,
    /// What the kernel has told of its modules.
    pub(crate) told: MappingHistory,
    /// Walks that are done again.
    pub(crate) again: AgainState,
    /// What the compiler's counters in it say.
    pub(crate) tallies: Accounts,
    /// What it tells of code that it makes, if it makes any.
    pub(crate) watch: Option<Box<profundo_jit::Watch>>,
}

impl Program {
    pub(crate) fn new(key: u32, pid: u32, started: u64, way: Way, modules: ModuleList) -> Self {
        Self {
            key,
            pid,
            command: String::new(),
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
            how: None,
            collections: 0,
            tells_collections: false,
            loss: LossCounts::default(),
            waits: None,
            runtime_told: false,
            told: MappingHistory::default(),
            again: AgainState::new(),
            tallies: Accounts::default(),
            watch: None,
        }
    }

    pub(crate) fn agent(&self) -> Option<&Agent> {
        match &self.way {
            Way::Agent(agent) => Some(agent),
            Way::Outside(_) => None,
        }
    }

    /// Tells of the program: before anything else that belongs to it.
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
            started: self.started,
        }));
        let modules = self.modules.infos(self.started);
        if !modules.is_empty() {
            let process = self.key;
            sink(Event::Modules { process, modules });
        }
    }

    /// Reads the maps again, if they may have changed, and tells of what came and went. Returns
    /// whether there is anything to publish.
    pub(crate) fn refresh_modules(
        &mut self,
        now: u64,
        store: &mut Store,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> bool {
        /// A stack that leads into nowhere asks for a look at every sample. The first looks in
        /// vain cost little; the next come after ever longer times.
        const FIRST: u64 = 20_000_000;
        const LONGEST: u64 = 3_000_000_000;
        if !self.maps_changed || now < self.not_before {
            return false;
        }
        let changed = self.look_for_modules(now, store, sink);
        self.patience = match changed {
            true => 0,
            false => (self.patience * 2).clamp(FIRST, LONGEST),
        };
        self.not_before = now + self.patience;
        changed
    }

    /// Reads the maps, and tells of what came and went. Returns whether there is anything to publish.
    pub(crate) fn look_for_modules(
        &mut self,
        now: u64,
        store: &mut Store,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> bool {
        self.maps_changed = false;
        let maps = proc::read(self.pid, "maps");
        let told = &mut self.told;
        let mut changes = match maps.is_empty() {
            true => Changes::default(),
            false => self.modules.refresh(self.pid, &maps, now, told, store),
        };
        // What has come and gone between two looks, or was not looked for before the process had gone.
        let gone = told.recall(self.pid, &self.modules, now, store);
        changes.modules.extend(gone);
        if !changes.modules.is_empty() {
            sink(Event::Modules {
                process: self.key,
                modules: changes.modules,
            });
        }
        changes.any
    }

    /// Reads a thread where it waits. What is told with it goes to `words`; the sample is returned, unless
    /// the thread moved meanwhile or is not known.
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
            Way::Outside(outside) => outside.number_of(self.key, (pid, tid), clock, scale, sink),
        };
        let process = match &mut self.way {
            Way::Outside(outside) => outside.process.get_or_insert_default(),
            Way::Agent(_) => self
                .waits
                .get_or_insert_with(|| Box::new(Process::beside_an_agent())),
        };
        process.look_for_python(pid, &self.modules);
        let reading = Reading {
            tid,
            number,
            clock,
            weight: 0,
            state: State::WallWaiting,
        };
        let list = modules(&self.modules, store);
        let mut own = Vec::new();
        let stack = process.read_blocked(pid, reading, blocked, &list, (words, &mut own));
        (stack.end != End::Gone).then_some(own)
    }

    /// Reads its times; false if it is gone.
    pub(crate) fn read_times(&mut self) -> Option<proc::Stat> {
        let stat = proc::stat(self.pid)?;
        // A process that has ended and was asked for has none any more.
        let (user, system) = match self.way {
            // It says itself what it has used.
            Way::Agent(_) => (stat.user, stat.system),
            _ => proc::times(self.pid, &stat),
        };
        self.times.0 = self.times.0.max(user);
        self.times.1 = self.times.1.max(system);
        Some(stat)
    }

    /// Its times count from now on.
    pub(crate) fn resume(&mut self) {
        self.read_times();
        self.user.go(self.times.0);
        self.system.go(self.times.1);
    }

    /// Its times count no more.
    pub(crate) fn pause(&mut self) {
        self.read_times();
        self.user.stop(self.times.0);
        self.system.stop(self.times.1);
    }

    /// Its user and system time while it was sampled; of one that could not be, all of it.
    fn sampled_times(&self) -> (u64, u64) {
        let (before, cleared) = (self.times_before, self.times_cleared);
        let before = (before.0.max(cleared.0), before.1.max(cleared.1));
        let sampled = |account: Account, now: u64, before: u64| match account.has_begun() {
            true => account.at(now),
            false => now.saturating_sub(before),
        };
        (
            sampled(self.user, self.times.0, before.0),
            sampled(self.system, self.times.1, before.1),
        )
    }

    /// Its CPU time meanwhile, as far as it was read.
    pub(crate) fn cpu(&self) -> u64 {
        let (user, system) = self.sampled_times();
        user + system
    }

    /// What there is to say when it has ended.
    pub(crate) fn end(&self, ended: u64, how: HowEnded) -> ProcessEnd {
        let (user, system) = self.sampled_times();
        ProcessEnd {
            process: self.key,
            ended,
            user: Some(user),
            system: Some(system),
            how,
        }
    }
}

/// What a wait status says.
pub(crate) fn how_ended(status: i32) -> HowEnded {
    if libc::WIFEXITED(status) {
        HowEnded::Exited(libc::WEXITSTATUS(status) as u8)
    } else if libc::WIFSIGNALED(status) {
        HowEnded::Killed(libc::WTERMSIG(status) as u8)
    } else {
        HowEnded::Unknown
    }
}

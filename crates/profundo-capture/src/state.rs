//! The state that sessions share, and the session that runs.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use profundo_probe::Probe;
use profundo_wire::recording;

use crate::buffer::OwnedBuffer;
use crate::config::Config;
use crate::deaf::DeafThreads;
use crate::engine::Engine;
use crate::error::Error;
use crate::helper::Helper;
use crate::lock::{ForkLock, Fresh};
use crate::modules::ModuleList;
use crate::totals::Totals;
use crate::wall::WallSampler;
use crate::{clock, probe, proc};

/// The note where the wall clock cannot look at sleeping threads.
const BLIND: &str = "threads could not be looked at where they wait: /proc/self/task/*/syscall is \
                     not readable here (a process that is not dumpable, or no file descriptors \
                     left)";
/// The interval of looks at threads where new ones inherit their clock.
pub(crate) const LOOK_AT_THREADS: Duration = Duration::from_millis(100);

/// The quantity that is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// CPU time: each thread while it runs.
    Cpu,
    /// Elapsed time: one thread or task at a time, picked at random.
    Wall,
}

/// The state of the sessions: one at a time.
pub(crate) static STATE: ForkLock<State> = ForkLock::new(State::new());

/// Everything that sessions share, under one lock.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) config: Config,
    pub(crate) buffer: Option<OwnedBuffer>,
    pub(crate) modules: Option<ModuleList>,
    pub(crate) session: Option<Session>,
    pub(crate) totals: Totals,
}

/// A running session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) number: u64,
    pub(crate) pid: u32,
    pub(crate) mode: Mode,
    pub(crate) period: u64,
    pub(crate) helper: Helper,
    pub(crate) engine: Engine,
    pub(crate) deaf: DeafThreads,
    pub(crate) wall: Option<WallSampler>,
    pub(crate) started: recording::Instant,
    pub(crate) cpu_before: (u64, u64),
    pub(crate) next_look: Instant,
    /// Threads that were new at the last look, which may not have named themselves yet.
    pub(crate) newcomers: Vec<u32>,
    pub(crate) stopped_early: bool,
    /// The engine's notes at its start.
    pub(crate) notes: Vec<String>,
}

impl State {
    pub(crate) const fn new() -> Self {
        Self {
            config: Config {
                words: crate::config::DEFAULT_WORDS,
                delay: crate::config::DEFAULT_DELAY,
                ring: false,
                engine: crate::config::EngineChoice::Auto,
                delivery: crate::config::Delivery::Auto,
            },
            buffer: None,
            modules: None,
            session: None,
            totals: Totals::new(),
        }
    }

    /// In a forked child: releases the parent's session.
    pub(crate) fn forget_the_parents(&mut self) {
        if let Some(session) = self
            .session
            .take_if(|session| session.pid != std::process::id())
        {
            session.helper.abandon();
        }
    }

    pub(crate) fn ensure_buffer(&mut self, probe: &'static Probe) -> Result<(), Error> {
        if self.buffer.is_none() {
            let buffer = OwnedBuffer::new(self.config.words, self.config.ring)?;
            probe.buffer.store(buffer.as_ptr(), Ordering::Release);
            self.buffer = Some(buffer);
        }
        Ok(())
    }

    /// One turn of the helper. Returns whether the next one may be later.
    pub(crate) fn tick(&mut self) -> bool {
        let Some(probe) = probe::probe() else {
            return true;
        };
        let (Some(session), Some(modules), Some(buffer)) =
            (&mut self.session, &mut self.modules, &self.buffer)
        else {
            return true;
        };
        if session.stopped_early {
            return false;
        }
        if buffer.get().is_full() {
            session.engine.disable(probe);
            session.stopped_early = true;
            return false;
        }
        let now = Instant::now();
        if let Some(wall) = &mut session.wall {
            wall.tick(probe);
            if wall.has_gone_blind() && !self.totals.notes.iter().any(|note| note == BLIND) {
                self.totals.notes.push(BLIND.into());
            }
            if !wall.is_time_to_look(now) {
                return false;
            }
        }
        modules.refresh(&probe.code);
        let overdue = now >= session.next_look;
        if session.engine.must_look_for_threads() || overdue {
            session.look_at_threads(probe);
            session.next_look = now + LOOK_AT_THREADS;
        }
        if session.mode == Mode::Cpu {
            session.engine.give_clocks(probe, now);
        }
        session.mode == Mode::Cpu && !session.engine.must_look_for_threads()
    }
}

impl Fresh for State {
    fn fresh() -> Self {
        Self::new()
    }
}

impl Session {
    /// Enters new threads into the table, notes their CPU time, gives clocks to those that need
    /// one, and frees the slots of ended ones.
    pub(crate) fn look_at_threads(&mut self, probe: &Probe) {
        let Ok(tids) = proc::threads() else { return };
        let now = profundo_probe::clock::now();
        let newcomers = std::mem::take(&mut self.newcomers);
        for &tid in &tids {
            let slot = match probe.threads.find(tid) {
                Some(slot) => Some(slot),
                None => {
                    self.newcomers.push(tid);
                    probe.threads.enter_other(tid, proc::thread_name(tid))
                }
            };
            if let Some(record) = slot.and_then(|slot| probe.threads.record(slot.number())) {
                if newcomers.contains(&tid) {
                    let name = proc::thread_name(tid);
                    // A thread that has just ended has no name any more.
                    if name[0] != 0 {
                        record.set_name(name);
                    }
                }
                record.saw(now);
                // A thread that ends at this moment has no clock any more.
                let cpu = clock::cpu_of(tid);
                if cpu > 0 {
                    record.cpu.store(cpu, Ordering::Relaxed);
                }
            }
        }
        self.look_for_deaf_threads(probe, &tids);
        self.engine.attend(&tids, probe);
        if let Some(wall) = &mut self.wall {
            wall.set_threads(tids);
        }
        probe.threads.sweep(&probe.caches, proc::is_alive);
    }

    /// Opens the clocks again that were closed because the buffer was full. If that is refused, the
    /// session stays stopped.
    pub(crate) fn resume(&mut self, config: &Config, probe: &'static Probe) {
        let Ok(mut engine) = Engine::open(config, self.mode == Mode::Wall, probe) else {
            return;
        };
        if engine.enable(probe).is_ok() {
            self.engine = engine;
            self.stopped_early = false;
        } else {
            engine.disable(probe);
        }
    }

    pub(crate) fn look_for_deaf_threads(&mut self, probe: &Probe, tids: &[u32]) {
        if self.mode == Mode::Cpu {
            for tid in self.deaf.find(probe, tids, self.period) {
                self.engine.give_clock(tid, probe);
            }
        }
    }

    /// The CPU time that the engine could have seen since the session began.
    pub(crate) fn cpu(&self) -> u64 {
        let (user, system) = clock::process_cpu();
        let user = user.saturating_sub(self.cpu_before.0);
        let system = system.saturating_sub(self.cpu_before.1);
        if self.engine.sees_system_time() {
            user + system
        } else {
            user
        }
    }

    /// The source of the samples.
    pub(crate) fn engine_kind(&self) -> recording::Engine {
        match self.mode {
            Mode::Cpu => self.engine.kind(),
            Mode::Wall => recording::Engine::Wall,
        }
    }

    pub(crate) fn look_at_threads_once_more(&mut self, probe: &Probe) {
        let now = profundo_probe::clock::now();
        for (_, record) in probe
            .threads
            .records()
            .filter(|(_, record)| !record.has_ended())
        {
            let cpu = clock::cpu_of(record.tid());
            if cpu > 0 {
                record.saw(now);
                record.cpu.store(cpu, Ordering::Relaxed);
            }
        }
    }
}

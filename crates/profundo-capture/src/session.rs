//! A session from start to stop, and what several of them add up to in one buffer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use profundo_probe::Probe;
use profundo_wire::recording;

use crate::buffer::OwnedBuffer;
use crate::config::Config;
use crate::deaf::DeafThreads;
use crate::engine::Engine;
use crate::error::Error;
use crate::global::{self, RUNNING, STATE, WALL};
use crate::helper::Helper;
use crate::lock::Fresh;
use crate::modules::ModuleList;
use crate::wall::WallSampler;
use crate::{calibrate, clock, proc};

/// Said where the wall clock cannot look at sleeping threads.
const BLIND: &str = "threads could not be looked at where they wait: /proc/self/task/*/syscall is \
                     not readable here (a process that is not dumpable, or no file descriptors \
                     left)";
/// How often threads are looked at where new ones inherit their clock.
const LOOK_AT_THREADS: Duration = Duration::from_millis(100);

/// What is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// CPU time: each thread while it runs.
    Cpu,
    /// Elapsed time: one thread or task at a time, picked at random.
    Wall,
}

/// Everything that sessions share, under one lock.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) config: Config,
    pub(crate) buffer: Option<OwnedBuffer>,
    pub(crate) modules: Option<ModuleList>,
    pub(crate) session: Option<Session>,
    pub(crate) totals: Totals,
}

/// What the sessions in the buffer add up to.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) engine: recording::Engine,
    pub(crate) period: u64,
    pub(crate) started: recording::Instant,
    pub(crate) ended: recording::Instant,
    pub(crate) duration: u64,
    pub(crate) cpu: u64,
    /// Alive and CPU time of each thread, by number.
    pub(crate) threads: BTreeMap<u32, (u64, u64)>,
    pub(crate) notes: Vec<String>,
    /// The probe's counters when the buffer was cleared.
    pub(crate) before: crate::recording::CounterValues,
}

/// A running session.
#[derive(Debug)]
pub(crate) struct Session {
    number: u64,
    pid: u32,
    mode: Mode,
    period: u64,
    helper: Helper,
    engine: Engine,
    deaf: DeafThreads,
    wall: Option<WallSampler>,
    pub(crate) started: recording::Instant,
    cpu_before: (u64, u64),
    next_look: Instant,
    /// Threads met at the last look, which may not have named themselves yet.
    newcomers: Vec<u32>,
    stopped_early: bool,
    /// What the engine had to say when it was opened.
    notes: Vec<String>,
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

    /// In a forked child: lets go of the parent's session.
    fn forget_the_parents(&mut self) {
        if let Some(session) = self
            .session
            .take_if(|session| session.pid != std::process::id())
        {
            session.helper.abandon();
        }
    }

    fn ensure_buffer(&mut self, probe: &'static Probe) -> Result<(), Error> {
        if self.buffer.is_none() {
            let buffer = OwnedBuffer::new(self.config.words, self.config.ring)?;
            probe.buffer.store(buffer.as_ptr(), Ordering::Release);
            self.buffer = Some(buffer);
        }
        Ok(())
    }

    /// One turn of the helper. Returns whether the next one may take its time.
    pub(crate) fn tick(&mut self) -> bool {
        let Some(probe) = global::probe() else {
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

impl Totals {
    const fn new() -> Self {
        const ZERO: recording::Instant = recording::Instant {
            cycles: 0,
            monotonic: 0,
            unix: 0,
        };
        Self {
            engine: recording::Engine::None,
            period: 0,
            started: ZERO,
            ended: ZERO,
            duration: 0,
            cpu: 0,
            threads: BTreeMap::new(),
            notes: Vec::new(),
            before: crate::recording::CounterValues::ZERO,
        }
    }
}

impl Session {
    /// Enters new threads into the table, notes how much each has run, gives clocks to those
    /// that need one, and frees the slots of ended ones.
    fn look_at_threads(&mut self, probe: &Probe) {
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
                    // A thread that has just ended has none any more.
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

    /// Opens the clocks again that were closed because the buffer was full. Where that is refused
    /// now, the session stays as it was.
    fn resume(&mut self, config: &Config, probe: &'static Probe) {
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

    fn look_for_deaf_threads(&mut self, probe: &Probe, tids: &[u32]) {
        if self.mode == Mode::Cpu {
            for tid in self.deaf.look(probe, tids, self.period) {
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

    /// What samples.
    pub(crate) fn engine_kind(&self) -> recording::Engine {
        match self.mode {
            Mode::Cpu => self.engine.kind(),
            Mode::Wall => recording::Engine::Wall,
        }
    }
}

/// Replaces the settings and empties the buffer; its memory is reserved anew.
pub fn init(config: Config) -> Result<(), Error> {
    const SHORTEST: Duration = Duration::from_micros(10);
    const LONGEST: Duration = Duration::from_secs(3600);
    if !(SHORTEST..=LONGEST).contains(&config.delay) {
        return Err(Error::Delay(config.delay));
    }
    let probe = global::make_probe()?;
    let mut state = STATE.lock();
    state.forget_the_parents();
    if state.session.is_some() {
        return Err(Error::InitWhileRunning);
    }
    let buffer = OwnedBuffer::new(config.words, config.ring)?;
    // SeqCst pairs with a handler that counts itself in and then loads the buffer: if it is not
    // seen inside below, it sees this one.
    probe.buffer.store(buffer.as_ptr(), Ordering::SeqCst);
    wait_until_quiet(probe);
    state.buffer = Some(buffer);
    state.config = config;
    state.totals = Totals::new();
    state.totals.before = crate::recording::CounterValues::of(probe);
    Ok(())
}

/// A handler that began before the session ended may still be running. It takes microseconds,
/// unless its thread was descheduled in the middle.
fn wait_until_quiet(probe: &Probe) {
    while !probe.code.is_quiet() {
        std::thread::sleep(Duration::from_micros(20));
    }
}

/// Forgets all samples; the buffer's size stays. Works while a session runs: one that has stopped
/// because the buffer was full goes on.
pub fn clear() {
    let mut held = STATE.lock();
    let state = &mut *held;
    state.forget_the_parents();
    let Some(probe) = global::probe() else { return };
    if let Some(buffer) = &state.buffer {
        // A writer that was descheduled in the middle holds its chunk for a while.
        for _ in 0..1000 {
            if buffer.get().clear() {
                break;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }
    state.totals = Totals::new();
    state.totals.before = crate::recording::CounterValues::of(probe);
    let now = clock::now();
    if let Some(session) = &mut state.session {
        session.started = now;
        session.cpu_before = clock::process_cpu();
        let (engine, period) = (session.engine_kind(), state.config.delay.as_nanos() as u64);
        state.totals.engine = engine;
        state.totals.period = period;
        state.totals.started = now;
        state.totals.notes.clone_from(&session.notes);
        restart_threads(probe, now.cycles);
        if session.stopped_early {
            session.resume(&state.config, probe);
        }
    }
}

/// Starts the accounts of all threads met so far.
fn restart_threads(probe: &Probe, cycles: u64) {
    for (_, record) in probe.threads.records() {
        record.restart(cycles);
        let cpu = if record.has_ended() {
            record.cpu.load(Ordering::Relaxed)
        } else {
            clock::cpu_of(record.tid())
        };
        record.cpu.store(cpu, Ordering::Relaxed);
        record.cpu_before.store(cpu, Ordering::Relaxed);
    }
}

/// Starts a session; returns its number. Only one can run in a process.
pub fn start(mode: Mode) -> Result<u64, Error> {
    static SESSIONS: AtomicU64 = AtomicU64::new(1);
    let probe = global::make_probe()?;
    let mut state = STATE.lock();
    state.forget_the_parents();
    if state.session.is_some() {
        return Err(Error::AlreadyRunning);
    }
    state.ensure_buffer(probe)?;
    let config = state.config;
    state
        .modules
        .get_or_insert_with(ModuleList::default)
        .refresh(&probe.code);
    let helper = Helper::start(mode, config.delay)?;
    let engine = match Engine::open(&config, mode == Mode::Wall, probe) {
        Ok(engine) => engine,
        Err(error) => {
            drop(state);
            helper.stop();
            return Err(error);
        }
    };
    let now = Instant::now();
    let mut session = Session {
        number: SESSIONS.fetch_add(1, Ordering::Relaxed),
        pid: std::process::id(),
        mode,
        period: config.delay.as_nanos() as u64,
        helper,
        engine,
        deaf: DeafThreads::default(),
        wall: (mode == Mode::Wall).then(|| WallSampler::new(config.delay)),
        started: clock::now(),
        cpu_before: clock::process_cpu(),
        next_look: now + LOOK_AT_THREADS,
        newcomers: Vec::new(),
        stopped_early: false,
        notes: Vec::new(),
    };
    session.notes = std::mem::take(&mut session.engine.notes);
    for slot in probe.threads.slots() {
        // What an earlier session asked for and did not get is not asked for any more.
        slot.take_wanted();
        slot.take_owed();
    }
    session.look_at_threads(probe);
    session.started = clock::now();
    restart_threads(probe, session.started.cycles);
    let totals = &mut state.totals;
    totals.engine = session.engine_kind();
    totals.period = config.delay.as_nanos() as u64;
    if totals.started == recording::Instant::default() {
        totals.started = session.started;
    }
    for note in &session.notes {
        if !totals.notes.contains(note) {
            totals.notes.push(note.clone());
        }
    }
    probe.enabled.store(true, Ordering::Relaxed);
    RUNNING.store(true, Ordering::Relaxed);
    WALL.store(mode == Mode::Wall, Ordering::Relaxed);
    session.cpu_before = clock::process_cpu();
    let enabled = session.engine.enable(probe);
    let number = session.number;
    state.session = Some(session);
    drop(state);
    if enabled.is_err() {
        stop_session(number);
    }
    enabled.map(|()| number)
}

/// Ends the session, if one is running. Its samples stay in the buffer.
pub fn stop() {
    stop_if(|_| true);
}

/// Ends the session with this number, if it is the one that is running.
pub fn stop_session(number: u64) {
    stop_if(|session| session.number == number);
}

fn stop_if(is_meant: impl FnOnce(&mut Session) -> bool) {
    let mut state = STATE.lock();
    state.forget_the_parents();
    let Some(mut session) = state.session.take_if(is_meant) else {
        return;
    };
    let cpu = session.cpu();
    if let Some(probe) = global::probe() {
        session.engine.disable(probe);
    }
    profundo_probe::handlers::take_back_pending_trap();
    RUNNING.store(false, Ordering::Relaxed);
    WALL.store(false, Ordering::Relaxed);
    if let Some(probe) = global::probe() {
        probe.enabled.store(false, Ordering::Relaxed);
        session.look_at_threads_once_more(probe);
        if let Ok(tids) = proc::threads() {
            session.look_for_deaf_threads(probe, &tids);
        }
        crate::recording::add_up(&mut state.totals, &session, cpu, probe);
    }
    drop(state);
    session.helper.stop();
    let state = STATE.lock();
    if state.session.is_none() {
        // Under the lock: while it is measured, signals do not make samples.
        calibrate::once();
    }
}

impl Session {
    fn look_at_threads_once_more(&mut self, probe: &Probe) {
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

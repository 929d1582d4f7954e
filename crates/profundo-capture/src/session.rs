//! A session from start to stop.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use profundo_probe::Probe;
use profundo_wire::recording;

use crate::buffer::OwnedBuffer;
use crate::config::Config;
use crate::deaf::DeafThreads;
use crate::engine::Engine;
use crate::error::Error;
use crate::global;
use crate::helper::Helper;
use crate::modules::ModuleList;
use crate::probe::{self, RUNNING, WALL};
use crate::state::{LOOK_AT_THREADS, Mode, STATE, Session};
use crate::totals::{CounterValues, Totals};
use crate::wall::WallSampler;
use crate::{calibrate, clock, proc, span};

/// The interval of looks at threads that inherit no clock.
const TICK: Duration = Duration::from_millis(10);

/// The present settings, with the use of the buffer: `(config, used, full)`.
pub fn settings() -> (Config, u64, bool) {
    let state = STATE.lock();
    let buffer = state.buffer.as_ref().map(|buffer| buffer.get());
    (
        state.config,
        buffer.map_or(0, profundo_probe::Buffer::used),
        buffer.is_some_and(profundo_probe::Buffer::is_full),
    )
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
    wait_for_handlers(probe);
    state.buffer = Some(buffer);
    span::clear();
    state.config = config;
    state.totals = Totals::new();
    state.totals.before = CounterValues::of(probe);
    Ok(())
}

/// Waits for handlers that began before the session ended. They take microseconds, unless a thread
/// was descheduled in the middle.
fn wait_for_handlers(probe: &Probe) {
    while !probe.code.is_idle() {
        std::thread::sleep(Duration::from_micros(20));
    }
}

/// Forgets all samples; the buffer's size stays. Works while a session runs: one that has stopped
/// because the buffer was full goes on.
pub fn clear() {
    let mut held = STATE.lock();
    let state = &mut *held;
    state.forget_the_parents();
    let Some(probe) = probe::probe() else { return };
    if let Some(buffer) = &state.buffer {
        // A writer that was descheduled in the middle holds its chunk for a while.
        for _ in 0..1000 {
            if buffer.get().clear() {
                break;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }
    span::clear();
    state.totals = Totals::new();
    state.totals.before = CounterValues::of(probe);
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

/// Restarts the accounts of all threads so far.
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
    let tick = match mode {
        Mode::Cpu => TICK,
        Mode::Wall => config.delay.min(TICK),
    };
    let helper = Helper::start(tick, || STATE.lock().tick())?;
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
        // An unanswered request of an earlier session is dropped.
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
    if let Some(probe) = probe::probe() {
        session.engine.disable(probe);
    }
    profundo_probe::handlers::take_back_pending_trap();
    RUNNING.store(false, Ordering::Relaxed);
    WALL.store(false, Ordering::Relaxed);
    if let Some(probe) = probe::probe() {
        probe.enabled.store(false, Ordering::Relaxed);
        session.look_at_threads_once_more(probe);
        if let Ok(tids) = proc::threads() {
            session.look_for_deaf_threads(probe, &tids);
        }
        state.totals.add(session.started, cpu, probe);
    }
    drop(state);
    session.helper.stop();
    let state = STATE.lock();
    if state.session.is_none() {
        // Under the lock: during the measurement, signals do not make samples.
        calibrate::once();
    }
}

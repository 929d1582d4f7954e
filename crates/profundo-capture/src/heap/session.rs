//! A recording of allocations from start to stop, and the totals of several.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use profundo_probe::heap::{SWITCH, Watch};
use profundo_wire::recording::Instant;

use super::memory::{self, OwnedTables};
use super::{counting, exclude_allocations, local};
use crate::error::Error;
use crate::global;
use crate::helper::Helper;
use crate::lock::{ForkLock, Fresh};
use crate::modules::ModuleList;
use crate::probe;
use crate::state::STATE;
use crate::{clock, proc};

/// The default number of allocations: 200 MB of address space, touched as they come.
pub const DEFAULT_ALLOCATIONS: u64 = 1 << 22;

/// The interval of looks for new modules and ended threads.
const TICK: Duration = Duration::from_millis(20);
/// The number of turns between looks for ended threads.
const SWEEP: u32 = 8;

/// The allocations that are recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// On average one in so many bytes. 0: all.
    Bytes(u64),
    /// Each with this probability: 1 and above are all of them, 0 and below none.
    Events(f64),
}

/// The settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The room for allocations.
    pub allocations: u64,
}

/// Everything that recordings share, under one lock.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) settings: Settings,
    pub(crate) tables: Option<OwnedTables>,
    recording: Option<Recording>,
    pub(crate) totals: Totals,
}

/// The totals of the recordings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    pub(crate) started: Instant,
    pub(crate) ended: Instant,
    pub(crate) duration: u64,
    /// By the rule's number, which allocations carry.
    pub(crate) rules: BTreeMap<u32, Rule>,
}

/// A running recording.
#[derive(Debug)]
struct Recording {
    number: u64,
    pid: u32,
    rule: Rule,
    helper: Helper,
    started: Instant,
}

/// Locked before the sessions of time, where both are.
pub(crate) static HEAP: ForkLock<State> = ForkLock::new(State::new());

/// Whether allocations are recorded, readable without the lock.
static RECORDING: AtomicBool = AtomicBool::new(false);

/// Rules are numbered in the order of their starts, also within one interrupted recording.
static RULES: AtomicU64 = AtomicU64::new(1);

impl Rule {
    /// The distance from one to the next, in bytes or events.
    fn mean(self) -> f64 {
        match self {
            Self::Bytes(mean) => mean as f64,
            Self::Events(rate) if rate >= 1.0 => 0.0,
            Self::Events(rate) if rate > 0.0 => -1.0 / (-rate).ln_1p(),
            Self::Events(_) => f64::INFINITY,
        }
    }

    fn check(self) -> Result<(), Error> {
        match self {
            Self::Events(rate) if rate.is_nan() => Err(Error::SampleRate(rate)),
            _ => Ok(()),
        }
    }
}

impl State {
    const fn new() -> Self {
        Self {
            settings: Settings {
                allocations: DEFAULT_ALLOCATIONS,
            },
            tables: None,
            recording: None,
            totals: Totals::new(),
        }
    }

    /// In a forked child: releases the parent's recording.
    fn forget_the_parents(&mut self) {
        // A child of a bare system call has run no fork handler.
        if memory::watch().is_some_and(|watch| watch.is_ours.load(Ordering::Relaxed) == 0) {
            memory::reset_after_fork();
        }
        if let Some(recording) = self
            .recording
            .take_if(|recording| recording.pid != std::process::id())
        {
            recording.helper.abandon();
        }
    }

    /// The totals of the recordings by now.
    pub(crate) fn totals_now(&self) -> Totals {
        let mut totals = self.totals.clone();
        if let Some(recording) = &self.recording {
            totals.add(recording.started);
        }
        totals
    }

    /// Starts to record by a rule, which gets a new number.
    fn turn_on(&mut self, rule: Rule) {
        let number = RULES.fetch_add(1, Ordering::Relaxed);
        self.totals.rules.insert(number as u32, rule);
        local::set_mean(rule.mean());
        SWITCH.record(number, matches!(rule, Rule::Events(_)));
    }
}

impl Fresh for State {
    fn fresh() -> Self {
        Self::new()
    }
}

impl Totals {
    const fn new() -> Self {
        Self {
            started: Instant {
                cycles: 0,
                monotonic: 0,
                unix: 0,
            },
            ended: Instant {
                cycles: 0,
                monotonic: 0,
                unix: 0,
            },
            duration: 0,
            rules: BTreeMap::new(),
        }
    }

    fn add(&mut self, started: Instant) {
        let now = clock::now();
        self.ended = now;
        self.duration += now.monotonic.saturating_sub(started.monotonic);
    }
}

/// Stops recording, and waits for threads that still do.
fn turn_off(watch: &Watch) {
    SWITCH.stop_recording();
    while !watch.is_idle() {
        std::thread::sleep(Duration::from_micros(20));
    }
}

/// Replaces the settings, and forgets the recorded allocations.
pub fn init(settings: Settings) -> Result<(), Error> {
    let _excluded = exclude_allocations();
    let mut state = HEAP.lock();
    state.forget_the_parents();
    if state.recording.is_some() {
        return Err(Error::AllocationsWhileRecording);
    }
    let watch = memory::make_watch()?;
    let tables = OwnedTables::new(settings.allocations)?;
    turn_off(watch);
    watch.tables.store(tables.as_ptr(), Ordering::SeqCst);
    // The former ones go: no thread is inside, and a thread that comes in sees that recording is
    // off.
    state.tables = Some(tables);
    state.settings = settings;
    state.totals = Totals::new();
    Ok(())
}

/// The present settings.
pub fn settings() -> Settings {
    HEAP.lock().settings
}

/// The number of recorded allocations that were not cleared.
pub fn len() -> u64 {
    let state = HEAP.lock();
    state
        .tables
        .as_ref()
        .map_or(0, |tables| tables.get().rows.len() as u64)
}

/// Whether allocations are recorded.
pub fn is_recording() -> bool {
    RECORDING.load(Ordering::Relaxed)
}

/// Starts recording; returns the recording's number. Where allocations are recorded already, the
/// rule is changed.
pub fn start(rule: Rule) -> Result<u64, Error> {
    start_unless(rule, |_| None)
}

/// Starts recording, unless allocations are recorded already.
pub fn try_start(rule: Rule) -> Result<u64, Error> {
    start_unless(rule, |_| Some(Error::AlreadyRecording))
}

fn start_unless(rule: Rule, refuse: fn(&Recording) -> Option<Error>) -> Result<u64, Error> {
    static RECORDINGS: AtomicU64 = AtomicU64::new(1);
    rule.check()?;
    counting::check_installed()?;
    let _excluded = exclude_allocations();
    let probe = global::make_probe()?;
    refresh_modules();
    let mut held = HEAP.lock();
    let state = &mut *held;
    state.forget_the_parents();
    if let Some(recording) = &mut state.recording {
        if let Some(error) = refuse(recording) {
            return Err(error);
        }
        let number = recording.number;
        if recording.rule != rule {
            recording.rule = rule;
            state.turn_on(rule);
        }
        return Ok(number);
    }
    let watch = memory::make_watch()?;
    if state.tables.is_none() {
        state.tables = Some(OwnedTables::new(state.settings.allocations)?);
    }
    let tables = state.tables.as_ref().expect("it was made just now");
    watch.tables.store(tables.as_ptr(), Ordering::SeqCst);
    // Frees since the last recording were not seen.
    turn_off(watch);
    memory::forget_followed(watch);
    let mut turns = 0_u32;
    let helper = Helper::start(TICK, move || {
        turns = turns.wrapping_add(1);
        turn(turns);
        true
    })?;
    // The main thread has its number, and this one may.
    probe
        .threads
        .enter_other(std::process::id(), proc::thread_name(std::process::id()));
    let started = clock::now();
    if state.totals.started == Instant::default() {
        state.totals.started = started;
    }
    let number = RECORDINGS.fetch_add(1, Ordering::Relaxed);
    state.recording = Some(Recording {
        number,
        pid: std::process::id(),
        rule,
        helper,
        started,
    });
    RECORDING.store(true, Ordering::Relaxed);
    state.turn_on(rule);
    Ok(number)
}

/// Ends the recording, if there is one. The recorded allocations stay.
pub fn stop() {
    stop_if(|_| true);
}

/// Ends the recording with this number, if it is running.
pub fn stop_session(number: u64) {
    stop_if(|recording| recording.number == number);
}

fn stop_if(is_meant: impl FnOnce(&mut Recording) -> bool) {
    let _excluded = exclude_allocations();
    let mut state = HEAP.lock();
    state.forget_the_parents();
    let Some(recording) = state.recording.take_if(is_meant) else {
        return;
    };
    if let Some(watch) = memory::watch() {
        turn_off(watch);
    }
    RECORDING.store(false, Ordering::Relaxed);
    state.totals.add(recording.started);
    drop(state);
    recording.helper.stop();
}

/// Forgets the recorded allocations. Works while allocations are recorded: the recording goes on.
pub fn clear() {
    let _excluded = exclude_allocations();
    let mut held = HEAP.lock();
    let state = &mut *held;
    state.forget_the_parents();
    let Some(watch) = memory::watch() else { return };
    turn_off(watch);
    memory::forget_followed(watch);
    if let Some(tables) = &state.tables {
        tables.clear();
    }
    state.totals = Totals::new();
    if let Some(recording) = &mut state.recording {
        recording.started = clock::now();
        state.totals.started = recording.started;
        let rule = recording.rule;
        state.turn_on(rule);
    }
}

pub(super) fn refresh_modules() {
    let Some(probe) = probe::probe() else { return };
    let mut state = STATE.lock();
    state
        .modules
        .get_or_insert_with(ModuleList::default)
        .refresh(&probe.code);
}

/// One turn of the helper: libraries may have been loaded, and threads have ended.
fn turn(turns: u32) {
    refresh_modules();
    let Some(probe) = probe::probe() else { return };
    if turns.is_multiple_of(SWEEP) {
        let _state = STATE.lock();
        probe.threads.sweep(&probe.caches, proc::is_alive);
    }
}

/// In the child of a fork.
pub(super) fn forget_recording() {
    RECORDING.store(false, Ordering::Relaxed);
}

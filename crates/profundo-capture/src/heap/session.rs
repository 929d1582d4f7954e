//! A recording of allocations from start to stop, and what several of them add up to.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use profundo_probe::heap::{SWITCH, Watch};
use profundo_wire::recording::Instant;

use super::memory::{self, OwnedTables};
use super::{counting, local, quietly};
use crate::error::Error;
use crate::global::{self, STATE};
use crate::helper::Helper;
use crate::lock::{ForkLock, Fresh};
use crate::modules::ModuleList;
use crate::{clock, proc};

/// Room for so many allocations, if nothing else is asked for: 200 MB of address space, touched as
/// they come.
pub const DEFAULT_ALLOCATIONS: u64 = 1 << 22;

/// How often new modules and ended threads are looked for.
const TICK: Duration = Duration::from_millis(20);
/// In how many turns ended threads are looked for once.
const SWEEP: u32 = 8;

/// Which allocations are recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// One about each so many bytes. 0: all.
    Bytes(u64),
    /// Each with this probability: 1 and above are all of them, 0 and below none.
    Events(f64),
}

/// What can be chosen beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// For how many allocations there is room.
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

/// What the recordings add up to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    pub(crate) started: Instant,
    pub(crate) ended: Instant,
    pub(crate) duration: u64,
    /// By the number that allocations carry.
    pub(crate) rules: BTreeMap<u32, Rule>,
}

/// A recording that is going on.
#[derive(Debug)]
struct Recording {
    number: u64,
    pid: u32,
    rule: Rule,
    helper: Helper,
    started: Instant,
}

/// Taken before the lock of the sessions of time, where both are.
pub(crate) static HEAP: ForkLock<State> = ForkLock::new(State::new());

/// Whether allocations are recorded, to be asked without the lock.
static RECORDING: AtomicBool = AtomicBool::new(false);

/// Rules are numbered by when they began to hold, those of one recording that was interrupted too.
static RULES: AtomicU64 = AtomicU64::new(1);

impl Rule {
    /// How far it is from one to the next, in bytes or events.
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

    /// In a forked child: lets go of the parent's recording.
    fn forget_the_parents(&mut self) {
        // Who was made by the kernel's own call has not been told of it.
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

    /// What the recordings add up to by now.
    pub(crate) fn totals_now(&self) -> Totals {
        let mut totals = self.totals.clone();
        if let Some(recording) = &self.recording {
            totals.add(recording.started);
        }
        totals
    }

    /// Lets allocations be recorded by a rule, which has a new number.
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

/// Lets nothing be recorded any more, and waits for those who are at it.
fn turn_off(watch: &Watch) {
    SWITCH.stop_recording();
    while !watch.is_quiet() {
        std::thread::sleep(Duration::from_micros(20));
    }
}

/// Replaces the settings, and forgets what was recorded.
pub fn init(settings: Settings) -> Result<(), Error> {
    let _quiet = quietly();
    let mut state = HEAP.lock();
    state.forget_the_parents();
    if state.recording.is_some() {
        return Err(Error::AllocationsWhileRecording);
    }
    let watch = memory::make_watch()?;
    let tables = OwnedTables::new(settings.allocations)?;
    turn_off(watch);
    watch.tables.store(tables.as_ptr(), Ordering::SeqCst);
    // The former ones go: nobody is inside, and who comes in sees that nothing is recorded.
    state.tables = Some(tables);
    state.settings = settings;
    state.totals = Totals::new();
    Ok(())
}

/// The present settings.
pub fn settings() -> Settings {
    HEAP.lock().settings
}

/// How many allocations are recorded that were not cleared.
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
    let _quiet = quietly();
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
    // What was freed since the last recording was not seen.
    turn_off(watch);
    memory::forget_followed(watch);
    let mut turns = 0_u32;
    let helper = Helper::start_with(TICK, move || {
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

/// Ends the recording, if there is one. What was recorded stays.
pub fn stop() {
    stop_if(|_| true);
}

/// Ends the recording with this number, if it is the one that is going on.
pub fn stop_session(number: u64) {
    stop_if(|recording| recording.number == number);
}

fn stop_if(is_meant: impl FnOnce(&mut Recording) -> bool) {
    let _quiet = quietly();
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

/// Forgets what was recorded. Works while allocations are recorded: it goes on.
pub fn clear() {
    let _quiet = quietly();
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
    let Some(probe) = global::probe() else { return };
    let mut state = STATE.lock();
    state
        .modules
        .get_or_insert_with(ModuleList::default)
        .refresh(&probe.code);
}

/// One turn of the helper: libraries may have been loaded, and threads have ended.
fn turn(turns: u32) {
    refresh_modules();
    let Some(probe) = global::probe() else { return };
    if turns.is_multiple_of(SWEEP) {
        let _state = STATE.lock();
        probe.threads.sweep(&probe.caches, proc::is_alive);
    }
}

/// In the child of a fork.
pub(super) fn forget_recording() {
    RECORDING.store(false, Ordering::Relaxed);
}

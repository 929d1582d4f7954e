//! The beginning: the directory, the limits, and which engine is permitted.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use profundo_probe::phase::PeriodDraw;
use profundo_probe::shared::{
    LINES_LIST, SessionState, engine as clocks_of, file, memory_kind, trace_flag,
};
use profundo_wire::recording::Engine;

use super::attach::instead_of_perf;
use super::outside::OutsideSampling;
use super::{BUSY_WAIT, Recorder, SaidOnce, energy};
use crate::account::Account;
use crate::agent::{Cost, Words};
use crate::clock::Scale;
use crate::error::Error;
use crate::gauge::Gauges;
use crate::modules::Store;
use crate::options::{Calls, EngineChoice, Lines, LinesOf, Memory, Options};
use crate::perf::{SideBand, Signal, TaskClock};
use crate::permits::{may_be_read, perf_refused, without_proc};
use crate::reading::Counts;
use crate::session::{Directory, Rings};
use crate::sys;
use crate::watcher::Watcher;

/// A limit of resources that was raised here. Whoever starts the program sets it back in the
/// child, between fork and exec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildLimit {
    /// As `RLIMIT_NOFILE`.
    pub resource: u32,
    /// What it was.
    pub soft: u64,
}

impl Recorder {
    /// Makes a session that a program can be started in.
    pub fn create(options: Options) -> Result<Self, Error> {
        let mut options = options;
        // A tenth of a millisecond and more: what is asked beyond that, no kernel delivers.
        options.period = options.period.clamp(20_000, 10_000_000_000);
        // One descriptor a thread, and a large file that is mostly a hole.
        let limits = [libc::RLIMIT_NOFILE, libc::RLIMIT_FSIZE]
            .into_iter()
            .filter_map(|resource| {
                let soft = sys::raise_limit(resource)?;
                Some(ChildLimit { resource, soft })
            })
            .collect();
        let directory = Arc::new(Directory::create(options.place.as_deref())?);
        let failed = |source| Error::File {
            path: directory.path().to_owned(),
            source,
        };
        let mut notes = Vec::new();
        notes.extend(without_proc().map(|gap| gap.to_string()));
        let engine = choose(&options, &mut notes)?;
        let meter = energy::open(&options, &mut notes);
        if options.memory.is_some() && options.agent.is_none() {
            notes.push(
                "memory is looked at from outside, so allocations are not recorded: nothing is loaded into \
                 the program"
                    .to_owned(),
            );
        }
        let control = directory.control();
        control.period.store(options.period, Ordering::Relaxed);
        control
            .system_period
            .store(options.system_period, Ordering::Relaxed);
        control.tick.store(sys::kernel_tick(), Ordering::Relaxed);
        let wants_calls = options.wall.is_some() && options.traffic;
        control
            .calls
            .store(u32::from(wants_calls), Ordering::Relaxed);
        control.trace.store(
            options.calls.as_ref().map_or(0, flags_of),
            Ordering::Relaxed,
        );
        if let Some(lines) = options.calls.as_ref().and_then(|it| it.lines.as_ref()) {
            leave_list(directory.path(), lines).map_err(failed)?;
        }
        let wants_collections = u32::from(options.collections);
        control
            .collections
            .store(wants_collections, Ordering::Relaxed);
        let (memory, doublings) = match options.memory {
            None => (memory_kind::NONE, 0),
            Some(Memory::Sampled { mean, doublings }) => (mean.max(1), doublings),
            Some(Memory::Exact) => (memory_kind::EXACT, 0),
        };
        control.memory.store(memory, Ordering::Relaxed);
        let doublings = u64::from(doublings);
        control.memory_doublings.store(doublings, Ordering::Relaxed);
        // Ids from another namespace would mean other processes here.
        let namespace = std::fs::metadata("/proc/self/ns/pid").map_or(0, |data| data.ino());
        control.namespace.store(namespace, Ordering::Relaxed);
        let clocks = match engine {
            Engine::CpuTimer => clocks_of::CPU_TIMER,
            _ => clocks_of::PERF_SIGNAL,
        };
        control.engine.store(clocks, Ordering::Relaxed);
        control
            .follow
            .store(u32::from(options.follow), Ordering::Relaxed);
        let state = if options.paused {
            SessionState::Paused
        } else {
            SessionState::Running
        };
        // Tables first: of rings there may be fewer.
        let store = Store::create(directory.path(), options.cache.as_deref()).map_err(failed)?;
        let rings = Rings::create(directory.path(), control).map_err(failed)?;
        // Release: agents that see the session running see the rest.
        control.state.store(state as u32, Ordering::Release);
        let scale = Scale::begin();
        let mut ran = Account::default();
        if !options.paused {
            ran.go(scale.first().monotonic);
        }
        Ok(Self {
            programs: BTreeMap::new(),
            rings,
            store,
            directory,
            engine,
            notes,
            limits,
            scale,
            by_ring: HashMap::new(),
            last_of: HashMap::new(),
            ended_modules: VecDeque::new(),
            last_began: HashMap::new(),
            newcomers: HashMap::new(),
            silent: HashMap::new(),
            keys: 0,
            root: None,
            aimed: None,
            children: None,
            root_gone: None,
            side_band: None,
            watcher: None,
            has_samples: false,
            outside: OutsideSampling::keeping_in(options.cache.clone()),
            generated: Default::default(),
            polling: None,
            periods: PeriodDraw::new(options.period),
            varied: scale.first().monotonic,
            cleared: 0,
            cost_cleared: Cost::default(),
            running: !options.paused,
            ran,
            bell: 0,
            waits: BUSY_WAIT,
            slow: scale.first().monotonic,
            deaf: scale.first().monotonic,
            polled: 0,
            words: Words::default(),
            words_drained: 0,
            cpu: 0,
            by_kernel: 0,
            cost: Cost::default(),
            by_ticks: 0,
            cost_of_starts: 0,
            loads: 0,
            times_at_exec: HashMap::new(),
            cpu_of_ended: 0,
            meter,
            gauges: options.memory.map(|_| Gauges::new(options.agent.is_some())),
            readings: Counts::default(),
            wall: None,
            told: SaidOnce::default(),
            untold: Default::default(),
            special: Default::default(),
            known_tallies: Default::default(),
            missed_tallies: BTreeMap::new(),
            options,
        })
    }

    /// Begins to watch a process, which is about to execute the program and waits with that
    /// until this has returned.
    pub fn watch(&mut self, pid: u32) -> Result<(), Error> {
        if !sys::is_alive(pid) {
            return may_be_read(pid).map_err(Error::Refused);
        }
        self.root = Some(pid);
        if self.options.follow || self.engine == Engine::PerfRing {
            match SideBand::open(pid) {
                Ok(side_band) => {
                    let side_band = Arc::new(side_band);
                    let wake = self.wake_handle();
                    self.watcher = Watcher::start(&side_band, move || wake.wake()).ok();
                    self.side_band = Some(side_band);
                    self.let_children_defer();
                }
                Err(error) if self.engine == Engine::PerfSignal => {
                    self.notes.push(format!(
                        "processes are found by looking at /proc every 100 ms: the kernel does \
                         not tell of them ({error})"
                    ));
                }
                Err(_) => {}
            }
        }
        if self.running {
            self.meter_set_running(true);
        }
        self.watch_waits(pid, &[pid]);
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        self.expect(pid, 0, String::new(), now);
        Ok(())
    }
}

/// The engine that is permitted, of those that were asked for.
fn choose(options: &Options, notes: &mut Vec<String>) -> Result<Engine, Error> {
    let trial = || {
        TaskClock::open(
            sys::thread_id(),
            options.period,
            Signal::Asked(libc::SIGURG),
        )
        .map(drop)
    };
    let only = |engine| match trial() {
        Ok(()) => Ok(engine),
        Err(error) => Err(Error::Refused(perf_refused(&error))),
    };
    let choice = match (&options.agent, options.engine) {
        (Some(_), engine) => engine,
        (None, EngineChoice::None | EngineChoice::Around) => options.engine,
        (None, _) => EngineChoice::PerfRing,
    };
    match choice {
        EngineChoice::None => Ok(Engine::Wall),
        EngineChoice::CpuTimer => Ok(Engine::CpuTimer),
        EngineChoice::PerfSignal => only(Engine::PerfSignal),
        EngineChoice::PerfRing => only(Engine::PerfRing),
        EngineChoice::Around => Ok(trial().map_or_else(
            |error| {
                notes.push(instead_of_perf(&perf_refused(&error)));
                Engine::ProcPoll
            },
            |()| Engine::PerfRing,
        )),
        EngineChoice::Auto => Ok(trial().map_or_else(
            |error| {
                notes.push(format!(
                    "the engine is cpu-timer, which gives at most one stack each tick of the kernel: {}",
                    perf_refused(&error)
                ));
                Engine::CpuTimer
            },
            |()| Engine::PerfSignal,
        )),
    }
}

/// What of calls is counted, as agents are told.
fn flags_of(calls: &Calls) -> u32 {
    let flag = |is_set, flag| if is_set { flag } else { 0 };
    let times = calls.lines.as_ref().is_some_and(|it| it.times);
    flag(calls.lines.is_none(), trace_flag::CALLS)
        | flag(calls.lines.is_some(), trace_flag::LINES)
        | flag(times, trace_flag::LINE_TIMES)
        | flag(
            calls.lines.as_ref().is_some_and(|it| it.once),
            trace_flag::LINES_ONCE,
        )
        | flag(calls.builtins, trace_flag::BUILTINS)
        | flag(calls.cpu, trace_flag::CPU_CLOCK)
}

/// Leaves the list of functions whose lines are counted, in the form that agents know.
fn leave_list(directory: &Path, lines: &Lines) -> std::io::Result<()> {
    let mut text = Vec::new();
    for LinesOf { file, name } in &lines.of {
        match (file, name) {
            (Some(file), Some(name)) => writeln!(text, "F{file}\t{name}")?,
            (Some(file), None) => writeln!(text, "F{file}")?,
            (None, Some(name)) => writeln!(text, "N{name}")?,
            (None, None) => writeln!(text, "N*")?,
        }
    }
    for rule in &lines.mine {
        let (kind, pattern) = match rule.strip_prefix('!') {
            Some(pattern) => ('L', pattern),
            None => ('M', rule.as_str()),
        };
        // What is behind the folder is for paths that begin in it.
        let relative = pattern.split_once("/./").map_or("", |(_, it)| it);
        writeln!(text, "{kind}{pattern}\t{relative}")?;
    }
    // Agents map so much of it.
    text.resize(LINES_LIST, 0);
    std::fs::write(directory.join(file::LINES), text)
}

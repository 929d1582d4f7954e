//! The start: the directory, the limits, and the engine.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use profundo_linux::account::Account;
use profundo_linux::clock::Scale;
use profundo_linux::container::{AsUser, Numbers};
use profundo_linux::perf::{Begins, SideBand, Signal, TaskClock};
use profundo_linux::urgency::Hurry;
use profundo_linux::{proc, sys};
use profundo_permits::{may_be_read, perf_refused, without_proc};
use profundo_probe::shared::{
    Control, LINES_LIST, SessionState, engine as clocks_of, file, memory_kind, trace_flag,
};
use profundo_process::modules::Store;
use profundo_session::{Directory, Error as SessionError, Rings};
use profundo_wire::recording::Engine;

use super::Recorder;
use super::attach::instead_of_perf;
use super::schedule::Schedule;
use crate::core::{Core, Emitted, Processes, Totals, Transport};
use crate::engines::OutsideSampling;
use crate::error::Error;
use crate::options::{Calls, EngineChoice, Lines, LinesOf, Memory, Options};
use crate::parts::{Part, Parts};

/// A limit of resources that was raised here. The code that starts the program restores it in the
/// child, between fork and exec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildLimit {
    /// The number of the resource, such as `RLIMIT_NOFILE`.
    pub resource: sys::Resource,
    /// The soft limit before.
    pub soft: u64,
}

impl Recorder {
    /// Makes a session that a program can be started in.
    pub fn create(options: Options) -> Result<Self, Error> {
        let mut options = options;
        // No kernel delivers more than one sample in a tenth of a millisecond or so.
        options.period = options.period.clamp(20_000, 10_000_000_000);
        // One descriptor for each thread, and a large file that is mostly a hole.
        let limits = [libc::RLIMIT_NOFILE, libc::RLIMIT_FSIZE]
            .into_iter()
            .filter_map(|resource| {
                let soft = sys::raise_limit(resource)?;
                Some(ChildLimit { resource, soft })
            })
            .collect();
        let place = options.place.as_deref();
        let directory = Arc::new(match options.within {
            Some(pid) => {
                may_be_read(pid).map_err(Error::Refused)?;
                Directory::create_for(pid, place)?
            }
            None => Directory::create(place)?,
        });
        let numbers = options.within.map(Numbers::of).unwrap_or_default();
        let failed = |source| SessionError::File {
            path: directory.path_for_programs().to_owned(),
            source,
        };
        let mut notes = Vec::new();
        notes.extend(without_proc().map(|gap| gap.to_string()));
        let engine = choose(&options, &mut notes)?;
        let parts = Parts::new(&options, &mut notes);
        if options.memory.is_some() && options.agent.is_none() {
            notes.push(
                "memory is looked at from outside, so allocations are not recorded: nothing is loaded into \
                 the program"
                    .to_owned(),
            );
        }
        let control = directory.control();
        configure(control, &options, engine);
        if let Some(namespace) = numbers.namespace() {
            control.namespace.store(namespace, Ordering::Relaxed);
            control.is_elsewhere.store(1, Ordering::Relaxed);
        }
        // Their files get the owner of the directory.
        let guard = AsUser::owning(directory.path());
        if let Some(lines) = options
            .calls
            .as_ref()
            .and_then(|calls| calls.lines.as_ref())
        {
            leave_list(directory.path(), lines).map_err(failed)?;
        }
        let state = if options.paused {
            SessionState::Paused
        } else {
            SessionState::Running
        };
        // Tables first: rings can do with less room.
        let store = match directory.is_elsewhere() {
            // The user's cache cannot be reached from there.
            true => Store::create_apart(directory.path()),
            false => Store::create(directory.path(), options.cache.as_deref()),
        };
        let store = store.map_err(failed)?;
        drop(guard);
        let rings = Rings::create(directory.path(), control).map_err(failed)?;
        // Release: agents that see the session running see the rest.
        control.state.store(state as u32, Ordering::Release);
        let scale = Scale::begin();
        let mut ran = Account::default();
        if !options.paused {
            ran.go(scale.first().monotonic);
        }
        let first = scale.first().monotonic;
        let cache = options.cache.clone();
        let schedule = Schedule::begin(first, options.period);
        let core = Core {
            processes: Processes::default(),
            transport: Transport::new(rings, store, directory, numbers),
            engine,
            scale,
            running: !options.paused,
            has_samples: false,
            notes,
            emitted: Emitted::default(),
            totals: Totals::begin(ran),
            options,
        };
        Ok(Self {
            core,
            parts,
            outside: OutsideSampling::keeping_in(cache),
            schedule,
            limits,
            side_band: None,
            poller: None,
            left_alone: BTreeSet::new(),
            hurry: Hurry::default(),
            cleared: 0,
            kept: 0,
        })
    }

    /// Begins to watch a process that is about to execute the program and waits until this has
    /// returned.
    pub fn watch(&mut self, pid: u32) -> Result<(), Error> {
        if !sys::is_alive(pid) {
            return may_be_read(pid).map_err(Error::Refused);
        }
        self.core.processes.root = Some(pid);
        if self.core.options.follow || self.core.engine == Engine::PerfRing {
            match SideBand::open(pid) {
                Ok(side_band) => {
                    self.take_side_band(side_band);
                }
                Err(error) if self.core.engine == Engine::PerfSignal => {
                    self.core.notes.push(format!(
                        "processes are found by looking at /proc every 100 ms: the kernel does \
                         not tell of them ({error})"
                    ));
                }
                Err(_) => {}
            }
        }
        if self.core.running {
            self.parts.energy.resume(&mut self.core);
        }
        self.parts.wall.watch(&mut self.core, pid, &[pid]);
        let begins = Begins::AtExec;
        self.parts.syscalls.watch(&mut self.core, &[pid], begins);
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        self.core.processes.expect(pid, 0, now);
        Ok(())
    }
}

/// Writes the options of the recording for the agents.
fn configure(control: &Control, options: &Options, engine: Engine) {
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
    control
        .builtin
        .store(u32::from(options.builtin), Ordering::Relaxed);
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
    // Ids of another PID namespace would be other processes here.
    let namespace = proc::pid_namespace().unwrap_or(0);
    control.namespace.store(namespace, Ordering::Relaxed);
    let clocks = match engine {
        Engine::CpuTimer => clocks_of::CPU_TIMER,
        _ => clocks_of::PERF_SIGNAL,
    };
    control.engine.store(clocks, Ordering::Relaxed);
    control
        .follow
        .store(u32::from(options.follow), Ordering::Relaxed);
}

/// Chooses the engine that is permitted, of those requested.
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

/// The options of counted calls, as flags for agents.
pub(super) fn flags_of(calls: &Calls) -> u32 {
    let flag = |is_set, flag| if is_set { flag } else { 0 };
    let times = calls.lines.as_ref().is_some_and(|lines| lines.times);
    let has_calls = calls.lines.is_none() && !calls.exceptions;
    flag(has_calls, trace_flag::CALLS)
        | flag(calls.exceptions, trace_flag::EXCEPTIONS)
        | flag(calls.lines.is_some(), trace_flag::LINES)
        | flag(times, trace_flag::LINE_TIMES)
        | flag(
            calls.lines.as_ref().is_some_and(|lines| lines.once),
            trace_flag::LINES_ONCE,
        )
        | flag(calls.builtins, trace_flag::BUILTINS)
        | flag(calls.cpu, trace_flag::CPU_CLOCK)
}

/// Writes the list of functions whose lines are counted, in the form that agents read.
pub(super) fn leave_list(directory: &Path, lines: &Lines) -> std::io::Result<()> {
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
        // The part after the folder is for paths that are relative to it.
        let relative = pattern.split_once("/./").map_or("", |(_, rest)| rest);
        writeln!(text, "{kind}{pattern}\t{relative}")?;
    }
    // Agents map this size. One that has the former list mapped keeps that.
    text.resize(LINES_LIST, 0);
    let (path, new) = (directory.join(file::LINES), directory.join("lines.new"));
    std::fs::write(&new, text)?;
    std::fs::rename(new, path)
}

//! The recorder itself: what it owns, and what it does at each turn.

mod allocations;
mod attach;
mod calls;
mod clear;
mod create;
mod drain;
mod energy;
mod finish;
mod follow;
mod gauge;
mod generated;
mod hello;
mod once_a_second;
mod outside;
mod polling;
mod rewalk;
mod short_lived;
mod special;
mod tallies;
mod traffic;
mod unreachable;
mod wall;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use profundo_probe::phase::PeriodDraw;
use profundo_probe::shared::{Control, SessionState};
use profundo_wire::recording::{Allocations, Engine, Event, HowEnded, Start};

use crate::account::Account;
use crate::agent::{ClockPlan, Cost, Words};
use crate::clock::Scale;
use crate::energy::Meter;
use crate::gauge::Gauges;
use crate::modules::{ModuleList, Store};
use crate::options::{Memory, Options};
use crate::perf::SideBand;
use crate::program::Program;
use crate::reading::Counts;
use crate::session::{Directory, Rings, copies_with};
use crate::sys;
use crate::tallies::Known;
use crate::watcher::Watcher;

pub use create::ChildLimit;
use follow::Newcomer;
use generated::Generated;
use outside::OutsideSampling;
use polling::Polling;
pub(crate) use rewalk::AgainState;
use wall::Wall;

/// How long a turn waits at most, while samples come and while none do.
const BUSY_WAIT: Duration = Duration::from_millis(15);
const IDLE_WAIT: Duration = Duration::from_millis(120);
/// The former, where the samples that come are few. Who fills a chunk before rings the bell; each
/// turn that is not needed costs some fifty microseconds, most of them for waking up. At each the clocks' periods
/// change.
const LIGHT_WAIT: Duration = Duration::from_millis(50);
const FEW_WORDS: usize = 1 << 14;
/// The latter, where only looking tells that a process has ended.
const BLIND_WAIT: Duration = Duration::from_millis(40);

/// Nanoseconds between two looks at what changes slowly.
const SLOW: u64 = 1_000_000_000;

/// Records programs: see the crate's page.
pub struct Recorder {
    // Before the directory, so that files are closed before they are removed.
    programs: BTreeMap<u32, Program>,
    rings: Rings,
    store: Store,
    directory: Arc<Directory>,
    options: Options,
    engine: Engine,
    notes: Vec<String>,
    limits: Vec<ChildLimit>,
    scale: Scale,
    /// The programs whose rings are known, by the rings' numbers.
    by_ring: HashMap<usize, u32>,
    /// The last program of each process, those that ended included, for their children.
    last_of: HashMap<u32, u32>,
    /// The modules of programs that have ended lately, with their process ids and starts.
    ended_modules: VecDeque<(u32, u64, ModuleList)>,
    /// When that one began, in cycles.
    last_began: HashMap<u32, u64>,
    /// Processes that have begun and of which it is not known how they can be sampled.
    newcomers: HashMap<u32, Newcomer>,
    /// The rings of processes that never said who they are, with the time of the first doubt.
    silent: HashMap<usize, u64>,
    keys: u32,
    root: Option<u32>,
    /// The process whose clocks are open before it is recorded.
    aimed: Option<u32>,
    /// The children that it had before that, and theirs.
    children: Option<Vec<(u32, u32)>>,
    /// When it was gone without a word how.
    root_gone: Option<u64>,
    side_band: Option<Arc<SideBand>>,
    watcher: Option<Watcher>,
    outside: OutsideSampling,
    /// Whether there were samples at the last look.
    has_samples: bool,
    generated: Generated,
    /// Where perf events are not permitted.
    polling: Option<Polling>,
    /// The periods of clocks on programs without an agent, and when the last one began, in monotonic nanoseconds.
    periods: PeriodDraw,
    varied: u64,
    /// The last request to forget that was heeded.
    cleared: u32,
    /// What handlers of programs had cost then that were alive.
    cost_cleared: Cost,
    /// Whether samples are taken at present.
    running: bool,
    ran: Account,
    bell: u32,
    waits: Duration,
    /// When slow matters were looked at last, in monotonic nanoseconds.
    slow: u64,
    /// The same of threads that cannot be signalled.
    deaf: u64,
    polled: u64,
    words: Words,
    /// How many came at this turn from the ring that had most.
    words_drained: usize,
    /// Of programs that have ended: CPU time that could be sampled; cycles and runs of handlers.
    cpu: u64,
    /// Of that, what the kernel has sampled, in programs without an agent.
    by_kernel: u64,
    cost: Cost,
    /// What processes had used when they became another program, in user code and in the kernel.
    times_at_exec: HashMap<u32, (u64, u64)>,
    /// Of the CPU time that their samples stand for, that of threads without task clocks.
    by_ticks: u64,
    /// What the starts of agents in them have cost, in nanoseconds.
    cost_of_starts: u64,
    /// How often it was loaded into one of them.
    loads: u64,
    /// Of programs that have ended: all the CPU time while they were sampled.
    cpu_of_ended: u64,
    /// Where the machine's energy is asked for and can be counted.
    meter: Option<Meter>,
    /// Where memory is looked at.
    gauges: Option<Gauges>,
    /// How reading threads went.
    readings: Counts,
    /// Who waits.
    wall: Option<Wall>,
    told: SaidOnce,
    untold: allocations::Untold,
    /// Programs that were given nothing of ours, or not all.
    special: special::Special,
    known_tallies: Known,
    /// By program and reason the first process, and how many.
    missed_tallies: BTreeMap<(String, tallies::Missed), (u32, u32)>,
}

/// What is told once.
#[derive(Debug, Default)]
struct SaidOnce {
    clock: bool,
    starved: u32,
    unmapped: u32,
    no_clock: bool,
    no_room: bool,
    no_tables: bool,
    unreachable: bool,
    unseen: Vec<&'static str>,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("directory", &self.directory.path())
            .field("engine", &self.engine)
            .field("programs", &self.programs.len())
            .finish_non_exhaustive()
    }
}

/// Ends the recorder's wait from another thread.
#[derive(Debug, Clone)]
pub struct WakeHandle {
    directory: Arc<Directory>,
}

impl WakeHandle {
    /// The present turn, or the next one, does not wait.
    pub fn wake(&self) {
        let bell = &self.directory.control().doorbell;
        bell.fetch_add(1, Ordering::Release);
        sys::futex_wake(bell);
    }
}

impl Recorder {
    fn control(&self) -> &Control {
        self.directory.control()
    }

    /// What the environment of the program at this path has to have besides its own: nothing, where
    /// the agent cannot or must not be loaded into it.
    pub fn environment(&self, program: &std::path::Path) -> Vec<(OsString, OsString)> {
        let Some(agent) = self.options.agent.as_ref() else {
            return Vec::new();
        };
        let Some(preload) = crate::loading::preload(program, agent) else {
            return Vec::new();
        };
        let session = self.directory.path().as_os_str().to_owned();
        vec![
            ("LD_PRELOAD".into(), preload),
            (profundo_probe::shared::SESSION_VARIABLE.into(), session),
        ]
    }

    /// The session's directory.
    pub fn directory(&self) -> &std::path::Path {
        self.directory.path()
    }

    /// The limits that were raised for this command, and that its child is to have as they were.
    pub fn child_limits(&self) -> &[ChildLimit] {
        &self.limits
    }

    /// How the recording begins.
    pub fn start(&self) -> Start {
        let allocations = match (self.options.memory, &self.options.agent) {
            (None, _) | (_, None) => Allocations::None,
            (Some(Memory::Sampled { mean, .. }), _) => Allocations::Bytes(mean),
            (Some(Memory::Exact), _) => Allocations::All,
        };
        Start {
            engine: self.engine,
            period: self.options.period,
            is_wall: self.options.wall.is_some(),
            allocations,
            copies: copies_with(allocations),
            started: self.scale.first(),
        }
    }

    /// Something that ends a turn's wait from another thread.
    pub fn wake_handle(&self) -> WakeHandle {
        WakeHandle {
            directory: Arc::clone(&self.directory),
        }
    }

    /// Whether any recorded program is alive.
    pub fn has_programs(&self) -> bool {
        !self.programs.is_empty() || !self.newcomers.is_empty()
    }

    /// Whether there are processes of which it is not known yet how they can be sampled.
    pub fn has_newcomers(&self) -> bool {
        !self.newcomers.is_empty()
    }

    /// The processes that are recorded and live, but for the first one, with their names.
    pub fn living(&self) -> Vec<(u32, String)> {
        let mut pids: Vec<u32> = (self.programs.values())
            .map(|program| program.pid)
            .chain(self.newcomers.keys().copied())
            .filter(|&pid| Some(pid) != self.root)
            .filter(|&pid| crate::proc::stat(pid).is_some_and(|stat| !stat.has_ended()))
            .collect();
        pids.sort_unstable();
        pids.dedup();
        let name = |pid: u32| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            (pid, name.trim_end().to_owned())
        };
        pids.into_iter().map(name).collect()
    }

    /// Stops the sampling, or lets it go on.
    pub fn set_paused(&mut self, paused: bool) {
        let state = if paused {
            SessionState::Paused
        } else {
            SessionState::Running
        };
        self.control().state.store(state as u32, Ordering::Relaxed);
        self.heed_state();
    }

    /// Whether sampling is stopped at present.
    pub fn is_paused(&self) -> bool {
        !self.running
    }

    /// Does what the session's state says, whoever has set it.
    fn heed_state(&mut self) {
        let wanted = self.control().state.load(Ordering::Relaxed) == SessionState::Running as u32;
        if wanted == self.running {
            return;
        }
        self.run(wanted);
    }

    /// Begins to sample, or stops.
    fn run(&mut self, wanted: bool) {
        if !wanted {
            self.stop_waits();
        }
        self.running = wanted;
        self.scale.look();
        let now = profundo_probe::clock::now();
        let monotonic = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        if wanted {
            self.ran.go(monotonic);
        } else {
            self.ran.stop(monotonic);
        }
        for program in self.programs.values_mut() {
            program.set_running(wanted, now);
            self.outside.set_running(program, wanted);
        }
        if wanted && let Some(polling) = &mut self.polling {
            polling.begin_anew();
        }
        if wanted {
            self.resume_waits();
        }
        self.meter_set_running(wanted);
    }

    fn clock_plan(&self) -> ClockPlan {
        ClockPlan {
            ours: self.engine == Engine::PerfSignal,
            period: self.control().period.load(Ordering::Relaxed),
            running: self.running,
            mark: self.store.mark(),
        }
    }

    /// What `wait` has said of a process that is the caller's child. The caller had better look
    /// with `WNOWAIT`, call this, and only then let the process go: as long as it is there its
    /// times can be read.
    pub fn exited(&mut self, pid: u32, how: HowEnded) {
        for program in self.programs.values_mut() {
            if program.pid == pid {
                program.read_times();
                program.how = Some(how);
            }
        }
    }

    /// Waits until there is something to do, some milliseconds at most, and does it.
    pub fn turn(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        self.turn_within(Duration::MAX, sink);
    }

    /// The same, waiting no longer than this: the caller has something to do then.
    pub fn turn_within(&mut self, most: Duration, sink: &mut dyn FnMut(Event<'_>)) {
        let began = std::time::Instant::now();
        let most = self.waits.min(most).min(self.until_gauge());
        loop {
            let left = most.saturating_sub(began.elapsed());
            let wait = match &self.wall {
                Some(wall) => left.min(wall.until_tick()),
                None => left,
            };
            if self.outside.reads {
                self.read_within(wait, sink);
            } else {
                self.wait_for_the_bell(wait);
            }
            self.look_at_waits(sink);
            let has_rung = self.control().doorbell.load(Ordering::Relaxed) != self.bell;
            if has_rung || began.elapsed() >= most || self.wall.is_none() {
                break;
            }
        }
        self.look(sink);
    }

    fn idle_wait(&self) -> Duration {
        match self.watcher {
            Some(_) => IDLE_WAIT,
            None => BLIND_WAIT,
        }
    }

    /// Does all that is due, without waiting.
    pub fn look(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        // Acquire pairs with the agent's release: what it rang for is there.
        self.bell = self.control().doorbell.load(Ordering::Acquire);
        if !std::mem::replace(&mut self.told.clock, true) {
            sink(Event::Clock(self.scale.first()));
        }
        for note in std::mem::take(&mut self.notes) {
            sink(Event::Note(note));
        }
        // Who waits for us comes first, and those without a ring wait longest.
        self.rings.provide(self.directory.control());
        self.greet(sink);
        self.rings.provide(self.directory.control());
        self.heed_state();
        // Before anybody is buried whose waits they are.
        self.tell_stopped_waits(sink);
        self.store.collect();
        self.follow(sink);
        self.attend(sink);
        self.words_drained = 0;
        let busy = self.drain(sink) | self.sample_outside(sink);
        self.has_samples = busy;
        sink(Event::Clock(sys::instant()));
        self.heed_clear(sink);
        self.read_tallies(sink);
        self.look_for_unreachable(sink);
        self.look_at_memory(sink);
        self.bury(sink);
        self.look_at_generated_code(sink);
        self.look_at_slow_matters(sink);
        let control = self.directory.control();
        self.rings.provide(control);
        self.waits = match (busy, self.outside.is_active()) {
            // Whoever reads is woken.
            (true, true) if self.outside.reads => BUSY_WAIT,
            (false, true) if self.outside.reads => (self.waits * 2).clamp(BUSY_WAIT, IDLE_WAIT),
            // The kernel's rings are small.
            (true, true) => BUSY_WAIT / 3,
            (true, false) if self.words_drained < FEW_WORDS => LIGHT_WAIT.min(self.idle_wait()),
            (true, false) => BUSY_WAIT,
            (false, true) => BUSY_WAIT,
            (false, false) => (self.waits * 2).clamp(BUSY_WAIT, self.idle_wait()),
        };
        if !self.newcomers.is_empty() {
            self.waits = self.waits.min(BUSY_WAIT);
        }
    }
}

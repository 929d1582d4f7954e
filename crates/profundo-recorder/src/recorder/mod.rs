//! The recorder itself: its parts, and its turns.

mod arrivals;
mod attach;
mod clear;
mod counts;
mod create;
mod ends;
mod follow;
mod inside;
mod machine;
mod once_a_second;
mod schedule;
mod so_far;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use profundo_linux::perf::SideBand;
use profundo_linux::sys;
use profundo_linux::urgency::Hurry;
use profundo_probe::shared::SessionState;
use profundo_session::copies_with;
use profundo_wire::recording::{Allocations, Event, HowEnded, Start};

use crate::core::{Core, WakeHandle};
use crate::engines::{Begun, Opened, OutsideSampling};
use crate::options::Memory;
use crate::parts::Parts;
use crate::poller::Poller;

pub use create::ChildLimit;
pub use so_far::{ProcessTimes, SoFar};

use schedule::{Schedule, Turn};

/// Nanoseconds between two turns of slow work.
const SLOW: u64 = 1_000_000_000;

/// Records programs: see the crate's page.
pub struct Recorder {
    /// The state shared with all parts. First, so that files are closed before they are removed.
    core: Core,
    parts: Parts,
    outside: OutsideSampling,
    schedule: Schedule,
    limits: Vec<ChildLimit>,
    /// The kernel's records of processes.
    side_band: Option<Arc<SideBand>>,
    /// Wakes the recorder when there are such records.
    poller: Option<Poller>,
    /// The last request to clear that was carried out.
    cleared: u32,
    /// The last request to write the last minutes that was carried out.
    kept: u32,
    /// Processes that are not recorded, as a note says.
    left_alone: BTreeSet<u32>,
    /// Threads that are sampled are read at once.
    hurry: Hurry,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("directory", &self.core.transport.directory.path())
            .field("engine", &self.core.engine)
            .field("programs", &self.core.processes.programs.len())
            .finish_non_exhaustive()
    }
}

impl Recorder {
    /// The environment to be added for the program at this path: none, where the agent cannot or
    /// must not be loaded into it.
    pub fn environment(&self, program: &std::path::Path) -> Vec<(OsString, OsString)> {
        let Some(agent) = self.core.options.agent.as_ref() else {
            return Vec::new();
        };
        let Some(preload) = profundo_process::loading::preload(program, agent) else {
            return Vec::new();
        };
        let session = self.core.transport.directory.path().as_os_str().to_owned();
        vec![
            ("LD_PRELOAD".into(), preload),
            (profundo_probe::shared::SESSION_VARIABLE.into(), session),
        ]
    }

    /// Reads the kernel's records of processes from here on, and wakes when there are some.
    fn take_side_band(&mut self, side_band: SideBand) {
        /// The least interval of wake-ups.
        const PAUSE: Duration = Duration::from_millis(1);
        let side_band = Arc::new(side_band);
        let wake = self.core.wake_handle();
        let polled = Arc::clone(&side_band);
        let ready = move || {
            wake.wake();
            std::thread::sleep(PAUSE);
            // The descriptors stay open as long as they are polled.
            let _ = &polled;
        };
        self.poller = Poller::start(side_band.descriptors(), ready).ok();
        self.side_band = Some(side_band);
        self.core.allow_deferred_entry();
    }

    /// The session's directory.
    pub fn directory(&self) -> &std::path::Path {
        self.core.transport.directory.path()
    }

    /// The session's directory, by the path that the programs have for it.
    pub fn directory_for_programs(&self) -> &std::path::Path {
        self.core.transport.directory.path_for_programs()
    }

    /// Whether the agent can open the session's files in a process, and is known by its number.
    pub fn is_reached_by(&self, pid: u32) -> bool {
        let transport = &self.core.transport;
        transport.directory.is_reached_by(pid)
            && transport.numbers.namespace() == profundo_linux::container::other_namespace(pid)
    }

    /// The limits raised for this command, which its child must have as they were.
    pub fn child_limits(&self) -> &[ChildLimit] {
        &self.limits
    }

    /// The start of the recording.
    pub fn start(&self) -> Start {
        let allocations = match (self.core.options.memory, &self.core.options.agent) {
            (None, _) | (_, None) => Allocations::None,
            (Some(Memory::Sampled { mean, .. }), _) => Allocations::Bytes(mean),
            (Some(Memory::Exact), _) => Allocations::All,
        };
        Start {
            engine: self.core.engine,
            period: self.core.options.period,
            is_wall: self.core.options.wall.is_some(),
            allocations,
            copies: copies_with(allocations),
            started: self.core.scale.first(),
        }
    }

    /// A handle that ends a turn's wait from another thread.
    pub fn wake_handle(&self) -> WakeHandle {
        self.core.wake_handle()
    }

    /// Whether any recorded program is alive.
    pub fn has_programs(&self) -> bool {
        !self.core.processes.programs.is_empty()
            || !self.core.processes.newcomers.is_empty()
            || self.outside.has_machine()
    }

    /// Whether there are processes that are not classified yet.
    pub fn has_newcomers(&self) -> bool {
        !self.core.processes.newcomers.is_empty()
    }

    /// The living recorded processes without the first one, with their names.
    pub fn living(&self) -> Vec<(u32, String)> {
        let mut pids: Vec<u32> = (self.core.processes.programs.values())
            .map(|program| program.pid)
            .chain(self.core.processes.newcomers.keys().copied())
            .filter(|&pid| Some(pid) != self.core.processes.root)
            .filter(|&pid| profundo_linux::proc::stat(pid).is_some_and(|stat| !stat.has_ended()))
            .collect();
        pids.sort_unstable();
        pids.dedup();
        let name = |pid: u32| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            (pid, name.trim_end().to_owned())
        };
        pids.into_iter().map(name).collect()
    }

    /// Pauses or resumes the sampling.
    pub fn set_paused(&mut self, paused: bool) {
        let state = if paused {
            SessionState::Paused
        } else {
            SessionState::Running
        };
        self.core
            .control()
            .state
            .store(state as u32, Ordering::Relaxed);
        self.follow_state();
    }

    /// Sets whether processes that begin from now on are recorded, too.
    pub fn set_following(&mut self, follows: bool) {
        self.core.options.follow = follows;
        let follow = &self.core.control().follow;
        follow.store(u32::from(follows), Ordering::Relaxed);
    }

    /// Whether sampling is paused.
    pub fn is_paused(&self) -> bool {
        !self.core.running
    }

    /// Follows the session's state, which programs may change too.
    fn follow_state(&mut self) {
        let state = self.core.control().state.load(Ordering::Relaxed);
        let wanted = state == SessionState::Running as u32;
        if wanted != self.core.running {
            self.run(wanted);
        }
    }

    /// Starts or stops sampling.
    fn run(&mut self, wanted: bool) {
        let Self {
            core,
            parts,
            outside,
            ..
        } = self;
        if !wanted {
            for part in parts.all() {
                part.pause(core);
            }
        }
        core.running = wanted;
        core.scale.measure();
        let now = profundo_probe::clock::now();
        let monotonic = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let ran = &mut core.totals.ran;
        if wanted {
            ran.go(monotonic);
        } else {
            ran.stop(monotonic);
        }
        for program in core.processes.programs.values_mut() {
            program.set_running(wanted, now);
            outside.set_running(program, wanted);
        }
        outside.set_machine_running(wanted);
        if wanted {
            outside.begin_anew();
        }
        for part in parts.all() {
            match wanted {
                true => part.resume(core),
                false => part.paused(core),
            }
        }
    }

    /// Reports how a child of the caller ended. The caller should wait with `WNOWAIT`, call this,
    /// and only then reap the process: until then its times can be read.
    pub fn exited(&mut self, pid: u32, how: HowEnded) {
        for program in self.core.processes.programs.values_mut() {
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

    /// Does a turn, but waits no longer than `most`.
    pub fn turn_within(&mut self, most: Duration, sink: &mut dyn FnMut(Event<'_>)) {
        let began = Instant::now();
        let mut most = self.schedule.wait.min(most);
        for part in self.parts.all() {
            most = most.min(part.until_due(&self.core));
        }
        loop {
            let left = most.saturating_sub(began.elapsed());
            let wait = left.min(self.parts.wall.until_tick());
            if self.outside.reads {
                self.read_within(wait, sink);
            } else {
                self.wait_for_the_bell(wait);
            }
            self.parts.wall.observe(&mut self.core, sink);
            let rung = self.core.control().doorbell.load(Ordering::Relaxed);
            let has_rung = rung != self.core.transport.bell;
            if has_rung || began.elapsed() >= most || !self.parts.wall.is_active() {
                break;
            }
        }
        self.turn_now(sink);
    }

    /// Does a turn without waiting.
    pub fn turn_now(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let core = &mut self.core;
        // Acquire pairs with the agent's release: the reason for the ring is written.
        core.transport.bell = core.control().doorbell.load(Ordering::Acquire);
        if !std::mem::replace(&mut core.emitted.clock, true) {
            sink(Event::Clock(core.scale.first()));
        }
        for note in std::mem::take(&mut core.notes) {
            sink(Event::Note(note));
        }
        // Processes that wait for us come first, and those without a ring wait longest.
        core.transport.provide();
        self.answer_arrivals(sink);
        self.core.transport.provide();
        self.follow_state();
        // Before the programs of these waits are ended.
        self.parts.wall.emit_stopped(&self.core, sink);
        self.core.transport.store.collect();
        self.follow(sink);
        let core = &mut self.core;
        core.update_threads(sink);
        core.transport.words_drained = 0;
        let busy = core.drain(sink) | self.outside.sample(core, sink);
        core.has_samples = busy;
        sink(Event::Clock(sys::instant()));
        self.clear_if_asked(sink);
        for part in self.parts.all() {
            part.turn(&mut self.core, sink);
        }
        self.end_ended(sink);
        // A live view needs names together with the samples, and a look-up costs little.
        self.outside.emit_kernel_names(false, sink);
        for part in self.parts.all() {
            part.turn_of_living(&mut self.core, sink);
        }
        self.once_a_second(sink);
        self.core.transport.provide();
        self.schedule.set_wait(Turn {
            busy,
            outside: self.outside.is_active(),
            reads: self.outside.reads,
            machine: self.outside.has_machine(),
            words: self.core.transport.words_drained,
            newcomers: !self.core.processes.newcomers.is_empty(),
            watched: self.poller.is_some(),
        });
    }

    /// Begins to sample a process from outside.
    fn begin_outside(
        &mut self,
        pid: u32,
        parent: u32,
        begun: Begun,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        let Some(process) = Opened::new(&mut self.core, pid, sink) else {
            return;
        };
        if self.core.options.agent.is_some() && begun == Begun::Before {
            self.parts.special.note_outside(pid);
        }
        self.outside
            .begin(&mut self.core, process, parent, begun, sink);
    }
}

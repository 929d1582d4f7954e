//! Attaching to a running process: it is sampled from outside, and its threads are read.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use profundo_linux::perf::Begins;
use profundo_linux::proc;
use profundo_linux::sys;
use profundo_permits::{Gap, may_be_read, perf_refused};
use profundo_process::copied_stack::modules;
use profundo_process::modules::ModuleList;
use profundo_process::reading::ThreadVariables;
use profundo_wire::recording::{Engine, Event};

use super::Recorder;
use crate::core::ThreadId;
use crate::engines::Begun;
use crate::error::Error;
use crate::parts::Part;
use crate::program::Way;

/// The longest wait for the tables of large files, so that the first stacks are whole.
const TABLES: Duration = Duration::from_millis(1500);

/// The interval of checks whether a thread has stopped that was asked to. It may have to wait for a
/// CPU first, and is resumed at once.
const LATE: Duration = Duration::from_micros(200);

impl Recorder {
    /// Tries whether a process may be attached to, and how its threads can be sampled. After this,
    /// [`start`](Self::start) names the engine.
    pub fn aim(&mut self, pid: u32) -> Result<(), Error> {
        may_be_read(pid).map_err(Error::Refused)?;
        self.outside.reads = true;
        if self.core.engine == Engine::PerfRing {
            // Children that begin later inherit the clocks.
            self.core.processes.children_before = Some(proc::descendants(pid));
            let running = std::mem::replace(&mut self.core.running, false);
            if let Err(error) = self.outside.open_clocks(&mut self.core, pid) {
                self.outside.close(pid);
                self.core.engine = Engine::ProcPoll;
                self.core.notes.push(instead_of_perf(&perf_refused(&error)));
            }
            self.core.running = running;
        }
        self.core.processes.aimed = Some(pid);
        Ok(())
    }

    /// Begins to record a running process with all its threads, and its children if they are
    /// followed.
    pub fn attach(&mut self, pid: u32, sink: &mut dyn FnMut(Event<'_>)) -> Result<(), Error> {
        self.attach_all(pid, &[], sink)
    }

    /// Begins to record several running processes. The first is the one that was aimed at.
    pub fn attach_all(
        &mut self,
        pid: u32,
        others: &[u32],
        sink: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), Error> {
        if self.core.processes.aimed != Some(pid) {
            self.aim(pid)?;
        }
        self.core.processes.root = Some(pid);
        // A sampled thread is resumed at once.
        profundo_linux::urgency::ask_for_short_slices();
        let running = std::mem::replace(&mut self.core.running, false);
        self.begin_outside(pid, 0, Begun::Before, sink);
        let mut tids = proc::threads(pid);
        tids.extend(self.begin_children(pid, sink));
        for &other in others {
            // A named process may be a child of another one.
            if self.core.processes.program_of(other).is_none() {
                may_be_read(other).map_err(Error::Refused)?;
                self.begin_outside(other, 0, Begun::Before, sink);
                tids.extend(proc::threads(other));
                tids.extend(self.begin_children(other, sink));
            }
        }
        let began = Instant::now();
        while began.elapsed() < TABLES && !self.has_tables() {
            self.core.transport.store.collect();
            std::thread::sleep(Duration::from_millis(2));
        }
        for program in self.core.processes.programs.values_mut() {
            program.find_python(sink);
        }
        self.core.running = running;
        self.parts.wall.watch(&mut self.core, pid, &tids);
        self.parts
            .syscalls
            .watch(&mut self.core, &tids, Begins::Later);
        let now = profundo_probe::clock::now();
        if running {
            self.parts.energy.resume(&mut self.core);
            for program in self.core.processes.programs.values_mut() {
                program.set_running(true, now);
                self.outside.set_running(program, true);
            }
            self.outside.begin_anew();
        }
        match self.core.processes.programs.is_empty() {
            true => may_be_read(pid).map_err(Error::Refused),
            false => Ok(()),
        }
    }

    /// Begins to record the existing descendants of a process. Returns their threads.
    fn begin_children(&mut self, pid: u32, sink: &mut dyn FnMut(Event<'_>)) -> Vec<u32> {
        let mut tids = Vec::new();
        if !self.core.options.follow {
            return tids;
        }
        let recorder = std::process::id();
        let known = self.core.processes.children_before.take();
        for (child, parent) in known.unwrap_or_else(|| proc::descendants(pid)) {
            // This process may be a descendant of the process that it attaches to, as of a shell.
            if child == recorder || self.core.processes.program_of(child).is_some() {
                continue;
            }
            // A process that is just ending is ignored.
            if proc::stat(child).is_none_or(|stat| stat.has_ended()) {
                continue;
            }
            let Some(parent) = self.core.processes.program_of(parent) else {
                continue;
            };
            self.begin_outside(child, parent, Begun::Before, sink);
            tids.extend(proc::threads(child));
        }
        tids
    }

    /// Reads every thread of the processes once, in any state. With `reads_variables`, returns the
    /// variables of Python frames too.
    pub fn read_every_thread(
        &mut self,
        reads_variables: bool,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> Vec<ThreadVariables> {
        let mut variables = Vec::new();
        self.core.scale.measure();
        for (&key, program) in &mut self.core.processes.programs {
            let list = modules(&program.modules, &self.core.transport.store);
            let Way::Outside(outside) = &mut program.way else {
                continue;
            };
            let mut words = Vec::new();
            let mut tids = proc::threads(program.pid);
            tids.sort_unstable();
            if let Some(process) = outside.process.as_mut().filter(|_| reads_variables) {
                process.keep_variables();
            }
            for tid in tids {
                let pid = program.pid;
                let thread = ThreadId { pid, tid };
                outside.read_once(key, thread, &list, &self.core.scale, &mut words, sink);
                let frames = outside.take_variables();
                if !frames.is_empty() {
                    variables.push(ThreadVariables { pid, tid, frames });
                }
            }
            sink(Event::Words {
                process: key,
                words: &words,
            });
        }
        variables
    }

    fn has_tables(&self) -> bool {
        let lists = self
            .core
            .processes
            .programs
            .values()
            .map(|program| &program.modules);
        lists.flat_map(ModuleList::loaded).all(|module| {
            let file = module.file.as_ref();
            file.is_none_or(|file| file.is_compiled())
        })
    }

    /// Waits until a process rings, at most this long.
    pub(super) fn wait_for_the_bell(&mut self, most: Duration) {
        let began = Instant::now();
        let mut some_have_to_stop = true;
        while some_have_to_stop {
            let mut left = most.saturating_sub(began.elapsed());
            some_have_to_stop = self.outside.is_active() && self.resume_late_threads();
            if some_have_to_stop {
                left = left.min(LATE);
            }
            let doorbell = &self.core.control().doorbell;
            sys::futex_wait(doorbell, self.core.transport.bell, left);
            let has_rung = doorbell.load(Ordering::Relaxed) != self.core.transport.bell;
            some_have_to_stop &= !has_rung && began.elapsed() < most;
        }
    }

    /// Reads threads as they are sampled, for this long.
    pub(super) fn read_within(&mut self, most: Duration, sink: &mut dyn FnMut(Event<'_>)) {
        let began = Instant::now();
        loop {
            let mut left = most.saturating_sub(began.elapsed());
            if left.is_zero() {
                return;
            }
            self.hurry.keep();
            if self.resume_late_threads() {
                left = left.min(LATE);
            }
            self.outside.wait_and_read(&mut self.core, left, sink);
        }
    }

    fn resume_late_threads(&mut self) -> bool {
        let mut some_have_to_stop = false;
        for program in self.core.processes.programs.values_mut() {
            if let Way::Outside(outside) = &mut program.way {
                some_have_to_stop |= outside.resume_late_threads();
            }
        }
        some_have_to_stop
    }
}

/// The note about what replaces perf events where they are refused.
pub(super) fn instead_of_perf(gap: &Gap) -> String {
    format!(
        "the engine is proc-poll, which looks at each tick of its own which threads have run, and reads those: \
         {gap}"
    )
}

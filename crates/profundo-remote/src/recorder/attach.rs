//! A process that runs already: it is sampled from outside, and its threads are read.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use profundo_cpython::Refusal;
use profundo_wire::recording::{Engine, Event};

use super::Recorder;
use super::outside::Begun;
use crate::copied_stack::modules;
use crate::error::Error;
use crate::modules::ModuleList;
use crate::permits::{Gap, may_be_read, perf_refused, python_unread};
use crate::proc;
use crate::program::{Program, Way};
use crate::reading::Counts;
use crate::sys;

/// How long the tables of large files are waited for, so that the first stacks are whole.
const TABLES: Duration = Duration::from_millis(1500);

/// How often it is looked whether a thread has stopped that was asked to. It may have to wait for a CPU until
/// it does, and is let go at once.
const LATE: Duration = Duration::from_micros(200);

impl Recorder {
    /// Tries whether a process may be attached to, and how its threads can be sampled: from then on
    /// [`start`](Self::start) tells by which engine.
    pub fn aim(&mut self, pid: u32) -> Result<(), Error> {
        may_be_read(pid).map_err(Error::Refused)?;
        self.outside.reads = true;
        if self.engine == Engine::PerfRing {
            // Children that begin later inherit the clocks.
            self.children = Some(proc::descendants(pid));
            let running = std::mem::replace(&mut self.running, false);
            if let Err(error) = self.open_outside(pid) {
                self.outside.close(pid);
                self.engine = Engine::ProcPoll;
                self.notes.push(instead_of_perf(&perf_refused(&error)));
            }
            self.running = running;
        }
        self.aimed = Some(pid);
        Ok(())
    }

    /// Begins to record a process that runs already, with all its threads, and its children if they are followed.
    pub fn attach(&mut self, pid: u32, sink: &mut dyn FnMut(Event<'_>)) -> Result<(), Error> {
        self.attach_all(pid, &[], sink)
    }

    /// The same of several processes. The first is the one that was aimed at.
    pub fn attach_all(
        &mut self,
        pid: u32,
        others: &[u32],
        sink: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), Error> {
        if self.aimed != Some(pid) {
            self.aim(pid)?;
        }
        self.root = Some(pid);
        // A thread that was sampled goes on at once.
        crate::sys::ask_for_short_slices();
        let running = std::mem::replace(&mut self.running, false);
        self.begin_outside(pid, 0, Begun::Before, sink);
        let mut tids = proc::threads(pid);
        tids.extend(self.begin_children(pid, sink));
        for &other in others {
            // A process that was named may be a child of another one.
            if self.program_of(other).is_none() {
                may_be_read(other).map_err(Error::Refused)?;
                self.begin_outside(other, 0, Begun::Before, sink);
                tids.extend(proc::threads(other));
                tids.extend(self.begin_children(other, sink));
            }
        }
        let began = Instant::now();
        while began.elapsed() < TABLES && !self.has_tables() {
            self.store.collect();
            std::thread::sleep(Duration::from_millis(2));
        }
        for program in self.programs.values_mut() {
            program.look_for_python(sink);
        }
        self.running = running;
        self.watch_waits(pid, &tids);
        let now = profundo_probe::clock::now();
        if running {
            self.meter_set_running(true);
            for program in self.programs.values_mut() {
                program.set_running(true, now);
                self.outside.set_running(program, true);
            }
            if let Some(polling) = &mut self.polling {
                polling.begin_anew();
            }
        }
        match self.programs.is_empty() {
            true => may_be_read(pid).map_err(Error::Refused),
            false => Ok(()),
        }
    }

    /// Begins to record the children that a process has already, and theirs. Returns their threads.
    fn begin_children(&mut self, pid: u32, sink: &mut dyn FnMut(Event<'_>)) -> Vec<u32> {
        let mut tids = Vec::new();
        if !self.options.follow {
            return tids;
        }
        let own = std::process::id();
        let known = self.children.take();
        for (child, parent) in known.unwrap_or_else(|| proc::descendants(pid)) {
            // Who attaches may be a child of what it attaches to, as from a shell.
            if child == own || self.program_of(child).is_some() {
                continue;
            }
            // A process that ends in this moment is of no interest.
            if proc::stat(child).is_none_or(|stat| stat.has_ended()) {
                continue;
            }
            let Some(parent) = self.program_of(parent) else {
                continue;
            };
            self.begin_outside(child, parent, Begun::Before, sink);
            tids.extend(proc::threads(child));
        }
        tids
    }

    /// Reads every thread of the processes once, where it is.
    pub fn read_every_thread(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        self.scale.look();
        for (&key, program) in &mut self.programs {
            let list = modules(&program.modules, &self.store);
            let Way::Outside(outside) = &mut program.way else {
                continue;
            };
            let mut words = Vec::new();
            let mut tids = proc::threads(program.pid);
            tids.sort_unstable();
            for tid in tids {
                outside.read_once(key, program.pid, tid, &list, &self.scale, &mut words, sink);
            }
            sink(Event::Words {
                process: key,
                words: &words,
            });
        }
    }

    fn has_tables(&self) -> bool {
        let lists = self.programs.values().map(|program| &program.modules);
        lists.flat_map(ModuleList::loaded).all(|module| {
            let file = module.file.as_ref();
            file.is_none_or(|file| file.is_compiled())
        })
    }

    /// Says how reading went, where something was left out.
    pub(super) fn tell_of_readings(&mut self) {
        let Counts {
            whole,
            broken,
            torn,
            refused,
            ..
        } = self.readings;
        let all = whole + broken;
        if torn > 0 {
            let share = torn as f64 / all.max(1) as f64 * 100.0;
            self.notes.push(format!(
                "of {torn} of {all} samples ({share:.1} %) the Python frames were left out: the thread went \
                 on while they were read, and they may be of another instant"
            ));
        }
        if refused > 0 {
            self.notes.push(format!(
                "{refused} samples are of threads that could not be held, as those of a program under \
                 a debugger: their Python frames were read while they went on"
            ));
        }
    }

    /// Waits until a process rings, so long at most.
    pub(super) fn wait_for_the_bell(&mut self, most: Duration) {
        let began = Instant::now();
        let mut some_have_to_stop = true;
        while some_have_to_stop {
            let mut left = most.saturating_sub(began.elapsed());
            some_have_to_stop = self.outside.is_active() && self.let_late_ones_go();
            if some_have_to_stop {
                left = left.min(LATE);
            }
            let doorbell = &self.control().doorbell;
            sys::futex_wait(doorbell, self.bell, left);
            let has_rung = doorbell.load(Ordering::Relaxed) != self.bell;
            some_have_to_stop &= !has_rung && began.elapsed() < most;
        }
    }

    /// Reads threads as they are sampled, for so long.
    pub(super) fn read_within(&mut self, most: Duration, sink: &mut dyn FnMut(Event<'_>)) {
        let began = Instant::now();
        loop {
            let mut left = most.saturating_sub(began.elapsed());
            if left.is_zero() {
                return;
            }
            if self.let_late_ones_go() {
                left = left.min(LATE);
            }
            match &self.polling {
                Some(polling) => {
                    std::thread::sleep(left.min(polling.until_tick()));
                    self.look_at_runners(sink);
                }
                None => {
                    self.outside.wait(left);
                    self.sample_outside(sink);
                }
            }
        }
    }

    fn let_late_ones_go(&mut self) -> bool {
        let mut some_have_to_stop = false;
        for program in self.programs.values_mut() {
            if let Way::Outside(outside) = &mut program.way {
                some_have_to_stop |= outside.let_late_ones_go();
            }
        }
        some_have_to_stop
    }
}

impl Program {
    /// Looks for an interpreter in a process whose threads are read, and tells of it.
    pub(super) fn look_for_python(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let Way::Outside(outside) = &mut self.way else {
            return;
        };
        let Some(process) = outside.process.as_mut() else {
            return;
        };
        if self.runtime_told {
            return;
        }
        if let Some(found) = process.look_for_python(self.pid, &self.modules) {
            self.runtime_told = true;
            sink(Event::Runtime {
                process: self.key,
                runtime: format!("CPython {}", found.version),
                module: found.path.clone(),
            });
        } else if let Some(refusal) = process.refusal {
            self.runtime_told = true;
            let version = process.refused_version.as_str();
            let note = python_unread(self.pid, version, Some(refusal));
            sink(Event::Note(note));
        } else {
            self.tell_python_2(sink);
        }
    }

    /// Says that the stacks of a Python 2 are not read, if one is loaded.
    pub(super) fn tell_python_2(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        if let Some(version) = self.modules.python_2() {
            self.runtime_told = true;
            let note = python_unread(self.pid, version, Some(Refusal::Version));
            sink(Event::Note(note));
        }
    }
}

/// What is done where perf events are refused.
pub(super) fn instead_of_perf(gap: &Gap) -> String {
    format!(
        "the engine is proc-poll, which looks at each tick of its own which threads have run, and reads those: \
         {gap}"
    )
}

//! The ends of programs, and of the recording.

use std::sync::atomic::Ordering;

use profundo_linux::proc;
use profundo_linux::sys;
use profundo_probe::shared::SessionState;
use profundo_wire::recording::{Event, Finish, HowEnded};

use super::Recorder;
use crate::agent::{Agent, ClockPlan};
use crate::core::Totals;
use crate::costs::{delivery_cost, load_cost, switch_cost};
use crate::outside::Outside;
use crate::parts::Leaving;
use crate::program::{Program, Way, how_ended};

/// The part of all CPU time sampled by the kernel beyond which the cost of sampling is not known.
const UNCOUNTED: u64 = 20;

impl Recorder {
    /// Ends the programs whose processes have ended.
    pub(super) fn end_ended(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let processes = &self.core.processes;
        let watched = processes.keys_of(|program| program.pidfd.is_some());
        let programs = processes.programs.values();
        let ended = sys::which_ended(programs.filter_map(|program| program.pidfd.as_ref()));
        if ended.contains(&true) {
            // Children that they have left behind: they get their parents' data only while those
            // are known.
            self.answer_arrivals(sink);
            if self.outside.has_machine() {
                // All that the ended processes have left is in the rings by now.
                self.outside.sample(&mut self.core, sink);
                self.end_replaced(sink);
            }
        }
        for (key, ended) in watched.into_iter().zip(ended) {
            if ended && !self.core.processes.is_waited_for(key) {
                self.end_program(key, HowEnded::Unknown, sink);
                self.core.transport.provide();
            }
        }
    }

    /// Ends programs like [`Self::end_ended`], where the kernel gave us no descriptor.
    pub(super) fn end_unwatched(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let has_ended = |program: &Program| {
            let stat = || proc::stat(program.pid);
            program.pidfd.is_none() && stat().is_none_or(|stat| stat.has_ended())
        };
        for key in self.core.processes.keys_of(has_ended) {
            self.end_program(key, HowEnded::Unknown, sink);
        }
    }

    /// Ends a program: takes its last samples, emits what is known of it, and frees its ring.
    pub(super) fn end_program(&mut self, key: u32, how: HowEnded, sink: &mut dyn FnMut(Event<'_>)) {
        let core = &mut self.core;
        // What waits under the number of a replaced program is of the next one.
        if let Some(program) = core.processes.programs.get(&key)
            && !program.is_over
        {
            let pid = program.pid;
            self.outside.record_waiting(Some(pid), core, sink);
        }
        let Some(program) = core.processes.programs.get_mut(&key) else {
            return;
        };
        let now = profundo_probe::clock::now();
        let stat = program.read_times();
        let is_gone = stat.is_none();
        let status = stat.filter(proc::Stat::has_ended).map(|stat| stat.status);
        if let Way::Agent(agent) = &mut program.way {
            agent.note_new_threads(ClockPlan {
                ours: false,
                period: 0,
                running: core.running,
                mark: 0,
            });
        }
        core.drain_one(key, true, sink);
        for part in self.parts.all() {
            part.ending(core, key, sink);
        }
        let Some(mut program) = core.processes.programs.remove(&key) else {
            return;
        };
        let mut how = how_it_ended(&program, how, status);
        self.outside.count(&mut program);
        if is_gone && !program.is_over {
            estimate_times(&mut program);
        }
        match &mut program.way {
            Way::Agent(agent) => {
                if how == HowEnded::Replaced {
                    agent.note_replaced();
                }
                agent.emit_changed_threads(key, &core.scale, sink);
                agent.emit_all_threads(key, true, &core.scale, sink);
                agent.close_clocks();
                if let Some(times) = last_times(agent, &mut how) {
                    program.times = times;
                }
            }
            Way::Outside(outside) => {
                outside.settle(key, true, sink);
                core.totals.readings.add(outside.readings());
                outside.emit_threads(key, now, &core.scale, sink);
                self.outside.forget(program.pid);
            }
        }
        program.emit_loss(sink);
        let (user, system) = program.times;
        let times_at_exec = &mut core.processes.times_at_exec;
        if how == HowEnded::Replaced {
            times_at_exec.insert(program.pid, program.times);
        } else {
            times_at_exec.remove(&program.pid);
        }
        program.user.stop(user);
        program.system.stop(system);
        core.totals.add_cpu(&program, core.engine);
        core.totals.cpu_of_ended += program.cpu();
        let why = match how {
            HowEnded::Replaced => Leaving::Replaced,
            _ => Leaving::Ended,
        };
        for part in self.parts.all() {
            part.ended(core, &mut program, why, sink);
        }
        self.free_ring(&mut program);
        sink(Event::Ended(program.end(now, how)));
        if program.agent().is_some() {
            self.core.processes.keep_modules(&mut program);
        }
    }

    /// Adds the cost of an agent, and frees its ring.
    fn free_ring(&mut self, program: &mut Program) {
        let core = &mut self.core;
        let Way::Agent(agent) = &mut program.way else {
            return;
        };
        // Before the ring is another process's, whose file has the same name.
        agent.sums = None;
        core.totals.add_agent(agent);
        core.processes.by_ring.remove(&agent.index);
        let directory = &core.transport.directory;
        if let Some(kept) = directory.keys().0.get(agent.index) {
            kept.store(0, Ordering::Relaxed);
        }
        core.transport
            .rings
            .recycle(agent.index, directory.control());
    }

    /// Takes the remaining samples, stops clocks and timers, and removes the session. Living
    /// programs go on without the recorder.
    pub fn finish(mut self, sink: &mut dyn FnMut(Event<'_>)) -> Finish {
        self.hurry.end();
        // No other thread may hold the directory.
        self.poller = None;
        self.outside.set_machine_running(false);
        self.turn_now(sink);
        self.outside.record_waiting(None, &mut self.core, sink);
        self.end_replaced(sink);
        let Self {
            core,
            parts,
            outside,
            ..
        } = &mut self;
        core.notes.extend(outside.machine_notes());
        outside.finish_polling(core, sink);
        for part in parts.all() {
            part.stop(core, sink);
        }
        let over = SessionState::Over as u32;
        core.control().state.store(over, Ordering::Release);
        core.scale.measure();
        let now = profundo_probe::clock::now();
        for key in core.processes.keys() {
            self.leave_program(key, now, sink);
        }
        let Self {
            core,
            parts,
            outside,
            ..
        } = &mut self;
        core.emit_deferred(sink);
        for part in parts.all() {
            part.finish(core, sink);
        }
        outside.emit_kernel_names(true, sink);
        core.note_what_is_missing(sink);
        let last = sys::instant();
        sink(Event::Clock(last));
        let own_cost = self.own_cost(&self.core.totals);
        let Self {
            core,
            parts,
            outside,
            ..
        } = &mut self;
        let recorder_cpu = outside
            .reads
            .then(|| sys::nanoseconds(libc::CLOCK_PROCESS_CPUTIME_ID));
        core.note_readings();
        for part in parts.all() {
            part.last_notes(core, sink);
        }
        for note in std::mem::take(&mut core.notes) {
            sink(Event::Note(note));
        }
        Finish {
            ended: last,
            duration: core.totals.ran.at(last.monotonic),
            cpu: core.totals.cpu,
            own_cost,
            recorder_cpu,
            by_ticks: core.totals.by_ticks,
        }
    }

    /// Ends the recording of a living program.
    fn leave_program(&mut self, key: u32, now: u64, sink: &mut dyn FnMut(Event<'_>)) {
        let Self {
            core,
            parts,
            outside,
            ..
        } = self;
        if let Some(program) = core.processes.programs.get_mut(&key) {
            outside.set_running(program, false);
            outside.count(program);
            program.finish(now);
        }
        outside.sample(core, sink);
        core.drain_one(key, true, sink);
        parts.generated.read(core, key, sink);
        let Some(mut program) = core.processes.programs.remove(&key) else {
            return;
        };
        program.emit_threads(now, &core.scale, sink);
        program.emit_loss(sink);
        core.totals.add_cpu(&program, core.engine);
        if let Way::Outside(outside) = &mut program.way {
            outside.settle(key, true, sink);
            core.totals.readings.add(outside.readings());
        }
        if let Some(agent) = program.agent() {
            core.totals.add_agent(agent);
        }
        sink(Event::Ended(program.end(now, HowEnded::Unknown)));
        for part in parts.all() {
            part.ended(core, &mut program, Leaving::Alive, sink);
        }
        core.processes.programs.insert(key, program);
    }

    /// The CPU time that sampling has cost the programs, if it is known.
    pub(super) fn own_cost(&self, totals: &Totals) -> Option<u64> {
        let options = &self.core.options;
        let cache = options.cache.as_deref();
        let cost = totals.cost_since_clear();
        let delivery = delivery_cost(cost.handled, cache);
        let handlers = self.core.scale.nanoseconds(cost.cycles);
        let watched = match self.side_band {
            Some(_) => cost.switches,
            None => 0,
        };
        let switches = switch_cost(cost.clocked, watched, cache);
        let loading = match &options.agent {
            Some(agent) if totals.loads > 0 => load_cost(totals.loads, agent, cache).unwrap_or(0),
            _ => 0,
        };
        let loading = loading.saturating_mul(totals.loads);
        let starts = totals.cost_of_starts.saturating_add(loading);
        match self.outside.reads {
            true => Some(totals.readings.held + totals.readings.held_late),
            // The kernel's cost of sampling, and of switching clocks, is not counted.
            false if totals.by_kernel > totals.cpu / UNCOUNTED => None,
            false => delivery.map(|each| {
                let parts = [each.saturating_mul(cost.handled), switches, starts];
                parts.into_iter().fold(handlers, u64::saturating_add)
            }),
        }
    }
}

/// The end of a program: as its parent has reported, or by its wait status.
fn how_it_ended(program: &Program, how: HowEnded, status: Option<i32>) -> HowEnded {
    if how != HowEnded::Unknown {
        return how;
    }
    if let Some(how) = program.how
        && how != HowEnded::Unknown
    {
        return how;
    }
    let pidfd = program.pidfd.as_ref();
    let status = status.or_else(|| pidfd.and_then(sys::wait_status));
    status.map_or(HowEnded::Unknown, how_ended)
}

/// Estimates the times of a program whose process is gone, from its clocks.
fn estimate_times(program: &mut Program) {
    let user = match &program.way {
        Way::Agent(agent) => {
            let before = program.times_before;
            let system = program.times.1.saturating_sub(before.1);
            before.0.saturating_add(agent.ran().saturating_sub(system))
        }
        Way::Outside(outside) => user_time_outside(outside, program.times.1),
    };
    program.times.0 = program.times.0.max(user);
}

/// The user time by the clocks. Clocks that children have inherited count more than the process has
/// used; its samples stand for less.
fn user_time_outside(outside: &Outside, system: u64) -> u64 {
    let counted = outside.counted.unwrap_or(outside.sampled);
    let before = outside.used_before;
    let system = match outside.sees_the_kernel {
        true => system.saturating_sub(before.1),
        false => 0,
    };
    before.0.saturating_add(counted.saturating_sub(system))
}

/// User and system time, as the process reported them at its end or before an exec. Sets how it
/// ended, if that is not known otherwise.
fn last_times(agent: &Agent, how: &mut HowEnded) -> Option<(u64, u64)> {
    let header = agent.header();
    let ends = &header.ends;
    let times = || {
        (
            ends.user.load(Ordering::Relaxed),
            ends.system.load(Ordering::Relaxed),
        )
    };
    // Acquire pairs with the agent's release: the times are written.
    if ends.known.load(Ordering::Acquire) != 0 {
        let code = header.exit_code.load(Ordering::Relaxed);
        // Below zero: not known.
        if *how == HowEnded::Unknown && code >= 0 {
            *how = HowEnded::Exited((code & 0xFF) as u8);
        }
        return Some(times());
    }
    // Acquire pairs with the agent's release, as above.
    let is_replaced = *how == HowEnded::Replaced && ends.at_exec.load(Ordering::Acquire) != 0;
    is_replaced.then(times)
}

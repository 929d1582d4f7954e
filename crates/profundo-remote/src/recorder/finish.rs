//! Ends: of programs, and of the recording.

use std::sync::atomic::Ordering;

use profundo_probe::shared::SessionState;
use profundo_wire::recording::{Engine, Event, Finish, HowEnded};

use super::Recorder;
use crate::calibrate;
use crate::load_cost::load_cost;
use crate::proc;
use crate::program::{Program, Way, how_ended};
use crate::switch_cost::switch_cost;
use crate::sys;

/// Where the kernel has sampled more than this part of all CPU time, the own cost is not known.
const UNCOUNTED: u64 = 20;

impl Recorder {
    /// Looks which processes have ended, and takes leave of them.
    pub(super) fn bury(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let watched: Vec<u32> = self
            .programs
            .values()
            .filter(|program| program.pidfd.is_some())
            .map(|program| program.key)
            .collect();
        let pidfds = self
            .programs
            .values()
            .filter_map(|program| program.pidfd.as_ref());
        let ended = sys::which_ended(pidfds);
        if ended.contains(&true) {
            // Children that they have left: what those have from their parents is known as long as these are.
            self.greet(sink);
        }
        for (key, ended) in watched.into_iter().zip(ended) {
            if ended && !self.is_waited_for(key) {
                self.end_program(key, HowEnded::Unknown, sink);
                self.rings.provide(self.directory.control());
            }
        }
    }

    /// Whether the program is our caller's child, has been let go, and the caller is about to say
    /// how it ended.
    fn is_waited_for(&mut self, key: u32) -> bool {
        /// It is not about to, after all.
        const LONG: u64 = 100_000_000;
        let Some(program) = self.programs.get(&key) else {
            return false;
        };
        if Some(program.pid) != self.root || program.how.is_some() {
            return false;
        }
        if proc::stat(program.pid).is_some_and(|stat| stat.has_ended()) {
            return false;
        }
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        now.saturating_sub(*self.root_gone.get_or_insert(now)) < LONG
    }

    /// As [`Self::bury`], for those of which the kernel gave us no descriptor.
    pub(super) fn bury_unwatched(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let ended = |program: &&Program| {
            let stat = || proc::stat(program.pid);
            program.pidfd.is_none() && stat().is_none_or(|stat| stat.has_ended())
        };
        let keys: Vec<u32> = self
            .programs
            .values()
            .filter(ended)
            .map(|program| program.key)
            .collect();
        for key in keys {
            self.end_program(key, HowEnded::Unknown, sink);
        }
    }

    /// A program has ended: takes its last samples, tells of it, and sets its ring free.
    pub(super) fn end_program(&mut self, key: u32, how: HowEnded, sink: &mut dyn FnMut(Event<'_>)) {
        let Some(program) = self.programs.get_mut(&key) else {
            return;
        };
        let now = profundo_probe::clock::now();
        let stat = program.read_times();
        let is_gone = stat.is_none();
        let stat = stat.filter(proc::Stat::has_ended);
        if let Way::Agent(agent) = &mut program.way {
            agent.meet(super::ClockPlan {
                ours: false,
                period: 0,
                running: self.running,
                mark: 0,
            });
        }
        self.drain_one(key, true, sink);
        if let Some(program) = self.programs.get(&key) {
            self.finish_waits_of(program.pid, sink);
        }
        let Some(mut program) = self.programs.remove(&key) else {
            return;
        };
        self.take_last_code(&mut program, sink);
        let mut how = program
            .how
            .filter(|_| how == HowEnded::Unknown)
            .unwrap_or(how);
        if how == HowEnded::Unknown {
            let status = stat.map(|stat| stat.status);
            let pidfd = program.pidfd.as_ref();
            let status = status.or_else(|| pidfd.and_then(sys::wait_status));
            how = status.map_or(HowEnded::Unknown, how_ended);
        }
        if let Way::Agent(agent) = &program.way
            && is_gone
        {
            // Nobody can read its times any more, but its clocks have counted.
            let before = program.times_before;
            let system = program.times.1.saturating_sub(before.1);
            let user = before.0 + agent.ran().saturating_sub(system);
            program.times.0 = program.times.0.max(user);
        }
        self.outside.count(&mut program);
        if let Way::Outside(outside) = &program.way
            && is_gone
        {
            // Clocks that children have inherited count more than the process has used; its samples stand for less.
            let counted = outside.counted.unwrap_or(outside.sampled);
            let before = outside.used_before;
            let system = match outside.sees_the_kernel {
                true => program.times.1.saturating_sub(before.1),
                false => 0,
            };
            let user = before.0 + counted.saturating_sub(system);
            program.times.0 = program.times.0.max(user);
        }
        match &mut program.way {
            Way::Agent(agent) => {
                if how == HowEnded::Replaced {
                    agent.note_replaced();
                }
                agent.tell(key, &self.scale, sink);
                agent.tell_all(key, true, &self.scale, sink);
                agent.close_clocks();
                let header = agent.header();
                let code = header.exit_code.load(Ordering::Relaxed);
                // Acquire pairs with the agent's release: the times are there.
                if header.ends.known.load(Ordering::Acquire) != 0 {
                    let user = header.ends.user.load(Ordering::Relaxed);
                    let system = header.ends.system.load(Ordering::Relaxed);
                    program.times = (user, system);
                    // Below zero: not known.
                    if how == HowEnded::Unknown && code >= 0 {
                        how = HowEnded::Exited((code & 0xFF) as u8);
                    }
                } else if how == HowEnded::Replaced
                    && header.ends.at_exec.load(Ordering::Acquire) != 0
                {
                    // Acquire pairs with the agent's release, as above.
                    let user = header.ends.user.load(Ordering::Relaxed);
                    let system = header.ends.system.load(Ordering::Relaxed);
                    program.times = (user, system);
                }
            }
            Way::Outside(outside) => {
                outside.settle(key, true, sink);
                self.readings.add(outside.readings());
                outside.tell_all(key, now, &self.scale, sink);
                self.outside.forget(program.pid);
            }
        }
        program.tell_loss(sink);
        self.end_gauges_of(&program, how == HowEnded::Replaced, sink);
        let (user, system) = program.times;
        if how == HowEnded::Replaced {
            self.times_at_exec.insert(program.pid, program.times);
        } else {
            self.times_at_exec.remove(&program.pid);
        }
        program.user.stop(user);
        program.system.stop(system);
        self.cpu += program.expected(self.engine);
        self.by_kernel += program.expected_by_kernel(self.engine);
        self.cpu_of_ended += program.cpu();
        self.count_untold(&program);
        self.note_behind(&program);
        if let Way::Agent(agent) = &mut program.way {
            // Before the ring is another process's, whose file has the same name.
            agent.sums = None;
        }
        self.tell_calls(&program, sink);
        self.tell_tallies(&mut program, sink);
        if let Some(agent) = program.agent() {
            self.cost = self.cost.plus(agent.cost());
            self.by_ticks += agent.by_ticks();
            self.cost_of_starts += agent.start_cost();
            self.loads += u64::from(agent.was_loaded());
            self.by_ring.remove(&agent.index);
            if let Some(kept) = self.directory.keys().0.get(agent.index) {
                kept.store(0, Ordering::Relaxed);
            }
            self.rings.recycle(agent.index, self.directory.control());
        }
        sink(Event::Ended(program.end(now, how)));
        if program.agent().is_some() {
            self.keep_modules(&mut program);
        }
    }

    /// Takes what is left, tells the clocks and timers to stop, and removes the session. Programs
    /// that are still alive go on without us.
    pub fn finish(mut self, sink: &mut dyn FnMut(Event<'_>)) -> Finish {
        // Nobody is to hold the directory but us.
        self.watcher = None;
        self.look(sink);
        self.finish_polling(sink);
        self.finish_waits(sink);
        let control = self.directory.control();
        control
            .state
            .store(SessionState::Over as u32, Ordering::Release);
        self.scale.look();
        let now = profundo_probe::clock::now();
        let mut ended = self.scale.first();
        let keys: Vec<u32> = self.programs.keys().copied().collect();
        for key in keys {
            if let Some(program) = self.programs.get_mut(&key) {
                self.outside.set_running(program, false);
                self.outside.count(program);
                program.finish(now);
            }
            self.sample_outside(sink);
            self.drain_one(key, true, sink);
            self.look_at_code_of(key, sink);
            if let Some(program) = self.programs.get_mut(&key) {
                program.tell_threads(now, &self.scale, sink);
                program.tell_loss(sink);
                self.cpu += program.expected(self.engine);
                self.by_kernel += program.expected_by_kernel(self.engine);
                if let Way::Outside(outside) = &mut program.way {
                    outside.settle(key, true, sink);
                    self.readings.add(outside.readings());
                }
                if let Some(agent) = program.agent() {
                    self.cost = self.cost.plus(agent.cost());
                    self.by_ticks += agent.by_ticks();
                    self.cost_of_starts += agent.start_cost();
                    self.loads += u64::from(agent.was_loaded());
                }
                sink(Event::Ended(program.end(now, HowEnded::Unknown)));
            }
            if let Some(mut program) = self.programs.remove(&key) {
                self.count_untold(&program);
                self.note_behind(&program);
                self.tell_calls(&program, sink);
                self.tell_tallies(&mut program, sink);
                self.programs.insert(key, program);
            }
        }
        self.tell_deferred(sink);
        self.finish_gauges(sink);
        self.tell_energy(sink);
        self.tell_kernel_names(true, sink);
        self.say_what_is_missing(sink);
        let last = sys::instant();
        sink(Event::Clock(last));
        (ended.cycles, ended.monotonic, ended.unix) = (last.cycles, last.monotonic, last.unix);
        let cache = self.options.cache.as_deref();
        let cost = self.cost_since_clear();
        let delivery = calibrate::delivery_cost(cost.handled, cache);
        let handlers = self.scale.nanoseconds(cost.cycles);
        let watched = match self.side_band {
            Some(_) => cost.switches,
            None => 0,
        };
        let switches = switch_cost(cost.clocked, watched, cache);
        let loading = match &self.options.agent {
            Some(agent) if self.loads > 0 => load_cost(self.loads, agent, cache).unwrap_or(0),
            _ => 0,
        };
        let starts = self.cost_of_starts + loading * self.loads;
        let own_cost = match self.outside.reads {
            true => Some(self.readings.held + self.readings.held_late),
            // What the kernel takes to sample for us, and to switch clocks, nobody counts.
            false if self.by_kernel > self.cpu / UNCOUNTED => None,
            false => delivery.map(|each| handlers + each * cost.handled + switches + starts),
        };
        let recorder_cpu = self
            .outside
            .reads
            .then(|| sys::nanoseconds(libc::CLOCK_PROCESS_CPUTIME_ID));
        self.tell_of_readings();
        self.say_untold();
        self.say_special();
        self.say_missed_tallies(sink);
        for note in std::mem::take(&mut self.notes) {
            sink(Event::Note(note));
        }
        Finish {
            ended,
            duration: self.ran.at(last.monotonic),
            cpu: self.cpu,
            own_cost,
            recorder_cpu,
            by_ticks: self.by_ticks,
        }
    }
}

impl Program {
    /// The CPU time of which the engine could have taken samples.
    pub(crate) fn expected(&self, engine: Engine) -> u64 {
        let user = self.user.at(self.times.0);
        let system = self.system.at(self.times.1);
        if let Way::Outside(outside) = &self.way
            && let Some(counted) = outside.counted
        {
            return counted.saturating_sub(self.outside_cleared);
        }
        let sees_the_kernel = match &self.way {
            Way::Agent(_) => engine == Engine::CpuTimer,
            Way::Outside(outside) if user == 0 => {
                return outside.sampled.saturating_sub(self.outside_cleared);
            }
            Way::Outside(outside) => outside.sees_the_kernel,
        };
        if sees_the_kernel { user + system } else { user }
    }

    /// The part of it that the kernel samples, because the program has no agent.
    fn expected_by_kernel(&self, engine: Engine) -> u64 {
        match self.way {
            Way::Agent(_) => 0,
            Way::Outside(_) => self.expected(engine),
        }
    }

    /// Tells what was lost, if that is more than was told.
    pub(crate) fn tell_loss(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let Some(agent) = self.agent() else { return };
        let loss = agent.loss();
        if loss != self.loss {
            self.loss = loss;
            let process = self.key;
            sink(Event::Loss { process, loss });
        }
    }

    /// Tells all that is known of its threads.
    pub(crate) fn tell_threads(
        &mut self,
        now: u64,
        scale: &crate::clock::Scale,
        sink: &mut dyn FnMut(Event<'_>),
    ) {
        let key = self.key;
        match &mut self.way {
            Way::Agent(agent) => {
                agent.tell(key, scale, sink);
                agent.tell_all(key, false, scale, sink);
            }
            Way::Outside(outside) => outside.tell_all(key, now, scale, sink),
        }
    }

    /// The recording ends while the program lives.
    fn finish(&mut self, now: u64) {
        self.read_times();
        if let Way::Agent(agent) = &mut self.way {
            agent.set_running(false, now);
        }
    }
}

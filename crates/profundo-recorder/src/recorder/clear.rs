//! Clears the recording on request: of `profundo ctl PID clear`, or of the program itself.
//!
//! Nothing changes in the programs. Their counters go on, and the counts at this time are
//! subtracted here. Samples that were taken before and arrive later are recognised by their times.

use std::sync::atomic::Ordering;

use profundo_linux::sys;
use profundo_session::Remains;
use profundo_wire::recording::Event;

use super::Recorder;
use crate::agent::{Agent, Cost};
use crate::program::{Program, Way};

impl Recorder {
    /// Clears the recording, if that was requested.
    pub(super) fn clear_if_asked(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let request = self.core.control().request.load(Ordering::Acquire);
        if request == self.cleared {
            return;
        }
        self.cleared = request;
        self.clear(sink);
        let heeded = &self.core.control().heeded;
        heeded.store(request, Ordering::Release);
        sys::futex_wake(heeded);
    }

    /// Forgets what was recorded so far.
    pub fn clear(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let was_running = self.core.running;
        if was_running {
            self.run(false);
        }
        self.left_alone.clear();
        let Self {
            core,
            parts,
            outside,
            ..
        } = self;
        // Names and numbers that exist by now are needed later.
        core.drain(sink);
        outside.sample(core, sink);
        let now = sys::instant();
        let programs = &mut core.processes.programs;
        let living = programs.values().filter_map(Program::agent);
        let cost = living.map(Agent::cost).fold(Cost::default(), Cost::plus);
        for program in programs.values_mut() {
            program.emit_threads(now.cycles, &core.scale, sink);
            program.emit_loss(sink);
            outside.count(program);
            program.clear_times();
            if let Way::Agent(agent) = &mut program.way {
                agent.clear();
            }
        }
        for part in parts.all() {
            part.clear(core);
        }
        core.totals.clear(cost);
        if was_running {
            // The time of clearing is not part of the recording.
            core.totals.ran.go(now.monotonic);
            self.run(true);
        }
        sink(Event::Cleared(now));
        Remains::begin_anew(self.core.transport.directory.path(), now);
    }
}

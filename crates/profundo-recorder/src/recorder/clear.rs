//! Requests from outside: to clear the recording, by `profundo ctl PID clear` or by the program
//! itself; and to write it, so that its file can be read meanwhile.
//!
//! Nothing changes in the programs. Their counters go on, and the counts at this time are
//! subtracted here. Samples that were taken before and arrive later are recognised by their times.

use std::sync::atomic::Ordering;

use profundo_linux::sys;
use profundo_session::{KeepRequest, Remains};
use profundo_wire::recording::Event;

use super::Recorder;
use crate::agent::{Agent, Cost};
use crate::program::{Program, Way};

/// The word of a recording of which the last minutes are kept, before any request.
const KEEPS: u32 = 1;

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

    /// The request of a reader of the file that all until now be written there, if there is one.
    /// The caller writes it, and says so.
    pub fn wanted(&self) -> Option<u32> {
        let control = self.core.control();
        let wanted = control.wanted.load(Ordering::Acquire);
        // No other process stores to the answer.
        (wanted != control.written.load(Ordering::Relaxed)).then_some(wanted)
    }

    /// Lets `profundo ctl PID keep` ask for the last minutes, which are all that is kept.
    pub fn accept_keeping(&self) {
        // Release pairs with the acquire of the asker.
        self.core.control().keep.store(KEEPS, Ordering::Release);
    }

    /// The requests to write the last minutes since this was called last. The caller answers them.
    pub fn keep_requests(&mut self) -> Vec<KeepRequest> {
        let keep = self.core.control().keep.load(Ordering::Acquire);
        if keep == std::mem::replace(&mut self.kept, keep) || keep == KEEPS {
            return Vec::new();
        }
        // The files there say what we are to write, and where.
        if self.core.transport.directory.is_elsewhere() {
            return Vec::new();
        }
        KeepRequest::take_all(self.core.transport.directory.path())
    }

    /// All until a request is written.
    pub fn written(&self, wanted: u32) {
        let written = &self.core.control().written;
        // Release pairs with the acquire of the reader.
        written.store(wanted, Ordering::Release);
        sys::futex_wake(written);
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

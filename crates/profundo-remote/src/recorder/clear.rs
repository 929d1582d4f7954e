//! What was recorded so far is forgotten, on somebody's word: `profundo ctl PID clear`, or the program's own.
//!
//! Nothing changes in the programs. Everybody counts on, and what had been counted by then is taken off here; what
//! was sampled before and comes later is known by its time.

use std::sync::atomic::Ordering;

use profundo_wire::recording::Event;

use super::Recorder;
use crate::account::Account;
use crate::agent::Cost;
use crate::program::{Program, Way};
use crate::session::Remains;
use crate::sys;

impl Recorder {
    /// Forgets, if somebody wants that.
    pub(super) fn heed_clear(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let request = self.control().request.load(Ordering::Acquire);
        if request == self.cleared {
            return;
        }
        self.cleared = request;
        self.clear(sink);
        let heeded = &self.control().heeded;
        heeded.store(request, Ordering::Release);
        sys::futex_wake(heeded);
    }

    fn clear(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let was_running = self.running;
        if was_running {
            self.run(false);
            self.forget_stopped_waits();
        }
        // What has a name or a number by now has to be known later on.
        self.drain(sink);
        self.sample_outside(sink);
        let now = sys::instant();
        let living: Vec<_> = self.programs.values().filter_map(Program::agent).collect();
        let cost = living.iter().map(|agent| agent.cost());
        self.cost_cleared = cost.fold(Cost::default(), Cost::plus);
        for program in self.programs.values_mut() {
            program.tell_threads(now.cycles, &self.scale, sink);
            program.tell_loss(sink);
            self.outside.count(program);
            program.clear_times();
            if let Way::Agent(agent) = &mut program.way {
                agent.clear();
            }
        }
        let keys: Vec<u32> = self.programs.keys().copied().collect();
        for key in keys {
            self.clear_sums(key);
        }
        if let Some(meter) = &mut self.meter {
            meter.clear();
        }
        (self.ran, self.cost) = (Account::default(), Cost::default());
        (self.by_ticks, self.by_kernel) = (0, 0);
        (self.cost_of_starts, self.loads) = (0, 0);
        (self.cpu, self.cpu_of_ended) = (0, 0);
        if was_running {
            // What is there to forget has no part in it, however long that takes.
            self.ran.go(now.monotonic);
            self.run(true);
        }
        sink(Event::Cleared(now));
        Remains::begin_anew(self.directory.path(), now);
    }

    /// What sampling has cost, of all programs that have been told of at the end.
    pub(super) fn cost_since_clear(&self) -> Cost {
        self.cost.minus(self.cost_cleared)
    }
}

impl Program {
    /// Its times so far count no more. It is paused.
    fn clear_times(&mut self) {
        self.read_times();
        (self.user, self.system) = (Account::default(), Account::default());
        self.times_cleared = self.times;
        if let Way::Outside(outside) = &self.way {
            self.outside_cleared = outside.counted.unwrap_or(outside.sampled);
        }
    }
}

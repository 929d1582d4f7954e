//! What the machine uses meanwhile.

use profundo_wire::recording::Event;

use super::Recorder;
use crate::energy::Meter;
use crate::options::Options;
use crate::permits::energy_refused;
use crate::program::Program;

/// Opens the counters, where they are asked for. Without them the recording goes on all the same.
pub(super) fn open(options: &Options, notes: &mut Vec<String>) -> Option<Meter> {
    let root = options.energy.as_ref()?;
    match Meter::open(root) {
        Ok(meter) => Some(meter),
        Err(why) => {
            notes.push(format!("energy is not counted: {}", energy_refused(&why)));
            None
        }
    }
}

impl Recorder {
    /// The programs begin or end to be sampled, and the machine to be counted.
    pub(super) fn meter_set_running(&mut self, running: bool) {
        if let Some(meter) = &mut self.meter {
            meter.set_running(running);
        }
    }

    /// Reads the counters in time.
    pub(super) fn mind_energy(&mut self, now: u64, sink: &mut dyn FnMut(Event<'_>)) {
        if self.meter.as_ref().is_some_and(|meter| meter.is_due(now)) {
            self.tell_energy(sink);
        }
    }

    /// Tells what was used so far.
    pub(super) fn tell_energy(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        let Some(meter) = &mut self.meter else { return };
        let living: u64 = self.programs.values().map(Program::cpu).sum();
        let used = meter.used(self.running, self.cpu_of_ended + living);
        sink(Event::Energy(used));
    }
}

//! The energy that the machine uses: the counters of its processors, read every ten seconds.

use profundo_linux::energy::Meter;
use profundo_permits::energy_refused;
use profundo_wire::recording::Event;

use super::{Part, Sink};
use crate::core::Core;
use crate::options::Options;
use crate::program::Program;

/// Counts energy, if it is requested and permitted.
#[derive(Debug)]
pub(crate) struct Energy(Option<Meter>);

impl Energy {
    /// Opens the counters, if they are requested. Without them the recording goes on nevertheless.
    pub(super) fn open(options: &Options, notes: &mut Vec<String>) -> Self {
        let Some(root) = options.energy.as_ref() else {
            return Self(None);
        };
        match Meter::open(root) {
            Ok(meter) => Self(Some(meter)),
            Err(why) => {
                notes.push(format!("energy is not counted: {}", energy_refused(&why)));
                Self(None)
            }
        }
    }

    /// Emits the energy used so far.
    fn emit(&mut self, core: &Core, sink: &mut Sink<'_>) {
        let Some(meter) = &mut self.0 else { return };
        let living: u64 = core.processes.programs.values().map(Program::cpu).sum();
        let used = meter.used(core.running, core.totals.cpu_of_ended + living);
        sink(Event::Energy(used));
    }
}

impl Part for Energy {
    fn paused(&mut self, _core: &mut Core) {
        if let Some(meter) = &mut self.0 {
            meter.set_running(false);
        }
    }

    fn resume(&mut self, _core: &mut Core) {
        if let Some(meter) = &mut self.0 {
            meter.set_running(true);
        }
    }

    fn second(&mut self, core: &mut Core, now: u64, sink: &mut Sink<'_>) {
        if self.0.as_ref().is_some_and(|meter| meter.is_due(now)) {
            self.emit(core, sink);
        }
    }

    fn clear(&mut self, _core: &mut Core) {
        if let Some(meter) = &mut self.0 {
            meter.clear();
        }
    }

    fn finish(&mut self, core: &mut Core, sink: &mut Sink<'_>) {
        self.emit(core, sink);
    }
}

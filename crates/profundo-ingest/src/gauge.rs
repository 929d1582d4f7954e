//! What processes have of the machine's memory, from the cycle counter's time to the recording's.

use profundo_model::{Gauge, Heap, ProcessId};
use profundo_wire::recording;

use crate::clock::Clock;

/// What was told, until it is known what the cycle counter means.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    pub(crate) untold: Vec<(ProcessId, recording::Gauge)>,
}

impl Gauges {
    /// Appends it to the profile.
    pub(crate) fn let_go(&mut self, clock: Clock, heap: &mut Heap) {
        let gauges = self.untold.drain(..);
        let gauges = gauges.filter(|(_, told)| !clock.is_before(told.clock));
        let gauges = gauges.map(|(process, told)| gauge_of(process, &told, clock));
        heap.gauges.extend(gauges);
    }
}

fn gauge_of(process: ProcessId, told: &recording::Gauge, clock: Clock) -> Gauge {
    Gauge {
        process,
        time: clock.since_start(told.clock),
        resident: told.resident,
        peak_resident: told.peak_resident,
        proportional: told.proportional,
        anonymous: told.anonymous,
        swapped: told.swapped,
        minor_faults: told.minor_faults,
        major_faults: told.major_faults,
        in_use: told.in_use,
        mapped: told.mapped,
        elsewhere: told.elsewhere,
        arenas: told.arenas,
    }
}

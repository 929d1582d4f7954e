//! What processes have of the machine's memory, from the cycle counter's time to the recording's.

use profundo_model::{Gauge, ProcessId};
use profundo_wire::recording;

use crate::clock::Clock;

/// What was told of a process.
pub(crate) fn gauge_of(process: ProcessId, told: &recording::Gauge, clock: Clock) -> Gauge {
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
        arenas: told.arenas,
    }
}

//! What threads have read and written, from the cycle counter's time to the recording's.

use profundo_model::{Bytes, ThreadId, Traffic};

use crate::clock::Clock;

/// What was told of a thread.
pub(crate) fn traffic_of(thread: ThreadId, told: &profundo_wire::Traffic, clock: Clock) -> Traffic {
    Traffic {
        thread,
        from: clock.since_start(told.from),
        to: clock.since_start(told.to),
        waits: told.waits,
        bytes: Bytes {
            read: told.read,
            written: told.written,
            fetched: told.fetched,
            stored: told.stored,
        },
    }
}

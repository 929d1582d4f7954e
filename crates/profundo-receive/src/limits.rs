//! The bounds of what is taken.

use std::time::Duration;

/// The bounds of what is taken. What lies beyond is refused, and the client told when to try again.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The bytes of a body, as they arrive.
    pub body: usize,
    /// The bytes of a body that is unpacked.
    pub unpacked: usize,
    /// The bytes of all bodies that are on their way in.
    pub in_flight: usize,
    /// The connections.
    pub connections: usize,
    /// The rows of a segment. At half of them it is written early.
    pub rows: usize,
    /// The bytes of the journal of a segment. At half of them it is written early.
    pub journal: u64,
    /// The bytes of segments that wait for the store.
    pub spool: u64,
    /// The time for a whole body.
    pub patience: Duration,
    /// The time for the head of a request, and between two requests of a connection.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 16 << 20,
            unpacked: 128 << 20,
            in_flight: 256 << 20,
            connections: 8192,
            rows: 4_000_000,
            journal: 1 << 30,
            spool: 4 << 30,
            patience: Duration::from_secs(30),
            idle: Duration::from_secs(90),
        }
    }
}

//! Elapsed time: where threads wait, and for how long.
//!
//! The kernel tells of each time that a thread leaves a CPU and is given one again. So how long a
//! thread waited is known to the nanosecond, and a thread that has not moved since it was read need
//! not be looked at again: a thousand idle ones cost nothing. At each tick the threads that have
//! left a CPU since the last one are read where they block.
//!
//! A wait that is longer than a tick is nearly always read, and stands for its own length. Of shorter
//! ones some are read, as it happens; those that were share the time of all. So each thread's
//! waiting adds up exactly, and how it is shared out is an estimate only for what is short.

mod spans;
mod traffic;

pub(crate) use spans::{Change, Emission, Spans};
pub(crate) use traffic::{Counters, Files, Stretch, Traffic, read as read_counters};

/// Nanoseconds between two ticks, if nothing else is asked for.
pub(crate) const TICK: u64 = 10_000_000;

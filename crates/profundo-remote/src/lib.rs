//! The recorder that runs in the command, beside the programs that it records.
//!
//! An agent inside a program samples it and writes to a ring; this crate makes the rings, opens the
//! clocks that make the agent's signals, finds out what code lies where, compiles how its stacks
//! are walked, drains the rings, and follows processes and threads from their beginnings to their
//! ends. What the agent cannot enter is sampled from outside. All of it comes out as a stream of
//! [`Event`](profundo_wire::recording::Event)s.
//!
//! The command does the work, so that the program need not: there is no thread of ours in it, no
//! descriptor and no allocation.
//!
//! What it is not for: names. It knows addresses, files and build ids.

mod account;
mod agent;
mod calibrate;
mod clock;
mod copied_stack;
mod energy;
mod error;
mod gauge;
pub mod inject;
mod kernel;
mod load_cost;
mod loading;
mod map;
mod modules;
mod options;
mod outside;
mod perf;
pub mod permits;
mod proc;
mod program;
mod reading;
mod recorder;
mod rewalk;
mod session;
mod switch_cost;
mod sys;
mod tallies;
mod unreachable;
mod unsettled;
pub mod usage;
mod wall;
mod watcher;

pub use energy::POWERCAP;
pub use error::Error;
pub use modules::user_cache;
pub use options::{Calls, EngineChoice, Lines, LinesOf, Memory, Options};
pub use perf::{FunctionCounters, Instructions};
pub use proc::process_started;
pub use reading::{CachedSource, SourceReader};
pub use recorder::{ChildLimit, Recorder, WakeHandle};
pub use session::{Remains, SessionHandle, find_remains, find_session, salvage};

/// What an agent exports for the sake of allocations alone.
pub use profundo_probe::shared::{CALL_SYMBOLS, MEMORY_SYMBOLS};

/// Nanoseconds between two looks for threads that wait.
pub const WALL_TICK: u64 = wall::TICK;

/// This instant on all clocks, which tells how fast the cycle counter runs.
pub fn now() -> profundo_wire::recording::Instant {
    sys::instant()
}

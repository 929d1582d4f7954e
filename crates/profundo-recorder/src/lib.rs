//! The recorder that runs in the command, beside the programs that it records.
//!
//! An agent inside a program samples it and writes to a ring; this crate makes the rings, opens the
//! clocks that make the agent's signals, finds the modules, compiles their unwind tables, drains
//! the rings, and follows processes and threads from their beginnings to their ends. Programs that
//! cannot have an agent are sampled from outside. The output is a stream of
//! [`Event`](profundo_wire::recording::Event)s.
//!
//! The command does the work, so the program has no thread of ours, no descriptor and no
//! allocation.
//!
//! It has no symbol names: it knows addresses, files and build ids.

mod agent;
mod core;
mod costs;
mod engines;
mod error;
mod options;
mod outside;
mod parts;
mod poller;
mod program;
mod recorder;

pub use crate::core::WakeHandle;
pub use error::Error;
pub use options::{Calls, Chosen, EngineChoice, Lines, LinesOf, Memory, Options};
pub use recorder::{ChildLimit, ProcessTimes, Recorder, SoFar};

/// The symbols that an agent exports only to record allocations, or calls.
pub use profundo_probe::shared::{CALL_SYMBOLS, LATE_SYMBOLS, MEMORY_SYMBOLS};

/// The nanoseconds between two ticks of the wall clock.
pub const WALL_TICK: u64 = parts::TICK;

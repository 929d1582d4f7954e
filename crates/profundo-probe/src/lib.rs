//! All that may run in a signal handler.
//!
//! **The crate is the marker**: code in here runs on the program's own threads at any instant,
//! inside `malloc`, inside the loader, with any lock held. So there is no allocation, no lock, no
//! formatting, no thread-local storage, no libc call, no panic, and every loop is capped. System
//! calls are made directly, which also leaves `errno` alone.
//!
//! What it does: a signal arrives, [`Probe::sample`] finds the thread's slot, walks the stack from
//! the interrupted registers straight into the thread's chunk of the buffer, and publishes the
//! record. What it is not for: starting timers, listing modules or threads, naming anything. Those
//! are `profundo-capture` and the readers.

#![no_std]

#[cfg(any(test, loom))]
extern crate std;

pub mod buffer;
pub mod caches;
pub mod calls;
pub mod claims;
pub mod clock;
pub mod code;
pub mod handlers;
pub mod heap;
pub mod hidden;
pub mod loading;
pub mod memory;
pub mod pace;
pub mod phase;
pub mod python;
pub mod recorder;
pub mod records;
pub mod regs;
pub mod rewalk;
pub mod sample;
pub mod shared;
pub mod stacks;
pub mod sys;
pub mod task_clock;
pub mod threads;
pub mod traps;
pub mod urgent;

pub use buffer::Buffer;
pub use code::{CodeMap, Listing};
pub use recorder::Recorder;
pub use records::ThreadRecord;
pub use sample::{Counters, Event, MAX_DEPTH, Probe, SystemCall, Writer};
pub use threads::{Slot, Threads};

/// Atomics, which are loom's where a model is checked.
pub(crate) mod sync {
    #[cfg(not(loom))]
    pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    #[cfg(loom)]
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
}

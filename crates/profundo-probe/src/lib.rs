//! All code that may run in a signal handler.
//!
//! **The crate is the marker**: code in here runs on the program's own threads at any instant,
//! inside `malloc`, inside the loader, with any lock held. So there is no allocation, no lock, no
//! formatting, no thread-local storage, no libc call, no panic, and every loop is capped. System
//! calls are made directly, which also leaves `errno` alone.
//!
//! A signal arrives, [`Probe::sample`] finds the thread's slot, walks the stack from
//! the interrupted registers straight into the thread's chunk of the buffer, and publishes the
//! record. The crate does not start timers, list modules or threads, or name anything: that is for
//! `profundo-capture` and the readers.

#![no_std]

#[cfg(any(test, loom))]
extern crate std;

pub mod actions;
pub mod buffer;
pub mod caches;
pub mod calls;
pub mod claims;
pub mod clock;
pub mod code;
pub mod counters;
pub mod event;
pub mod handlers;
pub mod heap;
pub mod hidden;
pub mod loading;
pub mod memory;
pub mod others;
pub mod pace;
pub mod pass_on;
pub mod phase;
pub mod probe;
pub mod python;
pub mod random;
pub mod receiver;
pub mod recorder;
pub mod records;
pub mod regs;
pub mod rewalk;
pub mod sample;
pub mod shared;
pub mod slot;
pub mod stacks;
pub mod sys;
pub mod task_clock;
pub mod threads;
pub mod traps;
pub mod urgent;
pub mod weight;

pub use buffer::{Buffer, MAX_DEPTH};
pub use code::{CodeMap, Listing};
pub use counters::Counters;
pub use event::{Event, SystemCall};
pub use probe::Probe;
pub use recorder::Recorder;
pub use records::ThreadRecord;
pub use sample::{Subject, Writer};
pub use slot::Slot;
pub use threads::Threads;

/// Atomics, which are loom's where a model is checked.
pub(crate) mod sync {
    #[cfg(not(loom))]
    pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    #[cfg(loom)]
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
}

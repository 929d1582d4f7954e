//! A Rust program profiles itself, as a Julia program does with `Profile`.
//!
//! ```no_run
//! # fn work() -> u64 { 42 }
//! # fn main() -> profundo::Result<()> {
//! let answer = profundo::profile!(work())?; // samples every thread while `work` runs
//! profundo::print()?;                       // a tree of where the time went, on stdout
//! # drop(answer);
//! # Ok(())
//! # }
//! ```
//!
//! Samples are taken by the threads themselves, in a signal handler, every millisecond of CPU
//! time: no feature of the compiler is needed, no frame pointers, no registration of threads.
//! [`profile!`] appends to a buffer ([`init!`], [`clear`]); [`fetch`] copies it out, [`retrieve`]
//! names it, [`print()`] and [`report()`] show it, [`save`] and [`load`] carry it elsewhere.
//!
//! [`Alloc`] around the program's allocator gives access to allocations: [`allocs`] records them by
//! caller, size and type, and [`time!`] and the like count them.
//!
//! [`span!`] names a stretch of work and [`mark!`] an instant: samples know the span that they were
//! taken in. See [`span`](mod@span).
//!
//! [`bench!`] times an expression, and finds the fastest of several.
//!
//! Programs that were not built with the library are profiled by the command instead.
//!
//! Constraints: Linux on x86-64 or aarch64. A session owns one perf event per thread (or one CPU
//! timer), the signals SIGTRAP and SIGURG as far as they are its own, and a helper thread. It
//! never owns SIGSEGV, never allocates or locks in a handler, and gives back what it was given:
//! signals that are not its own reach the handlers the program had.

mod alloc;
pub mod allocs;
pub mod bench;
mod control;
mod data;
mod error;
mod frames;
mod guard;
pub mod heap;
mod hook;
pub mod locks;
mod macros;
mod malloc_data;
mod names;
pub mod peek;
mod questions;
mod show;
pub mod span;
mod store;
pub mod task;
pub mod timing;
#[cfg(all(feature = "tokio", tokio_unstable))]
pub mod tokio;
mod warn;
mod words;

pub use alloc::Alloc;
pub use control::{
    Delivery, EngineChoice, Settings, capacity, clear, init, is_full, is_running, len, settings,
    start, start_walltime, stop,
};
pub use data::{Data, FetchOptions, fetch, fetch_with};
pub use error::{Error, Result};
pub use frames::StackFrame;
pub use guard::Session;
pub use hook::set_line_correction;
pub use malloc_data::clear_malloc_data;
pub use names::{Names, names_of, retrieve};
pub use peek::{get_peek_duration, set_peek_duration, set_peek_report};
#[doc(hidden)]
pub use profundo_capture::is_inside_sampler;
pub use profundo_model as model;
pub use profundo_report::{Format, GroupBy, Numbers, Recur, SortBy, When};
pub use profundo_symbols::NamedFrame;
pub use questions::{Callers, callers, flatten};
pub use show::{Report, print, print_path, print_to, report};
pub use span::SpanExt;
pub use store::{load, save};
pub use task::TaskExt;
pub use timing::Timed;
pub use words::{
    META_OFFSET_CPUCYCLECLOCK, META_OFFSET_SLEEPSTATE, META_OFFSET_TASKID, META_OFFSET_THREADID,
    NMETA, Words,
};

/// The examples of the page for Julia users, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/julia.md")]
struct PageForJulia;

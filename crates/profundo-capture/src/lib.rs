//! A session in the target: it starts the engine, keeps the lists of threads and modules, owns
//! the buffer, and hands out recordings.
//!
//! Everything in here runs on normal threads and may allocate; what runs in a signal handler is
//! `profundo-probe`. The one helper thread of a session does the work that must not happen in a
//! handler: it notices new modules and threads, frees the state of ended ones, gives threads that
//! never wait clocks of their own, and stops the engine when the buffer is full.
//!
//! The crate knows no names, no profile and no report.

mod buffer;
mod calibrate;
mod clock;
mod clocks;
mod config;
mod deaf;
mod engine;
mod error;
mod fork;
mod global;
pub mod heap;
mod helper;
mod lock;
mod mapping;
mod modules;
mod own_threads;
mod peek;
mod perf;
mod probe;
mod proc;
mod recording;
mod session;
pub mod span;
mod state;
mod task;
mod timer;
mod totals;
mod wall;

pub use config::{Config, DEFAULT_DELAY, DEFAULT_WORDS, Delivery, EngineChoice};
pub use error::{Error, Refusal};
pub use own_threads::OwnThread;
pub use peek::{PeekSignal, blocked_threads};
pub use probe::{is_inside_sampler, is_running};
pub use proc::thread_count;
pub use recording::{handler_cost, snapshot, table_bytes};
pub use session::{clear, init, settings, start, stop, stop_session};
pub use state::Mode;
pub use task::{Entered, TaskHandle, note_park_here, set_current_task, wants_parked_stacks};

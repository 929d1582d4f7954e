//! Reading the stacks of a process that nothing of ours is in.
//!
//! A thread that is blocked is read where it blocks: the kernel tells its stack pointer, its
//! instruction and its system call, and nothing is done to it. A thread that runs is *held*: it alone
//! is stopped for the microseconds that it takes to copy its registers, its stack and the interpreter's
//! frames, and goes on. No stack is ever put together from two instants.
//!
//! What this is not for: clocks. Who is read, when, and what a reading stands for is decided by the
//! recorder.

mod blocked;
mod cached_source;
mod calls;
mod codes;
mod held;
mod interpreter;
mod memory;
mod pages;
mod process;
mod python;
mod stack;
mod states;
mod wait;
mod wake;

pub(crate) use blocked::{Blocked, Look, look, schedule};
pub use cached_source::{CachedSource, SourceReader};
pub(crate) use held::{Held, NotHeld, Registers, Stop, Stopper, wait_for_stop};
pub(crate) use interpreter::{Interpreter, version_in_file};
pub(crate) use memory::PageMemory;
pub(crate) use process::{Counts, Process, Reading, Unread, Wanted};
pub(crate) use wait::{file, open_file};

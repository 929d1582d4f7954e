//! Reading the stacks of a process without an agent.
//!
//! A thread that is blocked is read where it blocks: the kernel reports its stack pointer, its
//! instruction and its system call, and the thread is not touched. A thread that runs is *held*: it
//! alone is stopped for the microseconds that it takes to copy its registers, its stack and the
//! interpreter's frames, and goes on. No stack is ever put together from two instants.
//!
//! It has no clocks. The recorder decides which thread is read when, and what the reading stands
//! for.

mod blocked;
mod cached_source;
mod calls;
mod codes;
mod held;
mod interpreter;
mod memory;
mod numbers;
mod pages;
mod parked;
mod process;
mod python;
mod stack;
mod states;
mod variables;
mod wait;
mod wake;

pub use blocked::{Activity, Blocked, activity, schedule};
pub use cached_source::{CachedSource, SourceReader};
pub use held::{Held, NotHeld, Registers, Stop, Stopper, wait_for_stop};
pub use interpreter::{Interpreter, version_in_file};
pub use memory::PageMemory;
pub use process::{Counts, MOST_HELD, Process, Reading, Unread, Wanted};
pub use stack::ReadingWords;
pub use variables::{
    Beginning, FrameVariables, Integer, Live, Missing, NamedObject, Object, Shape, ThreadVariables,
    Value, read_frame,
};
pub use wait::{file, open_file};

//! CPython 3.8 to 3.14 from the outside: where its structures keep what a stack is made of.
//!
//! A walk reads the interpreter's memory word by word through a [`Memory`] that its caller
//! provides: plain loads in a signal handler of the thread itself, `process_vm_readv` from another
//! process, an array in a test. It calls nothing of the interpreter's, takes no reference and no
//! lock, allocates nothing, and all its loops are bounded. What it meets may be half written; it
//! believes a frame only if its code is a code object and its instruction lies in it.
//!
//! Offsets are those of 64-bit Linux, one row of a table for each minor version; from 3.13 on the
//! interpreter tells them itself. Free-threaded builds lay everything out differently and are
//! refused.
//!
//! What this crate is not for: finding the interpreter, deciding which memory can be read, keeping
//! anything between two walks. [`lines`] decodes line tables later, where names are wanted.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod code;
mod debug;
mod gil;
mod layout;
mod linecache;
pub mod lines;
mod memory;
mod method;
mod opcode;
mod pool;
mod running;
mod task;
mod thread;
mod threads;
mod torn;
mod walk;

pub use code::{CodeKey, CodeShape, TextShape, code_key, code_shape, text};
pub use debug::{DEBUG_WORDS, Refusal, layout_from_debug_offsets};
pub use gil::{is_collecting, is_holder, is_in_lock};
pub use layout::{Attributes, Chain, Collecting, Gil, Layout, NEWEST, OLDEST};
pub use linecache::{List, cached_lines, cells};
pub use memory::{Arrival, Memory};
pub use opcode::is_call;
pub use pool::{Pool, pool_bytes};
pub use running::{Known, States, running};
pub use task::{TaskName, task_name};
pub use thread::thread_name;
pub use threads::{Owner, ThreadList, running_of};
pub use walk::{End, Frame, Start, Step, flag, walk};

//! The names of code that a program generated while it ran.
//!
//! Compilers that run inside programs have three ways to announce their code, and none of them
//! waits for an answer:
//!
//! - a *perf map*, `/tmp/perf-PID.map`: a line of text for each function;
//! - a *jitdump*, a file with records of what was loaded where and when, with source lines;
//! - GDB's JIT interface: a list of object files in the program's memory.
//!
//! [`Watch`] looks for all three in one process, from outside, as often as it is called, and
//! reports the changes since the last time. The readers below it take bytes and know of no process:
//! [`PerfMap`], [`JitDump`], [`Registered`], [`object_code`].
//!
//! Constraints:
//! - Whatever lies in the files or in the memory, no reader fails, waits, or takes memory without
//!   bound: what cannot be understood is passed over.
//! - Nothing of the program is stopped, so what is read may be changing. A list is believed as far
//!   as it leads to object files.
//!
//! It is **not** for turning names into functions and languages, which is left to the owner of the
//! samples.

#![forbid(unsafe_code)]

mod code;
mod debug_lines;
mod descriptor;
mod files;
mod gdb;
mod jitdump;
mod object_file;
mod perf_map;
mod watch;

pub use code::{At, Change, Code, Line};
pub use descriptor::Descriptors;
pub use files::Bytes;
pub use gdb::{Memory, Registered};
pub use jitdump::JitDump;
pub use object_file::{ObjectCode, object_code};
pub use perf_map::PerfMap;
pub use watch::{Mapped, Watch};

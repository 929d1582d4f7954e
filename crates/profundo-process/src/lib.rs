//! Another process, read from outside: its code, the activity of its threads, a thread's stack, and
//! the interpreter's frames.
//!
//! It does not record. It reads when asked to, and keeps only what makes the next reading cheaper.

pub mod copied_stack;
pub mod kernel;
pub mod loading;
pub mod modules;
pub mod reading;
pub mod unsettled;

//! From the recorder's events to the saved file.
//!
//! A profile grows in memory while a program runs, and what is complete is written at once
//! ([`recording_writer`]). At the end it gets what only the program's memory, its files and this
//! machine have: names of addresses ([`naming`]), lines of source text ([`sources`]), and calls or
//! lines from the counters that compilers put into programs.
//!
//! What this is not for: the layout of the file, which is in `profundo-formats`, and where it lies,
//! which the command decides.

#![forbid(unsafe_code)]

pub mod flight;
mod missing_files;
pub mod naming;
mod native_calls;
pub mod pieces;
pub mod process_roots;
pub mod qualified_names;
pub mod raw;
pub mod recording_writer;
pub mod served_names;
pub mod sources;
pub mod stack_weights;
mod this_machine;
pub mod trace_request;
mod unnamed_jit_code;

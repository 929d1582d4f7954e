//! `malloc` and its family, C++'s operators, pages, and copies.
//!
//! These functions are exported by the agent only where memory is recorded: the command takes their
//! names out of the file that it loads into other programs.

pub mod copies;
mod cpp;
mod malloc;
mod maps;

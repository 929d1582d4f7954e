//! The agent: a library that is loaded into each profiled program, by `LD_PRELOAD`.
//!
//! **The program must not notice.** The agent keeps no file descriptor and no thread, takes its
//! variables out of the environment before the program looks, and never calls the program's
//! `malloc`. It interposes a few functions of the C library: where programs replace themselves or
//! start others (so that those are followed), where threads begin and end, and where the signals
//! that its clocks send could come to light. Anything missing or odd, and it does nothing at all.
//!
//! The command does the work: it opens the clocks, lists the modules and empties the ring. What
//! both share is described in `profundo_probe::shared`, and what a signal does is in
//! `profundo_probe`.
//!
//! Nothing in here allocates, and nothing may: a program's allocator can be anything. Should Rust's
//! own library allocate all the same, it gets memory from a small arena of ours.

#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod agent_memory;
mod arena;
mod c_library;
mod calls;
mod child;
mod clear;
mod command;
mod deferral;
mod deferred;
mod ends;
mod environment;
mod files;
mod following;
mod fork;
mod hello;
mod home;
mod inject;
mod interpose;
mod late;
mod leave;
mod left;
mod lifecycle;
mod loadable;
mod lock;
mod machine;
mod memory;
mod next_symbols;
mod patience;
mod proc;
mod process;
mod python;
mod session;
mod signals;
mod spans;
mod start;
mod symbols;
mod thread_starts;
mod threads;
mod unwinder;
mod usage;
mod variables;
mod waits;

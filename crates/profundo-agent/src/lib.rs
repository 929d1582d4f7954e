//! What is loaded into a program that the command profiles, by `LD_PRELOAD`.
//!
//! **The program must not notice.** The agent keeps no file descriptor and no thread, takes its
//! variables out of the environment before the program looks, and never calls the program's
//! `malloc`. It puts itself before a few functions of the C library: where programs replace
//! themselves or start others (so that those are followed), where threads begin and end, and where
//! the signals that its clocks send could come to light. Anything missing or odd, and it does
//! nothing at all.
//!
//! The command does the work: it opens the clocks, lists the modules and empties the ring. What
//! both share is described in `profundo_probe::shared`, and what a signal does is in
//! `profundo_probe`.
//!
//! Nothing in here allocates, and nothing may: a program's allocator can be anybody's. Should some
//! piece of Rust's own library ask all the same, it gets memory from a small arena of ours.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod agent_memory;
mod arena;
mod blocked;
mod calls;
mod claims;
mod clear;
mod deferred;
mod ends;
mod environment;
mod exec;
mod files;
mod following;
mod fork;
mod home;
mod inject;
mod left;
mod loadable;
mod lock;
mod masks;
mod memory;
mod next_symbols;
mod patience;
mod pending_signals;
mod proc;
mod process;
mod python;
mod restrict;
mod session;
mod shell;
mod signals;
mod spawn;
mod start;
mod symbols;
mod syscalls;
mod threads;
mod timers;
mod trace;
mod traps;
mod unwinder;
mod waits;

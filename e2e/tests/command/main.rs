//! The command, on programs that do what is hard on a profiler. Each runs as it is and under
//! `profundo record`; what it prints, what it leaves, how it ends and how long it takes must be
//! the same, and the recording must have the program's shape.
//!
//! Each Python program is tried on one of the versions that are present, another one for each
//! program; `PROFUNDO_E2E_ALL=1` tries all on all.

mod command;
mod program;
mod recording;
mod targets;
mod terminal;

mod asked;
mod attach;
mod attached;
mod calls;
mod calls_told;
mod cleared;
mod collections;
mod counters;
mod ends;
mod execs;
mod gauges;
mod generated;
mod heap;
mod heap_stacks;
mod held;
mod io;
mod kinds;
mod leaks;
mod loading;
mod native_calls;
mod odd_calls;
mod owned;
mod paces;
mod processes;
mod python;
mod signals;
mod surroundings;
mod talk;
mod threads;
mod tools;
mod traps;
mod truth;
mod unreachable;
mod waits;

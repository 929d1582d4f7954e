//! The command, on programs that do what is hard on a profiler. Each runs as it is and under
//! `profundo record`; what it prints, what it leaves, how it ends and how long it takes must be
//! the same, and the recording must have the program's shape.
//!
//! Each Python program is tried on one of the versions that are present, another one for each
//! program; `PROFUNDO_E2E_ALL=1` tries all on all.

mod program;
mod recording;
mod targets;
mod terminal;

mod attach;
mod attached;
mod block_types;
mod calls;
mod cleared;
mod clocks;
mod collections;
mod container_owners;
mod counters;
mod cut;
mod ends;
mod exceptions;
mod exchange;
mod execs;
mod executables;
mod gauges;
mod generated;
mod heap;
mod heap_stacks;
mod hostile;
mod inside;
mod inside_churn;
mod inside_container;
mod inside_ends;
mod inside_hard;
mod inside_interpreters;
mod inside_memory;
mod inside_parts;
mod inside_trace;
mod interactive;
mod io;
mod last_minutes;
mod leaks;
mod live_objects;
mod loading;
mod locals;
mod machine;
mod musl;
mod namespaces;
mod native_calls;
mod odd_calls;
mod processes;
mod pypy;
mod python;
mod queries;
mod signals;
mod spans;
mod surroundings;
mod syscalls;
mod threads;
mod tools;
mod trace_messages;
mod traps;
mod truth;
mod unknown_layouts;
mod unreachable;
mod waits;
mod watched;

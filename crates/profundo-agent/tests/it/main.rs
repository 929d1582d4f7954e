//! Programs that run with the agent as they run without it.

mod clock;
mod execs;
mod forks;
mod plain;
mod programs;
mod python;
mod recorder;
mod samples;
mod signals;
mod threads;

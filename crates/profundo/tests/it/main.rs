//! The library as a program uses it. Sessions are one per process, so the tests that run one
//! wait for each other; what they assert is the shape of a profile, never a count of samples.

mod alone;
mod bench;
mod blocks;
mod buffer;
mod correction;
mod julia_rows;
mod layout;
mod lookup;
mod macros;
mod peek;
mod program;
mod repeated;
mod reports;
mod spans;
mod tasks;
mod threads;
mod walltime;
mod weights;
mod work;

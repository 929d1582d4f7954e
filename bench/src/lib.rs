//! The common parts of the comparisons: the programs that are profiled, the runs in turn, the
//! statistics, and the kernel's account of a process.
//!
//! Each comparison is a program of its own in `src/bin`, prints ratios, and closes with lines
//! `name: value (target …)`. `BENCHMARKS.md` describes how its figures were taken.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a comparison prints its figures"
)]

pub mod child;
pub mod made_up;
pub mod named;
pub mod options;
pub mod pairs;
pub mod process;
pub mod profiler;
pub mod pythons;
pub mod quarters;
mod scalene;
pub mod stacks;
pub mod weighted_stacks;
pub mod workload;

pub use profundo_analysis::stats;

/// Prints one closing line, with the target.
pub fn verdict(name: &str, value: impl std::fmt::Display, target: &str) {
    println!("{name}: {value} (target {target})");
}

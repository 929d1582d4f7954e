//! What the comparisons share: the programs that are profiled, the runs in turn, the statistics,
//! and what the kernel says a process has cost.
//!
//! Each comparison is a program of its own in `src/bin`, prints ratios, and closes with lines
//! `name: value (target …)`. `BENCHMARKS.md` says how the figures there were taken.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a comparison talks to whoever started it"
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
pub mod told;
pub mod workload;

pub use profundo_analysis::stats;

/// Prints one closing line, which says what the target was.
pub fn verdict(name: &str, value: impl std::fmt::Display, target: &str) {
    println!("{name}: {value} (target {target})");
}

//! Options of the recorder beside a program that has started it itself.

use std::path::PathBuf;

use clap::Args;
use profundo_console::options::values::{Size, period_of, rate};
use profundo_recorder::Memory;

use super::recording::{MemoryChoice, SAMPLED};

/// The Python package starts it, so its options have no default that a user would meet.
#[derive(Debug, Args)]
pub struct Beside {
    /// Print the path of the library that the program loads, and do nothing else
    #[arg(long, exclusive = true)]
    pub library: bool,
    /// The program
    #[arg(long, required_unless_present = "library")]
    pub pid: Option<u32>,
    /// Where the recording goes
    #[arg(long, required_unless_present_any = ["library", "read"])]
    pub output: Option<PathBuf>,
    /// Record nothing, and read the recording that another profundo makes of the program
    #[arg(long)]
    pub read: bool,
    /// Remove the recording if the program ends without asking for it
    #[arg(long)]
    pub temporary: bool,
    /// Samples per second of a thread's CPU time
    #[arg(long, value_name = "HZ", default_value = "1000", value_parser = rate)]
    pub rate: f64,
    /// Record where threads wait, too
    #[arg(long)]
    pub wall: bool,
    /// Count system calls, too
    #[arg(long)]
    pub syscalls: bool,
    /// Record what memory is allocated
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "sampled")]
    pub memory: Option<MemoryChoice>,
    /// Stay with this process
    #[arg(long)]
    pub no_children: bool,
    /// Begin without sampling
    #[arg(long)]
    pub paused: bool,
    /// The largest size of the recording
    #[arg(long, value_name = "SIZE", default_value = "1G")]
    pub max_size: Size,
    /// Keep no lines of source code in the recording
    #[arg(long)]
    pub no_source: bool,
}

impl Beside {
    /// The time between two samples in nanoseconds.
    pub fn period(&self) -> u64 {
        period_of(self.rate)
    }

    /// The recorder's setting for memory.
    pub fn memory(&self) -> Option<Memory> {
        self.memory.map(|choice| match choice {
            MemoryChoice::Sampled => SAMPLED,
            MemoryChoice::Exact => Memory::Exact,
        })
    }
}

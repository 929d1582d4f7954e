//! Options that choose between time and memory, for every command that reads a recording.

use clap::{Args, ValueEnum};
use profundo_model::{Measure, Part};

/// A value of `--of`: time, or a part of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Of {
    /// Time
    #[default]
    Time,
    /// What was allocated
    Allocated,
    /// What was there at the end
    Live,
    /// What was there when its process had most
    Peak,
    /// What was freed before its thread had allocated anything else
    Temporary,
    /// What was copied from one place to another
    Copied,
}

// The choice between time and memory.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which samples")]
pub struct Measuring {
    /// Look at memory instead of time: allocated, live, peak, temporary or copied; in bytes
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        default_value_t,
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub of: Of,
    /// Count blocks or copies instead of bytes; wants --of as well
    #[arg(long)]
    pub count: bool,
}

// What is read of another tool's file, for every command that reads recordings from files.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which samples")]
pub struct Reading {
    /// Of another tool's file with several values, weigh samples by the one of this name
    #[arg(long, value_name = "NAME")]
    pub value: Option<String>,
}

impl Measuring {
    /// The measure of memory; `None` for time.
    pub fn measure(&self) -> Option<Measure> {
        let part = match self.of {
            Of::Time => return None,
            Of::Allocated => Part::Allocated,
            Of::Live => Part::Live,
            Of::Peak => Part::Peak,
            Of::Temporary => Part::Temporary,
            Of::Copied => Part::Copied,
        };
        let counts = self.count;
        Some(Measure { part, counts })
    }

    /// Why these options do not go together.
    pub fn misfit(&self) -> Option<&'static str> {
        (self.count && self.of == Of::Time)
            .then_some("`--count` counts blocks of memory: it goes with --of allocated, live, peak, temporary or copied")
    }
}

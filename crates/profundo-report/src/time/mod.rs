//! A report on runs of a program and what they took of the machine: the three lines of POSIX, a
//! table that explains itself, or JSON.

mod json;
mod remarks;
mod text;

use std::io::{self, Write};

use profundo_analysis::usage::Run;

use crate::Look;

/// A report on runs of one program.
#[derive(Debug, Clone, Default)]
pub struct Time {
    command: String,
    runs: Vec<Run>,
    warmups: u64,
    gap: String,
    look: Look,
}

impl Time {
    /// A report on these runs of a command.
    pub fn new(command: impl Into<String>, runs: Vec<Run>) -> Self {
        Self {
            command: command.into(),
            runs,
            ..Self::default()
        }
    }

    /// Sets the number of runs before, which were not measured.
    pub fn warmups(mut self, count: u64) -> Self {
        self.warmups = count;
        self
    }

    /// Sets the reason why unreaped processes could not be counted.
    pub fn gap(mut self, why: impl Into<String>) -> Self {
        self.gap = why.into();
        self
    }

    /// Sets the appearance.
    pub fn look(mut self, look: Look) -> Self {
        self.look = look;
        self
    }

    /// Writes a table, and below it what is remarkable.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        text::write(self, &mut out)?;
        out.flush()
    }

    /// Writes the three lines of POSIX, of each run.
    pub fn write_posix(&self, mut out: impl Write) -> io::Result<()> {
        for run in &self.runs {
            for (name, nanos) in [("real", run.real), ("user", run.user), ("sys", run.system)] {
                writeln!(out, "{name} {:.6}", nanos as f64 / 1e9)?;
            }
        }
        out.flush()
    }

    /// Writes it as JSON: the schema is in `docs/json.md`.
    pub fn write_json(&self, mut out: impl Write) -> io::Result<()> {
        json::write(self, &mut out)?;
        out.flush()
    }
}

//! The options of `top`.

#![expect(
    missing_docs,
    reason = "clap would print the sentences of structs as what the command does"
)]

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use profundo_console::completing::processes;
use profundo_console::options::OwnCode;
use profundo_console::options::choices::one_of_described;
use profundo_console::options::values::{Size, count, period_of, rate, some_seconds};
use profundo_recorder::EngineChoice;

/// The longest stretch of time that is kept sample by sample, in seconds.
pub const LONGEST_WINDOW: u64 = 60;

#[derive(Debug, Args)]
#[command(
    override_usage = "profundo top [OPTIONS] <PID>\n       profundo top [OPTIONS] -- <CMD>...\n       profundo top [OPTIONS] -a"
)]
pub struct Top {
    /// The process
    #[arg(add = ArgValueCompleter::new(processes), value_name = "PID", value_parser = pid, required_unless_present_any = ["words", "pids", "all_processes"], conflicts_with_all = ["words", "pids", "all_processes"])]
    pub pid: Option<u32>,
    /// Several processes
    #[arg(long = "pid", value_name = "PID,…", value_delimiter = ',', value_parser = pid, conflicts_with_all = ["words", "all_processes"])]
    pub pids: Vec<u32>,
    /// A program to start, and its arguments; a `.py` file is run by python3
    #[arg(value_name = "CMD", last = true)]
    pub words: Vec<OsString>,
    /// All processes of the machine
    #[arg(short, long, conflicts_with_all = ["words", "wall", "no_children"])]
    pub all_processes: bool,
    /// Seconds between two pages
    #[arg(short, long, value_name = "SECONDS", default_value = "1", value_parser = interval, allow_negative_numbers = true)]
    pub interval: Duration,
    /// Show the last so many seconds, from 1 to 60, at first; keys change it
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = window, allow_negative_numbers = true)]
    pub window: u64,
    /// Print plain text each time, for files and pipes
    #[arg(long)]
    pub batch: bool,
    /// Print plain text once, after one interval, and end; with or without `--batch`
    #[arg(long)]
    pub once: bool,
    /// Print at most so many rows of a table, as plain text
    #[arg(long, value_name = "COUNT", default_value = "20", value_parser = count, allow_negative_numbers = true)]
    pub limit: usize,
    /// End after so long [default: until you quit]
    #[arg(short, long, value_name = "SECONDS", value_parser = some_seconds, allow_negative_numbers = true)]
    pub duration: Option<Duration>,
    /// Where the output of CMD goes [default: a file in TMPDIR, which is named on the page and
    /// kept]
    #[arg(long, value_name = "FILE", requires = "words")]
    pub output_to: Option<PathBuf>,
    #[command(flatten)]
    pub recording: Live,
}

// How the program is sampled.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "The recording")]
pub struct Live {
    /// Record into this file, too
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace files that are no recording, or not empty, too
    #[arg(long)]
    pub force: bool,
    /// Samples per second of a thread's CPU time
    #[arg(short, long, value_name = "HZ", default_value = "100", value_parser = rate, allow_negative_numbers = true)]
    pub rate: f64,
    /// Show where threads wait, too, and for how long
    #[arg(long)]
    pub wall: bool,
    /// Stay with this process, without the children that it has or starts
    #[arg(long)]
    pub no_children: bool,
    /// What makes the samples of CMD; a process that runs already is always sampled from outside
    #[arg(long, value_parser = one_of_described(EngineChoice::CHOICES), default_value = "auto", requires = "words")]
    pub engine: EngineChoice,
    /// Let the recording grow to this size, then keep time more coarsely
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "1G",
        requires = "output",
        allow_negative_numbers = true
    )]
    pub max_size: Size,
    /// Keep no lines of source code in the recording
    #[arg(long, requires = "output")]
    pub no_source: bool,
    #[command(flatten)]
    pub own_code: OwnCode,
}

impl Top {
    /// True if plain text is printed, and no page drawn.
    pub fn is_plain(&self) -> bool {
        self.batch || self.once
    }
}

impl Live {
    /// The time between two samples in nanoseconds.
    pub fn period(&self) -> u64 {
        period_of(self.rate)
    }
}

/// A process id. What is none may be a program's name.
pub fn pid(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| {
        format!("`{text}` is no process id; to start a program, write: profundo top -- {text}")
    })
}

fn window(text: &str) -> Result<u64, String> {
    match text.strip_suffix('s').unwrap_or(text).parse() {
        Ok(seconds) if (1..=LONGEST_WINDOW).contains(&seconds) => Ok(seconds),
        _ => Err(format!("it lies between 1 and {LONGEST_WINDOW} seconds")),
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    match some_seconds(text) {
        Ok(interval) if interval >= Duration::from_millis(100) => Ok(interval),
        _ => Err("pages come at most every 0.1 seconds".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_a_range() {
        assert_eq!(window("5s"), Ok(5));
        assert!(window("0").is_err() && window("61").is_err() && window("x").is_err());
        assert_eq!(interval("0.5"), Ok(Duration::from_millis(500)));
        assert!(interval("0").is_err() && interval("-1").is_err());
        assert!(pid("app.py").unwrap_err().contains("top -- app.py"));
    }
}

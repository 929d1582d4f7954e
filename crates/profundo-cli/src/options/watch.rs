//! The options of `watch`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use profundo_console::completing::processes;
use profundo_console::options::values::{Size, length_of_time, period_of, rate, some_seconds};
use profundo_recorder::Memory;
use profundo_store::Limits;
use profundo_top::options::pid;

use super::recording::SAMPLED;
use super::{Labels, OnMachine};

/// The limits of a folder, where none are said.
const AGE: Duration = Duration::from_secs(7 * 86_400);
const SIZE: u64 = 10 << 30;

// What is watched, and where it goes.
#[derive(Debug, Args)]
#[command(
    override_usage = "profundo watch --to PLACE [OPTIONS] -a\n       profundo watch --to PLACE [OPTIONS] <PID>...\n       profundo watch --to PLACE [OPTIONS] -- <CMD>...",
    mut_arg("all_processes", |argument| argument.help("All processes of the machine, also those that begin later"))
)]
pub struct Watch {
    /// The processes
    #[arg(add = ArgValueCompleter::new(processes), value_name = "PID", value_parser = pid, conflicts_with_all = ["words", "all_processes"], required_unless_present_any = ["words", "all_processes"])]
    pub pids: Vec<u32>,
    /// A program to start, and its arguments; a `.py` file is run by python3
    #[arg(value_name = "CMD", last = true, conflicts_with = "all_processes")]
    pub words: Vec<OsString>,
    /// Where the profiles go: a folder, s3://BUCKET/PREFIX, or another program: otlp://HOST,
    /// pyroscope://HOST
    #[arg(long, value_name = "PLACE")]
    pub to: String,
    /// The name of the service [default: as each process's environment, systemd unit or program
    /// says]
    #[arg(long, value_name = "NAME")]
    pub service: Option<String>,
    /// Give all processes a label; `version`, `host`, `container` and `pod` replace what was found
    #[arg(long, value_name = "KEY=VALUE")]
    pub label: Vec<Labels>,
    /// Samples per second of CPU time
    #[arg(short, long, value_name = "HZ", default_value = "97", value_parser = rate, allow_negative_numbers = true)]
    pub rate: f64,
    /// Record CPU time alone, and not where threads wait. With -a, waits are never recorded
    #[arg(long)]
    pub no_waits: bool,
    /// Record what CMD allocates, too: some allocations, at random
    #[arg(long, requires = "words", conflicts_with_all = ["pids", "all_processes"])]
    pub memory: bool,
    /// Send this header to another program: for a token or a tenant; may be repeated
    #[arg(long, value_name = "NAME:VALUE")]
    pub header: Vec<String>,
    /// How often the profiles are written
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = segment, allow_negative_numbers = true)]
    pub every: Duration,
    /// Stop watching after so long
    #[arg(short, long, value_name = "SECONDS", value_parser = some_seconds, allow_negative_numbers = true)]
    pub duration: Option<Duration>,
    #[command(flatten)]
    pub machine: OnMachine,
    #[command(flatten)]
    pub store: KeptStore,
}

// How much is kept, and where.
#[derive(Debug, Args)]
#[command(next_help_heading = "The store")]
pub struct KeptStore {
    /// Remove hours that are older than this [default: 7d for a folder]
    #[arg(long, value_name = "TIME", value_parser = length_of_time, allow_negative_numbers = true)]
    pub max_age: Option<Duration>,
    /// Remove the oldest hours beyond this size [default: 10G for a folder]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub max_size: Option<Size>,
    /// Join the files of each hour, and keep the store within its limits [default for a folder; in
    /// a bucket, let one of all do it]
    #[arg(long, overrides_with = "no_upkeep")]
    pub upkeep: bool,
    /// Leave that to others
    #[arg(long, overrides_with = "upkeep")]
    pub no_upkeep: bool,
    /// Where profiles wait while the store cannot be reached [default: ~/.local/state/profundo/spool]
    #[arg(long, value_name = "DIR")]
    pub spool: Option<PathBuf>,
    /// How much may wait there; then the oldest samples are dropped
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "1G",
        allow_negative_numbers = true
    )]
    pub spool_size: Size,
}

impl Watch {
    /// The time between two samples in nanoseconds.
    pub fn period(&self) -> u64 {
        period_of(self.rate)
    }

    /// The allocations that are recorded.
    pub fn memory(&self) -> Option<Memory> {
        self.memory.then_some(SAMPLED)
    }
}

impl KeptStore {
    /// Whether this process joins files and removes old ones, in the store at this place.
    pub fn keeps_up(&self, place: &str) -> bool {
        !self.no_upkeep && (self.upkeep || !is_bucket(place))
    }

    /// The limits of the store at this place.
    pub fn limits(&self, place: &str) -> Limits {
        let age = self.max_age.or((!is_bucket(place)).then_some(AGE));
        let size = self.max_size.map(|size| size.0);
        Limits {
            bytes: size.or((!is_bucket(place)).then_some(SIZE)),
            age: age.and_then(|age| i64::try_from(age.as_millis()).ok()),
        }
    }
}

fn is_bucket(place: &str) -> bool {
    place.starts_with("s3://")
}

/// The time of a segment.
fn segment(text: &str) -> Result<Duration, String> {
    match length_of_time(text) {
        Ok(time) if (1..=600).contains(&time.as_secs()) => Ok(time),
        Ok(_) => Err("it lies between 1 second and 10 minutes".into()),
        Err(why) => Err(why),
    }
}

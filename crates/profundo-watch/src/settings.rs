//! What is watched, and where it goes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use profundo_recorder::{Chosen, Memory};
use profundo_store::Limits;

/// What is watched.
#[derive(Debug, Clone)]
pub enum Target {
    /// The processes of the machine that are chosen.
    Machine {
        /// The choice.
        chosen: Chosen,
        /// The limit of holding threads, as one part in so many of their time; `None`: never.
        most_held: Option<u64>,
    },
    /// Running processes and their descendants: the first, and the others.
    Processes(u32, Vec<u32>),
    /// A program that is started, with the processes that it starts.
    Program {
        /// The words of its command line.
        words: Vec<OsString>,
        /// The agent's file.
        agent: PathBuf,
    },
}

/// The settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What is watched.
    pub target: Target,
    /// Where the profiles go: a folder, `s3://bucket/prefix`, or the address of another program.
    pub to: String,
    /// Headers of requests to another program, each `NAME:VALUE`.
    pub headers: Vec<String>,
    /// The service of all processes, if it is said.
    pub service: Option<String>,
    /// Labels of all processes.
    pub labels: Vec<(String, String)>,
    /// Nanoseconds of CPU time between two samples.
    pub period: u64,
    /// Whether waiting is recorded, too.
    pub waits: bool,
    /// The allocations that are recorded, of a program that is started.
    pub memory: Option<Memory>,
    /// The time of a segment.
    pub every: Duration,
    /// The time of a row within a segment.
    pub step: Duration,
    /// The time until the end, if there is one.
    pub duration: Option<Duration>,
    /// Whether this process joins the files of an hour, and keeps the store within its limits.
    pub keeps_up: bool,
    /// The limits of the store.
    pub limits: Limits,
    /// The folder for segments on their way; `None`: one of the user's.
    pub spool: Option<PathBuf>,
    /// The most bytes of segments on their way.
    pub spool_size: u64,
}

//! Tests of others on two sides: without and with the profiler. Each side runs in a folder of its
//! own, which is removed at its end.

pub mod mode;
pub mod outcomes;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, thread};

use anyhow::{Context, Result};

use mode::Mode;
use outcomes::Outcomes;

/// The last lines of a runner that wrote no outcomes: so many are printed.
const LAST_LINES: usize = 30;

/// Tests that a runner runs at once.
pub trait Tests: Sync {
    /// The limit of the runner in seconds, since not all hangs are in a test.
    const LIMIT: &'static str;

    /// Adds the runner's words and settings to a command.
    fn prepare(&self, folder: &Folder, command: &mut Command) -> Result<()>;

    /// Reads the outcomes from what the runner has left.
    fn outcomes(&self, folder: &Folder, end: ExitStatus) -> Outcomes {
        Outcomes::of_file(&folder.xml(), end)
    }
}

/// The folder of one run.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    fn made(path: PathBuf) -> Result<Self> {
        let folder = Self(path);
        fs::create_dir_all(folder.work())?;
        fs::create_dir_all(folder.temporary())?;
        Ok(folder)
    }

    /// The folder in which the runner begins.
    pub fn work(&self) -> PathBuf {
        self.0.join("work")
    }

    /// The folder for files of tests.
    pub fn temporary(&self) -> PathBuf {
        self.0.join("tmp")
    }

    /// The file of outcomes, as pytest and CPython's runner write it.
    pub fn xml(&self) -> PathBuf {
        self.0.join("outcomes.xml")
    }

    /// What the runner printed.
    pub fn log(&self) -> String {
        let log = fs::read(self.log_file()).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    fn log_file(&self) -> PathBuf {
        self.0.join("log")
    }

    fn recording(&self) -> PathBuf {
        self.0.join("recording")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Files that a test made unreadable stay until all is removed, or for good.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The folders of both sides, and how one of them is recorded.
#[derive(Debug)]
pub struct Sides {
    profundo: PathBuf,
    all: PathBuf,
    mode: Mode,
    runs: AtomicUsize,
    /// Runs with the profiler, and those of them that left a recording.
    with: AtomicUsize,
    recorded: AtomicUsize,
}

impl Drop for Sides {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.all);
    }
}

impl Sides {
    /// `name` begins the name of the folder of all runs. It is short: the path of a socket may have
    /// no more than a hundred characters.
    pub fn new(name: &str, profundo: &Path, mode: Mode) -> Result<Self> {
        let all = env::temp_dir().join(format!("{name}-{}", process::id()));
        fs::create_dir_all(&all)?;
        Ok(Self {
            profundo: profundo.to_owned(),
            all,
            mode,
            runs: AtomicUsize::new(0),
            with: AtomicUsize::new(0),
            recorded: AtomicUsize::new(0),
        })
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// A sentence with the number of runs that were recorded. A recorder that comes late may come
    /// too late.
    pub fn recorded(&self) -> String {
        // Relaxed: the runs have ended.
        let number = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        let (recorded, with) = (number(&self.recorded), number(&self.with));
        format!("{recorded} of {with} runs with the profiler were recorded")
    }

    /// Runs tests without and then with the profiler: some tests check or clean up resources that
    /// all processes share.
    pub fn in_turn(&self, tests: &impl Tests) -> Result<(Outcomes, Outcomes)> {
        Ok((self.side(false, tests)?, self.side(true, tests)?))
    }

    /// As [`in_turn`](Self::in_turn), with both sides at once.
    pub fn at_once(&self, tests: &impl Tests) -> Result<(Outcomes, Outcomes)> {
        thread::scope(|scope| {
            let with = scope.spawn(|| self.side(true, tests));
            let without = self.side(false, tests);
            let with = with.join().ok().context("a side has no result")?;
            Ok((without?, with?))
        })
    }

    fn side<T: Tests>(&self, is_recorded: bool, tests: &T) -> Result<Outcomes> {
        // Relaxed: the numbers only have to be distinct.
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let folder = Folder::made(self.all.join(number.to_string()))?;
        let mut command = Command::new("timeout");
        command.args(["-k", "20", T::LIMIT]);
        if is_recorded {
            let recording = folder.recording();
            self.mode.words(&mut command, &self.profundo, &recording);
        }
        command.current_dir(folder.work());
        tests.prepare(&folder, &mut command)?;
        let log = File::create(folder.log_file())?;
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let end = command
            .status()
            .with_context(|| format!("cannot run {command:?}"))?;
        let outcomes = tests.outcomes(&folder, end);
        if !outcomes.is_whole() && !end.success() {
            let log = folder.log();
            let last: Vec<&str> = log.lines().rev().take(LAST_LINES).collect();
            last.iter().rev().for_each(|line| println!("    {line}"));
        }
        if is_recorded {
            self.with.fetch_add(1, Ordering::Relaxed);
            let is_there = usize::from(folder.recording().exists());
            self.recorded.fetch_add(is_there, Ordering::Relaxed);
        }
        Ok(outcomes)
    }
}

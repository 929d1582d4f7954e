//! Runs tests of a suite without and with the profiler, each in a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, thread};

use anyhow::{Context, Result};

use super::gevent;
use super::list::Runner;
use super::place::Place;
use crate::cpython::mode::Mode;
use crate::cpython::outcomes::Outcomes;

/// The limit of one run in seconds.
const LIMIT: &str = "1200";

/// The folders of both sides.
#[derive(Debug)]
pub struct Sides {
    profundo: PathBuf,
    folder: PathBuf,
    mode: Mode,
    runs: AtomicUsize,
    /// Runs with the profiler, and those of them that left a recording.
    with: AtomicUsize,
    recorded: AtomicUsize,
}

impl Drop for Sides {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Sides {
    pub fn new(profundo: &Path, mode: Mode) -> Result<Self> {
        // Short: the path of a socket may have no more than a hundred characters.
        let folder = env::temp_dir().join(format!("suites-{}", process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Self {
            profundo: profundo.to_owned(),
            folder,
            mode,
            runs: AtomicUsize::new(0),
            with: AtomicUsize::new(0),
            recorded: AtomicUsize::new(0),
        })
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The number of runs that were recorded, and of those that should have been. A recorder that
    /// comes late may come too late.
    pub fn recorded(&self) -> (usize, usize) {
        let number = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        (number(&self.recorded), number(&self.with))
    }

    /// Runs tests without the profiler, and then with it.
    pub fn in_turn(&self, place: &Place, tests: &[String]) -> Result<(Outcomes, Outcomes)> {
        Ok((
            self.side(false, place, tests)?,
            self.side(true, place, tests)?,
        ))
    }

    /// As [`in_turn`](Self::in_turn), with both sides at once.
    pub fn at_once(&self, place: &Place, tests: &[String]) -> Result<(Outcomes, Outcomes)> {
        thread::scope(|scope| {
            let with = scope.spawn(|| self.side(true, place, tests));
            let without = self.side(false, place, tests);
            let with = with.join().ok().context("a side has no result")?;
            Ok((without?, with?))
        })
    }

    fn side(&self, is_recorded: bool, place: &Place, tests: &[String]) -> Result<Outcomes> {
        // Relaxed: the numbers only have to be distinct.
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.join(number.to_string());
        let (work, temporary) = (folder.join("work"), folder.join("tmp"));
        fs::create_dir_all(&work)?;
        fs::create_dir_all(&temporary)?;
        place.fill(&work)?;
        let xml = folder.join("outcomes.xml");
        let mut command = Command::new("timeout");
        command.args(["-k", "20", LIMIT]);
        let recording = folder.join("recording");
        if is_recorded {
            self.mode.words(&mut command, &self.profundo, &recording);
        }
        command.arg(place.python());
        match place.suite.runner {
            Runner::Pytest(options) => {
                command.args(["-m", "pytest", "-v", "-p", "no:cacheprovider"]);
                command.args(["-o", "addopts="]);
                let mut report = xml.clone().into_os_string();
                command.arg("--junit-xml").arg(&mut report).args(options);
                let root = match place.suite.parts {
                    [] => place.packages()?,
                    _ => work.clone(),
                };
                command.arg("--rootdir").arg(&root);
                command.args(tests.iter().map(|test| root.join(test)));
            }
            Runner::Gevent(options) => {
                command.args(["-m", "gevent.tests"]).args(options);
                command.args(tests);
            }
        }
        let log = folder.join("log");
        let output = fs::File::create(&log)?;
        let path = env::var_os("PATH").unwrap_or_default();
        let path = [place.bin()].into_iter().chain(env::split_paths(&path));
        command
            .env("PATH", env::join_paths(path)?)
            .env("TMPDIR", &temporary)
            .envs(place.suite.variables.iter().copied())
            .current_dir(&work)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        let status = command
            .status()
            .with_context(|| format!("cannot run {command:?}"))?;
        let log = fs::read(&log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let outcomes = match place.suite.runner {
            Runner::Pytest(_) => {
                let text = fs::read_to_string(&xml).unwrap_or_default();
                Outcomes::new(&text, status)
            }
            Runner::Gevent(_) => Outcomes::of_tests(gevent::tests(&log), status),
        };
        if !outcomes.is_whole() {
            let last: Vec<&str> = log.lines().rev().take(30).collect();
            last.iter().rev().for_each(|line| println!("    {line}"));
        }
        if is_recorded {
            self.with.fetch_add(1, Ordering::Relaxed);
            let is_there = usize::from(recording.exists());
            self.recorded.fetch_add(is_there, Ordering::Relaxed);
        }
        // Files that a test made unreadable stay until all is removed, or for good.
        let _ = fs::remove_dir_all(&folder);
        Ok(outcomes)
    }
}

//! Runs a module's tests without and with the profiler, each in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, process, thread};

use anyhow::{Context, Result};

use super::Module;
use super::mode::Mode;
use super::outcomes::Outcomes;

/// The limit of a single test in seconds: then its runner prints where it hangs, and exits.
const TEST_LIMIT: &str = "300";
/// The limit of a module, since not all hangs are in a test.
const MODULE_LIMIT: &str = "1500";

/// The folders of both sides.
#[derive(Debug)]
pub struct Sides {
    profundo: PathBuf,
    folder: PathBuf,
    mode: Mode,
    /// The number of runs that were recorded.
    recorded: AtomicUsize,
    runs: AtomicUsize,
}

impl Drop for Sides {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Sides {
    pub fn new(profundo: &Path, mode: Mode) -> Result<Self> {
        // Short: the path of a socket may have no more than a hundred characters.
        let folder = env::temp_dir().join(format!("cpython-{}", process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Self {
            profundo: profundo.to_owned(),
            folder,
            mode,
            recorded: AtomicUsize::new(0),
            runs: AtomicUsize::new(0),
        })
    }

    /// The number of runs that were recorded. A recorder that comes late may come too late.
    pub fn recorded(&self) -> usize {
        self.recorded.load(Ordering::Relaxed)
    }

    /// Runs the tests without and then with the profiler: some tests check or clean up resources
    /// that all processes share.
    pub fn in_turn(&self, module: &Module) -> Result<(Outcomes, Outcomes)> {
        Ok((self.side(false, module)?, self.side(true, module)?))
    }

    /// As [`in_turn`](Self::in_turn), with both sides at once.
    pub fn run(&self, module: &Module) -> Result<(Outcomes, Outcomes)> {
        thread::scope(|scope| {
            let with = scope.spawn(|| self.side(true, module));
            let without = self.side(false, module);
            let with = with.join().ok().context("a side has no result")?;
            Ok((without?, with?))
        })
    }

    fn side(&self, is_recorded: bool, module: &Module) -> Result<Outcomes> {
        // Relaxed: the numbers only have to be distinct.
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.join(number.to_string());
        let work = folder.join("work");
        fs::create_dir_all(&work)?;
        let xml = folder.join("outcomes.xml");
        let mut command = Command::new("timeout");
        command.args(["-k", "20", MODULE_LIMIT]);
        let recording = folder.join("recording");
        if is_recorded {
            self.mode.words(&mut command, &self.profundo, &recording);
        }
        command.arg(&module.python.path);
        command.args(["-m", "test", "--timeout", TEST_LIMIT, "--junit-xml"]);
        command.arg(&xml).arg("--tempdir").arg(&work);
        for name in &module.only {
            command.args(["-m", name]);
        }
        for name in &module.without {
            command.args(["-i", name]);
        }
        let log = fs::File::create(folder.join("log"))?;
        command
            .arg(&module.name)
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let status = command
            .status()
            .with_context(|| format!("cannot run {command:?}"))?;
        let outcomes = Outcomes::new(&fs::read_to_string(&xml).unwrap_or_default(), status);
        if !outcomes.is_whole() && !status.success() {
            let log = fs::read(folder.join("log")).unwrap_or_default();
            let log = String::from_utf8_lossy(&log);
            let last: Vec<&str> = log.lines().rev().take(30).collect();
            last.iter().rev().for_each(|line| println!("    {line}"));
        }
        if is_recorded && (recording.exists() || self.mode != Mode::Late) {
            self.recorded.fetch_add(1, Ordering::Relaxed);
        }
        // Files that a test made unreadable stay until all is removed, or for good.
        let _ = fs::remove_dir_all(&folder);
        Ok(outcomes)
    }
}

//! A module's tests once without and once with the profiler, each in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, process, thread};

use anyhow::{Context, Result};

use super::Module;
use super::outcomes::Outcomes;

/// How long a single test may take, in seconds: then its runner says where it hangs, and ends.
const TEST_LIMIT: &str = "300";
/// How long a module may take, for not all that hangs is a test.
const MODULE_LIMIT: &str = "1500";

/// Where both sides run.
#[derive(Debug)]
pub struct Sides {
    profundo: PathBuf,
    folder: PathBuf,
    runs: AtomicUsize,
}

impl Drop for Sides {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Sides {
    pub fn new(profundo: &Path) -> Result<Self> {
        // Short: the paths of sockets in there may have no more than a hundred letters.
        let folder = env::temp_dir().join(format!("cpython-{}", process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Self {
            profundo: profundo.to_owned(),
            folder,
            runs: AtomicUsize::new(0),
        })
    }

    /// What became of the tests without and with the profiler, one side after the other: some tests
    /// look at what they share with all processes, and sweep it.
    pub fn in_turn(&self, module: &Module) -> Result<(Outcomes, Outcomes)> {
        Ok((self.side(false, module)?, self.side(true, module)?))
    }

    /// The same for both sides at once.
    pub fn run(&self, module: &Module) -> Result<(Outcomes, Outcomes)> {
        thread::scope(|scope| {
            let with = scope.spawn(|| self.side(true, module));
            let without = self.side(false, module);
            let with = with.join().ok().context("a side has no result")?;
            Ok((without?, with?))
        })
    }

    fn side(&self, is_recorded: bool, module: &Module) -> Result<Outcomes> {
        // Relaxed: a number for each, no more.
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.join(number.to_string());
        let work = folder.join("work");
        fs::create_dir_all(&work)?;
        let xml = folder.join("outcomes.xml");
        let mut command = Command::new("timeout");
        command.args(["-k", "20", MODULE_LIMIT]);
        if is_recorded {
            command.arg(&self.profundo).args(["record", "-o"]);
            command.arg(folder.join("recording")).arg("--");
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
        // What a test has made unreadable stays until all is removed, or for ever.
        let _ = fs::remove_dir_all(&folder);
        Ok(outcomes)
    }
}

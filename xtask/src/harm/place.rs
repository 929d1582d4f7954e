//! The folder of a round, the programs that are harmed, and what is left after them.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::mark::MARK;
use crate::metadata;

/// The program in C, and the one in Python: both work for as many milliseconds as they are given,
/// print two lines, and end with code 7.
const PROGRAM: &str = "e2e/targets/unharmed.c";
const SCRIPT: &str = "e2e/targets/unharmed.py";
/// The code that both end with.
pub const CODE: i32 = 7;

/// What all rounds share.
#[derive(Debug)]
pub struct Place {
    pub profundo: PathBuf,
    pub program: PathBuf,
    pub python: PathBuf,
    pub script: PathBuf,
    /// The folder of the lists.
    pub lists: PathBuf,
    folder: PathBuf,
}

impl Place {
    pub fn new(root: &Path) -> Result<Self> {
        let folder = env::temp_dir().join(format!("harm-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let program = folder.join("unharmed");
        let mut gcc = Command::new("gcc");
        gcc.args(["-O1", "-g", "-o"]).arg(&program);
        let status = gcc.arg(root.join(PROGRAM)).status().context("gcc")?;
        ensure!(status.success(), "{PROGRAM} does not compile");
        Ok(Self {
            profundo: fs::canonicalize(metadata::profundo(root)?)?,
            program,
            python: python()?,
            script: root.join(SCRIPT),
            lists: metadata::load(root)?.target.join("harm"),
            folder,
        })
    }

    /// An empty folder for a round.
    pub fn round(&self, number: usize) -> Result<Round<'_>> {
        let round = Round {
            place: self,
            folder: self.folder.join(number.to_string()),
            mark: format!("{}-{number}", std::process::id()),
        };
        let _ = fs::remove_dir_all(&round.folder);
        fs::create_dir_all(round.folder.join("tmp"))?;
        Ok(round)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A Python that runs as it is: the one in `PATH` may be a script that chooses one.
fn python() -> Result<PathBuf> {
    let mut command = Command::new("python3");
    command.args(["-c", "import sys; print(sys.executable)"]);
    let output = command.output().context("python3")?;
    match String::from_utf8(output.stdout)?.trim_end() {
        "" => bail!("python3 does not say where it is"),
        path => Ok(path.into()),
    }
}

/// The folder of one round.
#[derive(Debug)]
pub struct Round<'a> {
    pub place: &'a Place,
    folder: PathBuf,
    pub mark: String,
}

impl Round<'_> {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The text of a file; none if there is no such file.
    pub fn text(&self, name: &str) -> String {
        let bytes = fs::read(self.path(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// A command in this folder, with the round's mark and a folder of temporary files of its own.
    /// Its output goes into the files `NAME.out` and `NAME.err`.
    pub fn command(&self, program: &Path, name: &str) -> io::Result<Command> {
        let mut command = Command::new(program);
        command
            .current_dir(&self.folder)
            .env(MARK, &self.mark)
            .env("TMPDIR", self.path("tmp"))
            .env("XDG_CACHE_HOME", self.place.folder.join("cache"))
            .env_remove(super::SECLUDED)
            .stdin(Stdio::null())
            .stdout(File::create(self.path(&format!("{name}.out")))?)
            .stderr(File::create(self.path(&format!("{name}.err")))?)
            // Signals for a group of processes stay in the round.
            .process_group(0);
        Ok(command)
    }

    /// The command under test, with arguments.
    pub fn profundo(&self, name: &str, words: &[&str]) -> io::Result<Command> {
        let mut command = self.command(&self.place.profundo, name)?;
        command.args(words);
        Ok(command)
    }

    /// The temporary files that are left.
    pub fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("tmp"));
        let entries = entries.into_iter().flatten().flatten();
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        entries.map(name).collect()
    }
}

impl Drop for Round<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The directories that a recorder with this process id has left in memory.
pub fn remains(recorder: u32) -> Vec<PathBuf> {
    let wanted = format!("-{recorder}-");
    let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_its = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("profundo-") && name.contains(&wanted)
    };
    paths.filter(is_its).collect()
}

/// The directories of recorders that are gone. They are removed, so that each is found once.
pub fn remains_of_dead() -> Vec<PathBuf> {
    let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_dead = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // The agent's folder where the cache cannot be written: the next command uses it.
        let name = name.strip_prefix("profundo-").unwrap_or_default();
        let pid = name
            .strip_prefix("agent-")
            .map_or(name.split('-').nth(1), |_| None);
        pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists())
    };
    let found: Vec<PathBuf> = paths.filter(is_dead).collect();
    for path in &found {
        // Another round may have found it.
        let _ = fs::remove_dir_all(path);
    }
    found
}

//! One recording of a soak, with readings of memory and files while it lasts.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::Place;
use super::mode::{Entry, Mode};

/// What one moment showed, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading {
    pub program: u64,
    pub recorder: u64,
    pub files: u64,
}

/// A recording and its readings.
#[derive(Debug)]
pub struct Watched {
    pub readings: Vec<Reading>,
    pub recording: PathBuf,
    pub stdout: String,
    pub stderr: String,
    pub code: Option<i32>,
}

/// Runs a mode to its end.
pub fn watch(place: &Place, mode: &Mode) -> Result<Watched> {
    let folder = place.folder.join(mode.name);
    fs::create_dir_all(&folder)?;
    let recording = folder.join("a.profundo");
    let (stdout, stderr) = (folder.join("stdout"), folder.join("stderr"));
    let mut program = place.program(mode.program);
    let mut profundo = Command::new(&place.profundo);
    profundo.args(mode.words).arg("-o").arg(&recording);
    profundo.env("PROFUNDO_NO_CONFIG", "1").current_dir(&folder);
    let (mut recorder, mut alone) = match mode.entry {
        Entry::Starts => {
            profundo.arg("--").arg(program.get_program());
            profundo.args(program.get_args());
            (Some(start(&mut profundo, &stdout, &stderr)?), None)
        }
        Entry::None => (None, Some(start(&mut program, &stdout, &stderr)?)),
        Entry::Attaches => {
            let alone = start(&mut program, &stdout, &stderr)?;
            thread::sleep(Duration::from_secs(1));
            profundo.arg(alone.id().to_string());
            let (stdout, stderr) = (folder.join("its stdout"), folder.join("its stderr"));
            (Some(start(&mut profundo, &stdout, &stderr)?), Some(alone))
        }
    };
    let mut ids = Ids {
        recorder: recorder.as_ref().map(Child::id),
        program: alone.as_ref().map(Child::id),
    };
    let mut log = File::create(folder.join("readings.csv"))?;
    writeln!(log, "seconds,program_bytes,recorder_bytes,files_bytes")?;
    let began = Instant::now();
    let mut readings = Vec::new();
    let longest = Duration::from_secs_f64(place.seconds * 1.5 + 120.0);
    while is_running(&mut recorder)? | is_running(&mut alone)? {
        if began.elapsed() > longest {
            for child in [&mut recorder, &mut alone].into_iter().flatten() {
                child.kill()?;
                child.wait()?;
            }
            bail!("it did not end; its files are in {}", folder.display());
        }
        if let Some(reading) = ids.read(&folder) {
            let (
                seconds,
                Reading {
                    program,
                    recorder,
                    files,
                },
            ) = (began.elapsed().as_secs(), reading);
            writeln!(log, "{seconds},{program},{recorder},{files}")?;
            readings.push(reading);
        }
        thread::sleep(Duration::from_secs_f64(
            (place.seconds / 200.0).clamp(0.1, 10.0),
        ));
    }
    let ended = alone.or(recorder).context("nothing was started")?.wait()?;
    Ok(Watched {
        readings,
        recording,
        stdout: fs::read_to_string(stdout)?,
        stderr: fs::read_to_string(stderr)?,
        code: ended.code(),
    })
}

fn start(command: &mut Command, stdout: &Path, stderr: &Path) -> Result<Child> {
    command
        .stdin(Stdio::null())
        .stdout(File::create(stdout)?)
        .stderr(File::create(stderr)?);
    command
        .spawn()
        .with_context(|| format!("cannot start {:?}", command.get_program()))
}

fn is_running(child: &mut Option<Child>) -> Result<bool> {
    match child {
        Some(child) => Ok(child.try_wait()?.is_none()),
        None => Ok(false),
    }
}

/// The processes that are watched.
struct Ids {
    recorder: Option<u32>,
    program: Option<u32>,
}

impl Ids {
    /// `None` before the program begins, and when it has ended.
    fn read(&mut self, folder: &Path) -> Option<Reading> {
        if self.program.is_none() {
            let recorder = self.recorder?;
            let children = format!("/proc/{recorder}/task/{recorder}/children");
            let children = fs::read_to_string(children).ok()?;
            self.program = children.split_whitespace().next()?.parse().ok();
        }
        Some(Reading {
            program: resident(self.program?)?,
            recorder: match self.recorder {
                Some(recorder) => resident(recorder)?,
                None => 0,
            },
            files: bytes_in(folder),
        })
    }
}

/// The resident memory of a process.
fn resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// The bytes of all files in a folder and in those below.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_in(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    bytes.sum()
}

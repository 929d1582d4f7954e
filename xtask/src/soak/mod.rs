//! Long recordings of programs that never rest, one for each mode and all at the same time: is
//! memory flat, are files bounded, do samples come right to the end?
//!
//! The list is run by hand (`cargo xtask soak [--minutes N] [MODE…]`), because it takes an hour.

mod mode;
mod verdict;
mod watch;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, bail, ensure};

use crate::metadata;
use mode::{MODES, Mode, Program};

/// The command line's request.
struct Wanted {
    minutes: f64,
    modes: Vec<&'static Mode>,
}

impl Wanted {
    fn read(arguments: &[&str]) -> Result<Self> {
        let mut wanted = Self {
            minutes: 60.0,
            modes: Vec::new(),
        };
        let mut rest = arguments.iter();
        while let Some(&argument) = rest.next() {
            if argument == "--minutes" {
                let number = rest.next().context("--minutes needs a number")?;
                wanted.minutes = number.parse().context("--minutes needs a number")?;
                continue;
            }
            let mode = MODES.iter().find(|mode| mode.name == argument);
            let Some(mode) = mode else {
                let names: Vec<&str> = MODES.iter().map(|mode| mode.name).collect();
                bail!(
                    "there is no mode {argument}: the modes are {}",
                    names.join(", ")
                );
            };
            wanted.modes.push(mode);
        }
        if wanted.modes.is_empty() {
            wanted.modes = MODES.iter().collect();
        }
        ensure!(wanted.minutes > 0.0, "--minutes needs a number above 0");
        Ok(wanted)
    }
}

/// The files of a soak.
#[derive(Debug)]
struct Place {
    profundo: PathBuf,
    folder: PathBuf,
    python: PathBuf,
    script: PathBuf,
    seconds: f64,
}

impl Place {
    /// Builds the programs under test.
    fn make(root: &Path, seconds: f64) -> Result<Self> {
        let folder = metadata::load(root)?.target.join("soak");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        let targets = root.join("e2e/targets");
        let compile = |source: &str, output: &str, flags: &[&str]| {
            let mut command = Command::new("cc");
            command
                .args(["-g", "-O1", "-o"])
                .arg(folder.join(output))
                .arg(targets.join(source));
            let status = command.args(flags).status().context("cannot run cc")?;
            ensure!(status.success(), "{source} cannot be compiled");
            anyhow::Ok(())
        };
        compile("restless.c", "restless", &["-lpthread", "-ldl"])?;
        compile("plugin.c", "plugin.so", &["-shared", "-fPIC"])?;
        let script = "import sys; print(sys.executable)";
        let python = Command::new("python3").args(["-c", script]).output();
        let python = python.context("cannot run python3")?.stdout;
        Ok(Self {
            profundo: metadata::profundo(root)?,
            python: String::from_utf8_lossy(&python).trim().into(),
            script: targets.join("restless.py"),
            folder,
            seconds,
        })
    }

    fn program(&self, program: Program) -> Command {
        match program {
            Program::C => {
                let mut command = Command::new(self.folder.join("restless"));
                command
                    .arg(self.seconds.to_string())
                    .arg(self.folder.join("plugin.so"));
                command
            }
            Program::Python => {
                let mut command = Command::new(&self.python);
                command.arg(&self.script).arg(self.seconds.to_string());
                command
            }
        }
    }
}

/// Runs the named modes; true if none failed.
pub fn run(root: &Path, arguments: &[&str]) -> Result<bool> {
    let wanted = Wanted::read(arguments)?;
    let place = Place::make(root, wanted.minutes * 60.0)?;
    println!("{} modes, {} min each", wanted.modes.len(), wanted.minutes);
    let outcomes: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = wanted
            .modes
            .iter()
            .map(|mode| scope.spawn(|| watch::watch(&place, mode)))
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|outcome| outcome.unwrap_or_else(|_| bail!("the watch panicked")))
            .collect()
    });
    println!("{}", verdict::HEADER);
    let mut failed = 0;
    for (mode, outcome) in wanted.modes.iter().zip(outcomes) {
        let verdict = outcome.and_then(|watched| verdict::of(&place, mode, &watched));
        match verdict {
            Ok(verdict) => {
                failed += u32::from(!verdict.failures.is_empty());
                println!("{verdict}");
            }
            Err(error) => {
                failed += 1;
                println!("{:<22} FAILED: {error:#}", mode.name);
            }
        }
    }
    Ok(failed == 0)
}

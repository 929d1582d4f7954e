//! Runs one command, shows what it prints as it comes, and adds up what its tests say.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result};

use super::again::Again;
use super::tally::{Tally, test_outcome};
use crate::metadata::cargo;

/// The file into which a test writes `skipped: <why>`, a line for each test: what a test prints
/// is caught by its runner as long as it passes.
const SKIP_FILE: &str = "PROFUNDO_SKIP_FILE";

/// What all commands of a run have in common.
pub struct Runner<'a> {
    root: &'a Path,
    skip_file: PathBuf,
}

impl<'a> Runner<'a> {
    pub fn new(root: &'a Path, target: &Path) -> Result<Self> {
        let folder = target.join("xtask");
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Self {
            root,
            skip_file: folder.join("skipped"),
        })
    }

    /// Whether `cargo <arguments>` works at all, without a word.
    pub fn has(&self, arguments: &[&str]) -> bool {
        let mut command = cargo();
        command.args(arguments).current_dir(self.root);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// Runs a check: it passes or fails as a whole.
    pub fn check(&self, name: &str, mut command: Command) -> Result<Tally> {
        let mut tally = Tally::default();
        command.current_dir(self.root).stdin(Stdio::null());
        let status = command
            .status()
            .with_context(|| format!("cannot run {name}"))?;
        tally.check(name, status.success());
        Ok(tally)
    }

    /// Runs tests and counts them. A runner that fails without a failed test, because it did not
    /// compile or died, counts as one.
    pub fn tests(&self, name: &str, mut command: Command) -> Result<Tally> {
        let mut tally = Tally::default();
        // What an earlier command left is not ours.
        let _ = fs::remove_file(&self.skip_file);
        let mut shown = Vec::new();
        let status = self.lines(name, &mut command, |line| {
            tally.runner_line(line);
            if line.starts_with("skipped: ") {
                shown.push(line.to_owned());
            }
        })?;
        tally.runners_gone(name);
        if !status.success() && tally.failed == 0 {
            tally.check(&format!("{name} ({status})"), false);
        }
        let written = fs::read_to_string(&self.skip_file).unwrap_or_default();
        let written: Vec<&str> = written.lines().collect();
        written.iter().for_each(|line| tally.skip_line(line));
        // Whoever says it in both ways is not to be counted twice.
        let only_shown = shown
            .iter()
            .filter(|line| !written.contains(&line.as_str()));
        only_shown.for_each(|line| tally.skip_line(line));
        Ok(tally)
    }

    /// Runs those tests alone that failed, one after the other, if they are few: where many fail,
    /// it is not the machine.
    pub fn try_again(&self, tally: &mut Tally, mut command: Command) -> Result<()> {
        const FEW: usize = 12;
        if tally.failures.is_empty() || tally.failures.len() > FEW {
            return Ok(());
        }
        println!("== tried again, alone: {}", tally.failures.join(", "));
        command.args(["--", "--exact", "--test-threads=1"]);
        command.args(&tally.failures);
        let mut again = Again::default();
        self.lines("tests that failed", &mut command, |line| {
            again.runner_line(line);
        })?;
        again.correct(tally);
        Ok(())
    }

    /// Runs a test runner and looks at its lines as they come.
    fn lines(
        &self,
        name: &str,
        command: &mut Command,
        mut look: impl FnMut(&str),
    ) -> Result<ExitStatus> {
        command.env(SKIP_FILE, &self.skip_file);
        command
            .current_dir(self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot run {name}"))?;
        let output = child.stdout.take().context("the runner has no output")?;
        for line in BufReader::new(output).split(b'\n') {
            let line = line.with_context(|| format!("cannot read what {name} prints"))?;
            let line = String::from_utf8_lossy(&line);
            look(&line);
            // A thousand tests that passed hide the one that did not.
            if test_outcome(&line).is_none_or(|(_, outcome)| outcome != "ok") && !line.is_empty() {
                println!("{line}");
            }
        }
        child
            .wait()
            .with_context(|| format!("cannot wait for {name}"))
    }
}

//! Runs one command, shows its output as it comes, and adds up the results of its tests.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::again::Again;
use super::tally::{Tally, test_outcome};
use crate::metadata::cargo;

/// The file into which a test writes `skipped: <why>`, a line for each test: the runner captures
/// the output of passing tests.
const SKIP_FILE: &str = "PROFUNDO_SKIP_FILE";

/// The common settings of all commands of a run.
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

    /// Whether `cargo <arguments>` works at all; without output.
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

    /// Runs tests and counts them. A runner that fails without a failed test, by a compile error or
    /// a crash, counts as one.
    pub fn tests(&self, name: &str, mut command: Command) -> Result<Tally> {
        let mut tally = Tally::default();
        // A file of an earlier command is not ours.
        let _ = fs::remove_file(&self.skip_file);
        let mut shown = Vec::new();
        let status = self.lines(name, &mut command, |line| match line {
            Line::Cargo(line) => tally.times.cargo_line(line, self.root),
            Line::Test(line) => {
                tally.runner_line(line);
                if line.starts_with("skipped: ") {
                    shown.push(line.to_owned());
                }
            }
        })?;
        tally.runners_gone(name);
        if !status.success() && tally.failed == 0 {
            tally.check(&format!("{name} ({status})"), false);
        }
        let written = fs::read_to_string(&self.skip_file).unwrap_or_default();
        let written: Vec<&str> = written.lines().collect();
        written.iter().for_each(|line| tally.skip_line(line));
        // A skip that is both written and shown counts once.
        let only_shown = shown
            .iter()
            .filter(|line| !written.contains(&line.as_str()));
        only_shown.for_each(|line| tally.skip_line(line));
        Ok(tally)
    }

    /// Reruns the failed tests alone, one after the other, if they are few: many failures are not
    /// due to load.
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
            if let Line::Test(line) = line {
                again.runner_line(line);
            }
        })?;
        again.correct(tally);
        Ok(())
    }

    /// Runs a test runner and passes on its lines as they come.
    fn lines(
        &self,
        name: &str,
        command: &mut Command,
        mut look: impl FnMut(Line<'_>),
    ) -> Result<ExitStatus> {
        command.env(SKIP_FILE, &self.skip_file);
        command
            .current_dir(self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot run {name}"))?;
        let output = child.stdout.take().context("the runner has no output")?;
        let errors = child.stderr.take().context("the runner has no errors")?;
        // One line after the other, from whichever comes first: cargo names a program before it
        // begins.
        let (sender, lines) = mpsc::channel();
        let of_cargo = sender.clone();
        thread::spawn(move || each_line(errors, |line| of_cargo.send(Output::Error(line)).is_ok()));
        thread::spawn(move || {
            let read = each_line(output, |line| sender.send(Output::Line(line)).is_ok());
            sender.send(Output::End(read))
        });
        let mut is_over = false;
        loop {
            // A process that a test has left behind may hold the errors open for ever.
            let said = match is_over {
                false => lines.recv().ok(),
                true => lines.recv_timeout(Duration::from_millis(200)).ok(),
            };
            match said {
                None => break,
                Some(Output::End(read)) => {
                    read.with_context(|| format!("cannot read what {name} prints"))?;
                    is_over = true;
                }
                Some(Output::Error(line)) => {
                    look(Line::Cargo(&line));
                    eprintln!("{line}");
                }
                Some(Output::Line(line)) => {
                    look(Line::Test(&line));
                    // A thousand tests that passed hide the one that did not.
                    let has_passed = test_outcome(&line).is_some_and(|(_, it)| it == "ok");
                    if !has_passed && !line.is_empty() {
                        println!("{line}");
                    }
                }
            }
        }
        child
            .wait()
            .with_context(|| format!("cannot wait for {name}"))
    }
}

/// What comes from the two pipes.
enum Output {
    Line(String),
    Error(String),
    /// The output has ended.
    End(io::Result<()>),
}

/// A line of cargo's own, or of a program that it runs.
enum Line<'a> {
    Cargo(&'a str),
    Test(&'a str),
}

/// Gives each line away until it is not taken.
fn each_line(from: impl Read, take: impl Fn(String) -> bool) -> io::Result<()> {
    for line in BufReader::new(from).split(b'\n') {
        if !take(String::from_utf8_lossy(&line?).into_owned()) {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use profundo_testing::Folder;

    use super::*;

    fn tally_of(script: &str) -> Tally {
        let folder = Folder::new("runner");
        let runner = Runner::new(folder.path(), folder.path()).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        runner.tests("a script", command).unwrap()
    }

    #[test]
    fn what_cargo_says_names_the_programs_whose_tests_are_counted() {
        let tally = tally_of(
            "echo '     Running tests/it/main.rs (debug/deps/it-0)' >&2; sleep 0.2; echo 'running 2 tests'
            echo 'skipped: no perf' >> $PROFUNDO_SKIP_FILE; echo 'skipped: no perf' >&2
            echo 'test a ... ok'; echo 'test b ... ok'
            echo 'test result: ok. 2 passed; 0 failed; 0 ignored; finished in 2.00s'",
        );
        assert_eq!(tally.closing_line(), "1 passed, 0 failed, 1 skipped");
        assert_eq!(tally.times.report(), ["    2.0 s  tests/it/main.rs"]);
    }

    #[test]
    fn a_process_that_is_left_behind_is_not_waited_for() {
        let began = Instant::now();
        let tally = tally_of("sleep 20 >/dev/null & exit 3");
        assert_eq!(tally.failures, ["a script (exit status: 3)"]);
        assert!(began.elapsed() < Duration::from_secs(15));
    }
}

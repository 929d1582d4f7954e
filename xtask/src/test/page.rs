//! The page of `profundo view` in a browser: the tests in `ui/test`, which also see that
//! `ui/dist/page.html` is what its sources make. They speak TAP, a line for each test.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result};

use super::again::Again;
use super::tally::Tally;

/// What the names of these tests begin with in the report.
const OURS: &str = "the page: ";

/// Seconds after which tests that hang are ended. They take about 6 minutes.
const LONGEST: &str = "1800";

/// Runs them with the command that the other tests have built.
pub fn run(root: &Path, target: &Path) -> Result<Tally> {
    let mut tally = Tally::default();
    let page = root.join("ui");
    if !works(Command::new("node").arg("--version")) {
        tally.skip("node is not installed, so the page is not tested (apt-get install nodejs npm)");
        return Ok(tally);
    }
    if !has_packages(&page) {
        let mut install = Command::new("npm");
        install.args(["ci", "--no-audit", "--no-fund"]);
        if !works(install.current_dir(&page)) {
            tally.skip("the packages of ui/ cannot be had, so the page is not tested (npm ci)");
            return Ok(tally);
        }
    }
    let whole = tests(&page, target, &[], |line| tap_line(&mut tally, line))?;
    if tally.failed == 0 && (!whole.success() || tally.passed + tally.skipped == 0) {
        tally.check(&format!("the page ({whole})"), false);
    }
    try_again(&page, target, &mut tally)?;
    Ok(tally)
}

/// Reruns the failed tests alone, if they are few.
fn try_again(page: &Path, target: &Path, tally: &mut Tally) -> Result<()> {
    const FEW: usize = 4;
    let names = tally.failures.iter();
    let names: Vec<String> = names
        .filter_map(|name| Some(name.strip_prefix(OURS)?.to_owned()))
        .collect();
    if names.is_empty() || names.len() > FEW {
        return Ok(());
    }
    println!("== tried again, alone: {}", names.join(", "));
    let mut again = Again::default();
    tests(page, target, &names, |line| match outcome(line) {
        Some((_, Outcome::Skipped(_))) | None => {}
        Some((name, found)) => again.note(&format!("{OURS}{name}"), found == Outcome::Passed),
    })?;
    again.correct(tally);
    Ok(())
}

/// Runs the tests of these names, or all if there is none. `look` gets each line of TAP.
fn tests(
    page: &Path,
    target: &Path,
    names: &[String],
    mut look: impl FnMut(&str),
) -> Result<ExitStatus> {
    let mut child = Command::new("timeout")
        .args(["--kill-after=10", LONGEST, "node", "--test-reporter=tap"])
        .args(names.iter().map(|name| pattern(name)))
        .arg("test/all.mjs")
        .env("PROFUNDO_COMMAND", target.join("debug/profundo"))
        .env("CARGO_TARGET_DIR", target)
        .env("FORCE_COLOR", "0")
        .current_dir(page)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run node under timeout")?;
    let output = child.stdout.take().context("node has no output")?;
    for line in BufReader::new(output).lines() {
        let line = line?;
        println!("{line}");
        look(&line);
    }
    Ok(child.wait()?)
}

/// The option that chooses one test. Its value is a regular expression of JavaScript's.
fn pattern(name: &str) -> String {
    let mut text = String::from("--test-name-pattern=^");
    for letter in name.chars() {
        if letter.is_ascii_punctuation() && letter != '-' && letter != '_' {
            text.push('\\');
        }
        text.push(letter);
    }
    text + "$"
}

fn works(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Whether the packages are there, and no older than the list of them.
fn has_packages(page: &Path) -> bool {
    let age = |path: &str| page.join(path).metadata()?.modified();
    let installed = age("node_modules/.package-lock.json");
    installed.is_ok_and(|installed| age("package-lock.json").is_ok_and(|list| list <= installed))
}

/// The result of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome<'a> {
    Passed,
    Failed,
    /// The test did not run, for this reason.
    Skipped(&'a str),
}

/// The name and the result in a line of TAP: `ok 1 - name`, `not ok 2 - name`, `ok 3 - name # SKIP
/// why`. Lines of tests within a test are indented.
fn outcome(line: &str) -> Option<(&str, Outcome<'_>)> {
    let named = |rest: &'_ str| -> Option<usize> { rest.find(" - ").map(|at| at + 3) };
    if let Some(rest) = line.strip_prefix("not ok ") {
        return Some((&rest[named(rest)?..], Outcome::Failed));
    }
    let rest = line.strip_prefix("ok ")?;
    let name = &rest[named(rest)?..];
    Some(match name.split_once(" # SKIP") {
        Some((name, why)) => (name, Outcome::Skipped(why.trim())),
        None => (name, Outcome::Passed),
    })
}

/// Counts a line of TAP.
fn tap_line(tally: &mut Tally, line: &str) {
    match outcome(line) {
        Some((name, Outcome::Passed)) => tally.check(name, true),
        Some((name, Outcome::Failed)) => tally.check(&format!("{OURS}{name}"), false),
        Some((_, Outcome::Skipped(why))) => tally.skip(why),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tap_are_counted() {
        let text = "TAP version 13\n# Subtest: a - b\nok 1 - a - b\n  ---\n    ok 1 - within\n\
                    not ok 2 - c\nok 3 - d # SKIP chromium is not installed\n1..3\n# pass 1";
        let mut tally = Tally::default();
        text.lines().for_each(|line| tap_line(&mut tally, line));
        assert_eq!((tally.passed, tally.failed, tally.skipped), (1, 1, 1));
        assert_eq!(tally.failures, ["the page: c"]);
        assert!(tally.reasons.contains_key("chromium is not installed"));
    }

    #[test]
    fn one_test_is_chosen_by_its_whole_name() {
        assert_eq!(
            pattern("a “b”, (c) the browser's"),
            r"--test-name-pattern=^a “b”\, \(c\) the browser\'s$"
        );
    }
}

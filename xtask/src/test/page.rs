//! The page of `profundo view` in a browser: the tests in `ui/test`, which also see that
//! `ui/dist/page.html` is what its sources make. They speak TAP, a line for each test.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::tally::Tally;

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
    let mut child = Command::new("node")
        .args(["--test-reporter=tap", "test/all.mjs"])
        .env("PROFUNDO_COMMAND", target.join("debug/profundo"))
        .env("CARGO_TARGET_DIR", target)
        .env("FORCE_COLOR", "0")
        .current_dir(&page)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run node")?;
    let output = child.stdout.take().context("node has no output")?;
    for line in BufReader::new(output).lines() {
        let line = line?;
        println!("{line}");
        tap_line(&mut tally, &line);
    }
    let status = child.wait()?;
    if tally.failed == 0 && (!status.success() || tally.passed + tally.skipped == 0) {
        tally.check(&format!("the page ({status})"), false);
    }
    Ok(tally)
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

/// Counts a line of TAP: `ok 1 - name`, `not ok 2 - name`, `ok 3 - name # SKIP why`. Lines of tests
/// within a test are indented.
fn tap_line(tally: &mut Tally, line: &str) {
    let named = |rest: &str| rest.split_once(" - ").map(|(_, name)| name.to_owned());
    if let Some(name) = line.strip_prefix("not ok ").and_then(named) {
        tally.check(&format!("the page: {name}"), false);
    } else if let Some(name) = line.strip_prefix("ok ").and_then(named) {
        match name.split_once(" # SKIP") {
            Some((_, why)) => tally.skip(why.trim()),
            None => tally.check(&name, true),
        }
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
}

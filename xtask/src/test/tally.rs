//! The results of the runners, added up. A test that this machine cannot run returns early, which
//! its runner counts as passed; it writes a line `skipped: <why>`, and is counted as skipped here.

use std::collections::BTreeMap;

use super::times::Times;

/// Counts over all runners.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
    /// The reasons for skips, with their numbers.
    pub reasons: BTreeMap<String, u64>,
    /// The names of failed tests and checks.
    pub failures: Vec<String>,
    /// Tests that failed among the others and passed alone.
    pub second_tries: Vec<String>,
    /// Runners that have started and not ended.
    pub running: u64,
    pub times: Times,
}

impl Tally {
    /// Counts a check that is not a test: one thing that passed or failed.
    pub fn check(&mut self, name: &str, passed: bool) {
        if passed {
            self.passed += 1;
        } else {
            self.failed += 1;
            self.failures.push(name.to_owned());
        }
    }

    /// Counts a whole step that cannot be run here.
    pub fn skip(&mut self, why: &str) {
        self.skipped += 1;
        *self.reasons.entry(why.to_owned()).or_default() += 1;
    }

    /// Reads a line of a test runner.
    pub fn runner_line(&mut self, line: &str) {
        self.times.runner_line(line);
        if line.starts_with("running ") && line.trim_end_matches('s').ends_with(" test") {
            self.running += 1;
        } else if let Some((_, counts)) = line.split_once("test result: ") {
            // Not always at the line's start: a test's child may have written before it.
            self.running = self.running.saturating_sub(1);
            self.passed += count(counts, "passed");
            self.failed += count(counts, "failed");
            self.skipped += count(counts, "ignored");
        } else if let Some((name, outcome)) = test_outcome(line) {
            if outcome == "FAILED" {
                self.failures.push(name.to_owned());
            } else if let Some(why) = outcome.strip_prefix("ignored") {
                let why = why.strip_prefix(", ").unwrap_or("marked as ignored");
                *self.reasons.entry(why.to_owned()).or_default() += 1;
            }
        }
    }

    /// Called when all runners are gone: one without a result died, and with it the tests that it
    /// had not counted.
    pub fn runners_gone(&mut self, name: &str) {
        for _ in 0..std::mem::take(&mut self.running) {
            self.check(&format!("{name}: a runner died before its result"), false);
        }
    }

    /// Reads a line in which a test reports its skip.
    pub fn skip_line(&mut self, line: &str) {
        if let Some(why) = line.trim().strip_prefix("skipped: ") {
            // Its runner counts it as passed.
            self.passed = self.passed.saturating_sub(1);
            self.skip(why);
        }
    }

    /// Adds the counts of a part of the run. Its tests are complete before, so its skipped tests
    /// are never taken from another part's passed ones.
    pub fn add(&mut self, part: Tally) {
        self.passed += part.passed;
        self.failed += part.failed;
        self.skipped += part.skipped;
        self.failures.extend(part.failures);
        self.second_tries.extend(part.second_tries);
        self.times.add(part.times);
        for (why, times) in part.reasons {
            *self.reasons.entry(why).or_default() += times;
        }
    }

    /// Prints what was skipped and what failed, and the closing line.
    pub fn print(&self) {
        for (why, times) in &self.reasons {
            println!("skipped {times} × {why}");
        }
        let failures = self.failures.iter();
        failures.for_each(|name| println!("FAILED  {name}"));
        println!("{}", self.closing_line());
    }

    /// The closing line.
    pub fn closing_line(&self) -> String {
        format!(
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        )
    }
}

/// The number before `what` in `ok. 3 passed; 0 failed; …`.
fn count(counts: &str, what: &str) -> u64 {
    let words: Vec<&str> = counts
        .split([' ', ';'])
        .filter(|word| !word.is_empty())
        .collect();
    let pair = words.windows(2).find(|pair| pair[1] == what);
    pair.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

/// The parts of `test some::name ... outcome`.
pub fn test_outcome(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("test ")?.rsplit_once(" ... ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(lines: &[&str]) -> Tally {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.runner_line(line));
        tally
    }

    #[test]
    fn all_runners_are_added_up() {
        let tally = tally(&[
            "running 4 tests",
            "test a ... ok",
            "test b::c ... FAILED",
            "test d ... ignored, needs two CPUs",
            "test e - f (line 3) ... ignored",
            "test result: FAILED. 1 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        ]);
        assert_eq!(tally.closing_line(), "6 passed, 1 failed, 2 skipped");
        assert_eq!(tally.failures, ["b::c"]);
        let reasons: Vec<_> = tally.reasons.keys().map(String::as_str).collect();
        assert_eq!(reasons, ["marked as ignored", "needs two CPUs"]);
    }

    #[test]
    fn a_runner_that_died_is_a_failure() {
        let mut tally = tally(&[
            "running 1 test",
            "noisetest result: ok. 1 passed; 0 failed",
            "running 7 tests",
        ]);
        tally.runners_gone("tests");
        assert_eq!(tally.closing_line(), "1 passed, 1 failed, 0 skipped");
    }

    #[test]
    fn what_says_that_it_was_skipped_did_not_pass() {
        let mut tally = tally(&["test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured"]);
        tally.skip_line("skipped: no perf_event_open");
        tally.skip_line("skipped: no perf_event_open");
        tally.skip_line("anything else");
        assert_eq!(tally.closing_line(), "1 passed, 0 failed, 2 skipped");
        assert_eq!(tally.reasons["no perf_event_open"], 2);
    }

    #[test]
    fn checks_count_as_tests_do() {
        let mut tally = Tally::default();
        tally.check("rustfmt", true);
        tally.check("clippy", false);
        tally.skip("Miri is not installed");
        let mut all = Tally::default();
        all.add(tally);
        assert_eq!(all.closing_line(), "1 passed, 1 failed, 1 skipped");
        assert_eq!(all.failures, ["clippy"]);
    }
}

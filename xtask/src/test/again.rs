//! Failed tests are retried alone: many of our tests judge times or numbers of ticks, and fail on a
//! machine that is busy with the tests beside them, or with another guest's work. A test that fails
//! alone too has failed. Others are named in the report, so that a test that often needs a retry is
//! seen.

use std::collections::BTreeSet;

use super::tally::{Tally, test_outcome};

/// The results of retries.
#[derive(Debug, Default)]
pub struct Again {
    passed: BTreeSet<String>,
    failed: BTreeSet<String>,
}

impl Again {
    /// Reads a line of a test runner.
    pub fn runner_line(&mut self, line: &str) {
        match test_outcome(line) {
            Some((name, "ok")) => self.note(name, true),
            Some((name, "FAILED")) => self.note(name, false),
            _ => {}
        }
    }

    /// Notes the result of a test.
    pub fn note(&mut self, name: &str, passed: bool) {
        let names = match passed {
            true => &mut self.passed,
            false => &mut self.failed,
        };
        names.insert(name.to_owned());
    }

    /// Corrects what the first run gave: tests that pass now did not fail. Several tests may have
    /// one name; one that fails again speaks for all of them.
    pub fn correct(&self, tally: &mut Tally) {
        let mended = |name: &String| self.passed.contains(name) && !self.failed.contains(name);
        let (passed, failed) = std::mem::take(&mut tally.failures)
            .into_iter()
            .partition::<Vec<_>, _>(mended);
        tally.failures = failed;
        let count = passed.len() as u64;
        tally.failed = tally.failed.saturating_sub(count);
        tally.passed += count;
        tally.second_tries.extend(passed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_passes_alone_is_forgiven() {
        let mut tally = Tally {
            passed: 10,
            failed: 3,
            failures: vec!["a".into(), "b".into(), "c".into()],
            ..Tally::default()
        };
        let mut again = Again::default();
        for line in [
            "running 2 tests",
            "test a ... ok",
            "test b ... FAILED",
            "test b ... ok",
        ] {
            again.runner_line(line);
        }
        again.correct(&mut tally);
        assert_eq!(tally.closing_line(), "11 passed, 2 failed, 0 skipped");
        assert_eq!(tally.failures, ["b", "c"]);
        assert_eq!(tally.second_tries, ["a"]);
    }
}

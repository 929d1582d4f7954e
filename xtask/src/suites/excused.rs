//! Tests that differ with the profiler and may: each has its reason.

use super::list::Suite;

/// An exception.
struct Excused {
    suite: &'static str,
    /// The beginning of the test's name.
    test: &'static str,
    reason: &'static str,
}

const EXCUSED: &[Excused] = &[Excused {
    suite: "psutil",
    test: "tests/test_process.py::TestProcess::test_weird_environ",
    reason: "/proc/PID/environ has the two variables that bring the agent into a child",
}];

/// The reason why a test may differ.
pub fn reason(suite: &Suite, test: &str) -> Option<&'static str> {
    let mut rows = EXCUSED.iter();
    let found = rows.find(|row| row.suite == suite.name && test.starts_with(row.test));
    found.map(|row| row.reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suites::list::SUITES;

    #[test]
    fn exceptions_are_of_known_suites() {
        for row in EXCUSED {
            let suite = SUITES.iter().find(|suite| suite.name == row.suite);
            let suite = suite.expect(row.suite);
            assert_eq!(reason(suite, row.test), Some(row.reason));
        }
    }
}

//! Tests that differ with the profiler and may: each has its reason.

use super::list::Suite;
use crate::sides::mode::Mode;

/// An exception.
struct Excused {
    suite: &'static str,
    /// The beginning of the test's name.
    test: &'static str,
    /// The only mode in which it holds; all, if none is named.
    mode: Option<Mode>,
    reason: &'static str,
}

const EXCUSED: &[Excused] = &[
    Excused {
        suite: "psutil",
        test: "tests/test_process.py::TestProcess::test_weird_environ",
        mode: None,
        reason: "/proc/PID/environ has the two variables that bring the agent into a child",
    },
    Excused {
        suite: "greenlet",
        test: "greenlet/tests/test_tracing.py::TestPythonTracing::test_trace_events_",
        mode: Some(Mode::Trace),
        reason: "beside any tool of sys.monitoring, CPython tells a function that sys.setprofile \
                 sets of the end of that call, too",
    },
];

/// The reason why a test may differ in a mode.
pub fn reason(suite: &Suite, test: &str, mode: Mode) -> Option<&'static str> {
    let mut rows = EXCUSED.iter();
    let found = rows.find(|row| {
        let is_meant = row.suite == suite.name && test.starts_with(row.test);
        is_meant && row.mode.is_none_or(|only| only == mode)
    });
    found.map(|row| row.reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suites::list::SUITES;

    #[test]
    fn exceptions_are_of_known_suites_and_hold_in_their_mode_only() {
        for row in EXCUSED {
            let suite = SUITES.iter().find(|suite| suite.name == row.suite);
            let suite = suite.expect(row.suite);
            let of = |mode| reason(suite, row.test, mode);
            assert_eq!(of(row.mode.unwrap_or_default()), Some(row.reason));
            assert_eq!(of(Mode::Run).is_some(), row.mode.is_none());
        }
    }
}

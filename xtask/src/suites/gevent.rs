//! Outcomes of gevent's own runner, from what it prints: a process and a line for each module, and
//! before that line the names of the tests that failed.

use std::collections::BTreeMap;

/// Outcomes of modules, such as `test__event.py`, and of tests that failed:
/// `test__event.py test_one (gevent.tests.test__event.TestEvent)`.
pub fn tests(log: &str) -> BTreeMap<String, String> {
    let log = without_colours(log);
    let mut tests = BTreeMap::new();
    let mut failed = Vec::new();
    for line in log.lines() {
        // What a module prints is indented.
        let inner = line.trim_start();
        for (word, outcome) in [("FAIL: ", "failed"), ("ERROR: ", "error")] {
            if let Some(name) = inner.strip_prefix(word) {
                failed.push((name.to_owned(), outcome));
            }
        }
        let is_end = line.starts_with("- ") || line.starts_with("! ");
        let Some((module, end)) = line
            .split_once(" -mgevent.tests.")
            .map(|(_, rest)| rest)
            .filter(|_| is_end)
            .and_then(|rest| rest.split_once(" ["))
        else {
            continue;
        };
        let module = format!("{module}.py");
        // `Ran 46 tests in 3.8s (skipped=4)`: the time is not an outcome.
        let end = end.trim_end_matches([']', ' ']);
        let words = end.split([' ', '[', ']']).filter(|word| !word.is_empty());
        let words: Vec<&str> = words
            .filter(|word| *word != "in" && !is_time(word))
            .collect();
        for (name, outcome) in failed.drain(..) {
            tests.insert(format!("{module} {name}"), outcome.to_owned());
        }
        tests.insert(module, words.join(" "));
    }
    tests
}

/// True for `3.8s` and `01:12`.
fn is_time(word: &str) -> bool {
    let digits = word.trim_end_matches('s');
    digits.contains(['.', ':'])
        && digits
            .chars()
            .all(|it| it.is_ascii_digit() || ".:".contains(it))
}

fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    plain
}

#[cfg(test)]
mod tests {
    #[test]
    fn modules_and_failed_tests_are_read() {
        let log = "\u{1b}[36mReaping 2 jobs\u{1b}[0m
- GEVENTTEST_USE_RESOURCES=-network /v/bin/python -u -mgevent.tests.test__queue [Ran 100 tests in 1.4s (skipped=4)]
  FAIL: test_it (gevent.tests.test__pool.TestPool.test_it)
\u{1b}[1;31m! /v/bin/python -u -mgevent.tests.test__pool [code 1] \u{1b}[1;35m[Ran 94 tests in 19.6s]\u{1b}[0m
Longest-running tests:
19.6 seconds: /v/bin/python -u -mgevent.tests.test__pool
 - /v/bin/python -u -mgevent.tests.test__pool
";
        let found: Vec<(String, String)> = super::tests(log).into_iter().collect();
        let found: Vec<(&str, &str)> = found.iter().map(|(a, b)| (&**a, &**b)).collect();
        assert_eq!(
            found,
            [
                ("test__pool.py", "code 1 Ran 94 tests"),
                (
                    "test__pool.py test_it (gevent.tests.test__pool.TestPool.test_it)",
                    "failed"
                ),
                ("test__queue.py", "Ran 100 tests (skipped=4)"),
            ]
        );
    }
}

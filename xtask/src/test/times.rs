//! The steps of a run, the slowest test programs, and the tests that their runners call slow. The
//! list at the end of a run shows what to shorten, or to mark as long.
//!
//! Seconds are of whole programs. libtest on a stable compiler does not say how long a test took,
//! but for one that takes longer than a minute.

use std::cmp::Reverse;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The number of programs in the report.
const SHOWN: usize = 20;

/// Steps, test programs and tests with their times.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// The program that runs now, as cargo names it.
    current: String,
    /// The steps of the run, in their order.
    steps: Vec<(Duration, String)>,
    programs: Vec<(Duration, String)>,
    /// Tests that took longer than a minute.
    slow: Vec<String>,
}

impl Times {
    /// Takes in a line of cargo's, which names the program that is run next. `root`: where it was
    /// run.
    pub fn cargo_line(&mut self, line: &str, root: &Path) {
        let line = line.trim();
        if let Some(program) = line.strip_prefix("Running ") {
            self.current = name(program, root);
        } else if let Some(package) = line.strip_prefix("Doc-tests ") {
            self.current = format!("{package} (documentation)");
        }
    }

    /// Takes in a line that a test runner printed.
    pub fn runner_line(&mut self, line: &str) {
        if let Some((_, seconds)) = line.split_once("; finished in ") {
            let seconds = seconds.trim_end_matches('s').parse().unwrap_or(0.0);
            if let Ok(time) = Duration::try_from_secs_f64(seconds) {
                self.programs.push((time, self.current.clone()));
            }
        } else if let Some(test) = line.strip_prefix("test ")
            && let Some((name, _)) = test.split_once(" has been running for over 60 seconds")
        {
            self.slow.push(format!("{name} of {}", self.current));
        }
    }

    /// Takes in a step of the run: building, and its programs.
    pub fn step(&mut self, time: Duration, name: &str) {
        self.steps.push((time, format!("step: {name}")));
    }

    /// Takes over those of a part.
    pub fn add(&mut self, part: Times) {
        self.steps.extend(part.steps);
        self.programs.extend(part.programs);
        self.slow.extend(part.slow);
    }

    /// The steps, then the slowest programs and tests, the slowest first.
    pub fn report(&self) -> Vec<String> {
        let seconds = |time: &Duration| time.as_secs_f64();
        let is_long = |time: &Duration| *time >= Duration::from_secs(1);
        let line = |(time, name): &(Duration, String)| format!("{:>7.1} s  {name}", seconds(time));
        let steps = (self.steps.iter())
            .filter(|(time, _)| is_long(time))
            .map(line);
        let mut programs: Vec<&(Duration, String)> = self.programs.iter().collect();
        programs.sort_by_key(|program| Reverse(program.0));
        let programs = (programs.into_iter())
            .take_while(|(time, _)| is_long(time))
            .take(SHOWN)
            .map(line);
        let slow = self.slow.iter();
        let slow = slow.map(|name| format!("{:>9}  {name}", "> 60 s"));
        steps.chain(programs).chain(slow).collect()
    }
}

/// The package and the source of `tests/it/main.rs (target/debug/deps/it-0123456789abcdef)`. Many
/// of ours have a `tests/it/main.rs`; the compiler's list of a program's sources names the package.
fn name(program: &str, root: &Path) -> String {
    let (source, file) = program.split_once(" (").unwrap_or((program, ""));
    let source = source.trim_start_matches("unittests ");
    let list = root.join(file.trim_end_matches(')')).with_extension("d");
    let list = fs::read_to_string(list).unwrap_or_default();
    let found = list.split_whitespace().find(|path| path.ends_with(source));
    found.unwrap_or(source).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_come_first_with_their_names() {
        let mut times = Times::default();
        for (program, seconds) in [("tests/it/main.rs", "3.50"), ("src/lib.rs", "0.20")] {
            let line = format!("     Running {program} (target/debug/deps/it-0123456789abcdef)");
            times.cargo_line(&line, Path::new("/nowhere"));
            times.runner_line(&format!(
                "test result: ok. 3 passed; 0 failed; finished in {seconds}s"
            ));
        }
        times.cargo_line("   Doc-tests profundo", Path::new("/nowhere"));
        times.runner_line("test a::b has been running for over 60 seconds");
        times.runner_line("test result: ok. 1 passed; 0 failed; finished in 61.00s");
        times.step(Duration::from_millis(90), "tidy");
        times.step(Duration::from_secs(2000), "tests");
        assert_eq!(
            times.report(),
            [
                " 2000.0 s  step: tests",
                "   61.0 s  profundo (documentation)",
                "    3.5 s  tests/it/main.rs",
                "   > 60 s  a::b of profundo (documentation)",
            ]
        );
    }
}

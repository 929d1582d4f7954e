//! Test programs, for cases that must not run in the process of the other tests: this test binary
//! is started again, and runs one function instead of its tests.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use crate::alone::alone;

/// Names the function to run.
const NAME: &str = "PROFUNDO_TEST_PROGRAM";

/// Longer than any program takes.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn stands_for_a_program() {
    let Some(name) = std::env::var_os(NAME) else {
        return;
    };
    match name.to_str().unwrap() {
        "fills its buffer" => crate::buffer::fills_its_buffer(),
        "does all at once" => crate::threads::does_all_at_once(),
        "has not begun" => has_not_begun(),
        "prints times" => prints_times(),
        "waits for a peek" => crate::peek::waits_for_a_peek(),
        "works during a peek" => crate::peek::works_during_a_peek(),
        "profiles during a peek" => crate::peek::profiles_during_a_peek(),
        "reports in its own way" => crate::peek::reports_in_its_own_way(),
        other => panic!("there is no program {other:?}"),
    }
}

/// A running program.
pub struct Program {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
    said: String,
    /// Sessions of this process wait: two programs at once would disturb each other's timing.
    _alone: MutexGuard<'static, ()>,
}

/// The output of a program.
pub struct Outcome {
    pub stdout: String,
    pub stderr: String,
}

impl Program {
    pub fn start(name: &str) -> Self {
        let alone = alone();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["program::stands_for_a_program", "--exact", "--nocapture"])
            .env(NAME, name)
            .env("COLUMNS", "200")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            stdin: child.stdin.take(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            stderr: BufReader::new(child.stderr.take().unwrap()),
            child,
            said: String::new(),
            _alone: alone,
        }
    }

    /// Waits until the program reports on stdout that it is ready; see `ready`.
    pub fn wait_until_ready(&mut self) {
        let mut line = String::new();
        while !line.contains("ready") {
            line.clear();
            let length = self.stdout.read_line(&mut line).unwrap();
            assert!(length > 0, "the program ended before it was ready");
        }
    }

    pub fn signal(&self) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-USR1", &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits until the program writes a line on stderr with this text; returns the output so far.
    pub fn wait_for(&mut self, text: &str) -> &str {
        loop {
            let start = self.said.len();
            let length = self.stderr.read_line(&mut self.said).unwrap();
            assert!(length > 0, "{text:?} was not said, but: {}", self.said);
            if self.said[start..].contains(text) {
                return &self.said;
            }
        }
    }

    /// Lets the program end, and asserts that it ends well.
    pub fn end(mut self) -> Outcome {
        // The program, if it waits for us, sees the end of its input.
        drop(self.stdin.take());
        let pid = self.child.id();
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        let watchdog = std::thread::spawn(move || {
            if is_done.recv_timeout(PATIENCE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
            }
        });
        let mut stderr = std::mem::take(&mut self.said);
        self.stderr.read_to_string(&mut stderr).unwrap();
        let mut stdout = String::new();
        self.stdout.read_to_string(&mut stdout).unwrap();
        let status = self.child.wait().unwrap();
        drop(done);
        watchdog.join().unwrap();
        assert!(status.success(), "{status}: {stdout}\n{stderr}");
        Outcome { stdout, stderr }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // A failed test leaves no process behind; a program that has ended is no longer ours.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In a program: reports that it is ready.
pub fn ready() {
    std::io::stdout().write_all(b"ready\n").unwrap();
}

/// In a program: waits for the test to end it.
pub fn wait_for_the_end() {
    let mut nothing = Vec::new();
    std::io::stdin().read_to_end(&mut nothing).unwrap();
}

fn has_not_begun() {
    let errors = [
        profundo::fetch().unwrap_err(),
        profundo::print().unwrap_err(),
        profundo::retrieve().unwrap_err(),
        profundo::callers("busy").ask().unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().contains("not initialized"), "{error}");
    }
    assert!(profundo::len() == 0 && !profundo::is_full() && !profundo::is_running());
    assert_eq!(profundo::init!(), (10_000_000, 0.001));
    assert!((profundo::get_peek_duration() - 1.0).abs() < 1e-9);
    // Neither has anything to do.
    profundo::clear();
    profundo::stop();
}

#[test]
fn before_the_first_session_there_is_nothing_to_show() {
    Program::start("has not begun").end();
}

fn prints_times() {
    let started = Instant::now();
    let value = profundo::time!(1 + 1);
    let value = profundo::time!("labelled", value + 1);
    let value = profundo::showtime!(value + 1);
    assert!(value == 4 && started.elapsed() < PATIENCE);
}

#[test]
fn times_are_printed_as_julia_prints_them() {
    let outcome = Program::start("prints times").end();
    let times: Vec<String> = outcome
        .stdout
        .lines()
        .filter(|line| line.ends_with(" seconds"))
        .map(|line| line.replace(|c: char| c.is_ascii_digit(), "0"))
        .collect();
    assert!(times[0].ends_with("  0.000000 seconds"), "{times:?}");
    let rest = ["labelled: 0.000000 seconds", "value + 0: 0.000000 seconds"];
    assert_eq!(times[1..], rest);
}

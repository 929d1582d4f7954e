//! A target: it is started, waited for up to a limit, and judged by its outcome.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use profundo_testing::{skip, wait_for_exit};

/// No target takes this long.
const PATIENCE: Duration = Duration::from_secs(300);

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Waits until no other target runs.
pub fn alone() -> MutexGuard<'static, ()> {
    // A test that failed has ended its target.
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A target to be run.
pub struct Target {
    command: Command,
}

/// A target's exit status and output.
#[derive(Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Target {
    pub fn new(program: &str) -> Self {
        let mut command = Command::new(program);
        command
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self { command }
    }

    pub fn with(mut self, arguments: &[&str]) -> Self {
        self.command.args(arguments);
        self
    }

    /// Runs the target to its end, which has to come in time.
    pub fn run(mut self) -> Outcome {
        let _alone = alone();
        let mut child = self.command.spawn().unwrap();
        let out = read(child.stdout.take().unwrap());
        let err = read(child.stderr.take().unwrap());
        let name = format!("{:?}", self.command);
        let status = wait_for_exit(&mut child, &name, PATIENCE);
        Outcome {
            status,
            stdout: out.join().unwrap(),
            stderr: err.join().unwrap(),
        }
    }

    /// Asserts that the target succeeds and prints this line only.
    pub fn assert_prints(self, line: &str) {
        let name = format!("{:?}", self.command);
        let outcome = self.run();
        for reason in outcome.stderr.lines() {
            if let Some(why) = reason.strip_prefix("skipped: ") {
                skip(why);
            }
        }
        assert!(outcome.status.success(), "{name}: {outcome:#?}");
        assert_eq!(outcome.stdout.trim_end(), line, "{name}: {outcome:#?}");
    }

    /// Asserts that this signal ends the target.
    pub fn assert_killed_by(self, signal: i32) {
        let name = format!("{:?}", self.command);
        let outcome = self.run();
        assert_eq!(
            outcome.status.signal(),
            Some(signal),
            "{name}: {outcome:#?}"
        );
    }
}

/// Reads to the end, on a thread of its own: a full pipe would make the target wait.
fn read(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        from.read_to_string(&mut text).unwrap();
        text
    })
}

/// Runs a test on each engine that this machine permits.
pub fn on_each_engine(test: impl Fn(&str)) {
    for engine in ["trap", "urgent", "timer"] {
        let probe = Target::new(env!("CARGO_BIN_EXE_refused"));
        let outcome = probe.with(&["nothing", engine]).run();
        if outcome.status.success() {
            test(engine);
        } else {
            skip(&format!("{engine}: {}", outcome.stderr.trim_end()));
        }
    }
}

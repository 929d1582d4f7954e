//! A target: how it is started, waited for with patience but not for ever, and judged.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use profundo_e2e::sys::skip;

/// No target takes this long.
const PATIENCE: Duration = Duration::from_secs(300);

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Waits until no other target runs.
pub fn alone() -> MutexGuard<'static, ()> {
    // A test that failed has ended its target.
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program to be run.
pub struct Target {
    command: Command,
}

/// How it ended, and what it wrote.
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

    /// Runs it to its end, which comes in time.
    pub fn run(mut self) -> Outcome {
        let _alone = alone();
        let mut child = self.command.spawn().unwrap();
        let out = read(child.stdout.take().unwrap());
        let err = read(child.stderr.take().unwrap());
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if began.elapsed() > PATIENCE {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{:?} hangs", self.command);
            }
            thread::sleep(Duration::from_millis(5));
        };
        Outcome {
            status,
            stdout: out.join().unwrap(),
            stderr: err.join().unwrap(),
        }
    }

    /// It ends well, and this is all that it says.
    pub fn says(self, line: &str) {
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

    /// A signal ends it, and nothing else.
    pub fn dies_of(self, signal: i32) {
        let name = format!("{:?}", self.command);
        let outcome = self.run();
        assert_eq!(
            outcome.status.signal(),
            Some(signal),
            "{name}: {outcome:#?}"
        );
    }
}

/// All that comes, on a thread of its own: a full pipe would make the target wait.
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

//! A program that is run twice in the same empty folder, as it is and under the profiler: what
//! it writes, what it leaves and how it ends must be the same, and take about as long.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

use profundo_testing::{profundo, wait_for};

use crate::recording::Recording;
use crate::targets::scratch;

/// No target takes this long.
pub const PATIENCE: Duration = Duration::from_secs(90);

static RUNNING: RwLock<()> = RwLock::new(());

/// Waits until no other target runs: for tests that measure time on the same few processors.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    // A test that has failed no longer has a running target.
    RUNNING.write().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until no target runs alone. Targets of this kind run at the same time, one for each test.
fn among_others() -> RwLockReadGuard<'static, ()> {
    RUNNING.read().unwrap_or_else(PoisonError::into_inner)
}

/// A closure that is called while the program runs, with the process that was started and its
/// folder.
type Meanwhile = Box<dyn Fn(&Child, &Path)>;

/// A program, not yet run.
pub struct Program {
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    is_bare: bool,
    options: Vec<OsString>,
    input: Vec<u8>,
    meanwhile: Option<Meanwhile>,
    slack: f64,
}

/// Options of the profiler that the whole suite is to be run with, as `--memory=exact`.
fn suite_options() -> Vec<OsString> {
    let options = std::env::var("PROFUNDO_E2E_OPTIONS").unwrap_or_default();
    options.split_whitespace().map(OsString::from).collect()
}

/// The options with which the agent is to come into each program while it runs, too, from
/// `PROFUNDO_E2E_INSIDE`: a word that is no option stands for `--inside`. `None`: it is not to
/// come.
fn options_inside() -> Option<Vec<OsString>> {
    let options = std::env::var("PROFUNDO_E2E_INSIDE").ok()?;
    let options = options.split_whitespace();
    let mut options: Vec<_> = options
        .filter(|option| option.starts_with('-'))
        .map(OsString::from)
        .collect();
    if options.is_empty() {
        options.push("--inside".into());
        options.extend(suite_options());
    }
    Some(options)
}

/// True if each program is run once more, while the agent comes into it.
pub fn is_entered_too() -> bool {
    options_inside().is_some()
}

/// The entries into one program.
#[derive(Debug, Default)]
struct Entries {
    done: usize,
    failed: usize,
    /// What the last one that failed has said.
    last_said: String,
}

/// How a program ended, what it wrote, and what it left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub stdout: String,
    pub stderr: String,
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// Names, modes and sizes.
    pub files: BTreeMap<String, (u32, u64)>,
}

impl Program {
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            arguments: vec![program.into()],
            environment: Vec::new(),
            is_bare: false,
            options: suite_options(),
            input: Vec::new(),
            meanwhile: None,
            slack: 1.0,
        }
    }

    pub fn with<A: Into<OsString> + Clone>(mut self, arguments: &[A]) -> Self {
        self.arguments
            .extend(arguments.iter().cloned().map(Into::into));
        self
    }

    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Leaves the program no other variables than the given ones. The profiler has all of them.
    pub fn bare(mut self) -> Self {
        self.is_bare = true;
        self
    }

    /// Options of the profiler.
    pub fn options(mut self, options: &[&str]) -> Self {
        self.options.extend(options.iter().map(OsString::from));
        self
    }

    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Calls a closure while the program runs, with the process that was started and the folder.
    pub fn meanwhile(mut self, does: impl Fn(&Child, &Path) + 'static) -> Self {
        self.meanwhile = Some(Box::new(does));
        self
    }

    /// Stops the recorder when the program has written the file "ready", and makes "go" for it.
    /// When the program has written "done", the recorder goes on, and "on" is made.
    pub fn without_recorder(self) -> Self {
        self.meanwhile(|child, folder| {
            let recorder = child.id() as i32;
            let is_recorded = wait_for_number(folder, "ready") != recorder;
            let send = |signal| {
                // SAFETY: the process is our child, and was not reaped.
                is_recorded.then(|| unsafe { libc::kill(recorder, signal) });
            };
            send(libc::SIGSTOP);
            fs::write(folder.join("go"), "").unwrap();
            wait_for_number(folder, "done");
            send(libc::SIGCONT);
            fs::write(folder.join("on"), "").unwrap();
        })
    }

    /// Permits more time, in seconds: each of many processes takes some to begin.
    pub fn slack(mut self, seconds: f64) -> Self {
        self.slack = seconds;
        self
    }

    /// Runs the program as it is and under the profiler. Both outcomes must be equal, and both must
    /// take about as long. Returns the recording.
    #[track_caller]
    pub fn run_both_ways(&self) -> Recording {
        let (recording, _) = self.run_both_ways_with(|outcome| outcome);
        recording
    }

    /// Runs the program as it is, and while the agent comes into it and leaves it again and again.
    /// Both outcomes must be equal.
    #[track_caller]
    pub fn run_entered_too(&self) {
        let _turn = among_others();
        let (plain, _) = self.run_without();
        let (entered, _) = self.run_entered(vec!["--inside".into()]);
        assert_eq!(
            plain,
            entered,
            "{:?}: without (left) and with an agent that comes and goes; {}",
            self.arguments,
            difference(&plain, &entered)
        );
    }

    /// Runs the program as it is, and so many times while the agent comes into it, each time at
    /// another moment, most of them near its end. All outcomes must be equal.
    #[track_caller]
    pub fn run_entered_near_its_end(&self, options: &[&str], times: u32) {
        let _turn = among_others();
        let (plain, took) = self.run_without();
        for time in 0..times {
            let option = options[time as usize % options.len()];
            // A command takes some time until it enters.
            let share = 0.3 + 0.7 * f64::from(time) / f64::from(times);
            let after = took.mul_f64(share);
            let (send, entry) = mpsc::channel();
            let (outcome, _) = self.run_beside(None, |child| {
                let (pid, send) = (child.id(), send.clone());
                let options = [option.into()];
                thread::spawn(move || {
                    // The moment is what is tried.
                    thread::sleep(after);
                    send.send(enter(pid, "5", &options).status.code())
                });
            });
            let entry = entry.recv_timeout(PATIENCE);
            assert!(entry.is_ok(), "{:?}: an entry hangs", self.arguments);
            assert_eq!(
                plain,
                outcome,
                "{:?}: without (left) and with an agent that comes by {option} after {after:?}; {}",
                self.arguments,
                difference(&plain, &outcome)
            );
        }
    }

    /// Like [`Self::run_both_ways`], for outcomes that `normalize` makes comparable.
    #[track_caller]
    pub fn run_both_ways_with(
        &self,
        normalize: impl Fn(Outcome) -> Outcome,
    ) -> (Recording, Outcome) {
        let _turn = among_others();
        let (plain, plain_took) = self.run_without();
        let file = scratch().join(format!("{}.profundo", number()));
        let (recorded, took) = self.run(Some(&file));
        if let Some(options) = options_inside() {
            let (entered, _) = self.run_entered(options);
            let (plain, entered) = (normalize(plain.clone()), normalize(entered));
            assert_eq!(
                plain,
                entered,
                "{:?}: without (left) and with an agent that comes and goes; {}",
                self.arguments,
                difference(&plain, &entered)
            );
        }
        let (plain, recorded) = (normalize(plain), normalize(recorded));
        let name = format!("{:?}", self.arguments);
        assert_eq!(
            plain,
            recorded,
            "{name}: without (left) and with the profiler; {}",
            difference(&plain, &recorded)
        );
        // On a machine that does something else, a program can take twice as long.
        let limit = plain_took * 3 + Duration::from_secs_f64(3.0 + self.slack);
        assert!(
            took <= limit,
            "{name}: {took:?} with the profiler, {plain_took:?} without"
        );
        let recording = Recording::read(&file, plain_took, took);
        let _ = fs::remove_file(&file);
        (recording, recorded)
    }

    /// Runs the program as it is.
    pub fn plain(&self) -> Outcome {
        let _turn = among_others();
        self.run(None).0
    }

    /// The command that starts the program; with a file, under the profiler that writes there.
    pub fn command(&self, file: Option<&Path>) -> Command {
        let mut command = match file {
            None => {
                let mut command = Command::new(&self.arguments[0]);
                command.args(&self.arguments[1..]);
                if self.is_bare {
                    command.env_clear();
                }
                command
            }
            Some(file) => {
                let mut command = Command::new(profundo());
                command.arg("record").args(&self.options);
                command.arg("-o").arg(file).arg("--");
                command.args(&self.arguments);
                if self.is_bare {
                    command.env_clear();
                }
                command
            }
        };
        command.env_remove("PROFUNDO_SKIP_FILE");
        for (name, value) in &self.environment {
            command.env(name, value);
        }
        command
    }

    /// Runs it as it is. A test that records one program in several ways runs it so only once.
    fn run_without(&self) -> (Outcome, Duration) {
        thread_local! {
            static OUTCOMES: RefCell<HashMap<String, (Outcome, Duration)>> = RefCell::default();
        }
        if self.meanwhile.is_some() {
            return self.run(None);
        }
        let (arguments, environment) = (&self.arguments, &self.environment);
        let input = &self.input;
        let key = format!("{arguments:?} {environment:?} {} {input:?}", self.is_bare);
        if let Some(outcome) = OUTCOMES.with_borrow(|outcomes| outcomes.get(&key).cloned()) {
            return outcome;
        }
        let outcome = self.run(None);
        OUTCOMES.with_borrow_mut(|outcomes| outcomes.insert(key, outcome.clone()));
        outcome
    }

    /// Runs it as it is, while the agent comes into it and leaves it again and again.
    fn run_entered(&self, options: Vec<OsString>) -> (Outcome, Duration) {
        let (send, entries) = mpsc::channel();
        let outcome = self.run_beside(None, |child| {
            let (pid, options, send) = (child.id(), options.clone(), send.clone());
            thread::spawn(move || send.send(enter_again_and_again(pid, &options)));
        });
        // The last one ends with the program.
        let entries = entries.recv_timeout(PATIENCE);
        assert!(entries.is_ok(), "{:?}: an entry hangs", self.arguments);
        outcome
    }

    fn run(&self, file: Option<&Path>) -> (Outcome, Duration) {
        self.run_beside(file, |_| ())
    }

    fn run_beside(&self, file: Option<&Path>, beside: impl Fn(&Child)) -> (Outcome, Duration) {
        // One folder for both, so that what the program prints about itself is the same.
        let folder = empty_folder();
        let mut command = self.command(file);
        command
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let began = Instant::now();
        let mut child = command.spawn().unwrap();
        let out = read(child.stdout.take().unwrap());
        let err = read(child.stderr.take().unwrap());
        let mut input = child.stdin.take().unwrap();
        let bytes = self.input.clone();
        let writer = thread::spawn(move || {
            // A program need not read it.
            let _ = input.write_all(&bytes);
        });
        beside(&child);
        if let Some(does) = &self.meanwhile {
            does(&child, &folder);
        }
        let status = wait(&mut child, &format!("{command:?}"));
        let took = began.elapsed();
        writer.join().unwrap();
        let outcome = Outcome {
            stdout: out.join().unwrap(),
            stderr: without_our_messages(&err.join().unwrap(), file.is_some()),
            code: status.code(),
            signal: status.signal(),
            files: files(&folder),
        };
        (outcome, took)
    }
}

/// Has the agent come into a process and leave it until the process ends.
fn enter_again_and_again(pid: u32, options: &[OsString]) -> Entries {
    let mut entries = Entries::default();
    while Path::new(&format!("/proc/{pid}/exe")).exists() {
        let output = enter(pid, "0.1", options);
        match output.status.success() {
            true => entries.done += 1,
            false => {
                entries.failed += 1;
                entries.last_said = String::from_utf8_lossy(&output.stderr).into_owned();
            }
        }
    }
    entries
}

/// Has the agent come into a process, and leave it after so many seconds.
fn enter(pid: u32, seconds: &str, options: &[OsString]) -> Output {
    let file = scratch().join(format!("{}-entered.profundo", number()));
    let mut command = Command::new(profundo());
    command.args(["attach", &pid.to_string(), "-d", seconds, "-o"]);
    command.arg(&file).args(options).stdin(Stdio::null());
    let output = command.output().unwrap();
    let _ = fs::remove_file(&file);
    output
}

/// The text without the profiler's messages after the program's end: whole lines that begin with
/// its name. A terminal may have shown something before them, without an end of the line.
pub fn without_our_messages(stderr: &str, is_recorded: bool) -> String {
    let mut kept = stderr;
    while is_recorded
        && let Some(at) = kept.rfind("profundo: ")
        && kept[at..].trim_end().lines().count() == 1
    {
        kept = &kept[..at];
    }
    kept.to_owned()
}

/// The first line that differs; nothing if the texts are equal.
fn difference(plain: &Outcome, recorded: &Outcome) -> String {
    let texts = [
        (&plain.stdout, &recorded.stdout),
        (&plain.stderr, &recorded.stderr),
    ];
    for (plain, recorded) in texts {
        let mut lines = plain.lines().zip(recorded.lines()).enumerate();
        if let Some((number, (a, b))) = lines.find(|(_, (a, b))| a != b) {
            return format!("line {}: {a:?}, and with the profiler {b:?}", number + 1);
        }
    }
    String::new()
}

/// An empty folder for this test's programs, which is the same at each call.
pub fn empty_folder() -> PathBuf {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        // Relaxed: a number for each, no more.
        static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    let number = NUMBER.with(|number| *number);
    let folder = scratch().join(format!("folder-{}-{number}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A number for the files of one run.
pub fn number() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{number}", std::process::id())
}

/// A child that is killed when this is dropped.
pub struct KilledOnDrop(pub Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for a child's end. One that hangs is killed with its group, and the test fails.
pub fn wait(child: &mut Child, name: &str) -> ExitStatus {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if began.elapsed() > PATIENCE {
            // SAFETY: only signals the group that we made for this child.
            unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
            let _ = child.kill();
            let _ = child.wait();
            panic!("{name} hangs");
        }
        thread::sleep(Duration::from_millis(3));
    }
}

/// Waits for a file in the program's folder, and returns the number in it.
#[track_caller]
pub fn wait_for_number(folder: &Path, name: &str) -> i32 {
    wait_for(name, || {
        let text = fs::read_to_string(folder.join(name)).ok()?;
        text.strip_suffix('\n')?.parse().ok()
    })
}

/// Reads to the end, on a thread of its own: a full pipe would make the program wait.
fn read(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn files(folder: &Path) -> BTreeMap<String, (u32, u64)> {
    let mut found = BTreeMap::new();
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let Ok(facts) = entry.metadata() else {
                continue;
            };
            if facts.is_dir() {
                folders.push(entry.path());
            }
            let name = entry.path().strip_prefix(folder).unwrap().to_owned();
            let size = if facts.is_dir() { 0 } else { facts.len() };
            found.insert(name.to_string_lossy().into_owned(), (facts.mode(), size));
        }
    }
    found
}

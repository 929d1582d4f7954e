//! A program that is run twice in the same empty folder, as it is and under the profiler: what
//! it writes, what it leaves and how it ends must be the same, and take about as long.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

use crate::command::profundo;
use crate::recording::Recording;
use crate::targets::scratch;

/// No target takes this long.
const PATIENCE: Duration = Duration::from_secs(90);

static RUNNING: RwLock<()> = RwLock::new(());

/// Waits until no other target runs: for those that measure time on the same few processors.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    // A test that failed has ended its target.
    RUNNING.write().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until no target runs that wants to be alone: there are as many at a time as there are tests.
fn among_others() -> RwLockReadGuard<'static, ()> {
    RUNNING.read().unwrap_or_else(PoisonError::into_inner)
}

/// What is done while the program runs; it is given the process that was started.
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
fn asked() -> Vec<OsString> {
    let asked = std::env::var("PROFUNDO_E2E_OPTIONS").unwrap_or_default();
    asked.split_whitespace().map(OsString::from).collect()
}

/// How it ended, what it wrote, and what it left.
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
            options: asked(),
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

    /// With no other environment than what is given. The profiler itself has all of it.
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

    /// Does something while it runs, with the process that was started and the folder.
    pub fn meanwhile(mut self, does: impl Fn(&Child, &Path) + 'static) -> Self {
        self.meanwhile = Some(Box::new(does));
        self
    }

    /// The recorder is stopped after the program has written the file "ready", which then finds "go", until it has
    /// written "done". Then it finds "on".
    pub fn without_recorder(self) -> Self {
        self.meanwhile(|child, folder| {
            let recorder = child.id() as i32;
            let is_recorded = told(folder, "ready") != recorder;
            let send = |signal| {
                // SAFETY: the process is our child, and was not waited for.
                is_recorded.then(|| unsafe { libc::kill(recorder, signal) });
            };
            send(libc::SIGSTOP);
            fs::write(folder.join("go"), "").unwrap();
            told(folder, "done");
            send(libc::SIGCONT);
            fs::write(folder.join("on"), "").unwrap();
        })
    }

    /// More time than others, in seconds: each of many processes takes some to begin.
    pub fn slack(mut self, seconds: f64) -> Self {
        self.slack = seconds;
        self
    }

    /// Runs it both ways, compares, and gives what was recorded.
    #[track_caller]
    pub fn same(&self) -> Recording {
        let (recording, _) = self.same_with(|outcome| outcome);
        recording
    }

    /// The same, but what may differ is evened out first.
    #[track_caller]
    pub fn same_with(&self, even: impl Fn(Outcome) -> Outcome) -> (Recording, Outcome) {
        let _turn = among_others();
        let (plain, plain_took) = self.run(None);
        let file = scratch().join(format!("{}.profundo", number()));
        let (recorded, took) = self.run(Some(&file));
        let (plain, recorded) = (even(plain), even(recorded));
        let name = format!("{:?}", self.arguments);
        assert_eq!(
            plain,
            recorded,
            "{name}: without (left) and with the profiler; {}",
            difference(&plain, &recorded)
        );
        // Twice as long is what a machine that does something else can do to it.
        let limit = plain_took * 3 + Duration::from_secs_f64(3.0 + self.slack);
        assert!(
            took <= limit,
            "{name}: {took:?} with the profiler, {plain_took:?} without"
        );
        let recording = Recording::read(&file, plain_took, took);
        let _ = fs::remove_file(&file);
        (recording, recorded)
    }

    /// Runs it as it is.
    pub fn plain(&self) -> Outcome {
        let _turn = among_others();
        self.run(None).0
    }

    /// The command that starts it.
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

    fn run(&self, file: Option<&Path>) -> (Outcome, Duration) {
        // The same for both, so that what it prints about itself is the same.
        let folder = folder();
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
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
        if let Some(does) = &self.meanwhile {
            does(&child, &folder);
        }
        let status = wait(&mut child, &format!("{command:?}"));
        let took = began.elapsed();
        writer.join().unwrap();
        let outcome = Outcome {
            stdout: out.join().unwrap(),
            stderr: without_ours(&err.join().unwrap(), file.is_some()),
            code: status.code(),
            signal: status.signal(),
            files: files(&folder),
        };
        (outcome, took)
    }
}

/// What the profiler says after the program has ended are whole lines that begin with its name; a
/// terminal may have shown something before them, without an end of the line.
pub fn without_ours(stderr: &str, is_recorded: bool) -> String {
    let mut kept = stderr;
    while is_recorded
        && let Some(at) = kept.rfind("profundo: ")
        && kept[at..].trim_end().lines().count() == 1
    {
        kept = &kept[..at];
    }
    kept.to_owned()
}

/// The first line that differs, where a text is long.
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

/// Where this test's programs run.
pub fn folder() -> PathBuf {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        // Relaxed: a number for each, no more.
        static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    let number = OWN.with(|own| *own);
    scratch().join(format!("folder-{}-{number}", std::process::id()))
}

/// A number that no other run has.
pub fn number() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{number}", std::process::id())
}

/// Waits with patience, but not for ever.
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

/// Waits until `what` gives something; the programs tell by files how far they are.
#[track_caller]
pub fn until<T>(name: &str, mut what: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = what() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "waited in vain for {name}");
        thread::sleep(Duration::from_millis(3));
    }
}

/// The number that a program wrote into a file of its folder, as soon as it is there.
#[track_caller]
pub fn told(folder: &Path, name: &str) -> i32 {
    until(name, || {
        let text = fs::read_to_string(folder.join(name)).ok()?;
        text.strip_suffix('\n')?.parse().ok()
    })
}

/// All that comes, on a thread of its own: a full pipe would make the program wait.
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

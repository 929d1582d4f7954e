//! Starts a program as the command does, and keeps the recorder's events.

use std::collections::BTreeMap;
use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use profundo_recorder::{Options, Recorder};
use profundo_testing::{Folder, compile_text, skip};
use profundo_wire::recording::{
    EnergyUsed, Event, Finish, Gauge, HowEnded, LossCounts, ModuleInfo, ProcessEnd, ProcessInfo,
    Start, ThreadInfo,
};
use profundo_wire::{Code, End, Reader, Record, State};

/// A sample, as far as tests need it.
#[derive(Debug, Clone)]
pub struct Sample {
    pub process: u32,
    pub thread: u32,
    pub clock: u64,
    pub weight: u64,
    pub state: State,
    pub end: End,
    pub frames: Vec<u64>,
    pub python: usize,
}

/// All events of a recording.
#[derive(Debug, Default)]
pub struct Recorded {
    pub start: Start,
    pub finish: Finish,
    pub processes: Vec<ProcessInfo>,
    pub ends: Vec<ProcessEnd>,
    pub modules: BTreeMap<u32, Vec<ModuleInfo>>,
    pub threads: BTreeMap<(u32, u32), ThreadInfo>,
    pub samples: Vec<Sample>,
    pub codes: usize,
    pub runtimes: Vec<String>,
    pub losses: BTreeMap<u32, LossCounts>,
    pub notes: Vec<String>,
    pub energy: Option<EnergyUsed>,
    pub gauges: Vec<Gauge>,
    pub wall: Duration,
    /// CPU time of the recorder's thread.
    pub recorder: Duration,
}

impl Recorded {
    pub fn take(&mut self, event: Event<'_>) {
        let known = |recorded: &Self, key: u32| recorded.processes.iter().any(|one| one.key == key);
        match event {
            Event::Process(process) => {
                assert!(!known(self, process.key), "announced twice: {process:?}");
                let parent = process.parent;
                assert!(
                    parent == 0 || known(self, parent),
                    "unknown parent: {process:?}"
                );
                self.processes.push(process);
            }
            Event::Modules { process, modules } => {
                assert!(known(self, process));
                self.modules.entry(process).or_default().extend(modules);
            }
            Event::Thread {
                process, thread, ..
            } => {
                assert!(known(self, process));
                self.threads.insert((process, thread.number), thread);
            }
            Event::Words { process, words } => {
                assert!(known(self, process));
                for record in Reader::new(words) {
                    match record.expect("a record") {
                        Record::Sample {
                            head,
                            frames,
                            python,
                        } => self.samples.push(Sample {
                            process,
                            thread: head.thread,
                            clock: head.clock,
                            weight: head.weight,
                            state: head.state,
                            end: head.end,
                            frames: frames.to_vec(),
                            python: python.len(),
                        }),
                        Record::Code(Code { .. }) => self.codes += 1,
                        // The rest is for ingest, which has tests of its own.
                        _ => {}
                    }
                }
            }
            Event::Runtime { runtime, .. } => self.runtimes.push(runtime),
            Event::Loss { process, loss } => {
                self.losses.insert(process, loss);
            }
            Event::Ended(end) => {
                assert!(known(self, end.process));
                let is_repeated = self.ends.iter().any(|other| other.process == end.process);
                assert!(!is_repeated, "ended twice: {end:?}");
                self.ends.push(end);
            }
            Event::Note(note) => self.notes.push(note),
            Event::Energy(used) => self.energy = Some(used),
            Event::Gauge(gauge) => {
                assert!(known(self, gauge.process));
                self.gauges.push(gauge);
            }
            _ => {}
        }
    }

    /// The programs whose command line contains `part`.
    pub fn programs(&self, part: &str) -> Vec<&ProcessInfo> {
        let holds = |process: &&ProcessInfo| process.command.contains(part);
        self.processes.iter().filter(holds).collect()
    }

    pub fn end_of(&self, key: u32) -> &ProcessEnd {
        let end = self.ends.iter().find(|end| end.process == key);
        end.expect("an end for each process")
    }

    pub fn samples_of(&self, key: u32) -> impl Iterator<Item = &Sample> {
        self.samples
            .iter()
            .filter(move |sample| sample.process == key)
    }

    /// The share of the samples' addresses in known modules.
    pub fn share_in_modules(&self) -> f64 {
        let (mut all, mut inside) = (0, 0);
        for sample in &self.samples {
            let modules = self.modules.get(&sample.process);
            for &address in &sample.frames {
                all += 1;
                let holds = |module: &ModuleInfo| (module.start..module.end).contains(&address);
                inside += u32::from(modules.is_some_and(|modules| modules.iter().any(holds)));
            }
        }
        f64::from(inside) / f64::from(all.max(1))
    }

    /// The share of whole samples.
    pub fn share_whole(&self) -> f64 {
        let whole = self.samples.iter().filter(|one| one.end == End::Root);
        whole.count() as f64 / self.samples.len().max(1) as f64
    }

    pub fn weight(&self) -> u64 {
        self.samples.iter().map(|sample| sample.weight).sum()
    }
}

/// Runs a program to its end.
pub fn run(options: Options, command: &[&str]) -> Recorded {
    run_with(options, command, &[], |_, _| {})
}

/// Runs a program with additional environment; `each` is called after each turn, with the program's
/// id.
pub fn run_with(
    options: Options,
    command: &[&str],
    environment: &[(&str, &str)],
    mut each: impl FnMut(&mut Recorder, u32),
) -> Recorded {
    let mut recorder = Recorder::create(options).expect("a session");
    let mut variables = recorder.environment(Path::new(command[0]));
    variables.extend(
        environment
            .iter()
            .map(|&(name, value)| (OsString::from(name), OsString::from(value))),
    );
    let child = Child::fork(command, &variables);
    recorder.watch(child.pid).expect("a child to watch");
    let mut recorded = Recorded {
        start: recorder.start(),
        ..Recorded::default()
    };
    let began = Instant::now();
    let cpu = thread_cpu();
    child.go();
    let how = Arc::new(Mutex::new(None));
    let waiter = {
        let (how, wake, pid) = (how.clone(), recorder.wake_handle(), child.pid);
        std::thread::spawn(move || {
            *how.lock().unwrap() = Some(wait(pid));
            wake.wake();
        })
    };
    let mut reaped = false;
    while !reaped || recorder.has_programs() {
        recorder.turn(&mut |event| recorded.take(event));
        each(&mut recorder, child.pid);
        let how = *how.lock().unwrap();
        if let Some(how) = how.filter(|_| !reaped) {
            recorder.exited(child.pid, how);
            // SAFETY: a child of ours that has ended.
            unsafe { libc::waitpid(child.pid as i32, std::ptr::null_mut(), 0) };
            reaped = true;
        }
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "it takes too long: {recorder:?}"
        );
    }
    waiter.join().unwrap();
    recorded.recorder = thread_cpu() - cpu;
    recorded.wall = began.elapsed();
    let directory = recorder.directory().to_owned();
    let mut last = Vec::new();
    let finish = recorder.finish(&mut |event| match event {
        Event::Words { process, words } => last.push((process, words.to_vec())),
        event => recorded.take(event),
    });
    for (process, words) in &last {
        let process = *process;
        recorded.take(Event::Words { process, words });
    }
    recorded.finish = finish;
    assert!(!directory.exists(), "the session stays behind");
    recorded
}

fn thread_cpu() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is ours to write.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Waits for the end of a process, without reaping it.
fn wait(pid: u32) -> HowEnded {
    // SAFETY: a child of ours; zeroed is a valid answer, and it is ours to write.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let flags = libc::WEXITED | libc::WNOWAIT;
        libc::waitid(libc::P_PID, pid, &mut info, flags);
        let status = info.si_status() as u8;
        if info.si_code == libc::CLD_EXITED {
            HowEnded::Exited(status)
        } else {
            HowEnded::Killed(status)
        }
    }
}

/// A child that waits for a byte before its exec.
pub struct Child {
    pub pid: u32,
    go: i32,
}

impl Child {
    pub fn fork(command: &[&str], environment: &[(OsString, OsString)]) -> Self {
        let text = |bytes: &[u8]| CString::new(bytes).unwrap();
        let words: Vec<CString> = command.iter().map(|word| text(word.as_bytes())).collect();
        let mut all: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        all.extend(environment.iter().cloned());
        let entries: Vec<CString> = all
            .iter()
            .map(|(name, value)| text(&[name.as_bytes(), b"=", value.as_bytes()].concat()))
            .collect();
        let pointers = |list: &[CString]| {
            let mut pointers: Vec<_> = list.iter().map(|one| one.as_ptr()).collect();
            pointers.push(std::ptr::null());
            pointers
        };
        let (words, entries) = (pointers(&words), pointers(&entries));
        let mut pipe = [0; 2];
        // SAFETY: two descriptors are written; the child calls nothing but what a signal handler
        // may, and what it needs was made before.
        unsafe {
            assert_eq!(libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC), 0);
            let pid = libc::fork();
            if pid == 0 {
                let mut byte = 0_u8;
                libc::close(pipe[1]);
                // Its output would be taken for the test's own: some programs are this very binary.
                let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY);
                libc::dup2(nowhere, libc::STDOUT_FILENO);
                libc::close(nowhere);
                libc::read(pipe[0], (&raw mut byte).cast(), 1);
                libc::execvpe(words[0], words.as_ptr(), entries.as_ptr());
                libc::_exit(127);
            }
            assert!(pid > 0);
            libc::close(pipe[0]);
            Self {
                pid: pid as u32,
                go: pipe[1],
            }
        }
    }

    pub fn go(&self) {
        // SAFETY: one byte to a pipe of ours.
        unsafe {
            libc::write(self.go, [1_u8].as_ptr().cast(), 1);
            libc::close(self.go);
        }
    }
}

/// A directory for a test's files. It is removed when this is dropped.
pub struct Scratch(Folder);

impl Scratch {
    pub fn new(name: &str) -> Self {
        Self(Folder::new(&format!("it-{name}")))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Compiles a C program; `None` without a compiler, or without one of the libraries.
    pub fn compile(&self, name: &str, source: &str, flags: &[&str]) -> Option<String> {
        let flags = [&["-O1", "-g"], flags].concat();
        let program = compile_text("gcc", &self.0, &format!("{name}.c"), source, &flags)?;
        Some(program.to_str().unwrap().to_owned())
    }

    pub fn options(&self) -> Options {
        Options {
            cache: Some(self.0.join("cache")),
            ..Options::default()
        }
    }
}

/// The agent, if it can be built here.
pub fn agent() -> Option<PathBuf> {
    static BUILT: std::sync::OnceLock<Option<PathBuf>> = std::sync::OnceLock::new();
    BUILT.get_or_init(build_agent).clone()
}

fn build_agent() -> Option<PathBuf> {
    let exe = std::env::current_exe().ok()?;
    // target/debug/deps/it-…
    let target = exe.parent()?.parent()?.parent()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.parent()?;
    if !root.join("crates/profundo-agent").exists() {
        return None;
    }
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "-q", "-p", "profundo-agent"])
        .env("CARGO_TARGET_DIR", target)
        .current_dir(root)
        .status();
    let agent = target.join("release/libprofundo_agent.so");
    if built.is_ok_and(|built| built.success()) && agent.exists() {
        return Some(agent);
    }
    skip("the agent cannot be built");
    None
}

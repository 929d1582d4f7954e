//! Running programs: they are attached to and left, and go on undisturbed.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use profundo_model::{Sample, State};
use profundo_testing::profundo;
use serde_json::Value;

use crate::program::{PATIENCE, alone};
use crate::recording::Recording;
use crate::targets::{c, pythons_for, scratch, source};

/// A running program, which goes on until its input ends.
pub struct Running {
    pub child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut running = Self { child, output };
        assert_eq!(running.until("\n"), "begun\n");
        running
    }

    pub fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// Writes to the program's input.
    pub fn say(&mut self, text: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(text.as_bytes()).unwrap();
    }

    /// The program's output up to a line, and with it.
    pub fn until(&mut self, last: &str) -> String {
        let mut text = String::new();
        while !text.ends_with(last) {
            self.await_output();
            assert_ne!(self.output.read_line(&mut text).unwrap(), 0, "{text}");
        }
        text
    }

    /// Waits for output, or for its end. A program that hangs fails its test, and no other.
    fn await_output(&mut self) {
        let mut output = libc::pollfd {
            fd: self.output.get_ref().as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let longest = PATIENCE.as_millis() as i32;
        // SAFETY: the descriptor is open, and the place is ours.
        if self.output.buffer().is_empty() && unsafe { libc::poll(&mut output, 1, longest) } == 0 {
            let _ = self.child.kill();
            panic!("process {} hangs", self.child.id());
        }
    }

    /// Ends the program. Returns the rest of its output, and its exit code.
    pub fn end(mut self) -> (String, Option<i32>) {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        loop {
            self.await_output();
            if self.output.read_line(&mut rest).unwrap() == 0 {
                break;
            }
        }
        let status = self.child.wait().unwrap();
        (rest, status.code())
    }
}

fn start_python(path: &Path) -> Running {
    let mut command = Command::new(path);
    command.arg(source("goes_on.py"));
    Running::start(command)
}

fn attach(arguments: &[&str]) -> Output {
    let mut command = Command::new(profundo());
    command
        .arg("attach")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Records a process, again if a busy machine has given it too little time for some samples.
fn attached(pid: &str, options: &[&str]) -> Recording {
    const ENOUGH: usize = 30;
    const TRIES: usize = 8;
    let file = scratch().join("attached.profundo");
    for tries in 1.. {
        let path = file.to_str().unwrap();
        let output = attach(&[&[pid, "-o", path], options].concat());
        assert!(output.status.success(), "{output:?}");
        assert!(!is_traced(pid));
        let took = std::time::Duration::from_secs(1);
        let recording = Recording::read(&file, took, took);
        let _ = std::fs::remove_file(&file);
        if recording.profile.samples.len() >= ENOUGH || tries == TRIES {
            return recording;
        }
    }
    unreachable!("the last try returns")
}

fn is_traced(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let tracer = status
        .lines()
        .find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.unwrap().trim() != "0"
}

/// The callers of each of the target's functions.
fn callers() -> std::collections::BTreeMap<String, Vec<String>> {
    let known = [
        ("calls_work", "main"),
        ("calls_packs", "main"),
        ("work", "calls_work"),
        ("packs", "calls_packs"),
        ("<genexpr>", "work"),
    ];
    let pairs = known.iter();
    pairs
        .map(|&(name, caller)| (name.to_owned(), vec![caller.to_owned()]))
        .collect()
}

#[test]
fn a_python_program_is_read_twice_and_goes_on() {
    for version in pythons_for("goes_on.py") {
        let _alone = alone();
        let running = start_python(&version.path);
        let pid = running.pid();
        for rate in ["100", "1000"] {
            let recording = attached(&pid, &["-d", "1.5", "-r", rate]);
            recording.assert_callers("goes_on.py", &callers());
            let names = ["work", "packs"].map(|name| recording.share(name));
            assert!(names.iter().all(|&share| share > 0.0), "{names:?}");
            let threads = recording.profile.threads.iter();
            let threads: Vec<&str> = threads
                .map(|thread| recording.profile.strings.get(thread.1.name))
                .collect();
            assert!(!threads.is_empty());
        }
        assert_eq!(running.end(), ("True 0\n".to_owned(), Some(7)));
    }
}

/// Busy programs, as many as are asked for. They end when this is dropped.
pub struct Load(pub Vec<Child>);

impl Load {
    fn start(programs: usize) -> Self {
        let spin = || {
            let mut command = Command::new("sh");
            command.args(["-c", "while :; do :; done"]);
            command.stdin(Stdio::null()).spawn().unwrap()
        };
        Self(std::iter::repeat_with(spin).take(programs).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn python_is_readable_on_a_busy_machine() {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    for version in pythons_for("goes_on.py on a busy machine") {
        let _alone = alone();
        let running = start_python(&version.path);
        let load = Load::start(4 * cpus);
        let recording = attached(&running.pid(), &["-d", "3", "-r", "1000"]);
        drop(load);
        let unreadable = recording.share("[Python, not readable]");
        assert!(unreadable < 20.0, "{unreadable} % of it is not readable");
        // Unread native code is not attributed to a native function.
        recording.assert_callers("goes_on.py", &callers());
        assert_eq!(running.end(), ("True 0\n".to_owned(), Some(7)));
    }
}

#[test]
fn children_that_are_there_already_are_seen() {
    let Some(version) = pythons_for("workers.py").into_iter().next() else {
        return;
    };
    let _alone = alone();
    let mut command = Command::new(&version.path);
    command.arg(source("workers.py"));
    let running = Running::start(command);
    let pid = running.pid();
    let recording = attached(&pid, &["-d", "1.5", "-r", "200"]);
    assert!(recording.share("burn") > 90.0, "{}", recording.outline());
    assert_eq!(recording.profile.processes.len(), 3);
    let threads = |options: &[&str]| {
        let output = attach(&[&["--dump", "--json"], options].concat());
        assert!(output.status.success(), "{output:?}");
        let dump: Value = serde_json::from_slice(&output.stdout).unwrap();
        dump["threads"].as_array().unwrap().len()
    };
    // On a busy machine a thread may not get a CPU in time to be held on it.
    let mut dumps = std::iter::repeat_with(|| threads(&[&pid])).take(5);
    assert!(dumps.any(|threads| threads == 3));
    assert_eq!(threads(&[&pid, "--no-children"]), 1);
    let other = Command::new("sleep").arg("60").spawn().unwrap();
    let both = format!("{pid},{}", other.id());
    let other = Load(vec![other]);
    assert_eq!(threads(&["--pid", &both, "--no-children"]), 2);
    drop(other);
    assert_eq!(running.end(), ("done\n".to_owned(), Some(7)));
}

#[test]
fn a_dump_has_the_stack_of_every_thread() {
    for version in pythons_for("a dump of goes_on.py") {
        let _alone = alone();
        let running = start_python(&version.path);
        // On a busy machine a thread may not get a CPU in time to be held on it.
        let dump = || {
            let output = attach(&[&running.pid(), "--dump", "--json"]);
            assert!(output.status.success(), "{output:?}");
            let dump: Value = serde_json::from_slice(&output.stdout).unwrap();
            dump["threads"].as_array().unwrap().clone()
        };
        let mut dumps = std::iter::repeat_with(dump).take(5);
        let was_held = |thread: &Value| !thread.to_string().contains("[failed to stop the thread]");
        let threads = dumps.find(|threads| threads.len() == 3 && threads.iter().all(was_held));
        let threads = threads.expect("three threads that were held");
        let functions = |name: &str| -> Vec<String> {
            let thread = threads.iter().find(|thread| thread["name"] == name);
            let thread = thread.unwrap_or_else(|| panic!("{name}: {threads:#?}"));
            let frames = thread["frames"].as_array().unwrap().iter();
            frames
                .filter_map(|frame| Some(frame["function"].as_str()?.to_owned()))
                .collect()
        };
        for name in ["sleeper", "waiter"] {
            let functions = functions(name);
            assert!(
                functions.iter().any(|function| function == name),
                "{functions:?}"
            );
        }
        let main = threads.iter().find(|thread| thread["thread"] == 1).unwrap();
        let main = main["name"].as_str().unwrap();
        assert!(functions(main).iter().any(|function| function == "main"));
        assert_eq!(running.end(), ("True 0\n".to_owned(), Some(7)));
    }
}

#[test]
fn a_native_program_is_read_and_none_of_its_calls_fails() {
    let Some(target) = c("goes_on.c", &[]) else {
        return;
    };
    let _alone = alone();
    let running = Running::start(Command::new(target));
    let pid = running.pid();
    let file = scratch().join("attached-native.profundo");
    for options in [&[][..], &["--wall"]] {
        let path = file.to_str().unwrap();
        let output = attach(&[&[&*pid, "-d", "1", "-r", "1000", "-o", path], options].concat());
        assert!(output.status.success(), "{output:?}");
        let took = std::time::Duration::from_secs(1);
        let recording = Recording::read(&file, took, took);
        // On a busy machine its threads wait for a CPU for most of the time. Nearly all that they
        // get is used in one place.
        let runs = |sample: &Sample| sample.state == State::Running;
        let burns =
            |sample: &Sample| runs(sample) && recording.names(sample).contains(&"burn_on_and_on");
        let (burning, running) = (
            recording.seconds_where(burns),
            recording.seconds_where(runs),
        );
        assert!(
            running > 0.0 && burning > 0.8 * running,
            "{burning} s of {running} s; {}",
            recording.outline()
        );
        let _ = std::fs::remove_file(&file);
    }
    let output = attach(&[&pid, "--dump"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("works") && said.contains("main"), "{said}");
    assert_eq!(running.end(), ("0\n".to_owned(), Some(7)));
}

/// Leaves a command's process one CPU, which it shares with other processes.
pub fn on_a_crowded_cpu(command: &mut Command, niceness: i32) -> &mut Command {
    // SAFETY: only system calls between fork and exec, on a place of the closure's.
    unsafe {
        command.pre_exec(move || {
            let mut cpus = std::mem::zeroed::<libc::cpu_set_t>();
            let size = size_of::<libc::cpu_set_t>();
            libc::sched_getaffinity(0, size, &mut cpus);
            let first = (0..libc::CPU_SETSIZE as usize).find(|&cpu| libc::CPU_ISSET(cpu, &cpus));
            libc::CPU_ZERO(&mut cpus);
            libc::CPU_SET(first.unwrap_or(0), &mut cpus);
            libc::sched_setaffinity(0, size, &cpus);
            libc::setpriority(libc::PRIO_PROCESS, 0, niceness);
            Ok(())
        })
    }
}

#[test]
fn the_only_thread_goes_on_even_if_it_stops_too_late() {
    let Some(version) = pythons_for("a crowded CPU").into_iter().next() else {
        return;
    };
    // The thread is asked to stop on a CPU that another program and profundo use nearly all the
    // time.
    let work = "print('begun', flush=True)\nwhile True: sum(range(1000))";
    let _alone = alone();
    let mut busy = Command::new("sh");
    let mut busy = on_a_crowded_cpu(busy.args(["-c", "while :; do :; done"]), 0)
        .spawn()
        .unwrap();
    let mut command = Command::new(&version.path);
    on_a_crowded_cpu(command.args(["-c", work]), 12);
    let mut running = Running::start(command);
    let file = scratch().join("attached-late.profundo");
    let path = file.to_str().unwrap();
    let mut command = Command::new(profundo());
    command.args([
        "attach",
        &running.pid(),
        "-d",
        "5",
        "-r",
        "1000",
        "-o",
        path,
    ]);
    let output = on_a_crowded_cpu(&mut command, 0).output().unwrap();
    let took = std::time::Duration::from_secs(5);
    let recording = Recording::read(&file, took, took);
    let _ = std::fs::remove_file(&file);
    for child in [&mut busy, &mut running.child] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(output.status.success(), "{output:?}");
    // A thread that was left stopped takes no samples any more.
    let half = recording.profile.meta.duration.0 / 2;
    let samples = &recording.profile.samples;
    let later = samples.iter().filter(|sample| sample.time.0 > half).count();
    assert!(
        later > 0,
        "{} samples, none in the second half",
        samples.len()
    );
}

#[test]
fn a_peek_shows_stacks_and_a_profile_and_sends_no_signal() {
    for version in pythons_for("a peek at goes_on.py") {
        let _alone = alone();
        let running = start_python(&version.path);
        let pid = running.pid();
        let peek = |options: &[&str]| {
            let mut command = Command::new(profundo());
            let output = command.args([&["peek", &*pid], options].concat()).output();
            output.unwrap()
        };
        let output = peek(&["-d", "0.5"]);
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        let (stacks, report) = said.split_once("\n\nQuality").unwrap_or((&said, ""));
        assert!(
            stacks.contains("sleeper") && stacks.contains("Thread 1"),
            "{said}"
        );
        assert!(
            report.contains("samples") && !said.contains("Next:"),
            "{said}"
        );
        // Its own handler for SIGUSR1 is not the one that would answer.
        let refused = peek(&["--signal"]);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        let why = String::from_utf8(refused.stderr).unwrap();
        assert!(why.contains("has not installed"), "{why}");
        assert_eq!(running.end(), ("True 0\n".to_owned(), Some(7)));
    }
}

#[test]
fn a_process_that_has_ended_is_an_error() {
    let mut child = Command::new("true").spawn().unwrap();
    let pid = child.id().to_string();
    child.wait().unwrap();
    for more in [&["-d", "1"][..], &["--dump"]] {
        let output = attach(&[&[&*pid], more].concat());
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(&pid) && said.lines().count() == 1, "{said}");
    }
}

//! All processes of the machine, recorded at once.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use profundo_model::{FileId, Profile, Sample, SourceFile};
use profundo_testing::{Folder as Temporary, Python, profundo, pythons, skip};
use serde_json::Value;

use crate::program::{alone, number};
use crate::recording::Recording;
use crate::targets::{c, scratch};

/// Python with one hot function, for some seconds.
const HOT: &str = "\
import sys, time
def hot_in_python(count):
    return sum(number * number % 7 for number in range(count))
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end: hot_in_python(20000)
";

/// A process that is ended with its test.
struct Beside(Child);

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Beside {
    fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::null());
        Self(command.stderr(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

fn record(options: &[&str], file: &Path) -> Output {
    let mut command = Command::new(profundo());
    command.args(["record", "-a", "-o"]).arg(file).args(options);
    command.stdin(Stdio::null()).output().unwrap()
}

/// The recording that these options make, or nothing, and skipped, where it is not permitted.
fn recorded(options: &[&str]) -> Option<Recording> {
    Some(recorded_and_reported(options)?.0)
}

/// Such a recording, and its report as JSON.
fn recorded_and_reported(options: &[&str]) -> Option<(Recording, Value)> {
    let file = scratch().join(format!("machine-{}.profundo", number()));
    let began = Instant::now();
    let output = record(options, &file);
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("all processes of the machine cannot be sampled") {
        skip("all processes of the machine cannot be sampled here");
        return None;
    }
    let recording = Recording::read(&file, began.elapsed(), began.elapsed());
    let mut report = Command::new(profundo());
    let report = report.arg("report").arg(&file).arg("--json").output();
    fs::remove_file(file).unwrap();
    let report = serde_json::from_slice(&report.unwrap().stdout).unwrap();
    Some((recording, report))
}

/// The samples of a process.
fn samples_of(profile: &Profile, pid: u32) -> impl Iterator<Item = &Sample> {
    let is_its = move |sample: &&Sample| {
        let process = profile.threads.get(sample.thread).process;
        profile.processes[process.index()].pid == pid
    };
    profile.samples.iter().filter(is_its)
}

fn seconds_of(profile: &Profile, pid: u32) -> f64 {
    samples_of(profile, pid)
        .map(|sample| sample.weight.0 as f64 / 1e9)
        .sum()
}

/// The CPU time that a process of one thread has used so far, in seconds.
fn cpu_of(pid: u32) -> f64 {
    let figures = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
    let nanoseconds = figures.split(' ').next().unwrap();
    nanoseconds.parse::<f64>().unwrap() / 1e9
}

/// What two processes use of the CPUs while something else happens, looked at all the time.
struct Meter {
    is_over: mpsc::Sender<()>,
    looks: JoinHandle<Vec<(f64, [f64; 2])>>,
}

impl Meter {
    fn start(pids: [u32; 2]) -> Self {
        let (is_over, ended) = mpsc::channel();
        let looks = thread::spawn(move || {
            let mut looks = Vec::new();
            while ended.recv_timeout(Duration::from_millis(10)) == Err(RecvTimeoutError::Timeout) {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
                looks.push((now.as_secs_f64(), pids.map(cpu_of)));
            }
            looks
        });
        Self { is_over, looks }
    }

    /// The CPU time of each between two moments, in seconds since 1970.
    fn between(self, from: f64, to: f64) -> [f64; 2] {
        drop(self.is_over);
        let looks = self.looks.join().unwrap();
        let at = |moment: f64| {
            let first_after = looks.partition_point(|&(when, _)| when < moment);
            looks[first_after.min(looks.len() - 1)].1
        };
        let (before, after) = (at(from), at(to));
        [after[0] - before[0], after[1] - before[1]]
    }
}

#[test]
fn processes_that_run_already_have_their_shares_and_their_names() {
    let (Some(hot), Some(python)) = (c("hot.c", &["-O1"]), pythons().last()) else {
        skip("there is no C compiler, or no CPython");
        return;
    };
    let _alone = alone();
    let native = Beside::start(Command::new(&hot).arg("60"));
    let script = Beside::start(Command::new(&python.path).args(["-c", HOT, "60"]));
    let pids = [native.pid(), script.pid()];
    let meter = Meter::start(pids);
    let Some((recording, report)) = recorded_and_reported(&["-d", "3", "-r", "499"]) else {
        return;
    };
    let profile = &recording.profile;
    assert!(profile.meta.is_of_machine);
    let began = profile.meta.started_at_unix as f64 / 1e9;
    let used = meter.between(began, began + profile.meta.duration.0 as f64 / 1e9);
    let processes = report["processes"].as_array().unwrap();
    for (&pid, used) in pids.iter().zip(used) {
        let its = processes.iter().find(|process| process["pid"] == pid);
        let reported = its.unwrap()["seconds"].as_f64().unwrap();
        let expected = used * 0.95 - 0.1..used * 1.05 + 0.1;
        assert!(expected.contains(&reported), "{reported} of {used}");
    }
    let of = |pid: u32, function: &str| {
        let its: Vec<&Sample> = samples_of(profile, pid).collect();
        let with = its
            .iter()
            .filter(|sample| recording.names(sample).contains(&function));
        100 * with.count() / its.len().max(1)
    };
    for function in ["six_parts", "main"] {
        let share = of(pids[0], function);
        assert!(
            share >= 45,
            "{function}: {share} %: {}",
            recording.outline()
        );
    }
    let share = of(pids[1], "hot_in_python");
    assert!(share >= 60, "{share} %: {}", recording.outline());
    let process = profile
        .processes
        .iter()
        .find(|process| process.pid == pids[1])
        .unwrap();
    let parent = process.parent.expect("its parent is there, too");
    assert_eq!(profile.processes[parent.index()].pid, std::process::id());
    let labels: Vec<&str> = process
        .labels
        .iter()
        .map(|&(key, _)| profile.strings.get(key))
        .collect();
    assert!(labels.contains(&"user"), "{labels:?}");
}

/// A C program in a folder of its own, whose source is written now.
fn written_now(folder: &Temporary, name: &str) -> Option<(PathBuf, PathBuf)> {
    let source = folder.path().join(name).with_extension("c");
    let program = folder.path().join(name);
    let text = "int main(void) { for (volatile int i = 0;; i++); }\n";
    fs::write(&source, text).unwrap();
    let mut gcc = Command::new("gcc");
    let gcc = gcc.args(["-g", "-O1", "-o"]).arg(&program).arg(&source);
    gcc.status()
        .is_ok_and(|status| status.success())
        .then_some((source, program))
}

#[test]
fn a_source_counts_as_changed_only_since_its_own_program_began() {
    let _alone = alone();
    let folder = Temporary::new("machine-sources");
    // Some process of the machine has begun before the sources were written.
    let (Some((kept, of_kept)), Some((touched, of_touched))) = (
        written_now(&folder, "kept"),
        written_now(&folder, "touched"),
    ) else {
        return skip("there is no C compiler");
    };
    let _kept = Beside::start(&mut Command::new(of_kept));
    let _touched = Beside::start(&mut Command::new(of_touched));
    sleep(Duration::from_millis(100));
    File::options()
        .append(true)
        .open(&touched)
        .unwrap()
        .set_modified(SystemTime::now())
        .unwrap();
    sleep(Duration::from_millis(100));
    let Some(recording) = recorded(&["-d", "1"]) else {
        return;
    };
    let profile = &recording.profile;
    let state = |path: &Path| {
        let mut states = profile.source_files.iter();
        let of_path = |file: FileId| profile.strings.get(profile.files.get(file).path);
        let found = states.find(|&(&file, _)| Path::new(of_path(file)) == path);
        *found.unwrap_or_else(|| panic!("{path:?}")).1
    };
    assert!(matches!(state(&kept), SourceFile::Ran(_)));
    assert_eq!(state(&touched), SourceFile::Rewritten);
}

/// The calls of `edges.py`, from the outermost on; `sorted` and `sum` stand between.
const CALLS: &[(&str, &str)] = &[
    ("<module>", "left"),
    ("left", "left_inner"),
    ("left_inner", "spin"),
    ("<module>", "right"),
    ("right", "spin"),
    ("<module>", "recurse"),
    ("recurse", "recurse"),
    ("recurse", "spin"),
    ("<module>", "sorts"),
    ("sorts", "key"),
    ("<module>", "adds"),
    ("adds", "numbers"),
];

#[test]
fn no_stack_of_python_is_impossible_where_many_want_the_cpus() {
    let Some(hot) = c("hot.c", &["-O1"]) else {
        return skip("there is no C compiler");
    };
    let _alone = alone();
    let _busy = [(); 3].map(|()| Beside::start(Command::new(&hot).arg("60")));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/targets/edges.py");
    let start = |python: &Python| Beside::start(Command::new(&python.path).args([script, "60"]));
    // Of the versions that link their frames on the native stack, and of others.
    let wanted = [(3, 8), (3, 11), (3, 12)];
    let chosen = pythons()
        .iter()
        .filter(|python| wanted.contains(&python.version));
    let programs: Vec<Beside> = chosen
        .flat_map(|python| [start(python), start(python)])
        .collect();
    let pids: Vec<String> = programs.iter().map(|one| one.pid().to_string()).collect();
    if pids.is_empty() {
        return skip("there is no CPython of these versions");
    }
    let mut options = vec!["-d", "8", "-r", "997"];
    pids.iter().for_each(|pid| options.extend(["--pid", pid]));
    let Some(recording) = recorded(&options) else {
        return;
    };
    let is_known = |name: &str| CALLS.iter().any(|call| call.0 == name || call.1 == name);
    let (mut whole, mut all) = (0, 0);
    for program in &programs {
        for sample in samples_of(&recording.profile, program.pid()) {
            let mut names = recording.names(sample);
            // Each module that is imported at the start has a `<module>` as well.
            if names.contains(&"_find_and_load") {
                continue;
            }
            names.retain(|name| is_known(name));
            names.reverse();
            for call in names.windows(2) {
                let call = (call[0], call[1]);
                assert!(CALLS.contains(&call), "{:?}", recording.names(sample));
            }
            all += sample.weight.0;
            let is_whole = names.first() == Some(&"<module>");
            whole += if is_whole { sample.weight.0 } else { 0 };
        }
    }
    let share = 100 * whole / all.max(1);
    assert!(share >= 80, "{share} %: {}", recording.outline());
}

#[test]
fn processes_that_end_before_they_are_looked_at_have_names_and_functions() {
    let Some(hot) = c("hot.c", &["-O1"]) else {
        skip("there is no C compiler");
        return;
    };
    let _alone = alone();
    // Each runs for a few hundredths of a second.
    let script = format!(
        "for i in $(seq 25); do {} 0.06; done; exit 3",
        hot.display()
    );
    let file = scratch().join("machine-short.profundo");
    let output = record(&["-r", "499", "--", "/bin/sh", "-c", &script], &file);
    if String::from_utf8_lossy(&output.stderr).contains("cannot be sampled") {
        skip("all processes of the machine cannot be sampled here");
        return;
    }
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let recording = Recording::read(&file, Duration::ZERO, Duration::ZERO);
    fs::remove_file(file).unwrap();
    let profile = &recording.profile;
    let is_short = |process: &&profundo_model::Process| {
        let command = profile.strings.get(process.command);
        command.starts_with(hot.to_str().unwrap())
            || command == hot.file_name().unwrap().to_str().unwrap()
    };
    let short: Vec<u32> = profile
        .processes
        .iter()
        .filter(is_short)
        .map(|process| process.pid)
        .collect();
    assert!(
        short.len() >= 20,
        "{}: {}",
        short.len(),
        recording.outline()
    );
    let its = || short.iter().flat_map(|&pid| samples_of(profile, pid));
    let parts = ["six_parts", "three_parts", "one_part"];
    let named = its().filter(|sample| {
        let names = recording.names(sample);
        parts.iter().any(|part| names.contains(part))
    });
    let (named, all) = (named.count(), its().count());
    // Some samples are of its start and its end.
    assert!(
        named * 10 >= all * 7,
        "{named} of {all}: {}",
        recording.outline()
    );
    // Each is a child of the shell, or what the shell's child has become.
    for process in profile.processes.iter().filter(is_short) {
        let parent = &profile.processes[process.parent.expect("a parent").index()];
        let command = profile.strings.get(parent.command);
        assert!(command.contains("sh"), "{command}");
    }
}

#[test]
fn a_process_that_becomes_another_program_has_its_time_once() {
    let Some(hot) = c("hot.c", &["-O1"]) else {
        skip("there is no C compiler");
        return;
    };
    let _alone = alone();
    let loops = "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done";
    let script = format!("{loops}; times; exec {} 0.5", hot.display());
    let file = scratch().join("machine-exec.profundo");
    let output = record(&["-r", "499", "--", "/bin/sh", "-c", &script], &file);
    if String::from_utf8_lossy(&output.stderr).contains("cannot be sampled") {
        skip("all processes of the machine cannot be sampled here");
        return;
    }
    let recording = Recording::read(&file, Duration::ZERO, Duration::ZERO);
    fs::remove_file(file).unwrap();
    let profile = &recording.profile;
    // The shell prints what it has used so far, as minutes and seconds.
    let said = String::from_utf8_lossy(&output.stdout);
    let shell: f64 = said
        .split_whitespace()
        .take(2)
        .map(|part| {
            part.split_once('m')
                .unwrap()
                .1
                .trim_end_matches('s')
                .parse::<f64>()
                .unwrap()
        })
        .sum();
    let name = hot.to_str().unwrap();
    let rows: Vec<&profundo_model::Process> = profile.processes.iter().collect();
    let last = rows
        .iter()
        .find(|row| profile.strings.get(row.command).starts_with(name))
        .unwrap();
    let first = rows[last.parent.expect("the shell").index()];
    assert_eq!(first.pid, last.pid);
    let used = |row: &profundo_model::Process| {
        (row.user.unwrap_or_default().0 + row.system.unwrap_or_default().0) as f64 / 1e9
    };
    assert!(
        (used(first) - shell).abs() < 0.15,
        "{} of {shell}",
        used(first)
    );
    assert!((0.4..0.7).contains(&used(last)), "{}", used(last));
}

#[test]
fn some_processes_are_chosen() {
    let Some(hot) = c("hot.c", &["-O1"]) else {
        skip("there is no C compiler");
        return;
    };
    let _alone = alone();
    let first = Beside::start(Command::new(&hot).arg("60"));
    let second = Beside::start(Command::new("/bin/sh").args(["-c", "while :; do :; done"]));
    sleep(Duration::from_millis(50));
    let [one, two] = [first.pid(), second.pid()].map(|pid| pid.to_string());
    let name = hot.file_name().unwrap().to_str().unwrap().to_owned();
    let pattern = format!("{}*", &name[..name.len() - 1]);
    for (options, chosen) in [
        (["--pid", &one], first.pid()),
        (["--comm", &pattern], first.pid()),
        (["--comm", "sh"], second.pid()),
        (["--pid", &two], second.pid()),
    ] {
        let Some(recording) = recorded(&[&["-d", "0.5"], &options[..]].concat()) else {
            return;
        };
        let profile = &recording.profile;
        assert!(
            seconds_of(profile, chosen) > 0.05,
            "{options:?}: {}",
            recording.outline()
        );
        let other = first.pid() + second.pid() - chosen;
        assert_eq!(seconds_of(profile, other), 0.0, "{options:?}");
        let notes = profile.meta.notes.join(" ");
        assert!(notes.contains("other processes used"), "{notes}");
    }
    let Some(recording) = recorded(&["-d", "0.2", "--user", "4294967000"]) else {
        return;
    };
    assert!(recording.profile.samples.is_empty());
}

#[test]
fn what_does_not_go_with_all_is_refused() {
    let file = scratch().join("machine-refused.profundo");
    for option in ["--wall", "--memory", "--last=5s", "--engine=perf-signal"] {
        let output = record(&["-d", "0.1", option], &file);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("leave one of both out"), "{said}");
        assert!(!file.exists());
    }
    let output = Command::new(profundo())
        .args(["record", "--pid", "1", "true"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let output = Command::new(profundo()).arg("record").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

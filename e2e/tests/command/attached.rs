//! Attaching to programs that are hard to read: deep recursion, a machine without perf events,
//! files that only the program sees.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use profundo_model::Engine;
use profundo_testing::{profundo, skip, tool, wait_for};

use crate::attach::{Load, Running, on_a_crowded_cpu};
use crate::program::alone;
use crate::recording::Recording;
use crate::targets::{c, pythons_for, scratch, with_version};

const UNREADABLE: &str = "[Python, not readable]";

/// Attaches under a shell's limits, and reads the recording.
fn attached(name: &str, limits: &str, arguments: &[&str]) -> (Recording, Output) {
    let file = scratch().join(name);
    let mut command = Command::new("sh");
    let script = format!("{limits} exec \"$0\" attach \"$@\"");
    command.args(["-c", &script]).arg(profundo());
    let output = command.args(arguments).arg("-o").arg(&file).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    let took = Duration::from_secs(1);
    let recording = Recording::read(&file, took, took);
    let _ = std::fs::remove_file(&file);
    (recording, output)
}

/// A recursion of more frames than are kept on any version.
const DEEP: &str = "
import sys, threading
sys.setrecursionlimit(20000)
threading.stack_size(256 << 20)
def burns():
    while True:
        for _ in range(1000): pass
def goes_down(n):
    if n: return goes_down(n - 1)
    print('begun', flush=True)
    burns()
threading.Thread(target=goes_down, args=(6000,), daemon=True).start()
sys.stdin.read()
sys.exit(7)
";

#[test]
fn deep_recursion_is_read() {
    // A frame of 3.8 has three native ones, and one of 3.10 has two, so either walk may be the one
    // that is cut earlier.
    let versions = with_version((3, 8), pythons_for("deep recursion"));
    for version in with_version((3, 10), versions) {
        let _alone = alone();
        let mut command = Command::new(&version.path);
        command.args(["-c", DEEP]);
        let running = Running::start(command);
        let arguments = [&*running.pid(), "-d", "2", "-r", "1000"];
        let (recording, _) = attached("attached-deep.profundo", "", &arguments);
        let unreadable = recording.share(UNREADABLE);
        let outline = recording.outline();
        assert!(unreadable < 50.0, "{version:?}: {unreadable} %, {outline}");
        // The kept part of a stack is below the reason why it is not whole.
        let deep = recording.profile.samples.iter();
        let deep = deep.filter(|sample| recording.names(sample).contains(&"goes_down"));
        let mut found = 0;
        for sample in deep {
            found += 1;
            let names = recording.names(sample);
            let outermost = names.last().copied();
            assert_eq!(outermost, Some("[truncated Python stack]"), "{outline}");
        }
        assert!(found > 0, "{version:?}: {outline}");
        assert_eq!(running.end(), (String::new(), Some(7)));
    }
}

/// The CPU time of a process in seconds, and true if it is a zombie.
fn cpu_time_of(pid: u32) -> (f64, bool) {
    const TICK: f64 = 0.01;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks = |at: usize| fields[at].parse::<f64>().unwrap();
    ((ticks(11) + ticks(12)) * TICK, fields[0] == "Z")
}

#[test]
fn the_cost_of_attaching_is_what_the_recorder_used() {
    const SECONDS: f64 = 3.0;
    let Some(version) = pythons_for("cost of attaching").into_iter().next() else {
        return;
    };
    let _alone = alone();
    let mut command = Command::new(&version.path);
    command.args(["-c", DEEP]);
    let running = Running::start(command);
    let file = scratch().join("attached-cost.profundo");
    let mut command = Command::new(profundo());
    command.args(["attach", &running.pid(), "-d", "3", "-r", "1000", "-o"]);
    command.arg(&file).stdout(Stdio::piped());
    let began = std::time::Instant::now();
    let recorder = command.spawn().unwrap();
    // Its CPU time at the last look while it was certainly recording, and in all.
    let mut while_recording = 0.0;
    let in_all = wait_for("the recorder's end", || {
        let (cpu, has_ended) = cpu_time_of(recorder.id());
        if !has_ended && began.elapsed().as_secs_f64() < SECONDS {
            while_recording = cpu;
        }
        has_ended.then_some(cpu)
    });
    let output = recorder.wait_with_output().unwrap();
    let took = Duration::from_secs(3);
    let recording = Recording::read(&file, took, took);
    let _ = std::fs::remove_file(&file);
    let said = recording.profile.meta.recorder_cpu.unwrap().0 as f64 / 1e9;
    assert!(while_recording > 0.0, "it reads deep stacks");
    // The kernel reports user and system time in whole ticks.
    assert!(
        while_recording <= said && said <= in_all + 0.02,
        "{while_recording} {said} {in_all}"
    );
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("Own cost: the program was held for "),
        "{text}"
    );
    assert!(
        text.contains(" % of its CPU time, profundo itself used "),
        "{text}"
    );
    assert_eq!(running.end(), (String::new(), Some(7)));
}

#[test]
fn without_perf_events_unread_time_goes_to_no_function() {
    /// Too few descriptors for a clock of each thread on each CPU, so that threads are polled.
    const FEW: &str = "ulimit -n 40;";
    const WORK: &str = "
import threading, time
for _ in range(60):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
print('begun', flush=True)
while True: sum(range(1000))
";
    let Some(version) = pythons_for("no perf events").into_iter().next() else {
        return;
    };
    let _alone = alone();
    let mut busy = Command::new("sh");
    let busy = on_a_crowded_cpu(busy.args(["-c", "while :; do :; done"]), 0).spawn();
    let mut command = Command::new(&version.path);
    on_a_crowded_cpu(command.args(["-c", WORK]), 8);
    let running = Running::start(command);
    let pid = running.pid();
    // Neither ends by itself.
    let both = Load(vec![busy.unwrap(), running.child]);
    let mut found = 0;
    for _ in 0..8 {
        let arguments = [&*pid, "-d", "2", "-r", "1000"];
        let (recording, output) = attached("attached-polled.profundo", FEW, &arguments);
        assert_eq!(recording.profile.meta.engine, Engine::ProcPoll);
        let samples = recording.profile.samples.iter();
        let mut unread = 0.0;
        for sample in samples {
            let names = recording.names(sample);
            if !names.contains(&"<module>") {
                assert_eq!(names.first(), Some(&UNREADABLE), "{names:?}");
                unread += sample.weight.0 as f64 / 1e9;
                found += 1;
            }
        }
        // The report warns as it does for any other engine.
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if unread > 0.06 * recording.seconds() {
            assert!(
                said.contains("Warning: ") && said.contains("could not be read"),
                "{said}"
            );
        }
        if found > 0 {
            break;
        }
    }
    drop(both);
    assert!(found > 0, "everything could be read");
}

/// Four busy children of one that sleeps.
const FOUR: &str = "
import os, time
def burn():
    while True: sum(range(1000))
children = []
for _ in range(4):
    child = os.fork()
    if child == 0: burn()
    children.append(child)
print('begun', flush=True)
import sys; sys.stdin.read()
for child in children: os.kill(child, 9)
";

#[test]
fn too_few_descriptors_are_named_and_few_are_enough() {
    let Some(version) = pythons_for("few descriptors").into_iter().next() else {
        return;
    };
    let _alone = alone();
    let with_limit = |limit: u32, words: &[&str]| {
        let mut command = Command::new("sh");
        let script = format!("ulimit -n {limit}; exec \"$0\" \"$@\"");
        command.args(["-c", &script]).arg(profundo()).args(words);
        command.stdin(Stdio::null()).output().unwrap()
    };
    let mut command = Command::new(&version.path);
    command.args(["-c", FOUR]);
    let running = Running::start(command);
    let pid = running.pid();
    let file = scratch().join("few-descriptors.profundo");
    let path = file.to_str().unwrap();
    for limit in [6, 12, 16, 32, 34, 40] {
        for words in [
            &["attach", &pid, "-d", "1", "-o", path][..],
            &["record", "-o", path, "--", "sh", "-c", "ulimit -n"][..],
        ] {
            let _ = std::fs::remove_file(&file);
            let output = with_limit(limit, words);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if !output.status.success() {
                assert!(limit < 40, "{limit}: {said}");
                assert_eq!(output.status.code(), Some(1), "{limit}: {said}");
                assert!(
                    said.contains("too few file descriptors") && said.contains("RLIMIT_NOFILE"),
                    "{limit}: {said}"
                );
                assert_eq!(said.lines().count(), 1, "{limit}: {said}");
                assert!(!file.exists());
                continue;
            }
            assert!(limit >= 28, "{limit}: {output:?}");
            let took = Duration::from_secs(1);
            let recording = Recording::read(&file, took, took);
            if words[0] == "record" {
                // The program has the limit that it would have without us.
                assert_eq!(
                    String::from_utf8_lossy(&output.stdout),
                    format!("{limit}\n")
                );
                continue;
            }
            assert!(!recording.profile.samples.is_empty(), "{limit}: {output:?}");
            // Threads without samples are named, for the right reason.
            let notes = recording.profile.meta.notes.join("; ");
            let processes = recording.profile.processes.len();
            let is_noted = notes.contains("too many open files");
            assert!(processes == 5 || is_noted, "{limit}: {processes}, {notes}");
            assert!(!notes.contains("not read"), "{limit}: {notes}");
        }
    }
    let _ = std::fs::remove_file(&file);
    assert_eq!(running.end().1, Some(0));
}

/// A program in a file system that only its own processes see.
const HIDDEN: &str =
    "mount -t tmpfs none /mnt && cp \"$0\" /mnt/hidden_program && exec /mnt/hidden_program";

#[test]
fn files_that_only_the_program_sees_have_names() {
    let (Some(target), Some(unshare)) = (c("goes_on.c", &[]), tool("unshare")) else {
        return;
    };
    let _alone = alone();
    let mut hidden = Command::new(&unshare);
    hidden.args(["-m", "sh", "-c", HIDDEN]).arg(&target);
    let mut probe = Command::new(&unshare);
    let probe = probe.args(["-m", "true"]).stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        skip("no mount namespaces can be made");
        return;
    }
    let running = Running::start(hidden);
    let arguments = [&*running.pid(), "-d", "2", "-r", "1000"];
    let (recording, _) = attached("attached-hidden.profundo", "", &arguments);
    let share = recording.share("burn_on_and_on");
    assert!(share > 50.0, "{share} %: {}", recording.outline());
    assert_eq!(running.end().1, Some(7));
}

/// Records a program in a file system that is gone when names are looked up.
fn recorded_hidden(flags: &[&str]) -> Option<Recording> {
    let (target, unshare) = (c("hot.c", flags)?, tool("unshare")?);
    let mut probe = Command::new(&unshare);
    let probe = probe.args(["-m", "true"]).stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        skip("no mount namespaces can be made");
        return None;
    }
    let _alone = alone();
    let file = scratch().join("hidden-run.profundo");
    let mut command = Command::new(profundo());
    command.arg("record").arg("-o").arg(&file).arg("--");
    command.arg(unshare).args(["-m", "sh", "-c", HIDDEN]);
    let output = command.arg(target).output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let took = Duration::from_secs(1);
    let recording = Recording::read(&file, took, took);
    let _ = std::fs::remove_file(&file);
    Some(recording)
}

fn is_gone_noted(recording: &Recording) -> bool {
    let notes = &recording.profile.meta.notes;
    notes
        .iter()
        .any(|note| note.contains("/mnt/hidden_program"))
}

#[test]
fn a_file_that_is_gone_at_the_lookup_of_names_was_kept_open() {
    let Some(recording) = recorded_hidden(&["-Wl,--build-id=sha1"]) else {
        return;
    };
    recording.assert_share("six_parts", 50.0);
    assert!(!is_gone_noted(&recording), "{}", recording.outline());
}

#[test]
fn a_file_without_a_build_id_that_is_gone_is_noted() {
    let Some(recording) = recorded_hidden(&["-Wl,--build-id=none"]) else {
        return;
    };
    assert!(is_gone_noted(&recording), "{}", recording.outline());
}

#[test]
fn a_recording_of_a_running_program_goes_to_the_standard_output() {
    let Some(target) = c("goes_on.c", &[]) else {
        return;
    };
    let _alone = alone();
    let running = Running::start(Command::new(target));
    let mut command = Command::new(profundo());
    let arguments = ["attach", &running.pid(), "-d", "0.5", "-o", "-"];
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let (profile, warnings) = profundo_formats::read(&output.stdout).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(profile.meta.engine, Engine::PerfRing);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("Quality: "), "the report: {said}");
    assert_eq!(running.end(), ("0\n".to_owned(), Some(7)));
}

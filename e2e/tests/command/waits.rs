//! Waiting threads, by line and kind: for as long as the program itself has measured.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use profundo_testing::profundo;
use serde_json::Value;

use crate::program::{Program, alone};
use crate::targets::{c, pythons_for, scratch, source};

/// The summary's rows on waiting.
fn waits(file: &std::path::Path) -> Vec<Value> {
    let mut command = Command::new(profundo());
    let output = command
        .args(["report", "--json", "--limit", "100"])
        .arg(file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    summary["waits"].as_array().unwrap().clone()
}

#[test]
fn waiting_is_measured_where_it_happens() {
    let target = source("known_waits.py");
    let text = fs::read_to_string(&target).unwrap();
    let text: Vec<&str> = text.lines().collect();
    for python in pythons_for("known_waits.py") {
        let _alone = alone();
        let file = scratch().join("known-waits.profundo");
        let program = Program::new(&python.path)
            .with(std::slice::from_ref(&target))
            .options(&["--wall"]);
        let output = program.command(Some(&file)).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let truth: Value = serde_json::from_slice(&output.stdout).unwrap();
        let rows = waits(&file);
        let of_line = |name: &str| {
            let at_line = |row: &&Value| {
                let line = row["at"]["line"].as_u64().unwrap_or(0) as usize;
                row["at"]["file"] == target.to_str().unwrap()
                    && line > 0
                    && text[line - 1].ends_with(&format!("# {name}"))
            };
            let rows = rows.iter().filter(at_line);
            rows.fold((0.0, Vec::new()), |(sum, mut kinds), row| {
                kinds.push(row["kind"].as_str().unwrap_or("").to_owned());
                (sum + row["seconds"].as_f64().unwrap(), kinds)
            })
        };
        for (name, kind, tolerance) in [
            ("sleeps", "sleep", 0.02),
            ("waits_for_lock", "lock", 0.02),
            ("reads_pipe", "read", 0.02),
            ("reads_socket", "read", 0.02),
            ("selects", "poll", 0.02),
            // Only some of many short sleeps are read, and a busy machine prolongs them.
            ("sleeps_shortly", "sleep", 0.4),
        ] {
            let known = truth[name].as_f64().unwrap();
            let (seconds, kinds) = of_line(name);
            // A woken thread also waits for a CPU and for the interpreter's lock.
            assert!(
                seconds <= known * (1.0 + tolerance) + 0.03
                    && seconds >= known * (1.0 - tolerance) - 0.25,
                "{:?}: {name} waited {known:.3} s, {seconds:.3} s by the recording: {rows:#?}",
                python.version
            );
            assert!(kinds.iter().any(|found| found == kind), "{name}: {kinds:?}");
        }
        let child = rows.iter().find(|row| row["kind"] == "child");
        let waited = child.unwrap()["seconds"].as_f64().unwrap();
        assert!(waited > 0.2, "{waited}");
        let _ = fs::remove_file(file);
    }
}

#[test]
fn waiting_calls_are_not_disturbed() {
    let Some(target) = c("waiting_calls.c", &[]) else {
        return;
    };
    let recording = Program::new(target).options(&["--wall"]).run_both_ways();
    assert!(recording.share("burn_between_calls") > 0.0);
}

/// The recording's duration, and the seconds that each line of `hangs.py` waited.
fn waits_of_hangs(file: &std::path::Path) -> (f64, HashMap<String, f64>) {
    let text = fs::read_to_string(source("hangs.py")).unwrap();
    let text: Vec<&str> = text.lines().collect();
    let mut seconds = HashMap::new();
    for row in waits(file) {
        let line = row["at"]["line"].as_u64().unwrap_or(0) as usize;
        let name = text
            .get(line.wrapping_sub(1))
            .and_then(|line| line.split_once("# "));
        if let Some((_, name)) = name {
            *seconds.entry(name.to_owned()).or_default() += row["seconds"].as_f64().unwrap();
        }
    }
    let mut command = Command::new(profundo());
    let output = command.args(["report", "--json"]).arg(file).output();
    let summary: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    let whole = summary["recording"]["duration_seconds"].as_f64();
    (whole.unwrap(), seconds)
}

/// The seconds that an interpreter takes to start: a second and more on a busy machine.
fn seconds_to_start(python: &std::path::Path) -> f64 {
    let _alone = alone();
    let began = Instant::now();
    let status = Command::new(python)
        .args(["-c", "import threading"])
        .status();
    assert!(status.unwrap().success());
    began.elapsed().as_secs_f64()
}

/// A thread that hangs still waits when the recording ends, whatever ends it.
#[test]
fn a_wait_that_goes_on_counts_when_recording_stops() {
    let target = source("hangs.py");
    for python in pythons_for("hangs.py") {
        let start = seconds_to_start(&python.path);
        let length = (1.0 + 3.0 * start).to_string();
        let whole = (2.2 + 4.0 * start).to_string();
        for options in [
            &["--wall", "-d", &length][..],
            &["--wall", "--start-after", "0.5", "-d", &length],
            &["--wall"],
        ] {
            let _alone = alone();
            let file = scratch().join("hangs.profundo");
            let program = Program::new(&python.path).with(&[target.to_str().unwrap(), &whole]);
            let program = program.options(options);
            let output = program.command(Some(&file)).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            let (whole, seconds) = waits_of_hangs(&file);
            for name in ["hangs", "reads", "main"] {
                let waited = seconds.get(name).copied().unwrap_or(0.0);
                // A busy machine starts the interpreter late.
                assert!(
                    waited > whole / 3.0 && waited <= whole + 0.05,
                    "{options:?}: {name} waited {waited:.3} s of {whole:.3}: {seconds:?}"
                );
            }
            let _ = fs::remove_file(file);
        }
    }
}

#[test]
fn a_wait_that_goes_on_counts_when_another_command_stops_or_clears() {
    let target = source("hangs.py");
    let Some(python) = pythons_for("hangs.py").into_iter().next() else {
        return;
    };
    let _alone = alone();
    let file = scratch().join("hangs-stopped.profundo");
    let program = Program::new(&python.path).with(&[target.to_str().unwrap(), "3"]);
    let mut command = program.options(&["--wall"]).command(Some(&file));
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let out = child.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut line).unwrap();
    assert_eq!(line, "begun\n");
    let pid = child.id().to_string();
    let control = |word: &str| {
        // Time itself: the thread waits between two commands.
        std::thread::sleep(Duration::from_millis(600));
        let status = Command::new(profundo()).args(["ctl", &pid, word]).status();
        assert!(status.unwrap().success(), "{word}");
    };
    // Time before `clear` is forgotten, and time from `stop` to `start` does not count.
    for word in ["clear", "stop", "start", "stop"] {
        control(word);
    }
    assert!(child.wait().unwrap().success());
    let (whole, seconds) = waits_of_hangs(&file);
    let waited = seconds.get("hangs").copied().unwrap_or(0.0);
    assert!(
        (waited - whole).abs() < 0.1 * whole + 0.03,
        "waited {waited:.3} s of {whole:.3}: {seconds:?}"
    );
    let _ = fs::remove_file(file);
}

#[test]
fn threads_that_never_worked_are_one_row() {
    let target = source("pools.py");
    for python in pythons_for("pools.py") {
        let _alone = alone();
        let file = scratch().join("pools.profundo");
        let program = Program::new(&python.path).with(std::slice::from_ref(&target));
        let program = program.options(&["--wall"]);
        let output = program.command(Some(&file)).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let rows = waits(&file);
        let idle: Vec<&Value> = rows.iter().filter(|row| row["kind"] == "idle").collect();
        let [idle] = &idle[..] else {
            panic!("{:?}: {rows:#?}", python.version)
        };
        assert_eq!(idle["threads"], 6, "{rows:#?}");
        assert_eq!(rows.last(), Some(*idle), "{rows:#?}");
        // The same line waits for three locks, and is one row.
        let locks: Vec<&Value> = rows.iter().filter(|row| row["locks"] == 3).collect();
        let [row] = &locks[..] else {
            panic!("{:?}: {rows:#?}", python.version)
        };
        assert_eq!(row["threads"], 3, "{row:#?}");
        assert_eq!(row["at"]["function"], "waits_for_one", "{row:#?}");
        // A line of the program waits in a line of the library.
        let fetches = rows
            .iter()
            .find(|row| row["at"]["function"] == "fetches")
            .unwrap_or_else(|| panic!("{:?}: {rows:#?}", python.version));
        let inside = fetches["inside"]["file"].as_str().unwrap_or_default();
        assert!(inside.ends_with("socket.py"), "{fetches:#?}");
        let _ = fs::remove_file(file);
    }
}

/// The lock has one name, though each wait for it may have a semaphore of its own.
#[test]
fn one_lock_is_one_for_all_that_wait_for_it() {
    let target = source("one_lock.py");
    for python in pythons_for("one_lock.py") {
        let _alone = alone();
        let file = scratch().join("one-lock.profundo");
        let program = Program::new(&python.path).with(std::slice::from_ref(&target));
        let program = program.options(&["--wall"]);
        let output = program.command(Some(&file)).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let rows = waits(&file);
        let of_line = |row: &&Value| row["at"]["function"] == "waits" && row["kind"] == "lock";
        let found: Vec<&Value> = rows.iter().filter(of_line).collect();
        let [row] = &found[..] else {
            panic!("{:?}: {rows:#?}", python.version)
        };
        assert_eq!(row["locks"], 1, "{:?}: {row:#?}", python.version);
        assert_eq!(row["threads"], 3, "{row:#?}");
        let _ = fs::remove_file(file);
    }
}

#[test]
fn the_holder_of_a_mutex_is_named() {
    let Some(target) = c("held_mutex.c", &["-g"]) else {
        return;
    };
    let _alone = alone();
    let file = scratch().join("held-mutex.profundo");
    let program = Program::new(&target).options(&["--wall"]);
    let output = program.command(Some(&file)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut command = Command::new(profundo());
    let output = command
        .args(["report", "--width", "120"])
        .arg(&file)
        .output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(
        text.contains("[waits for a lock held by thread 1 held_mutex]"),
        "{text}"
    );
    let rows = waits(&file);
    let held = rows.iter().find(|row| row["locks"] == 1);
    assert_eq!(held.map(|row| &row["threads"]), Some(&Value::from(3)));
    let _ = fs::remove_file(file);
}

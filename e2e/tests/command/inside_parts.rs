//! `attach --inside`: what is recorded besides CPU time is there as under `run`: tasks, waits that
//! began before the entry, and system calls.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use profundo_model::State;
use profundo_testing::{profundo, wait_for};
use serde_json::Value;

use crate::attach::Running;
use crate::inside::{entered, has_agent};
use crate::program::alone;
use crate::recording::Recording;
use crate::targets::{pythons_for, scratch, source, with_version};

fn start(python: &Path) -> Running {
    let mut command = Command::new(python);
    command.arg(source("tasks_inside.py"));
    Running::start(command)
}

/// The seconds of CPU time in the task of a name.
fn of_task(recording: &Recording, name: &str) -> f64 {
    let profile = &recording.profile;
    let mut tasks = profile.tasks.iter();
    let task = tasks.find(|(_, task)| profile.strings.get(task.name).starts_with(name));
    let (id, _) = task.unwrap_or_else(|| panic!("{name}: {}", recording.outline()));
    recording.seconds_where(|sample| sample.task == id)
}

#[test]
fn tasks_that_ran_before_the_entry_have_their_names_and_their_time() {
    for version in with_version(
        (3, 8),
        with_version((3, 12), pythons_for("tasks_inside.py")),
    ) {
        let _alone = alone();
        let running = start(&version.path);
        let Some(recording) = entered(&running.pid(), "inside-tasks.profundo", &["-d", "3"]) else {
            return;
        };
        recording.assert_sound();
        let (big, small) = (of_task(&recording, "big"), of_task(&recording, "small"));
        assert!(
            (2.0..4.5).contains(&(big / small)),
            "{version:?}: {big} {small}, {}",
            recording.outline()
        );
        assert_eq!(running.end(), (String::new(), Some(7)), "{version:?}");
    }
}

/// The number of calls and of failures of a system call.
fn counts(file: &Path, call: &str) -> Option<(u64, u64)> {
    let mut command = Command::new(profundo());
    command.arg("report").arg(file).args(["syscalls", "--json"]);
    let output = command.output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut rows = report["calls"].as_array().unwrap().iter();
    let row = rows.find(|row| row["call"] == call)?;
    let errors = row["errors"].as_array().unwrap().iter();
    let failed = errors.map(|error| error["count"].as_u64().unwrap()).sum();
    Some((row["count"].as_u64()?, failed))
}

#[test]
fn waits_and_system_calls_of_an_entered_program_are_the_programs_own() {
    const CALLS: u64 = 500;
    for version in with_version((3, 12), pythons_for("tasks_inside.py, --syscalls")) {
        let _alone = alone();
        let mut running = start(&version.path);
        let pid = running.pid();
        let file = scratch().join("inside-syscalls.profundo");
        let _ = fs::remove_file(&file);
        let mut recorder = Command::new(profundo())
            .args(["attach", &pid, "--inside", "--syscalls", "-d", "4", "-o"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let is_there = wait_for("the agent", || {
            has_agent(&pid)
                .then_some(true)
                .or_else(|| recorder.try_wait().unwrap().map(|_| false))
        });
        if !is_there {
            return profundo_testing::skip("no other process may be entered here");
        }
        running.say(&format!("{CALLS}\n"));
        running.until("done\n");
        assert!(recorder.wait().unwrap().success());
        let recording = Recording::read(&file, Duration::from_secs(4), Duration::from_secs(4));
        let waited = recording.seconds_where(|sample| {
            matches!(sample.state, State::WallWaiting | State::Sleeping)
                && recording.names(sample).contains(&"waits_all_the_time")
        });
        let outline = recording.outline();
        // It waited before, and goes on when all is over.
        assert!(
            (3.0..6.0).contains(&waited),
            "{version:?}: {waited}, {outline}"
        );
        // One line is printed, and one thread wakes another.
        if let Some((calls, _)) = counts(&file, "write") {
            assert!((CALLS..CALLS + 20).contains(&calls), "{version:?}: {calls}");
            assert_eq!(counts(&file, "rmdir"), Some((CALLS, CALLS)), "{version:?}");
            // The agent's own, for its checked reads.
            let own = counts(&file, "rt_sigprocmask").map_or(0, |(calls, _)| calls);
            assert!(own < 50, "{version:?}: {own}");
        }
        let _ = fs::remove_file(&file);
        assert_eq!(running.end(), (String::new(), Some(7)), "{version:?}");
    }
}

/// The share of the samples in spans of this name, in percent.
fn of_span(recording: &Recording, name: &str) -> f64 {
    let profile = &recording.profile;
    let is_it = |id| profile.strings.get(profile.spans.paths.get(id).name) == name;
    let within = |sample: &profundo_model::Sample| {
        let mut around = profile.spans.paths.outwards(sample.span);
        around.any(is_it)
    };
    100.0 * recording.seconds_where(within) / recording.seconds().max(1e-9)
}

#[test]
fn spans_of_a_running_program_are_recorded_from_the_entry_on() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/src");
    let versions = pythons_for("spans_inside.py");
    for version in with_version((3, 8), with_version((3, 13), versions)) {
        let _alone = alone();
        let mut command = Command::new(&version.path);
        command.arg(source("spans_inside.py")).arg(&package);
        let running = Running::start(command);
        for options in [&["-d", "1.5"][..], &["-d", "1.5", "--memory"]] {
            let Some(recording) = entered(&running.pid(), "inside-spans.profundo", options) else {
                return;
            };
            let shares = ["outer", "decorated"].map(|name| of_span(&recording, name));
            let outline = recording.outline();
            // Three quarters of the time, and one; the first spans were open before the entry.
            assert!(
                (65.0..85.0).contains(&shares[0]),
                "{version:?}: {shares:?}, {outline}"
            );
            assert!(
                (15.0..35.0).contains(&shares[1]),
                "{version:?}: {shares:?}, {outline}"
            );
            let count = recording.profile.spans.each.len();
            assert!(count > 50, "{version:?}: {count}");
        }
        assert_eq!(running.end(), ("True\n".to_owned(), Some(7)), "{version:?}");
    }
}

#[test]
fn spans_of_a_package_that_is_imported_after_the_entry_are_recorded() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/src");
    let versions = pythons_for("spans_inside.py");
    for version in with_version((3, 8), with_version((3, 13), versions)) {
        let _alone = alone();
        let mut command = Command::new(&version.path);
        command.arg(source("spans_inside.py"));
        command.arg(&package).arg("late");
        let running = Running::start(command);
        let options = ["-d", "4"];
        let Some(recording) = entered(&running.pid(), "inside-late-spans.profundo", &options)
        else {
            return;
        };
        let share = of_span(&recording, "outer");
        let count = recording.profile.spans.each.len();
        let outline = recording.outline();
        assert!(
            share > 30.0 && count > 10,
            "{version:?}: {share} % in {count} spans, {outline}"
        );
        assert_eq!(running.end(), ("True\n".to_owned(), Some(7)), "{version:?}");
    }
}

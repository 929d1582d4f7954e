//! Where threads wait, and for how long: compared with what the program itself has measured.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::command::profundo;
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
            // Which of many short ones are read is chance, and a busy machine has them last longer.
            ("sleeps_shortly", "sleep", 0.4),
        ] {
            let known = truth[name].as_f64().unwrap();
            let (seconds, kinds) = of_line(name);
            // Whoever is woken waits for a CPU and for the interpreter's lock besides.
            assert!(
                seconds <= known * (1.0 + tolerance) + 0.03
                    && seconds >= known * (1.0 - tolerance) - 0.25,
                "{:?}: {name} waited {known:.3} s, {seconds:.3} s by the recording: {rows:#?}",
                python.version
            );
            assert!(kinds.iter().any(|it| it == kind), "{name}: {kinds:?}");
        }
        let child = rows.iter().find(|row| row["kind"] == "child");
        let waited = child.unwrap()["seconds"].as_f64().unwrap();
        assert!(waited > 0.2, "{waited}");
        let _ = fs::remove_file(file);
    }
}

#[test]
fn nothing_that_waits_is_disturbed() {
    let Some(target) = c("waiting_calls.c", &[]) else {
        return;
    };
    let recording = Program::new(target).options(&["--wall"]).same();
    assert!(recording.share("burn_between_calls") > 0.0);
}

//! For a program without samples, the report says how it ended, and not what it might have done.

use std::fs;

use profundo_testing::skip;

use crate::machine::{Folder, Outcome, c_program};

const LONGER: &str = "Run it for longer";

/// The report on a program without samples: the period is too long for any.
fn run(folder: &Folder, words: &[&str]) -> Outcome {
    folder.run(&[&["run", "-r", "1", "-o", "x.profundo", "--"], words].concat())
}

#[test]
fn each_ending_has_its_sentence() {
    let folder = Folder::new();
    for (script, sentence) in [
        ("kill -SEGV $$", "was killed by SIGSEGV after"),
        ("no-such-command-here", "does not find a command"),
        ("exit 3", "ended with exit code 3 after"),
        ("sleep 0.4", "waited nearly all the time"),
    ] {
        let outcome = run(&folder, &["/bin/sh", "-c", script]);
        assert!(outcome.err.contains(sentence), "{script}: {outcome:#?}");
        assert!(!outcome.err.contains(LONGER), "{script}: {outcome:#?}");
    }
    let outcome = run(&folder, &["/bin/true"]);
    assert!(
        outcome.err.contains("the program ended after"),
        "{outcome:#?}"
    );
    assert!(outcome.err.contains("profundo time"), "{outcome:#?}");
    assert!(!outcome.err.contains(LONGER), "{outcome:#?}");
}

#[test]
fn a_program_that_cannot_be_loaded_did_not_run_too_shortly() {
    let folder = Folder::new();
    let Some(program) = c_program(&folder, "needs", "int main(void) { return 0; }") else {
        return;
    };
    let library = folder.path().join("libgone.so");
    let source = folder.file("gone.c", "int gone(void) { return 1; }\n");
    let compiled = std::process::Command::new("gcc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    let linked = std::process::Command::new("gcc")
        .args(["-x", "c", "-", "-Wl,--no-as-needed", "-o"])
        .args([&program, &library])
        .stdin(fs::File::open(folder.file("main.c", "int main(void) { return 0; }\n")).unwrap())
        .status();
    if !compiled.is_ok_and(|status| status.success())
        || !linked.is_ok_and(|status| status.success())
    {
        skip("no library can be linked here");
        return;
    }
    fs::remove_file(&library).unwrap();
    let outcome = run(&folder, &[program.to_str().unwrap()]);
    assert_eq!(outcome.code, Some(127), "{outcome:#?}");
    assert!(outcome.err.contains("could not be loaded"), "{outcome:#?}");
    assert!(!outcome.err.contains(LONGER), "{outcome:#?}");
}

/// A program that leaves a child behind, which works on for a while.
const LEAVES: &str = "(trap '' HUP; i=0; while [ $i -lt 120000 ]; do i=$((i+1)); done; echo done >done) >/dev/null 2>&1 </dev/null &";

#[test]
fn processes_that_live_on_are_named() {
    let folder = Folder::new();
    let script = "sleep 5 >/dev/null 2>&1 </dev/null & echo $!";
    let outcome = run(&folder, &["/bin/sh", "-c", script]);
    let pid = outcome.out.trim();
    // SAFETY: a process that this test has had started, and that has not ended.
    unsafe { libc::kill(pid.parse().unwrap(), libc::SIGTERM) };
    assert!(outcome.err.contains(&format!("{pid} (")), "{outcome:#?}");
    assert!(outcome.err.contains("lives on"), "{outcome:#?}");
    assert!(outcome.err.contains("--wait-all"), "{outcome:#?}");
    assert!(!outcome.err.contains(LONGER), "{outcome:#?}");
}

#[test]
fn wait_all_stays_until_the_last_one_has_ended() {
    let folder = Folder::new();
    let words = [
        "record",
        "--wait-all",
        "-o",
        "x.profundo",
        "--",
        "/bin/sh",
        "-c",
        LEAVES,
    ];
    let outcome = folder.run(&words);
    outcome.succeeded();
    assert!(folder.path().join("done").exists(), "{outcome:#?}");
    assert!(outcome.err.contains("is recorded until"), "{outcome:#?}");
    let report = folder.run(&["report", "x.profundo", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&report.out).unwrap();
    let processes = report["processes"].as_array().unwrap();
    let ended =
        |process: &serde_json::Value| process["exit_code"] == 0 || process["exit_code"].is_null();
    assert!(processes.iter().all(ended), "{processes:#?}");
    let samples = report["selection"]["samples"].as_u64().unwrap();
    assert!(samples > 10, "{samples}");
    // Without it, only what was done until then is in the recording.
    let outcome = folder.run(&["record", "-o", "y.profundo", "--", "/bin/sh", "-c", LEAVES]);
    assert!(outcome.err.contains("--wait-all"), "{outcome:#?}");
}

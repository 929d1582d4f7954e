//! A program that leaves no sample is told of by what became of it, and not by what it might have done.

use std::fs;

use crate::machine::{Folder, Said, c_program, skip};

const LONGER: &str = "Run it for longer";

/// The report on a program without samples: sampling is so rare that nobody is seen.
fn run(folder: &Folder, words: &[&str]) -> Said {
    folder.said(&[&["run", "-r", "1", "-o", "x.profundo", "--"], words].concat())
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
        let said = run(&folder, &["/bin/sh", "-c", script]);
        assert!(said.err.contains(sentence), "{script}: {said:#?}");
        assert!(!said.err.contains(LONGER), "{script}: {said:#?}");
    }
    let said = run(&folder, &["/bin/true"]);
    assert!(said.err.contains("the program ended after"), "{said:#?}");
    assert!(said.err.contains("profundo time"), "{said:#?}");
    assert!(!said.err.contains(LONGER), "{said:#?}");
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
    if !compiled.is_ok_and(|it| it.success()) || !linked.is_ok_and(|it| it.success()) {
        skip("no library can be linked here");
        return;
    }
    fs::remove_file(&library).unwrap();
    let said = run(&folder, &[program.to_str().unwrap()]);
    assert_eq!(said.code, Some(127), "{said:#?}");
    assert!(said.err.contains("could not be loaded"), "{said:#?}");
    assert!(!said.err.contains(LONGER), "{said:#?}");
}

/// A program that leaves a child behind, which works on for a while.
const LEAVES: &str = "(trap '' HUP; i=0; while [ $i -lt 120000 ]; do i=$((i+1)); done; echo done >done) >/dev/null 2>&1 </dev/null &";

#[test]
fn who_lives_on_is_named() {
    let folder = Folder::new();
    let script = "sleep 5 >/dev/null 2>&1 </dev/null & echo $!";
    let said = run(&folder, &["/bin/sh", "-c", script]);
    let pid = said.out.trim();
    // SAFETY: a process that this test has had started, and that has not ended.
    unsafe { libc::kill(pid.parse().unwrap(), libc::SIGTERM) };
    assert!(said.err.contains(&format!("{pid} (")), "{said:#?}");
    assert!(said.err.contains("lives on"), "{said:#?}");
    assert!(said.err.contains("--wait-all"), "{said:#?}");
    assert!(!said.err.contains(LONGER), "{said:#?}");
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
    let said = folder.said(&words);
    said.succeeded();
    assert!(folder.path().join("done").exists(), "{said:#?}");
    assert!(said.err.contains("is recorded until"), "{said:#?}");
    let report = folder.said(&["report", "x.profundo", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&report.out).unwrap();
    let processes = report["processes"].as_array().unwrap();
    let ended = |it: &serde_json::Value| it["exit_code"] == 0 || it["exit_code"].is_null();
    assert!(processes.iter().all(ended), "{processes:#?}");
    let samples = report["selection"]["samples"].as_u64().unwrap();
    assert!(samples > 10, "{samples}");
    // Without it, only what was done until then is in the recording.
    let said = folder.said(&["record", "-o", "y.profundo", "--", "/bin/sh", "-c", LEAVES]);
    assert!(said.err.contains("--wait-all"), "{said:#?}");
}

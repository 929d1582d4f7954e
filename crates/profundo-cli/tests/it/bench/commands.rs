//! Commands: what is run around them, what is thrown away, what is an error, and Ctrl-C.

use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use crate::machine::{Folder, Outcome};

fn log(folder: &Folder) -> String {
    fs::read_to_string(folder.path().join("log")).unwrap_or_default()
}

#[test]
fn runs_and_what_is_done_around_them_are_counted() {
    let folder = Folder::new();
    let outcome = folder.run(&[
        "bench",
        "printf r >> log",
        "--runs",
        "3",
        "--warmup",
        "2",
        "--prepare",
        "printf p >> log",
        "--setup",
        "printf s >> log",
        "--cleanup",
        "printf c >> log",
    ]);
    outcome.succeeded();
    assert_eq!(log(&folder), format!("s{}c", "pr".repeat(5)));
    assert!(
        outcome.out.starts_with("printf r >> log\n  mean ± σ "),
        "{outcome:#?}"
    );
    assert!(outcome.out.contains("3 runs, median"), "{outcome:#?}");
    assert!(
        outcome.out.contains("The start of the shell, "),
        "{outcome:#?}"
    );
}

#[test]
fn several_run_in_turn() {
    let folder = Folder::new();
    let outcome = folder.run(&[
        "bench",
        "printf a >> log",
        "printf b >> log",
        "-r",
        "10",
        "--prepare",
        "printf 1 >> log",
        "--prepare",
        "printf 2 >> log",
    ]);
    outcome.succeeded();
    let log = log(&folder);
    assert_eq!(log.len(), 40);
    let rounds: Vec<&[u8]> = log.as_bytes().chunks(4).collect();
    assert!(
        rounds
            .iter()
            .all(|round| matches!(*round, b"1a2b" | b"2b1a")),
        "{log}"
    );
    assert_eq!(
        rounds
            .iter()
            .filter(|round| round.starts_with(b"1"))
            .count(),
        5,
        "{log}"
    );
}

#[test]
fn a_slower_one_is_reported() {
    let folder = Folder::new();
    let outcome = folder.run(&[
        "bench",
        "-r8",
        "-N",
        "sleep 0.02",
        "sleep 0.1",
        "--name",
        "quick",
    ]);
    assert!(
        outcome.succeeded().out.contains("`quick` is "),
        "{outcome:#?}"
    );
    assert!(
        outcome.out.contains(" times faster than `sleep 0.1`."),
        "{outcome:#?}"
    );
    // Nothing is taken off where there is no shell.
    assert!(!outcome.out.contains("shell"), "{outcome:#?}");
}

#[test]
fn times_are_those_of_the_command() {
    let folder = Folder::new();
    let ask = ["bench", "--json", "-r3", "--", "sleep", "0.2"];
    let json: serde_json::Value = serde_json::from_str(&folder.run(&ask).succeeded().out).unwrap();
    let one = &json["candidates"][0];
    assert_eq!(
        (&one["text"], &json["subject"]),
        (&"sleep 0.2".into(), &"command".into())
    );
    let best = one["best_seconds"].as_f64().unwrap();
    assert!((0.2..2.0).contains(&best), "{one}");
    assert!(one["user_seconds"].as_f64().unwrap() < 0.1, "{one}");
    // By the clock of the process it took next to nothing; and work in a child that was waited for
    // counts.
    let cpu = ["bench", "-p", "--json", "-r3", "--", "sleep", "0.2"];
    let json: serde_json::Value = serde_json::from_str(&folder.run(&cpu).succeeded().out).unwrap();
    assert!(
        json["candidates"][0]["best_seconds"].as_f64().unwrap() < 0.1,
        "{json}"
    );
    let work = "(i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done); true";
    let ask = ["bench", "--json", "-r3", work];
    let json: serde_json::Value = serde_json::from_str(&folder.run(&ask).succeeded().out).unwrap();
    assert!(
        json["candidates"][0]["user_seconds"].as_f64().unwrap() > 0.005,
        "{json}"
    );
}

#[test]
fn a_command_that_fails_is_an_error() {
    let folder = Folder::new();
    folder
        .run(&["bench", "exit 3", "-r2"])
        .refused(1, "`exit 3` ended with exit code 3");
    folder
        .run(&["bench", "kill -9 $$", "-r2"])
        .refused(1, "was killed by signal 9");
    folder
        .run(&["bench", "exit 3", "-r2", "--ignore-failure"])
        .succeeded();
    folder
        .run(&["bench", "true", "-r2", "--prepare", "exit 1"])
        .refused(
            1,
            "`exit 1`, which is for `--prepare`, ended with exit code 1",
        );
    folder
        .run(&["bench", "--", "./nothing-of-this-name"])
        .refused(1, "there is no program ./nothing-of-this-name");
    // One command that was typed as if it were after `--`.
    folder
        .run(&["bench", "sleep", "0.01"])
        .refused(1, "write `profundo bench -- sleep 0.01`");
}

#[test]
fn output_is_thrown_away_unless_it_is_wanted() {
    let folder = Folder::new();
    let outcome = folder.run(&["bench", "echo out; echo err >&2; cat", "-r2"]);
    outcome.succeeded();
    assert!(
        !outcome.out.contains("out\n") && outcome.err.is_empty(),
        "{outcome:#?}"
    );
    let shown = folder.run(&["bench", "echo out; echo err >&2", "-r2", "--show-output"]);
    assert_eq!(
        shown.succeeded().out.matches("out\n").count(),
        2,
        "{shown:#?}"
    );
    assert_eq!(shown.err, "err\nerr\n");
}

#[test]
fn answers_are_compared() {
    let folder = Folder::new();
    let check = |one: &str, other: &str| folder.run(&["bench", "--check", "-r2", "-i", one, other]);
    let same = check("echo x; exit 2", "echo x; exit 2");
    assert!(
        same.succeeded().out.contains("All of them give the same."),
        "{same:#?}"
    );
    check("echo a; echo b", "echo a; echo c")
        .refused(1, "\"b\" in line 2, `echo a; echo c` prints \"c\"");
    check("exit 2", "exit 3").refused(
        1,
        "`exit 2` ends with exit code 2, `exit 3` with exit code 3",
    );
    check("echo a", "true").refused(1, "prints nothing");
    let silent = check("exit 2", "true; exit 2");
    assert!(
        silent.succeeded().out.contains("nothing but how they end"),
        "{silent:#?}"
    );
    assert!(!silent.out.contains("give the same"), "{silent:#?}");
    folder
        .run(&["bench", "--check", "true"])
        .refused(2, "there is only one");
}

#[test]
fn shells_can_be_chosen() {
    let folder = Folder::new();
    let outcome = folder.run(&["bench", "-S", "sh -e", "false; true", "-r2"]);
    outcome.refused(1, "ended with exit code 1");
    // Without one, words are split as one would.
    folder
        .run(&["bench", "-N", "test 'a b' = \"a b\"", "-r2"])
        .succeeded();
    folder
        .run(&["bench", "--shell", "none", "false || true", "-r2"])
        .refused(1, "`false || true` ended with exit code 1");
}

#[test]
fn wrong_usage_is_one_sentence() {
    let folder = Folder::new();
    for (words, part) in [
        (&["bench"][..], "nothing to time"),
        (&["bench", ""], "an empty line is no command"),
        (&["bench", "-N", "a 'b"], "ends within a quotation"),
        (
            &["bench", "--prepare", "x", "--python", "1"],
            "`--prepare` is for commands",
        ),
        (
            &["bench", "-i", "--python", "1"],
            "`--ignore-failure` is for commands",
        ),
        (
            &["bench", "true", "-n", "5"],
            "`--number` goes with `--python STMT`",
        ),
        (
            &["bench", "true", "--with", "python3"],
            "`--with` goes with",
        ),
        (&["bench", "-N", "--", "true"], "without a shell"),
        (
            &["bench", "true", "--name", "a", "--name", "b"],
            "2 names for 1 candidate",
        ),
        (
            &["bench", "a", "b", "c", "--prepare", "x", "--prepare", "y"],
            "once for each",
        ),
        (
            &[
                "bench", "--python", "1", "--python", "2", "--with", "a", "--with", "b", "--with",
                "c",
            ],
            "2 statements and 3 interpreters",
        ),
    ] {
        folder.run(words).refused(2, part);
    }
    for words in [
        &["bench", "true", "-r", "0"][..],
        &["bench", "true", "--", "true"],
        &["bench", "true", "-u", "hours"],
        &["bench", "true", "--threshold", "5"],
        &["bench", "true", "--against", "x", "--threshold", "-5"],
        &["bench", "--python", "1", "true"],
        &["bench", "true", "-v", "--json"],
        &["bench", "--python", "1", "--min-time", "0"],
    ] {
        folder.run(words).refused_with_usage("profundo: ");
    }
}

/// Interrupts it once a run has ended.
fn interrupted(folder: &Folder, words: &[&str], signal: i32) -> Outcome {
    let child = folder
        .profundo(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Some rounds must have been taken; however slow the machine is, they are written down.
    for _ in 0..600 {
        if log(folder).len() > 3 {
            break;
        }
        sleep(Duration::from_millis(100));
    }
    // SAFETY: sends a signal to a child of ours that has not been waited for.
    unsafe { libc::kill(child.id() as i32, signal) };
    Outcome::of(child.wait_with_output().unwrap())
}

#[test]
fn what_was_measured_before_ctrl_c_is_printed() {
    let folder = Folder::new();
    let words = [
        "bench",
        "printf r >> log; sleep 0.05",
        "-r",
        "100000",
        "--save",
        "saved.json",
    ];
    let outcome = interrupted(&folder, &words, libc::SIGINT);
    assert_eq!(outcome.signal, Some(libc::SIGINT), "{outcome:#?}");
    assert!(outcome.out.contains("mean ± σ"), "{outcome:#?}");
    assert!(outcome.err.contains("is not saved"), "{outcome:#?}");
    // Nothing is left behind.
    let files: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(files, ["log"]);
}

#[test]
fn what_was_measured_before_a_run_failed_is_printed() {
    let folder = Folder::new();
    let words = [
        "bench",
        "printf r >> log; test $(wc -c < log) -lt 3",
        "-r5",
        "--save",
        "saved.json",
        "--cleanup",
        "printf c >> log",
    ];
    let outcome = folder.run(&words);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    assert!(outcome.out.contains("2 runs, median"), "{outcome:#?}");
    assert!(
        outcome.err.contains("ended with exit code 1"),
        "{outcome:#?}"
    );
    assert!(outcome.err.contains("is not saved"), "{outcome:#?}");
    assert!(!folder.path().join("saved.json").exists());
    // What was set up is cleaned up all the same.
    assert_eq!(log(&folder), "rrrc");
    let json = folder.run(&[&words[..], &["--json"]].concat());
    assert_eq!((json.code, json.out.as_str()), (Some(1), ""), "{json:#?}");
    assert_eq!(log(&folder), "rrrcrc");
}

#[test]
fn it_is_cleaned_up_after_ctrl_c() {
    let folder = Folder::new();
    let words = [
        "bench",
        "printf r >> log; sleep 0.05",
        "-r",
        "100000",
        "--cleanup",
        "sleep 0.1; printf c >> log",
    ];
    let outcome = interrupted(&folder, &words, libc::SIGINT);
    assert_eq!(outcome.signal, Some(libc::SIGINT), "{outcome:#?}");
    assert!(log(&folder).ends_with("rc"), "{outcome:#?}");
}

#[test]
fn what_fails_while_it_is_cleaned_up_is_said() {
    let folder = Folder::new();
    let outcome = folder.run(&["bench", "true", "-r2", "--cleanup", "exit 5"]);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    assert!(
        outcome
            .err
            .contains("is for `--cleanup`, ended with exit code 5"),
        "{outcome:#?}"
    );
    let outcome = folder.run(&["bench", "exit 3", "-r2", "--cleanup", "exit 5"]);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    assert!(outcome.err.contains("`--cleanup`"), "{outcome:#?}");
    assert!(
        outcome.err.contains("`exit 3` ended with exit code 3"),
        "{outcome:#?}"
    );
}

#[test]
fn what_takes_no_longer_than_the_shell_has_no_ratio() {
    let folder = Folder::new();
    let words = ["bench", "-r30", "sleep 0.01", ":"];
    let outcome = folder.run(&words);
    outcome.succeeded();
    assert!(!outcome.out.contains("times faster"), "{outcome:#?}");
    assert!(
        outcome
            .out
            .contains("`:` takes hardly more than the shell's own start"),
        "{outcome:#?}"
    );
    // Nor has it become slower.
    folder
        .run(&["bench", "-r30", ":", "--save", "then.json"])
        .succeeded();
    let later = folder.run(&["bench", "-r30", ":", "--against", "then.json"]);
    assert!(
        later
            .succeeded()
            .out
            .contains("cannot be compared with then.json"),
        "{later:#?}"
    );
}

#[test]
fn python_is_interrupted_too() {
    let Some(python) = profundo_testing::python() else {
        return;
    };
    let folder = Folder::new();
    let with = format!("--with={}", python.display());
    let statement = "log.write('r'); time.sleep(0.05)";
    let words = [
        "bench",
        &with,
        "-n1",
        "-r",
        "100000",
        "-s",
        "log = open('log', 'a', 1)",
        "--python",
        statement,
    ];
    let outcome = interrupted(&folder, &words, libc::SIGTERM);
    assert_eq!(outcome.signal, Some(libc::SIGTERM), "{outcome:#?}");
    assert!(outcome.out.starts_with("1 loop, best of "), "{outcome:#?}");
    assert!(!outcome.err.contains("Traceback"), "{outcome:#?}");
}

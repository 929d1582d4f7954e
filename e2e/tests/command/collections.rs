//! Garbage collections: each is logged with the program's own figures, and their time has a share
//! of its own.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use profundo_testing::{profundo, wait_until};
use serde_json::Value;

use crate::program::{Program, alone, wait};
use crate::targets::{pythons_for, scratch, source};

/// A generation, and how many objects were collected.
type Collection = (u64, u64);

/// The collections in a log, each with its process.
fn lines(log: &str) -> Vec<(u64, Collection)> {
    let lines = log.lines().filter(|line| line.starts_with('{'));
    let all = lines.map(|line| {
        let logged: Value =
            serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
        let number = |name: &str| {
            logged[name]
                .as_u64()
                .unwrap_or_else(|| panic!("{name}: {line}"))
        };
        assert_eq!(logged["schema"], "profundo-gc-log/1");
        assert!(number("pause_ns") > 0);
        (
            number("process"),
            (number("generation"), number("collected")),
        )
    });
    all.collect()
}

/// The collections that the program prints.
fn printed(text: &str) -> Vec<Collection> {
    let pair = |line: &str| -> Option<Collection> {
        let (generation, count) = line.split_once(' ')?;
        Some((generation.parse().ok()?, count.parse().ok()?))
    };
    text.lines().filter_map(pair).collect()
}

#[test]
fn each_collection_of_a_program_and_its_child_is_logged() {
    for version in pythons_for("collects.py once") {
        let _alone = alone();
        let log = scratch().join("collections.jsonl");
        let run = |words: &[&str]| {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).stdin(Stdio::null());
            command.output().unwrap()
        };
        let (python, script) = (version.path.to_str().unwrap(), source("collects.py"));
        let program = [python, script.to_str().unwrap(), "once"];
        let plain = run(&program);
        let path = log.to_str().unwrap();
        let before = [
            profundo().to_str().unwrap(),
            "gc-log",
            "--json",
            "-o",
            path,
            "--",
        ];
        let logged = run(&[&before[..], &program].concat());
        assert_eq!(logged.status, plain.status, "{logged:?}");
        assert_eq!(logged.stdout, plain.stdout);
        assert_eq!(logged.stderr, plain.stderr);
        let expected = printed(std::str::from_utf8(&plain.stdout).unwrap());
        assert_eq!(expected.len(), 5);
        let logged = lines(&std::fs::read_to_string(&log).unwrap());
        let parent = logged[0].0;
        let of = |is_parent: bool| -> Vec<Collection> {
            let those = logged
                .iter()
                .filter(|(process, _)| (*process == parent) == is_parent);
            those.map(|(_, collection)| *collection).collect()
        };
        // The program prints its child's collection before it goes on.
        let parents = [&expected[..3], &expected[4..]].concat();
        let is_part = |all: &[Collection], part: &[Collection]| {
            all.windows(part.len()).any(|window| window == part)
        };
        assert!(is_part(&of(true), &parents), "{parents:?} in {logged:?}");
        assert!(
            is_part(&of(false), &expected[3..4]),
            "{expected:?} in {logged:?}"
        );
        std::fs::remove_file(&log).unwrap();
    }
}

struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    fn collect(&mut self, (generation, rings): (u64, u64)) -> Collection {
        let mut input = self.child.stdin.as_ref().unwrap();
        writeln!(input, "{generation} {rings}").unwrap();
        printed(&self.line())[0]
    }
}

#[test]
fn collections_of_a_running_process_are_logged_and_it_is_left_as_it_was() {
    for version in pythons_for("collects.py in a process that runs") {
        let _alone = alone();
        let mut child = Command::new(&version.path)
            .arg(source("collects.py"))
            .arg("on")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut running = Running { child, output };
        assert_eq!(running.line(), "begun\n");
        let pid = running.child.id();
        let log = scratch().join("collections-of-a-process.jsonl");
        for _ in 0..2 {
            let mut logging = Command::new(profundo())
                .args(["gc-log", &pid.to_string(), "--json", "-o"])
                .arg(&log)
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            // From the first logged collection on, every one is logged.
            let mut expected = Vec::new();
            let logged = || lines(&std::fs::read_to_string(&log).unwrap_or_default());
            wait_until("the first logged collection", || {
                running.collect((2, 1));
                !logged().is_empty()
            });
            for rings in 1000..1020 {
                expected.push(running.collect((rings % 3, rings)));
            }
            // SAFETY: our own child, which we have not waited for.
            unsafe { libc::kill(logging.id() as i32, libc::SIGINT) };
            assert!(wait(&mut logging, "gc-log").success());
            let found = logged();
            assert!(found.iter().all(|(process, _)| *process == u64::from(pid)));
            let found: Vec<Collection> = found.iter().map(|&(_, collection)| collection).collect();
            let tail = found.len().checked_sub(expected.len());
            assert_eq!(tail.map(|at| &found[at..]), Some(&expected[..]));
            // The log has ended.
            running.collect((2, 1));
            assert_eq!(logged().len(), found.len());
            std::fs::remove_file(&log).unwrap();
        }
        drop(running.child.stdin.take());
        assert_eq!(running.line(), "0 True\n");
        assert!(wait(&mut running.child, "collects.py").success());
    }
}

#[test]
fn time_for_collections_has_a_share_of_its_own() {
    for version in pythons_for("collects.py storm") {
        // A build that can run without the lock does not say when it collects.
        if version.answers("__import__('sysconfig').get_config_var('Py_GIL_DISABLED')") {
            continue;
        }
        let program = Program::new(&version.path);
        let script = source("collects.py");
        let recording = program
            .with(&[script.to_str().unwrap(), "storm", "120"])
            .run_both_ways();
        // Nothing else of the program takes any time worth mentioning.
        let share = recording.share("[garbage collection]");
        let whole = recording.share("storm");
        // Collections before `storm` and at the interpreter's end are not in it.
        assert!(share > 50.0 && whole > share - 6.0, "{share} of {whole}");
    }
}

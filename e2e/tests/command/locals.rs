//! `attach --dump --locals`: the variables of frames, as the program itself knows them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use profundo_testing::{Python, profundo, pythons, wants_all_pythons};
use serde_json::Value;

use crate::attach::Running;
use crate::program::alone;
use crate::targets::{c, pythons_for, source};

/// A variable: its origin, its type and its value.
type Variable = [String; 3];
/// The variables of functions, by the names of threads and of functions.
type Variables = BTreeMap<String, BTreeMap<String, BTreeMap<String, Variable>>>;

fn dump(pid: u32, options: &[&str]) -> Output {
    let mut command = Command::new(profundo());
    command
        .args(["attach", &pid.to_string(), "--dump"])
        .args(options)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// The threads of a dump.
fn threads(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{output:?}");
    let dump: Value = serde_json::from_slice(&output.stdout).unwrap();
    dump["threads"].as_array().unwrap().clone()
}

/// The variables of a function in a thread.
fn variables(threads: &[Value], thread: &str, function: &str) -> BTreeMap<String, Variable> {
    let of_thread = threads.iter().find(|found| found["name"] == thread);
    let frames = of_thread.map(|thread| thread["frames"].as_array().unwrap());
    let mut frames = frames.into_iter().flatten();
    let frame = frames.find(|frame| {
        let name = frame["function"].as_str().unwrap_or_default();
        name.rsplit('.').next() == Some(function)
    });
    let locals = frame.and_then(|frame| frame["locals"].as_array());
    let locals = locals.into_iter().flatten().map(|local| {
        let text = |name: &str| local[name].as_str().unwrap_or_default().to_owned();
        let parts = ["origin", "type", "value"].map(text);
        (text("name"), parts)
    });
    locals.collect()
}

/// A program that says what its variables are.
struct Known {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    expected: Variables,
}

impl Known {
    fn start(python: &Python) -> Self {
        let mut child = Command::new(&python.path)
            .args(["-W", "ignore"])
            .arg(source("locals.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let expected = serde_json::from_str(&line).unwrap();
        Self {
            child,
            output,
            expected,
        }
    }

    /// The variables that are not what the program says.
    fn faults(&self, threads: &[Value]) -> Vec<String> {
        let mut faults = Vec::new();
        for (thread, functions) in &self.expected {
            for (function, expected) in functions {
                let mut found = variables(threads, thread, function);
                if function == "busy" {
                    // It counts.
                    found.remove("turns");
                }
                if found != *expected {
                    faults.push(format!(
                        "{thread}, {function}: {found:#?}, not {expected:#?}"
                    ));
                }
            }
        }
        faults
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "done\n");
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn variables_of_every_kind_are_what_the_program_says() {
    let mut count = 0;
    for python in pythons() {
        let _alone = alone();
        let known = Known::start(python);
        // A thread may still be on its way into its wait.
        let tries = 10;
        let faults = (0..tries).find_map(|tried| {
            let output = dump(known.child.id(), &["--locals", "--values", "--json"]);
            let faults = known.faults(&threads(&output));
            (faults.is_empty() || tried == tries - 1).then_some(faults)
        });
        let faults = faults.unwrap();
        assert!(faults.is_empty(), "{python:?}: {}", faults.join("\n"));
        known.end();
        count += 1;
    }
    assert!(count > 0 || pythons().is_empty());
}

#[test]
fn texts_are_hidden_and_everything_fits_a_screen() {
    for python in pythons_for("hidden texts of locals.py") {
        let _alone = alone();
        let known = Known::start(&python);
        let output = dump(known.child.id(), &["--locals", "--width", "80"]);
        let screen = String::from_utf8(output.stdout).unwrap();
        for secret in ["hunter2", "'abc'", "mine'", "Bearer", "x-api-key"] {
            assert!(!screen.contains(secret), "{secret}: {screen}");
        }
        assert!(
            screen.contains("6 characters") && screen.contains("1073741824"),
            "{screen}"
        );
        assert!(!screen.contains('\x1b'));
        // Variables are indented more than frames.
        let variables = screen.lines().filter(|line| line.starts_with("        "));
        let widest = variables.map(|line| line.chars().count()).max();
        assert!(widest <= Some(80) && widest > Some(60), "{screen}");
        // With texts, too, secrets are not shown.
        let output = dump(known.child.id(), &["--locals", "--values"]);
        let screen = String::from_utf8(output.stdout).unwrap();
        for secret in ["hunter2", "Bearer"] {
            assert!(!screen.contains(secret), "{secret}: {screen}");
        }
        assert!(screen.contains("'abc'"), "{screen}");
        known.end();
    }
}

#[test]
fn containers_that_change_are_read_again_and_again() {
    let dumps = if wants_all_pythons() { 200 } else { 30 };
    for python in pythons_for("changing.py") {
        let _alone = alone();
        let mut command = Command::new(&python.path);
        command.arg(source("changing.py"));
        let running = Running::start(command);
        let mut longest = Duration::ZERO;
        for _ in 0..dumps {
            let began = Instant::now();
            let output = dump(running.child.id(), &["--locals", "--values", "--json"]);
            longest = longest.max(began.elapsed());
            let threads = threads(&output);
            let main = threads.iter().find(|thread| thread["thread"] == 1).unwrap();
            let name = main["name"].as_str().unwrap();
            let found = variables(&threads, name, "main");
            if !found.is_empty() {
                assert_eq!(found["number"], ["local", "int", "17"].map(str::to_owned));
            }
        }
        assert!(longest < Duration::from_secs(20), "{longest:?}");
        assert_eq!(running.end(), ("17 True\n".to_owned(), Some(0)));
    }
}

#[test]
fn a_native_program_has_no_python_frames() {
    let Some(target) = c("goes_on.c", &[]) else {
        return;
    };
    let _alone = alone();
    let running = Running::start(Command::new(target));
    let output = dump(running.child.id(), &["--locals"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("no Python frames") && said.lines().count() == 1,
        "{said}"
    );
    assert!(output.stdout.is_empty());
    assert_eq!(running.end().1, Some(7));
}

//! The objects of a running Python process, by type, with what keeps them and by page: they are
//! those that the process counts itself, and it goes on.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use profundo_testing::{Python, profundo, skip};
use serde_json::Value;

use crate::program::{alone, wait};
use crate::targets::{pythons_for, scratch, source};

struct Sessions {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Sessions {
    fn start(version: &Python) -> Self {
        let mut child = Command::new(&version.path)
            .arg(source("sessions.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut sessions = Self { child, output };
        assert_eq!(sessions.line(), "begun\n");
        sessions
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    /// Begins more sessions. Returns the number of all, and of the blocks that the interpreter has
    /// in use.
    fn begin(&mut self, count: u64) -> (u64, u64) {
        writeln!(self.child.stdin.as_ref().unwrap(), "{count}").unwrap();
        let line = self.line();
        let (sessions, blocks) = line.trim().split_once(' ').unwrap();
        (sessions.parse().unwrap(), blocks.parse().unwrap())
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(wait(&mut self.child, "sessions.py").success());
    }
}

fn run(arguments: &[&str]) -> Output {
    Command::new(profundo())
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = run(arguments);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn row<'a>(report: &'a Value, table: &str, name: &str) -> &'a Value {
    let rows = report[table]
        .as_array()
        .unwrap_or_else(|| panic!("{report:#}"));
    let found = rows.iter().find(|row| row["type"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {rows:#?}"))
}

#[test]
fn objects_are_counted_by_type() {
    for version in pythons_for("sessions.py by type") {
        let _alone = alone();
        let mut sessions = Sessions::start(&version);
        sessions.begin(300);
        let heap = json(&[
            "heap",
            &sessions.pid(),
            "--types",
            "--limit",
            "1000",
            "--json",
        ]);
        assert_eq!(row(&heap, "types", "__main__.Session")["objects"], 300);
        assert_eq!(row(&heap, "types", "__main__.Ring")["objects"], 500);
        let lists = row(&heap, "types", "list")["objects"].as_u64().unwrap();
        assert!((20_301..22_000).contains(&lists), "{lists}");
        sessions.end();
    }
}

#[test]
fn the_path_to_an_object_is_shown() {
    for version in pythons_for("sessions.py and what keeps them") {
        let _alone = alone();
        let mut sessions = Sessions::start(&version);
        sessions.begin(10);
        let pid = sessions.pid();
        let output = run(&["heap", &pid, "--path", "__main__.Session"]);
        let text = String::from_utf8(output.stdout).unwrap();
        for part in ["__main__", "SESSIONS", "10 objects"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(
            !text.contains("session 1") && !text.contains("secret"),
            "{text}"
        );
        sessions.end();
    }
}

#[test]
fn growth_between_two_looks_is_counted() {
    for version in pythons_for("sessions.py growing") {
        let _alone = alone();
        let mut sessions = Sessions::start(&version);
        sessions.begin(50);
        let file = scratch().join("growth.json");
        let mut growing = Command::new(profundo())
            .args([
                "heap",
                &sessions.pid(),
                "--growth",
                "2",
                "--json",
                "--limit",
                "1000",
            ])
            .stdout(std::fs::File::create(&file).unwrap())
            .spawn()
            .unwrap();
        // Both looks are two seconds apart, and sessions begin at a steady pace.
        let mut begun = 0;
        while growing.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(100));
            begun = sessions.begin(7).0 - 50;
        }
        assert!(growing.wait().unwrap().success());
        let growth = std::fs::read(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        let growth: Value = serde_json::from_slice(&growth).unwrap();
        let grown = row(&growth, "types", "__main__.Session");
        let number = |name: &str| grown[name].as_u64().unwrap_or_else(|| panic!("{grown:#}"));
        let grown = number("objects_now") - number("objects_before");
        assert!(grown > 0 && grown <= begun, "{grown} of {begun}");
        sessions.end();
    }
}

#[test]
fn pages_are_those_of_the_allocator() {
    for version in pythons_for("sessions.py by page") {
        if !version.has_lock() {
            skip("a free-threaded Python has another allocator, whose pages are not known");
            continue;
        }
        let _alone = alone();
        let mut sessions = Sessions::start(&version);
        let (_, blocks) = sessions.begin(300);
        let file = scratch().join("pages.json");
        let output = run(&[
            "snapshot",
            &sessions.pid(),
            "--pages",
            "-o",
            file.to_str().unwrap(),
        ]);
        assert!(output.status.success(), "{output:?}");
        let snapshot: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let pages = snapshot["pages"].as_array().unwrap().iter();
        let objects: Vec<&str> = pages
            .flat_map(|page| page["objects"].as_array().unwrap())
            .map(|object| object.as_str().unwrap())
            .collect();
        let count =
            |wanted: &str| objects.iter().filter(|object| **object == wanted).count() as u64;
        assert_eq!(count("__main__.Session"), 300);
        assert!(count("garbage") >= 500, "{}", count("garbage"));
        assert!(count("list") >= 20_300, "{}", count("list"));
        let used = objects.len() as u64 - count("empty");
        // The interpreter counts large blocks, too.
        assert!(
            used <= blocks + 50 && used * 100 >= blocks * 97,
            "{used} of {blocks}"
        );
        std::fs::remove_file(&file).unwrap();
        sessions.end();
    }
}

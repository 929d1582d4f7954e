//! `attach --trace`: the calls, lines and exceptions of a Python program that runs already are
//! counted from the entry on, and the interpreter is left as it was.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use profundo_testing::{profundo, skip};
use serde_json::Value;

use crate::attach::Running;
use crate::calls::{calls_of, report, text};
use crate::inside::size;
use crate::program::alone;
use crate::targets::{c, pythons_for, scratch, source, with_version};

/// The number of calls that the program is asked for.
const COUNT: u64 = 1000;
/// Its own threads, one that is new, and its child.
const CALLERS: u64 = 5;

fn start(python: &Path, words: &[&str]) -> Running {
    let mut command = Command::new(python);
    command.args(["-W", "ignore"]);
    command.arg(source("counts_inside.py")).args(words);
    Running::start(command)
}

/// A recorder that counts in a program.
struct Counting {
    recording: PathBuf,
    child: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
}

impl Counting {
    /// Has a program entered. The error is what the recorder says.
    fn begin(pid: &str, options: &[&str]) -> Result<Self, String> {
        let recording = scratch().join("inside-trace.profundo");
        let _ = fs::remove_file(&recording);
        let mut command = Command::new(profundo());
        command.args(["attach", pid]).args(options).arg("-o");
        command.arg(&recording).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        stderr.read_line(&mut said).unwrap();
        if said.contains("was entered") {
            return Ok(Self {
                recording,
                child,
                stderr,
                said,
            });
        }
        stderr.read_to_string(&mut said).unwrap();
        let status = child.wait().unwrap();
        assert!(!status.success(), "{said}");
        Err(said)
    }

    /// As `begin`. `None`, and skipped: the machine does not permit it.
    fn permitted(pid: &str, options: &[&str]) -> Option<Self> {
        match Self::begin(pid, options) {
            Ok(counting) => Some(counting),
            Err(said) => {
                assert!(said.contains("ptrace"), "{said}");
                skip("no other process may be entered here");
                None
            }
        }
    }

    /// Has it end. Returns the recording, and the report.
    fn end(self) -> (PathBuf, String) {
        // SAFETY: a signal to our own child.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGINT) };
        self.ended()
    }

    /// Waits for its end.
    fn ended(mut self) -> (PathBuf, String) {
        let output = self.child.wait_with_output().unwrap();
        self.stderr.read_to_string(&mut self.said).unwrap();
        let said = &self.said;
        assert!(output.status.success(), "{said}");
        // The one line, and nothing that went wrong. A busy machine lets a thread wait for longer.
        let lines = said
            .lines()
            .filter(|line| !line.contains("was stopped for"));
        assert_eq!(lines.count(), 1, "{said}");
        (self.recording, text(&output.stdout))
    }
}

/// A row of the table of calls.
fn row<'a>(table: &'a Value, name: &str) -> Option<&'a Value> {
    let groups = table["groups"].as_array().unwrap().iter();
    let mut rows = groups.flat_map(|group| group["functions"].as_array().unwrap());
    rows.find(|row| row["function"] == name)
}

/// Has the program work while it is counted. Returns the recording and what was printed.
fn count(running: &mut Running, options: &[&str]) -> Option<(PathBuf, String)> {
    let counting = Counting::permitted(&running.pid(), options)?;
    work(running, COUNT);
    Some(counting.end())
}

fn work(running: &mut Running, count: u64) {
    running.say(&format!("{count}\n"));
    running.until("done\n");
}

fn tools(version: (u32, u32)) -> String {
    let tools = match version >= (3, 12) {
        true => "[None, None, None, None, None, None] False\n",
        false => "[None, None] False\n",
    };
    tools.to_owned()
}

#[test]
fn calls_that_begin_after_the_entry_are_counted() {
    for version in pythons_for("counts_inside.py, calls") {
        for (words, options) in [
            (&[][..], &["--trace"][..]),
            (&["busy"], &["--trace", "--no-builtins"]),
            (&[], &["--trace", "--cpu"]),
        ] {
            let _alone = alone();
            let mut running = start(&version.path, words);
            let Some((recording, printed)) = count(&mut running, options) else {
                return;
            };
            let table = report(&recording, "trace");
            let calls = |name| calls_of(&table, name);
            assert_eq!(calls("leaf"), CALLERS * COUNT, "{version:?}: {printed}");
            assert_eq!(calls("caller"), CALLERS, "{version:?}: {printed}");
            assert_eq!(calls("step"), COUNT, "{version:?}: {printed}");
            assert_eq!(calls("in_child"), 1, "{version:?}: {printed}");
            // These ran before.
            for name in ["main", "worker", "endless"] {
                let row = row(&table, name).unwrap_or_else(|| panic!("{name}: {printed}"));
                assert_eq!(row["calls"], 0, "{version:?}, {name}: {printed}");
            }
            let resumes = &row(&table, "endless").unwrap()["resumes"];
            assert_eq!(resumes, COUNT, "{version:?}: {printed}");
            let expected = (tools(version.version), Some(7));
            assert_eq!(running.end(), expected, "{version:?}");
        }
    }
}

/// The number of times that a line of this text ran.
fn hits(recording: &Path, line: &str) -> u64 {
    let mut command = Command::new(profundo());
    command.arg("report").arg(recording).arg("lines");
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = text(&output.stdout);
    let mut found = said.lines().filter(|row| row.trim_end().ends_with(line));
    let row = found.next().unwrap_or_else(|| panic!("{line}: {said}"));
    let hits = row.split_whitespace().nth(1).unwrap();
    hits.parse().unwrap_or_else(|_| panic!("{row}"))
}

#[test]
fn lines_that_run_after_the_entry_are_counted() {
    for version in pythons_for("counts_inside.py, lines") {
        for options in [
            &["--trace=lines"][..],
            &["--trace=lines", "--lines=counts_inside.py"],
            &["--trace=lines", "--lines=leaf", "--lines=endless", "--cpu"],
            &["--trace=lines", "--cheap"],
        ] {
            let _alone = alone();
            let mut running = start(&version.path, &["busy"]);
            let Some((recording, printed)) = count(&mut running, options) else {
                return;
            };
            let hits = |line| hits(&recording, line);
            assert_eq!(
                hits("return number"),
                CALLERS * COUNT,
                "{version:?}: {printed}"
            );
            // A generator that has begun before.
            assert_eq!(hits("yield number"), COUNT, "{version:?}: {printed}");
            if options.len() == 1 {
                assert_eq!(
                    hits("leaf(number)"),
                    CALLERS * COUNT,
                    "{version:?}: {printed}"
                );
                // A function that has begun before.
                assert_eq!(
                    hits("asyncio.run(steps(count))"),
                    1,
                    "{version:?}: {printed}"
                );
            }
            let expected = (tools(version.version), Some(7));
            assert_eq!(running.end(), expected, "{version:?}");
        }
    }
}

#[test]
fn lines_that_run_at_all_are_marked_after_each_entry() {
    for version in with_version((3, 12), pythons_for("counts_inside.py, --once")) {
        let _alone = alone();
        let mut running = start(&version.path, &[]);
        // What was reported once is reported again to the next recorder.
        for _ in 0..3 {
            let options = ["--trace=lines", "--once"];
            let Some((recording, printed)) = count(&mut running, &options) else {
                return;
            };
            let table = report(&recording, "lines").to_string();
            assert!(
                printed.contains("yield number"),
                "{version:?}: {printed}\n{table}"
            );
            assert!(printed.contains("return number"), "{version:?}: {printed}");
        }
        assert_eq!(running.end(), (tools(version.version), Some(7)));
    }
}

#[test]
fn exceptions_after_the_entry_are_counted() {
    for version in pythons_for("counts_inside.py, exceptions") {
        let _alone = alone();
        let mut running = start(&version.path, &["busy"]);
        let Some((recording, printed)) = count(&mut running, &["--trace=exceptions"]) else {
            return;
        };
        let table = report(&recording, "exceptions").to_string();
        assert!(table.contains("raises"), "{version:?}: {printed}");
        assert!(table.contains(&COUNT.to_string()), "{version:?}: {printed}");
        assert_eq!(running.end(), (tools(version.version), Some(7)));
    }
}

#[test]
fn nothing_is_left_in_the_interpreter_however_often_it_is_counted() {
    for version in with_version((3, 12), pythons_for("counts_inside.py, often")) {
        enter_often(&version.path, version.version, 6);
    }
}

#[test]
#[ignore = "long: enters each Python a hundred times"]
fn nothing_is_left_after_a_hundred_entries() {
    for version in pythons_for("counts_inside.py, a hundred times") {
        enter_often(&version.path, version.version, 100);
    }
}

fn enter_often(python: &Path, version: (u32, u32), times: u32) {
    const COUNT: u64 = 100;
    let _alone = alone();
    let mut running = start(python, &["busy"]);
    let pid = running.pid();
    let mut first = None;
    for time in 0..times {
        let options = [&["--trace"][..], &["--trace=lines"]][time as usize % 2];
        let Some(counting) = Counting::permitted(&pid, options) else {
            return;
        };
        work(&mut running, COUNT);
        let (recording, printed) = counting.end();
        match options {
            ["--trace"] => {
                let leaf = calls_of(&report(&recording, "trace"), "leaf");
                assert_eq!(leaf, CALLERS * COUNT, "{version:?}, {time}: {printed}");
            }
            _ => {
                let hits = hits(&recording, "return number");
                assert_eq!(hits, CALLERS * COUNT, "{version:?}, {time}: {printed}");
            }
        }
        // From the second of each kind on.
        let (resident, mappings) = size(&pid);
        if time == 3 {
            first = Some((resident, mappings));
        }
        if let Some((first_resident, first_mappings)) = first {
            assert!(
                mappings <= first_mappings,
                "{first_mappings} then {mappings}"
            );
            assert!(
                resident <= first_resident + 600,
                "{first_resident} then {resident} KB"
            );
        }
    }
    assert_eq!(running.end(), (tools(version), Some(7)));
}

#[test]
fn a_program_with_a_profiler_of_its_own_is_left_alone() {
    for version in with_version((3, 12), pythons_for("counts_inside.py, its own tools")) {
        let _alone = alone();
        let mut running = start(&version.path, &["tool"]);
        for options in [&["--trace"][..], &["--trace=lines"]] {
            let Err(said) = Counting::begin(&running.pid(), options) else {
                panic!("{version:?}: {options:?}");
            };
            if said.contains("ptrace") {
                return skip("no other process may be entered here");
            }
            assert!(said.contains("it has a profiler already"), "{said}");
        }
        work(&mut running, 10);
        let (printed, code) = running.end();
        assert_eq!(code, Some(7));
        let own = if version.version >= (3, 12) {
            "'own'"
        } else {
            "lambda"
        };
        assert!(printed.contains(own), "{printed}");
    }
}

#[test]
fn a_tool_of_the_program_sees_what_it_sees_without_us() {
    for version in with_version((3, 12), pythons_for("own_tools.py")) {
        for tool in ["cprofile", "setprofile", "settrace", "thread", "monitoring"] {
            if tool == "monitoring" && version.version < (3, 12) {
                continue;
            }
            let _alone = alone();
            let start = || {
                let mut command = Command::new(&version.path);
                command.arg(source("own_tools.py")).arg(tool);
                Running::start(command)
            };
            // Later ones find what the first has left.
            let several = match tool {
                // To a second tool for lines of a function, the interpreter reports those again
                // that the first has disabled: to both.
                "monitoring" => &["--trace", "--trace=exceptions"][..],
                _ => &["--trace", "--trace=lines", "--trace"],
            };
            // So many that it works while it is entered.
            const WORK: &str = "100000\n";
            let mut plain = start();
            for _ in several {
                plain.say(WORK);
                plain.until("done\n");
            }
            let mut running = start();
            for option in several {
                running.say(WORK);
                let counting = Counting::begin(&running.pid(), &[option]);
                if let Err(said) = &counting {
                    if said.contains("ptrace") {
                        return skip("no other process may be entered here");
                    }
                    assert!(said.contains("it has a profiler already"), "{said}");
                }
                running.until("done\n");
                if let Ok(counting) = counting {
                    counting.end();
                }
            }
            assert_eq!(running.end(), plain.end(), "{version:?}, {tool}");
        }
    }
}

#[test]
fn what_was_counted_is_kept_however_the_program_ends() {
    for version in with_version((3, 12), pythons_for("counts_inside.py, ends")) {
        for last in ["exec\n", "kill\n", ""] {
            let _alone = alone();
            let mut running = start(&version.path, &["busy"]);
            let Some(counting) = Counting::permitted(&running.pid(), &["--trace"]) else {
                return;
            };
            work(&mut running, COUNT);
            running.say(last);
            let (printed, code) = running.end();
            let (recording, _) = counting.ended();
            let leaf = calls_of(&report(&recording, "trace"), "leaf");
            // The other program counts from its beginning.
            let expected = CALLERS * COUNT + if last == "exec\n" { 70 } else { 0 };
            assert_eq!(leaf, expected, "{version:?}, {last:?}: {printed}");
            let code_expected = match last {
                "exec\n" => Some(0),
                "kill\n" => None,
                _ => Some(7),
            };
            assert_eq!(code, code_expected, "{version:?}, {last:?}: {printed}");
        }
    }
}

/// True if a process has its counts in memory.
fn has_counts(pid: &str) -> bool {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    maps.lines()
        .any(|line| line.contains("/calls.") && line.contains("rofundo"))
}

#[test]
fn a_recorder_that_is_killed_is_followed_by_the_next() {
    for version in with_version((3, 12), pythons_for("counts_inside.py, killed")) {
        let _alone = alone();
        let mut running = start(&version.path, &["busy"]);
        let Some(mut counting) = Counting::permitted(&running.pid(), &["--trace"]) else {
            return;
        };
        work(&mut running, COUNT);
        counting.child.kill().unwrap();
        counting.child.wait().unwrap();
        // The agent notices that by itself, after a million events.
        let mut times = 0;
        while has_counts(&running.pid()) {
            times += 1;
            assert!(times < 3000, "{version:?}");
            work(&mut running, 10);
        }
        let Some((recording, printed)) = count(&mut running, &["--trace"]) else {
            return;
        };
        let leaf = calls_of(&report(&recording, "trace"), "leaf");
        assert_eq!(leaf, CALLERS * COUNT, "{version:?}: {printed}");
        assert_eq!(running.end(), (tools(version.version), Some(7)));
    }
}

#[test]
fn a_program_without_an_interpreter_is_told_apart() {
    let Some(program) = c("inside.c", &[]) else {
        return;
    };
    let _alone = alone();
    let running = Running::start(Command::new(program));
    let Err(said) = Counting::begin(&running.pid(), &["--trace"]) else {
        panic!("it has no interpreter");
    };
    if said.contains("ptrace") {
        return skip("no other process may be entered here");
    }
    assert!(said.contains("no Python interpreter"), "{said}");
    assert_eq!(running.end(), (String::new(), Some(7)));
}

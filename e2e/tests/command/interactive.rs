//! Interactive programs on a terminal, and keys that send signals.

use std::fs;

use profundo_testing::tool;

use crate::program::{Program, alone, empty_folder, number, without_our_messages};
use crate::recording::Recording;
use crate::targets::{c, pythons_for, scratch, source};
use crate::terminal::{Script, Session, on_terminal};

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const CTRL_Z: &str = "\x1a";

/// Runs a session of the program as it is and one under the profiler. Both must be equal.
#[track_caller]
fn compare_sessions(program: &Program, script: Script<'_>) -> Session {
    let _alone = alone();
    let folder = empty_folder();
    let plain = on_terminal(program.command(None), &folder, script);
    let file = scratch().join(format!("{}.profundo", number()));
    let mut recorded = on_terminal(program.command(Some(&file)), &folder, script);
    recorded.shown = without_our_messages(&recorded.shown, true);
    // The recorder's own line, before the program begins.
    let (first, rest) = recorded.shown.split_once('\n').unwrap_or_default();
    assert!(first.starts_with("profundo: recording "), "{first}");
    recorded.shown = rest.to_owned();
    assert_eq!(plain, recorded, "without (left) and with the profiler");
    Recording::read(&file, Default::default(), Default::default());
    let _ = fs::remove_file(&file);
    recorded
}

#[test]
fn a_dialogue() {
    for python in pythons_for("dialogue") {
        let program = Program::new(&python.path).with(&[source("dialogue.py")]);
        let script = [
            ("name? ", "Ada\n"),
            ("secret? ", "unseen\n"),
            ("True", "one\n"),
            ("line one", "two\n"),
            ("line two", CTRL_D),
        ];
        let session = compare_sessions(&program, &script);
        assert!(!session.shown.contains("unseen"), "{session:#?}");
    }
}

#[test]
fn an_interactive_interpreter() {
    for python in pythons_for("interactive") {
        let program = Program::new(&python.path).with(&["-q", "-i", "-c", "print('begin')"]);
        let program = program
            .env("PYTHON_BASIC_REPL", "1")
            .env("PYTHONSTARTUP", "");
        let script = [
            (">>> ", "sum(range(3000000))\n"),
            ("4499998500000\r\n>>> ", "1 / 0\n"),
            (
                "division by zero\r\n>>> ",
                "exec(\"print('loop' + 'ing')\\nwhile True: pass\")\n",
            ),
            ("looping\r\n", CTRL_C),
            ("KeyboardInterrupt\r\n>>> ", "exit(5)\n"),
        ];
        let session = compare_sessions(&program, &script);
        // Some releases of 3.14 end by the signal that interrupted them before.
        let by_signal = python.version >= (3, 14) && session.signal == Some(libc::SIGINT);
        assert!(session.code == Some(5) || by_signal, "{session:#?}");
    }
}

#[test]
fn interrupts_of_a_c_program() {
    let Some(target) = c("interrupted.c", &[]) else {
        return;
    };
    let script = [
        ("waiting for 1\r\n", CTRL_C),
        ("waiting for 2\r\n", CTRL_C),
        ("waiting for the last\r\n", CTRL_C),
    ];
    let session = compare_sessions(&Program::new(target), &script);
    assert_eq!(session.signal, Some(libc::SIGINT), "{session:#?}");
}

#[test]
fn interrupts_of_a_python_program() {
    for python in pythons_for("interrupt") {
        let program = Program::new(&python.path).with(&[source("interrupt.py")]);
        let script = [
            ("waiting\r\n", CTRL_C),
            ("waiting\r\n", CTRL_C),
            ("prompt> ", CTRL_C),
            ("the last\r\n", CTRL_C),
        ];
        let session = compare_sessions(&program, &script);
        assert_eq!(session.signal, Some(libc::SIGINT), "{session:#?}");
    }
}

#[test]
fn job_control() {
    let (Some(target), Some(shell)) = (c("interrupted.c", &[]), tool("bash")) else {
        return;
    };
    // The shell starts the program, or the profiler, which then is the shell's job.
    let line = |file: Option<&str>| {
        let start = match file {
            Some(file) => format!(
                "{} record -o {file} -- ",
                profundo_testing::profundo().display()
            ),
            None => String::new(),
        };
        format!("{start}{}; echo \"ended $?\"\n", target.display())
    };
    let _alone = alone();
    let folder = empty_folder();
    let file = scratch().join(format!("{}.profundo", number()));
    for file in [None, Some(file.to_str().unwrap())] {
        let program = Program::new(&shell).with(&["--norc", "--noprofile", "-i"]);
        let line = line(file);
        let script = [
            ("$ ", line.as_str()),
            ("waiting for 1\r\n", CTRL_Z),
            ("Stopped", "jobs; fg\n"),
            ("continued\r\n", CTRL_C),
            ("waiting for 2\r\n", CTRL_C),
            ("waiting for the last\r\n", CTRL_C),
            ("$ ", "exit 3\n"),
        ];
        let session = on_terminal(program.command(None), &folder, &script);
        assert_eq!(session.code, Some(3), "{session:#?}");
    }
    let _ = fs::remove_file(&file);
}

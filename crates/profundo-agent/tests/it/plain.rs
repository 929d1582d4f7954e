//! The things that every program has: its output, its end, its environment, its descriptors and
//! threads.

use std::process::Command;

use crate::recorder::{self, NO_SAMPLES, SAMPLING, compare};

fn shell(line: &str) -> Command {
    let mut command = Command::new("bash");
    command.args(["-c", line]);
    command
}

#[test]
fn output_and_exit_code_are_the_programs() {
    for line in [
        "echo a; echo b >&2; exit 7",
        "kill -TERM $$",
        "printf 'x%.0s' {1..5000}; exit 255",
    ] {
        let run = compare(NO_SAMPLES, &mut shell(line));
        assert_eq!(run.kinds().0, 1);
    }
    for program in ["ls", "true", "false"] {
        let run = compare(NO_SAMPLES, Command::new(program).arg("/"));
        assert_eq!(run.seen[0].command, program);
        assert!(run.seen[0].ends.is_some(), "{program}");
        assert_eq!(Some(run.seen[0].exit_code), run.output.status.code());
    }
}

#[test]
fn the_environment_is_the_programs() {
    compare(NO_SAMPLES, Command::new("env").env("A", "1").env("Z", "2"));
    compare(
        NO_SAMPLES,
        &mut shell("env | sort; env -i /usr/bin/env; set | grep -c PROFUNDO_SESS"),
    );
    // A program with an empty environment is followed too.
    let run = compare(
        NO_SAMPLES,
        &mut shell("env -i /usr/bin/env -i /usr/bin/env; true"),
    );
    assert!(run.kinds().0 >= 3, "{:?}", run.seen);
    let mut perl = Command::new("perl");
    perl.args([
        "-e",
        "print join(',', map { \"$_=$ENV{$_}\" } sort keys %ENV); print `env | sort`",
    ]);
    compare(NO_SAMPLES, &mut perl);
}

#[test]
fn a_preload_of_the_programs_own_stays() {
    let source = "#include <stdlib.h>
        #include <stdio.h>
        int atoi(const char *s) { return 42; }";
    let Some(own) = crate::programs::compile("own.so", source, &["-shared", "-fPIC"]) else {
        return;
    };
    let own = own.to_str().unwrap();
    let agent = recorder::agent();
    let agent = agent.to_str().unwrap();
    for line in [
        format!("LD_PRELOAD={own} bash -c 'echo $LD_PRELOAD; env | grep LD_PRELOAD'"),
        format!("LD_PRELOAD={own} env"),
        "LD_PRELOAD= env | grep LD_PRELOAD".into(),
    ] {
        let run = compare(NO_SAMPLES, &mut shell(&line));
        assert!(!run.text().contains(agent));
        assert!(run.kinds().0 >= 2, "{line}: {:?}", run.seen);
    }
}

#[test]
fn descriptors_and_threads_are_the_programs() {
    for options in [NO_SAMPLES, SAMPLING] {
        let line = "ls /proc/self/fd | wc -l; ls /proc/$$/fd; ls /proc/$$/task | wc -l";
        compare(options, &mut shell(line));
        // With as many descriptors as are permitted, too.
        let line = "ulimit -n 4; cat < /dev/null; echo $?";
        compare(options, &mut shell(line));
    }
}

#[test]
fn a_limited_address_space_is_no_hindrance() {
    let run = compare(
        NO_SAMPLES,
        &mut shell("ulimit -v 400000; python3 -c 'print(1)'; ls /"),
    );
    assert!(run.kinds().0 >= 2);
    compare(
        NO_SAMPLES,
        &mut shell("ulimit -v 60000; ls /; cat /dev/null; echo $?"),
    );
}

#[test]
fn without_a_session_nothing_happens() {
    let mut command = Command::new("env");
    command.env("LD_PRELOAD", recorder::agent());
    let output = command.output().unwrap();
    assert!(output.status.success());
    // A session that is over: the variables are gone all the same.
    command.env("PROFUNDO_SESSION", "/nowhere");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success());
    assert!(
        !text.contains("LD_PRELOAD") && !text.contains("PROFUNDO_SESSION"),
        "{text}"
    );
}

#[test]
fn without_a_free_ring_the_program_runs_and_is_counted() {
    let options = recorder::Options {
        rings: 1,
        ..NO_SAMPLES
    };
    let run = compare(options, &mut shell("ls / | cat; (echo a; ls / | cat)"));
    assert!(run.starved > 0);
    assert!(run.kinds().0 >= 1);
}

#[test]
fn programs_of_many_kinds_run() {
    for (program, arguments) in [
        (
            "node",
            &["-e", "console.log([1,2,3].map(x => x * 2).join())"][..],
        ),
        (
            "perl",
            &["-e", "print join ',', sort { $a <=> $b } 3, 1, 2"],
        ),
        ("git", &["--version"]),
        ("gcc", &["--version"]),
        (
            "awk",
            &[
                "BEGIN { print 1; system(\"echo 2\"); while ((\"ls /\" | getline x) > 0) n++; print n }",
            ],
        ),
        ("tar", &["cf", "/dev/null", "/etc/passwd"]),
    ] {
        let mut command = Command::new(program);
        if command.arg("--version").output().is_err() {
            profundo_testing::skip(&format!("there is no {program}"));
            continue;
        }
        for options in [NO_SAMPLES, SAMPLING] {
            let mut command = Command::new(program);
            let run = compare(options, command.args(arguments));
            assert!(run.kinds().0 >= 1, "{program}");
        }
    }
}

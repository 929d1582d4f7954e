//! `attach --memory` and `--inside` beside programs in which a late agent is most likely to do
//! harm: they change the same tables, load and unload files all the time, restrict their system
//! calls, have another root, or are entered by several commands at once.

use std::fs;
use std::process::{Command, Output, Stdio};

use profundo_testing::{profundo, skip};

use crate::attach::Running;
use crate::inside::slots_of;
use crate::inside_memory::{Recorder, ask, compare, line_at};
use crate::program::{Program, alone, number};
use crate::recording::Recording;
use crate::targets::{c, go, scratch};

/// Has the program do something.
fn tell(running: &mut Running, line: &str) {
    running.say(&format!("{line}\n"));
    running.until("done\n");
}

fn has_note(recording: &Recording, text: &str) -> bool {
    let notes = &recording.profile.meta.notes;
    notes.iter().any(|note| note.contains(text))
}

/// Attaches with an option for a moment.
fn attach(pid: &str, option: &str) -> Output {
    let file = scratch().join(format!("hard-{}.profundo", number()));
    let output = Command::new(profundo())
        .args(["attach", pid, option, "-d", "0.2", "-o"])
        .arg(&file)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let _ = fs::remove_file(file);
    output
}

/// The refusal of an option, which the program does not notice.
fn refusal(pid: &str, option: &str) -> String {
    let output = attach(pid, option);
    assert!(!output.status.success(), "{output:?}");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let refused: Vec<&str> = (stderr.lines())
        .filter(|line| line.contains("cannot be entered"))
        .collect();
    assert_eq!(refused.len(), 1, "{stderr}");
    refused.join("\n")
}

/// The kinds of tables: filled in at the first call, at the start, and without stubs.
const TABLES: [&[&str]; 3] = [
    &[],
    &["-Wl,-z,now", "-DREAD_ONLY"],
    &["-no-pie", "-fno-plt", "-DREAD_ONLY"],
];

#[test]
fn hooks_of_the_program_stay_as_they_are() {
    const FILE: &str = "late_hooks.c";
    const ELSEWHERE: &str = "another tool or allocator has taken malloc";
    for flags in TABLES {
        let Some(program) = c(FILE, &[&["-fno-builtin"], flags].concat()) else {
            return;
        };
        let _alone = alone();
        let mut running = Running::start(Command::new(&program));
        let pid = running.pid();
        let start = || Recorder::start(&pid, &["--memory=exact"]);
        // The table leads elsewhere when the agent comes.
        tell(&mut running, "hook");
        let Some(recorder) = start() else { return };
        let counted = ask(&mut running, "go");
        let (recording, _) = recorder.end();
        assert_eq!(counted["hooked"].0, 300, "{flags:?}");
        assert!(has_note(&recording, ELSEWHERE), "{flags:?}");
        assert_eq!(ask(&mut running, "go")["hooked"].0, 300, "{flags:?}");
        // It leads elsewhere when the agent leaves. The program's hook calls ours meanwhile.
        tell(&mut running, "unhook");
        let recorder = start().unwrap();
        tell(&mut running, "hook");
        let counted = ask(&mut running, "go");
        let (recording, _) = recorder.end();
        assert_eq!(counted["hooked"].0, 300, "{flags:?}");
        let line = line_at(&recording, FILE, "// passes on");
        assert_eq!(
            (line.allocated.count, line.allocated.bytes),
            counted["hooks"],
            "{flags:?}"
        );
        assert!(has_note(&recording, ELSEWHERE), "{flags:?}");
        // Then the program puts our function back, which it has found there.
        tell(&mut running, "unhook");
        assert_eq!(ask(&mut running, "go")["hooked"].0, 0, "{flags:?}");
        let recorder = start().unwrap();
        let mut counted = ask(&mut running, "go");
        let (recording, _) = recorder.end();
        assert_eq!(counted.remove("hooked"), Some((0, 0)));
        compare(&recording, FILE, &counted);
        assert!(!has_note(&recording, ELSEWHERE), "{flags:?}");
        // The program's own note of what it has found.
        assert!(slots_of(&pid).len() <= 1, "{flags:?}");
        assert_eq!(running.end(), (String::new(), Some(7)));
    }
}

#[test]
fn files_come_and_go_while_the_agent_does() {
    let flags = |number| format!("-DPLUGIN={number}");
    let plugin = |number| {
        let one = flags(number);
        let flags = ["-shared", "-fPIC", "-fno-builtin", "-Wl,-z,now", &one];
        c("late_plugin.c", &flags)
    };
    let (Some(program), Some(one), Some(other)) = (c("late_plugins.c", &[]), plugin(1), plugin(2))
    else {
        return;
    };
    let _alone = alone();
    let mut command = Command::new(&program);
    command.args([&one, &other]);
    let mut running = Running::start(command);
    let pid = running.pid();
    for option in ["--memory=exact", "--inside", "--memory"].repeat(2) {
        let output = attach(&pid, option);
        let stderr = String::from_utf8_lossy(&output.stderr);
        if stderr.contains("ptrace") {
            return skip("no other process may be entered here");
        }
        assert!(output.status.success(), "{option}: {stderr}");
        assert!(slots_of(&pid).is_empty(), "{option}");
    }
    running.say("go\n");
    running.until("1\n");
    assert_eq!(running.end(), (String::new(), Some(7)));
}

#[test]
fn programs_that_restrict_their_system_calls_are_not_entered() {
    let Some(program) = c("late_filters.c", &[]) else {
        return;
    };
    let _alone = alone();
    for which in ["thread", "all"] {
        let mut command = Command::new(&program);
        command.arg(which);
        let mut running = Running::start(command);
        let pid = running.pid();
        for option in ["--memory=exact", "--inside"] {
            let refused = refusal(&pid, option);
            assert!(refused.contains("seccomp"), "{which}: {refused}");
        }
        tell(&mut running, "go");
        assert_eq!(running.end(), (String::new(), Some(7)), "{which}");
    }
}

#[test]
fn a_program_that_restricts_its_system_calls_later_is_left_alone() {
    let Some(program) = c("late_filters.c", &[]) else {
        return;
    };
    let _alone = alone();
    for option in ["--memory=exact", "--memory", "--inside"] {
        let mut command = Command::new(&program);
        command.arg("later");
        let mut running = Running::start(command);
        let pid = running.pid();
        let Some(recorder) = Recorder::start(&pid, &[option]) else {
            return;
        };
        tell(&mut running, "go");
        tell(&mut running, "restrict");
        tell(&mut running, "go");
        let (_, said) = recorder.end();
        assert!(said.contains("restricts its own system calls"), "{said}");
        tell(&mut running, "go");
        assert!(slots_of(&pid).is_empty(), "{option}");
        assert_eq!(running.end(), (String::new(), Some(7)), "{option}");
    }
}

/// The filters of systemd's services and of Chromium's renderers, and what they do at a call that
/// they do not permit: they end the program, have the call fail, or send a signal.
fn known_filters() -> impl Iterator<Item = Vec<&'static str>> {
    let filters = ["service", "renderer"].into_iter();
    filters.flat_map(|filter| [vec![filter], vec![filter, "fails"], vec![filter, "signals"]])
}

#[test]
fn filters_of_browsers_keep_the_agent_out_and_those_of_services_do_not() {
    let Some(program) = c("late_filters.c", &[]) else {
        return;
    };
    let _alone = alone();
    for filter in known_filters() {
        let lets_through = filter[0] == "service";
        let start = |when: &str| {
            let mut command = Command::new(&program);
            command.arg(when).args(&filter);
            Running::start(command)
        };
        let mut running = start("all");
        for option in ["--memory=exact", "--inside"] {
            if lets_through {
                let Some(recorder) = Recorder::start(&running.pid(), &[option]) else {
                    return;
                };
                tell(&mut running, "go");
                let (_, said) = recorder.end();
                assert!(!said.contains("stays"), "{filter:?}: {said}");
                continue;
            }
            let refused = refusal(&running.pid(), option);
            assert!(refused.contains("seccomp"), "{filter:?}: {refused}");
        }
        tell(&mut running, "go");
        assert!(slots_of(&running.pid()).is_empty(), "{filter:?}");
        assert_eq!(running.end(), (String::new(), Some(7)), "{filter:?}");
        // It restricts itself while the agent is there.
        for option in ["--memory=exact", "--inside"] {
            let mut running = start("later");
            let pid = running.pid();
            let Some(recorder) = Recorder::start(&pid, &[option]) else {
                return;
            };
            tell(&mut running, "go");
            tell(&mut running, "restrict");
            tell(&mut running, "go");
            let (_, said) = recorder.end();
            let is_said = said.contains("restricts its own system calls");
            assert_eq!(is_said, !lets_through, "{filter:?}: {said}");
            tell(&mut running, "go");
            assert!(slots_of(&pid).is_empty(), "{filter:?}, {option}");
            let end = running.end();
            assert_eq!(end, (String::new(), Some(7)), "{filter:?}, {option}");
        }
    }
}

#[test]
fn a_filter_that_refuses_calls_is_entered_if_asked_for() {
    let Some(program) = c("late_filters.c", &[]) else {
        return;
    };
    let _alone = alone();
    for filter in known_filters().filter(|filter| filter.get(1) == Some(&"fails")) {
        let mut command = Command::new(&program);
        command.arg("all").args(&filter);
        let mut running = Running::start(command);
        let pid = running.pid();
        for option in ["--memory=exact", "--inside", "--memory"] {
            let file = scratch().join(format!("hard-{}.profundo", number()));
            let output = Command::new(profundo())
                .args(["attach", &pid, option, "--filtered", "-d", "0.3", "-o"])
                .arg(&file)
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let _ = fs::remove_file(&file);
            let stderr = String::from_utf8_lossy(&output.stderr);
            // A service may do all that the agent does. A renderer may open no file.
            assert!(
                output.status.success() || filter[0] == "renderer",
                "{filter:?}, {option}: {stderr}"
            );
            assert!(!stderr.contains("stays"), "{filter:?}, {option}: {stderr}");
            tell(&mut running, "go");
            assert!(slots_of(&pid).is_empty(), "{filter:?}, {option}");
        }
        assert_eq!(running.end(), (String::new(), Some(7)), "{filter:?}");
    }
}

#[test]
fn a_program_that_restricts_its_system_calls_ends_by_exit() {
    let Some(program) = c("late_filters.c", &[]) else {
        return;
    };
    for (which, line) in [("thread", "go\n"), ("all", "go\n"), ("later", "restrict\n")] {
        let program = Program::new(&program).with(&[which]);
        program.input(line).run_both_ways();
    }
}

#[test]
fn of_several_commands_at_once_one_enters() {
    let Some(program) = c("late_heap.c", &["-fno-builtin"]) else {
        return;
    };
    let _alone = alone();
    let mut running = Running::start(Command::new(&program));
    let pid = running.pid();
    for _ in 0..3 {
        let outputs: Vec<Output> = std::thread::scope(|scope| {
            let attached: Vec<_> = ["--memory", "--memory=exact", "--inside", "--memory"]
                .map(|option| scope.spawn(|| attach(&pid, option)))
                .into_iter()
                .collect();
            attached
                .into_iter()
                .map(|one| one.join().unwrap())
                .collect()
        });
        let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
        if outputs
            .iter()
            .any(|output| said(output).contains("ptrace is refused"))
        {
            return skip("no other process may be entered here");
        }
        // Two may come one after the other, if the machine is busy.
        let done = outputs.iter().filter(|output| output.status.success());
        assert!(done.count() >= 1, "{outputs:?}");
        for output in outputs.iter().filter(|output| !output.status.success()) {
            let said = said(output);
            assert!(said.contains("another profundo"), "{said}");
        }
        ask(&mut running, "go");
        assert!(slots_of(&pid).is_empty());
    }
    assert_eq!(running.end().1, Some(7));
}

#[test]
fn children_that_are_forked_while_the_agent_comes_and_leaves_do_not_hang() {
    let flags = ["-shared", "-fPIC", "-fno-builtin", "-Wl,-z,now"];
    let (Some(program), Some(plugin)) = (c("late_forks.c", &[]), c("late_plugin.c", &flags)) else {
        return;
    };
    let _alone = alone();
    let mut command = Command::new(&program);
    command.arg(&plugin);
    let mut running = Running::start(command);
    let pid = running.pid();
    for option in ["--memory=exact", "--inside", "--memory"].repeat(3) {
        let output = attach(&pid, option);
        let stderr = String::from_utf8_lossy(&output.stderr);
        if stderr.contains("ptrace is refused") {
            return skip("no other process may be entered here");
        }
        assert!(output.status.success(), "{option}: {stderr}");
    }
    running.say("go\n");
    assert_eq!(running.until("\n"), "hung 0 failed 0\n");
    assert_eq!(running.end(), ("hung 0 failed 0\n".to_owned(), Some(7)));
}

#[test]
fn goroutines_are_sampled_from_outside() {
    let Some(program) = go("late_goroutines.go", true) else {
        return;
    };
    let _alone = alone();
    for option in ["--inside", "--memory"].repeat(2) {
        let mut running = Running::start(Command::new(&program));
        for _ in 0..2 {
            let output = attach(&running.pid(), option);
            let stderr = String::from_utf8_lossy(&output.stderr);
            if stderr.contains("ptrace is refused") {
                return skip("no other process may be entered here");
            }
            assert!(output.status.success(), "{option}: {stderr}");
            // Without perf events there is no other way than from inside.
            let maps = fs::read_to_string(format!("/proc/{}/maps", running.pid())).unwrap();
            let is_left_alone = stderr.contains("is not entered, because Go has");
            assert_ne!(
                is_left_alone,
                maps.contains("profundo"),
                "{option}: {stderr}"
            );
            tell(&mut running, "go");
        }
        assert_eq!(running.end(), ("true\n".to_owned(), Some(7)), "{option}");
    }
}

#[test]
fn a_thread_in_an_allocator_of_the_programs_own_is_not_borrowed() {
    /// The first entry loads the agent, and the loader allocates.
    const PROGRAMS: usize = 2;
    for flags in [&["-fno-builtin"][..], &["-fno-builtin", "-s"]] {
        let Some(program) = c("late_own_malloc.c", flags) else {
            return;
        };
        let _alone = alone();
        for option in ["--inside", "--memory"].repeat(PROGRAMS) {
            let running = Running::start(Command::new(&program));
            let output = attach(&running.pid(), option);
            let stderr = String::from_utf8_lossy(&output.stderr);
            if stderr.contains("ptrace is refused") {
                return skip("no other process may be entered here");
            }
            assert!(output.status.success(), "{option}: {stderr}");
            let expected = ("0\n".to_owned(), Some(7));
            assert_eq!(running.end(), expected, "{flags:?}, {option}");
        }
    }
}

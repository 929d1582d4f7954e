//! `attach --inside`: the agent comes into a program that runs already, samples all of its threads
//! from there, and leaves nothing behind.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use profundo_model::Engine;
use profundo_testing::{profundo, skip, wait_for};

use crate::attach::Running;
use crate::program::{Program, alone};
use crate::recording::Recording;
use crate::targets::{c, pythons_for, scratch, source, with_version};

/// Attaches from inside. `None`, and skipped: the machine does not permit it.
pub fn entered(pid: &str, name: &str, options: &[&str]) -> Option<Recording> {
    let file = scratch().join(name);
    let output = attach(pid, &file, options);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if stderr.contains("ptrace") && !output.status.success() {
        skip("no other process may be entered here");
        return None;
    }
    assert!(output.status.success(), "{output:?}");
    let took = Duration::from_secs(1);
    let recording = Recording::read(&file, took, took);
    let _ = fs::remove_file(&file);
    Some(recording)
}

fn attach(pid: &str, file: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(profundo());
    command.args(["attach", pid, "--inside", "-o"]).arg(file);
    command.args(options).stdin(Stdio::null()).output().unwrap()
}

fn start(program: &Path) -> Running {
    Running::start(Command::new(program))
}

#[test]
fn threads_of_a_running_program_sample_themselves() {
    let Some(program) = c("inside.c", &[]) else {
        return;
    };
    let _alone = alone();
    let running = start(&program);
    let Some(recording) = entered(&running.pid(), "inside.profundo", &["-d", "2"]) else {
        return;
    };
    assert_ne!(recording.profile.meta.engine, Engine::PerfRing);
    let parts = [("half", 50.0), ("third", 33.3), ("sixth", 16.7)];
    recording.assert_sound().assert_parts(&parts, 4.0);
    recording.assert_sampled(90.0).assert_whole(99.0);
    assert_eq!(recording.profile.processes.len(), 1);
    assert_eq!(
        recording.profile.threads.len(),
        3,
        "{}",
        recording.outline()
    );
    assert_eq!(running.end(), (String::new(), Some(7)));
}

#[test]
fn a_running_interpreter_is_read_from_inside() {
    let versions = pythons_for("entering");
    for version in with_version((3, 8), with_version((3, 12), versions)) {
        let _alone = alone();
        let mut command = Command::new(&version.path);
        command.arg(source("goes_on.py"));
        let running = Running::start(command);
        let Some(recording) = entered(&running.pid(), "inside-python.profundo", &["-d", "2"])
        else {
            return;
        };
        recording.assert_sound().assert_sampled(90.0);
        let shares = ["work", "packs"].map(|name| recording.share(name));
        let outline = recording.outline();
        assert!(shares.iter().sum::<f64>() > 90.0, "{version:?}: {outline}");
        let whole = recording.share("<module>");
        assert!(whole > 90.0, "{version:?}: {whole} %, {outline}");
        // No call of a thread that waits has failed.
        assert_eq!(
            running.end(),
            ("True 0\n".to_owned(), Some(7)),
            "{version:?}"
        );
    }
}

/// Sends a line to a program, and returns what it prints until it is done.
fn ask(running: &mut Running) -> String {
    running.say("go\n");
    running.until("done\n")
}

#[test]
fn threads_children_and_programs_of_an_entered_program_are_recorded() {
    let Some(program) = c("inside.c", &[]) else {
        return;
    };
    let _alone = alone();
    let mut running = start(&program);
    let before = ask(&mut running);
    let pid = running.pid();
    let file = scratch().join("inside-children.profundo");
    let mut recorder = Command::new(profundo())
        .args(["attach", &pid, "--inside", "-d", "4", "-o"])
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the agent", || has_agent(&pid).then_some(()));
    let meanwhile = ask(&mut running);
    assert!(recorder.wait().unwrap().success());
    let after = ask(&mut running);
    assert_eq!((&before, &before), (&meanwhile, &after));
    let took = Duration::from_secs(1);
    let recording = Recording::read(&file, took, took);
    let _ = fs::remove_file(&file);
    recording.assert_sound();
    let outline = recording.outline();
    // The thread, and the child.
    let later = recording.seconds_where(|sample| recording.names(sample).contains(&"later"));
    assert!((0.5..0.75).contains(&later), "{later}: {outline}");
    let processes = &recording.profile.processes;
    assert!(processes.len() >= 3, "{outline}");
    let text = |process: &profundo_model::Process| {
        recording.profile.strings.get(process.command).to_owned()
    };
    assert!(
        processes
            .iter()
            .any(|process| text(process).contains("exit 5")),
        "{outline}"
    );
    assert_eq!(running.end(), (String::new(), Some(7)));
}

pub fn has_agent(pid: &str) -> bool {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    maps.contains("libprofundo-agent")
}

/// The facts of a process that an agent could change.
#[derive(Debug, PartialEq, Eq)]
struct Traces {
    descriptors: usize,
    threads: usize,
    signals: String,
    environment: Vec<u8>,
    /// The contents of the read-only pages of the program's own file, by their addresses.
    own_pages: BTreeMap<u64, Vec<u8>>,
    /// The words in all pages of loaded files by which calls could lead into the agent.
    slots: Vec<u64>,
}

impl Traces {
    fn of(pid: &str, program: &Path) -> Self {
        let count = |folder: &str| {
            fs::read_dir(format!("/proc/{pid}/{folder}"))
                .unwrap()
                .count()
        };
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let signals = status.lines().filter(|line| {
            ["SigBlk", "SigIgn", "SigCgt", "ShdPnd"]
                .iter()
                .any(|name| line.starts_with(name))
        });
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
        let mut memory = fs::File::open(format!("/proc/{pid}/mem")).unwrap();
        let mut own_pages = BTreeMap::new();
        for line in maps.lines() {
            let is_table = line.contains("r--p");
            if !is_table || !line.ends_with(&*program.to_string_lossy()) {
                continue;
            }
            let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
            let (start, end) = (number(start), number(end));
            let mut bytes = vec![0; (end - start) as usize];
            memory.seek(SeekFrom::Start(start)).unwrap();
            memory.read_exact(&mut bytes).unwrap();
            own_pages.insert(start, bytes);
        }
        Self {
            descriptors: count("fd"),
            threads: count("task"),
            signals: signals.collect::<Vec<_>>().join(", "),
            environment: fs::read(format!("/proc/{pid}/environ")).unwrap(),
            own_pages,
            slots: slots_of_agent(&maps, &mut memory),
        }
    }
}

/// As [`slots_of_agent`], of a process.
pub fn slots_of(pid: &str) -> Vec<u64> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let mut memory = fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    slots_of_agent(&maps, &mut memory)
}

/// The addresses of all words in loaded files that lead into the agent's code. The C library keeps
/// some: the functions that it calls in the child of a fork and at a thread's end.
fn slots_of_agent(maps: &str, memory: &mut fs::File) -> Vec<u64> {
    let range = |line: &str| {
        let (start, end) = line.split(' ').next()?.split_once('-')?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        Some((number(start)?, number(end)?))
    };
    let is_agent = |line: &&str| line.contains("libprofundo-agent");
    let code: Vec<(u64, u64)> = (maps.lines().filter(is_agent))
        .filter(|line| line.contains("r-xp"))
        .filter_map(range)
        .collect();
    let mut found = Vec::new();
    for line in maps.lines().filter(|line| !is_agent(line)) {
        let is_of_file = line.contains('/') && !line.contains("/libc.so");
        let may_hold_slots = line.contains("r--p") || line.contains("rw-p");
        let Some((start, end)) = range(line).filter(|_| is_of_file && may_hold_slots) else {
            continue;
        };
        let mut bytes = vec![0; (end - start) as usize];
        memory.seek(SeekFrom::Start(start)).unwrap();
        if memory.read_exact(&mut bytes).is_err() {
            continue;
        }
        for (at, word) in bytes.chunks_exact(8).enumerate() {
            let word = u64::from_le_bytes(word.try_into().unwrap());
            if code
                .iter()
                .any(|&(start, end)| (start..end).contains(&word))
            {
                found.push(start + 8 * at as u64);
            }
        }
    }
    found
}

#[test]
fn calls_lead_into_the_agent_while_it_is_there() {
    let Some(program) = c("inside.c", &[]) else {
        return;
    };
    let _alone = alone();
    let running = start(&program);
    let pid = running.pid();
    let before = Traces::of(&pid, &program);
    let file = scratch().join("inside-slots.profundo");
    let mut recorder = Command::new(profundo())
        .args(["attach", &pid, "--inside", "-d", "2", "-o"])
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // This test would see it if the others looked at the wrong words.
    wait_for("slots", || {
        let is_over = recorder.try_wait().unwrap().is_some();
        (is_over || !Traces::of(&pid, &program).slots.is_empty()).then_some(())
    });
    let is_entered = !Traces::of(&pid, &program).slots.is_empty();
    if !recorder.wait().unwrap().success() {
        return skip("no other process may be entered here");
    }
    assert!(is_entered);
    assert_eq!(Traces::of(&pid, &program), before);
    let _ = fs::remove_file(&file);
    assert_eq!(running.end(), (String::new(), Some(7)));
}

#[test]
fn programs_that_wait_for_all_signals_do_not_notice_the_agent() {
    for (target, arguments) in [
        ("sigwait.c", &[][..]),
        ("masks_all.c", &[]),
        ("urgent_waits.c", &["shown"]),
        ("urgent_waits.c", &["masks"]),
    ] {
        let Some(program) = c(target, &[]) else {
            return;
        };
        Program::new(program).with(arguments).run_entered_too();
    }
}

#[test]
fn masks_are_the_programs_again_when_the_agent_has_left() {
    let Some(program) = c("masks_late.c", &[]) else {
        return;
    };
    let _alone = alone();
    let mut running = start(&program);
    let pid = running.pid();
    let file = scratch().join("inside-masks.profundo");
    let mut recorder = Command::new(profundo())
        .args(["attach", &pid, "--inside", "-d", "3", "-o"])
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("the agent", || {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        let mut memory = fs::File::open(format!("/proc/{pid}/mem")).unwrap();
        let is_over = recorder.try_wait().unwrap().is_some();
        (is_over || !slots_of_agent(&maps, &mut memory).is_empty()).then_some(())
    });
    // Threads block all signals, and begin to wait in several ways.
    running.say("block\n");
    running.until("blocked\n");
    let output = recorder.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return skip("no other process may be entered here");
    }
    running.say("show\n");
    let shown = running.until("shown\n");
    let _ = fs::remove_file(&file);
    let expected = "reads: whole\nsigwait: whole\nppoll: whole\nsleeps: whole\nworks: whole\n\
        descriptor: whole\nmain: whole\nshown\n";
    assert_eq!(shown, expected, "{stderr}");
    assert_eq!(running.end(), (String::new(), Some(7)));
}

/// The resident memory in KB, and the number of mappings.
pub fn size(pid: &str) -> (u64, usize) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    let resident = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    (resident, maps.lines().count())
}

/// Has the agent come into programs and leave them. What they have is compared each time.
fn comes_and_leaves(times: usize, seconds: &str) {
    for flags in [&[][..], &["-Wl,-z,now"], &["-no-pie", "-fno-plt"]] {
        let Some(program) = c("inside.c", flags) else {
            return;
        };
        let _alone = alone();
        let mut running = start(&program);
        let printed = ask(&mut running);
        let pid = running.pid();
        let before = Traces::of(&pid, &program);
        assert!(!before.own_pages.is_empty());
        let mut first = None;
        for _ in 0..times {
            if entered(&pid, "inside-often.profundo", &["-d", seconds]).is_none() {
                return;
            }
            let now = Traces::of(&pid, &program);
            assert!(now == before, "{flags:?}: {now:?}\n{before:?}");
            let (resident, mappings) = size(&pid);
            // The agent and the places of its memory stay from the first time on.
            let (resident_first, mappings_first) = *first.get_or_insert((resident, mappings));
            assert!(
                mappings <= mappings_first,
                "{mappings_first} then {mappings}"
            );
            assert!(
                resident <= resident_first + 400,
                "{resident_first} then {resident} KB"
            );
        }
        assert_eq!(ask(&mut running), printed);
        assert_eq!(running.end(), (String::new(), Some(7)));
    }
}

#[test]
fn the_agent_leaves_nothing_behind_however_often_it_comes() {
    comes_and_leaves(12, "0.2");
}

#[test]
#[ignore = "long: it enters and leaves three programs, each a thousand times"]
fn the_agent_leaves_nothing_behind_when_it_comes_a_thousand_times() {
    comes_and_leaves(1000, "0.05");
}

#[test]
fn a_program_is_entered_by_one_command_at_a_time() {
    let Some(program) = c("inside.c", &[]) else {
        return;
    };
    let _alone = alone();
    let running = start(&program);
    let pid = running.pid();
    let first = scratch().join("inside-first.profundo");
    let mut recorder = Command::new(profundo())
        .args(["attach", &pid, "--inside", "-d", "30", "-o"])
        .arg(&first)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the agent", || first.exists().then_some(()));
    wait_for("the agent", || has_agent(&pid).then_some(()));
    let second = scratch().join("inside-second.profundo");
    wait_for("a refusal", || {
        let output = attach(&pid, &second, &["-d", "0.1"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // The first one may still hold a thread.
        (!output.status.success() && said.contains("another profundo")).then_some(())
    });
    // A command that is killed leaves its agent, which the next one finds.
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let recording = entered(&pid, "inside-second.profundo", &["-d", "1"]).unwrap();
    recording
        .assert_sound()
        .assert_parts(&[("half", 50.0), ("third", 33.3)], 8.0);
    let _ = fs::remove_file(&first);
    assert_eq!(running.end(), (String::new(), Some(7)));
}

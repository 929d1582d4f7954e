//! A process that becomes other programs by `exec`: one row, and its time by program beside it.

use profundo_model::{
    Engine, Nanos, Process, ProcessEnd, ProcessId, Profile, Sample, State, Thread, ThreadId,
};
use profundo_report::{Choices, Filter, GroupBy, Report, Summary, View};
use serde_json::Value;

const MS: u64 = 1_000_000;

/// A shell that becomes `env` and then `python3`, and has a child that becomes `sed`; with so many
/// samples each.
fn chain() -> Profile {
    let mut profile = Profile::from_folded("main;work 1").unwrap();
    let sample = profile.samples.remove(0);
    profile.threads = Default::default();
    profile.processes.clear();
    profile.meta.engine = Engine::PerfSignal;
    profile.meta.period = Nanos(MS);
    let rows = [
        (70, "sh start.sh", None, 5),
        (70, "env python3 app.py", Some(0), 1),
        (71, "sh start.sh", Some(0), 2),
        (70, "python3 app.py", Some(1), 30),
        (71, "sed s/a/b/", Some(2), 8),
    ];
    for (index, (pid, command, parent, samples)) in rows.into_iter().enumerate() {
        let command = profile.strings.intern(command);
        profile.processes.push(Process {
            pid,
            command,
            parent: parent.map(ProcessId),
            user: Some(Nanos(samples * MS)),
            system: Some(Nanos(0)),
            end: ProcessEnd::Replaced,
            ..Process::default()
        });
        let thread = profile.threads.push(Thread {
            number: index as u64 + 1,
            tid: pid,
            process: ProcessId::from_index(index),
            cpu: Some(Nanos(samples * MS)),
            ..Thread::default()
        });
        for _ in 0..samples {
            profile.samples.push(Sample {
                weight: Nanos(MS),
                thread,
                state: State::Running,
                ..sample
            });
        }
    }
    profile.processes[3].end = ProcessEnd::Exited(3);
    profile
}

fn document(summary: &Summary) -> Value {
    serde_json::from_str(&summary.json(&chain()).unwrap()).unwrap()
}

fn rows<'a>(document: &'a Value, table: &str, name: &str) -> Vec<(&'a str, f64)> {
    let rows = document[table].as_array().unwrap().iter();
    rows.map(|row| {
        (
            row[name].as_str().unwrap(),
            row["seconds"].as_f64().unwrap(),
        )
    })
    .collect()
}

#[test]
fn a_process_is_one_row_named_after_its_last_program() {
    let text = Summary::new().render(&chain()).unwrap();
    assert!(text.contains("exited with 3 · "), "{text}");
    assert!(text.contains(" · 2 processes · 2 threads"), "{text}");
    let (_, table) = text.split_once("  Process\n").unwrap();
    let (table, after) = table.split_once("\n\n").unwrap();
    let lines: Vec<&str> = table.lines().map(str::trim_end).collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].contains("36.0 ms"), "{text}");
    assert!(
        lines[0].ends_with("70 python3 app.py  (3 programs)  exited with 3"),
        "{text}"
    );
    // A fork that runs one program has run one.
    assert!(lines[1].ends_with("71   sed s/a/b/"), "{text}");
    // Each process has one thread, so their table would have the same rows.
    assert!(!after.contains("  Thread\n"), "{text}");
}

#[test]
fn the_time_of_former_programs_is_in_the_table_of_commands() {
    let document = document(&Summary::new());
    let number = |table: &str| document[table].as_array().unwrap().len() as u64;
    assert_eq!(document["recording"]["processes"], number("processes"));
    assert_eq!(document["recording"]["threads"], number("threads"));
    let processes = rows(&document, "processes", "command");
    assert_eq!(processes, [("python3 app.py", 0.036), ("sed s/a/b/", 0.01)]);
    let mut commands = rows(&document, "commands", "command");
    commands.sort_by(|a, b| a.0.cmp(b.0));
    let wanted = [
        ("env", 0.001),
        ("python3", 0.03),
        ("sed", 0.008),
        ("sh", 0.007),
    ];
    assert_eq!(commands, wanted);
    let counts = document["commands"].as_array().unwrap().iter();
    let counts: u64 = counts.map(|row| row["processes"].as_u64().unwrap()).sum();
    assert_eq!(counts, 2);
    let first = &document["processes"][0];
    let former = rows(first, "former_programs", "command");
    assert_eq!(
        former,
        [("sh start.sh", 0.005), ("env python3 app.py", 0.001)]
    );
    assert_eq!(first["user_seconds"], 0.036);
    assert_eq!(document["processes"][1]["parent"], first["process"]);
    assert_eq!(document["threads"][0]["process"], first["process"]);
    assert_eq!(document["threads"][0]["cpu_seconds"], 0.036);
    let text = Summary::new().by_command(true).render(&chain()).unwrap();
    assert!(text.contains("env  (replaced by exec)"), "{text}");
}

#[test]
fn a_filter_names_a_process_after_the_selected_program() {
    let processes = filtered(Filter::default().process("sh start"));
    let shell = ("sh start.sh".to_owned(), 0.005);
    assert_eq!(
        processes,
        [shell.clone(), ("sh start.sh".to_owned(), 0.002)]
    );
    // A thread has the number that it has in the last program.
    let thread = |number| filtered(Filter::default().thread(number));
    assert_eq!(thread("4"), [("python3 app.py".to_owned(), 0.036)]);
    assert_eq!(thread("1"), [shell]);
}

fn filtered(filter: Filter) -> Vec<(String, f64)> {
    let document = document(&Summary::new().choices(Choices::command().filter(filter)));
    let found = rows(&document, "processes", "command").into_iter();
    found.map(|(name, time)| (name.to_owned(), time)).collect()
}

#[test]
fn groups_are_processes_and_threads() {
    for (by, wanted) in [
        (GroupBy::Process, "Process 70 (python3 app.py)"),
        (GroupBy::Thread, "Thread 4"),
    ] {
        let text = Report::new().group_by(by).render(&chain()).unwrap();
        let heading = wanted.split(' ').next().unwrap();
        let headings = text.lines().filter(|line| line.starts_with(heading));
        assert_eq!(headings.count(), 2, "{text}");
        let line = text.lines().find(|line| line.starts_with(wanted));
        assert!(line.is_some_and(|line| line.contains(": 36")), "{text}");
    }
    assert_eq!(chain().thread_count(), 2);
    assert_eq!(chain().programs().thread(ThreadId(0)), ThreadId(3));
}

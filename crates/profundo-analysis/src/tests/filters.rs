//! The samples that a filter passes.

use profundo_model::{Nanos, Process, ProcessId, Profile, Thread};

use super::mixed;
use crate::*;

/// The number of samples that pass.
fn count_of(filter: Filter) -> usize {
    Selection::new(&profile(), &filter).len()
}

/// Ten samples of each of two threads, and five of a third in another process.
fn profile() -> Profile {
    let mut profile = mixed();
    profile.processes[0].pid = 100;
    profile.processes[0].command = profile.strings.intern("python3 app.py");
    let command = profile.strings.intern("gzip -9");
    profile.processes.push(Process {
        pid: 200,
        command,
        ..Process::default()
    });
    let sample = profile.samples[0];
    for (number, tid, name, process, count) in [(2, 101, "worker-a", 0, 10), (3, 201, "gzip", 1, 5)]
    {
        let name = profile.strings.intern(name);
        let thread = profile.threads.push(Thread {
            number,
            tid,
            name,
            process: ProcessId(process),
            ..Thread::default()
        });
        for _ in 0..count {
            let time = Nanos(profile.samples.len() as u64 * 1_000_000);
            profile.samples.push(profundo_model::Sample {
                thread,
                time,
                ..sample
            });
        }
    }
    profile
}

#[test]
fn nothing_asked_for_is_all() {
    assert!(Filter::default().is_all());
    assert_eq!(count_of(Filter::default()), 25);
}

#[test]
fn threads_are_known_by_number_id_and_name() {
    let thread = |text| count_of(Filter::default().thread(text));
    assert_eq!([thread("1"), thread("2"), thread("3")], [10, 10, 5]);
    assert_eq!(thread("101"), 10, "by the kernel's id");
    assert_eq!(thread("worker"), 10);
    assert_eq!(thread("*-?"), 10);
    assert_eq!(thread("nobody"), 0);
    assert_eq!(count_of(Filter::default().thread("1").thread("gzip")), 15);
}

#[test]
fn processes_are_known_by_pid_and_command() {
    let process = |text| count_of(Filter::default().process(text));
    assert_eq!([process("100"), process("200"), process("300")], [20, 5, 0]);
    assert_eq!([process("app"), process("gzip*"), process("")], [20, 5, 25]);
}

#[test]
fn a_file_or_a_function_has_to_be_on_the_stack() {
    let file = |text| count_of(Filter::default().file(text));
    // One of the ten samples is in C alone, three are in a library.
    assert_eq!([file("app.py"), file("*.py"), file("json")], [24, 24, 3]);
    assert_eq!(file("nowhere"), 0);
    let function = |text| count_of(Filter::default().function(text));
    assert_eq!(
        [function("loads"), function("load"), function("ads")],
        [2, 2, 2]
    );
    let both = Filter::default().file("app.py").function("idle");
    assert_eq!(count_of(both), 0);
}

#[test]
fn time_is_from_one_instant_to_before_another() {
    let from = |seconds| Filter::default().from_seconds(seconds);
    assert_eq!(count_of(from(0.0)), 25);
    assert_eq!(count_of(from(0.020)), 5);
    assert_eq!(count_of(from(0.005).to_seconds(0.010)), 5);
    assert_eq!(count_of(from(-3.0).to_seconds(f64::NAN)), 0);
    assert_eq!(count_of(from(9.0).to_seconds(1.0)), 0);
}

#[test]
fn what_was_asked_adds_up() {
    let filter = Filter::default().thread("1").function("loads");
    assert_eq!(count_of(filter.clone()), 2);
    assert_eq!(count_of(filter.process("200")), 0);
}

#[test]
fn a_window_needs_no_list() {
    let profile = profile();
    let part = Selection::new(&profile, &Filter::default().from_seconds(0.020));
    let times: Vec<u64> = part.samples(&profile).map(|sample| sample.time.0).collect();
    assert_eq!(
        times,
        [20_000_000, 21_000_000, 22_000_000, 23_000_000, 24_000_000]
    );
    assert_eq!(part.total(&profile), 5);
}

#[test]
fn processes_are_groups() {
    let profile = profile();
    let groups = groups(&profile, &Filter::default(), &GroupBy::Process);
    let rows: Vec<_> = (groups.iter())
        .map(|group| {
            (
                group.process,
                group.selection.len(),
                group.selection.threads().len(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [(Some(ProcessId(0)), 20, 2), (Some(ProcessId(1)), 5, 1)]
    );
}

#[test]
fn totals_are_those_of_the_samples() {
    let profile = profile();
    let totals = totals(&profile, &Selection::new(&profile, &Filter::default()));
    let threads: Vec<u64> = (totals.threads.iter())
        .map(|thread| thread.amount.samples)
        .collect();
    assert_eq!(threads, [10, 10, 5]);
    let processes: Vec<(u64, u64)> = (totals.processes.iter())
        .map(|process| (process.threads, process.amount.weight))
        .collect();
    assert_eq!(processes, [(2, 29_000_000), (1, 5_000_000)]);
    let one = Selection::new(&profile, &Filter::default().thread("1"));
    let alone = crate::totals(&profile, &one);
    assert_eq!(alone.threads.len(), 1);
    assert_eq!(alone.threads[0].amount.split, one.split(&profile));
    let split = totals
        .threads
        .iter()
        .find(|thread| thread.thread == alone.threads[0].thread);
    assert_eq!(split.unwrap().amount, alone.threads[0].amount);
}

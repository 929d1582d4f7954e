//! Samples that are scaled to the CPU time of their processes, and the missing time.

use profundo_model::{
    Engine, Loss, Nanos, Process, ProcessId, Profile, Reason, Sample, SampleKind, StackId, State,
    Thread, ThreadId,
};

use super::all;
use crate::{
    Cause, GroupBy, command_name, groups, missing, quality, settle, settle_beside_waits, shares,
    totals,
};

const MS: u64 = 1_000_000;

/// A process with a thread, and a number of samples of one period each.
fn process(
    profile: &mut Profile,
    (pid, command): (u32, &str),
    (user, system): (u64, u64),
    samples: u64,
) -> ProcessId {
    let command = profile.strings.intern(command);
    let id = ProcessId::from_index(profile.processes.len());
    profile.processes.push(Process {
        pid,
        command,
        user: Some(Nanos(user)),
        system: Some(Nanos(system)),
        ..Process::default()
    });
    let thread = profile.threads.push(Thread {
        number: u64::from(pid),
        tid: pid,
        process: id,
        ..Thread::default()
    });
    for _ in 0..samples {
        take(profile, thread, StackId(0), State::Running);
    }
    id
}

fn take(profile: &mut Profile, thread: ThreadId, stack: StackId, state: State) {
    profile.samples.push(Sample {
        weight: Nanos(MS),
        thread,
        stack,
        state,
        ..Sample::default()
    });
}

/// A profile with one stack, and no processes yet.
fn empty() -> Profile {
    let mut profile = Profile::from_folded("main;work 1").unwrap();
    profile.samples.clear();
    profile.threads = Default::default();
    profile.processes.clear();
    profile.meta.engine = Engine::PerfSignal;
    profile
}

/// A shell that ran for long, a process that has two samples of its three milliseconds, and many
/// that have none.
fn shell() -> Profile {
    let mut profile = empty();
    process(&mut profile, (1, "sh script.sh"), (100 * MS, 0), 100);
    process(&mut profile, (2, "/usr/bin/sed s/a/b/"), (3 * MS + 1, 0), 2);
    for pid in 3..103 {
        let name = ["sed s/b/c/", "grep x"][pid as usize % 2];
        process(&mut profile, (pid, name), (MS + 7, 500), 0);
    }
    profile
}

fn weight_of(profile: &Profile, id: u32) -> u64 {
    let own = profile.samples.iter();
    let own = own.filter(|sample| profile.threads.get(sample.thread).process.0 == id);
    own.map(|sample| sample.weight.0).sum()
}

#[test]
fn waits_stay_as_they_are_beside_scaled_cpu_time() {
    let mut profile = shell();
    profile.meta.kind = SampleKind::Wall;
    let thread = profile.threads.iter().next().unwrap().0;
    take(&mut profile, thread, StackId(0), State::WallWaiting);
    let before = profile.clone();
    settle(&mut profile);
    assert!(profile.samples == before.samples);
    settle_beside_waits(&mut profile);
    let waits = |sample: &&Sample| sample.state == State::WallWaiting;
    let waited: u64 = (profile.samples.iter().filter(waits))
        .map(|sample| sample.weight.0)
        .sum();
    assert_eq!(waited, MS);
    assert_eq!(weight_of(&profile, 0), 101 * MS);
    assert_eq!(weight_of(&profile, 1), 3 * MS + 1);
    assert_eq!(weight_of(&profile, 2), MS + 507);
}

/// The clocks of some engines stand still in the kernel: their samples cannot stand for its time,
/// too.
#[test]
fn samples_outside_of_the_kernel_stand_for_no_time_in_it() {
    let mut profile = empty();
    process(&mut profile, (1, "app"), (70 * MS + 1, 30 * MS), 100);
    settle(&mut profile);
    let found = quality(&profile, &all(&profile));
    let missing = missing(&profile).unwrap();
    assert_eq!(missing.sum(), 30 * MS);
    assert_eq!(found.sampled + missing.sum(), found.used.unwrap());
}

/// Processes of half a period, of which every second one has a sample: that is 50 % of the time,
/// not 100 %.
#[test]
fn a_sample_stands_for_no_more_than_its_short_process() {
    let mut profile = empty();
    for pid in 1..=100 {
        process(
            &mut profile,
            (pid, "expr 1"),
            (MS / 2, 0),
            u64::from(pid % 2),
        );
    }
    settle(&mut profile);
    let found = quality(&profile, &all(&profile));
    assert_eq!(found.sampled_share(), Some(0.5));
    let missing = missing(&profile).unwrap();
    assert_eq!(found.sampled + missing.sum(), found.used.unwrap());
}

#[test]
fn each_process_gets_the_time_that_the_kernel_counted() {
    let mut profile = shell();
    let raw = quality(&profile, &all(&profile));
    settle(&mut profile);
    for (id, process) in (0..).zip(&profile.processes) {
        let used = process.user.unwrap().0 + process.system.unwrap().0;
        assert_eq!(weight_of(&profile, id), used, "{process:?}");
    }
    let selection = all(&profile);
    let (user, system) = profile.cpu_used().unwrap();
    assert_eq!(selection.weight(&profile), user.0 + system.0);
    // The measured values stay: numbers of samples, and their time.
    let now = quality(&profile, &selection);
    assert_eq!((now.samples, now.sampled), (102, 102 * MS));
    assert_eq!((raw.samples, raw.sampled), (now.samples, now.sampled));
    assert_eq!(selection.taken(&profile), 102);
    let share = now.sampled_share().unwrap();
    assert!((share - now.sampled as f64 / now.used.unwrap() as f64).abs() < 1e-12);
    // Counts in trees add up to the time as well.
    let periods = selection.weight(&profile) as f64 / MS as f64;
    assert!((selection.total(&profile) as f64 - periods).abs() <= 2.0);
    // Once is enough.
    let before = profile.samples.clone();
    settle(&mut profile);
    assert_eq!(profile.samples, before);
}

#[test]
fn commands_of_one_name_are_one_row() {
    let mut profile = shell();
    settle(&mut profile);
    let rows = totals(&profile, &all(&profile)).commands;
    let rows: Vec<(&str, u64, u64)> = (rows.iter())
        .map(|row| {
            let name = command_name(&profile, row.first);
            (name, row.processes, row.amount.weight)
        })
        .collect();
    let each = MS + 7 + 500;
    assert_eq!(
        rows,
        [
            ("sh", 1, 100 * MS),
            ("sed", 51, 3 * MS + 1 + 50 * each),
            ("grep", 50, 50 * each),
        ]
    );
    let groups = groups(&profile, &Default::default(), &GroupBy::Command);
    let weights: Vec<u64> = (groups.iter())
        .map(|group| group.selection.weight(&profile))
        .collect();
    assert_eq!(weights, [rows[0].2, rows[1].2, rows[2].2]);
}

#[test]
fn time_without_a_sample_has_a_row_and_no_samples() {
    let mut profile = shell();
    settle(&mut profile);
    let rows = shares(&profile, &all(&profile), true);
    let of = |name: &str| {
        let is_it = |share: &&crate::FunctionShare| match share.place {
            crate::Place::Reason(reason) => reason.name() == name,
            crate::Place::Frame(frame) => profile.function_name(frame) == name,
            _ => false,
        };
        *rows.iter().find(is_it).unwrap()
    };
    let short = of("[too short to be sampled]");
    assert_eq!(short.own_amount.weight, 100 * (MS + 507));
    assert_eq!(short.own_amount.samples, 0);
    let work = rows.iter().map(|row| row.own_amount.samples).sum::<u64>();
    assert_eq!(work, 102);
    assert!(short.own.interval.low < short.own.share && short.own.share < short.own.interval.high);
    let split = all(&profile).split(&profile);
    assert_eq!(split.system, 100 * 500);
}

#[test]
fn a_long_process_is_not_scaled_without_bound() {
    let mut profile = shell();
    process(&mut profile, (500, "deaf"), (1000 * MS, 0), 100);
    process(&mut profile, (501, "blind"), (100 * MS, 50 * MS), 100);
    settle(&mut profile);
    let found = missing(&profile).unwrap();
    let of = |cause: Cause| {
        let row = found.causes.iter().find(|(other, _)| *other == cause);
        row.map_or(0, |(_, weight)| *weight)
    };
    // Of a second, a tenth has samples, which stand for two at most; and the time in the kernel is
    // unknown.
    assert_eq!(of(Cause::Row(Reason::NotSampled)), 800 * MS + 50 * MS);
    assert_eq!(of(Cause::Row(Reason::TooShort)), 100 * (MS + 507));
    assert_eq!(of(Cause::Missed), 100 * MS + MS + 1);
    let now = quality(&profile, &all(&profile));
    assert_eq!(found.used, now.used.unwrap());
    assert_eq!(found.sum(), found.used - now.sampled);
    assert!(found.is_grave(MS));
}

#[test]
fn a_warning_is_due_from_a_twentieth_on() {
    let of = |samples: u64, lost: u64| {
        let mut profile = shell();
        profile.processes.truncate(1);
        profile.samples.truncate(samples as usize);
        profile.meta.loss = Loss {
            buffer_full: lost,
            ..Loss::default()
        };
        settle(&mut profile);
        missing(&profile).unwrap()
    };
    assert!(!of(96, 0).is_grave(MS));
    let found = of(90, 6);
    assert!(found.is_grave(MS));
    assert_eq!(
        found.causes,
        [(Cause::BufferFull, 6 * MS), (Cause::Missed, 4 * MS)]
    );
    // A program of a few periods has a moment without a sample at each end.
    assert!(!of(1, 0).is_grave(100 * MS));
}

#[test]
fn stacks_that_could_not_be_read_are_missing_too() {
    let mut profile = shell();
    profile.processes.truncate(1);
    profile.samples.truncate(90);
    for (reason, samples) in [(Reason::SignalsBlocked, 6), (Reason::Broken, 4)] {
        let kind = profundo_model::LocationKind::Reason(reason);
        let location = profile.locations.intern(kind, None);
        let stack = profile.stacks.intern(None, location);
        for _ in 0..samples {
            take(&mut profile, ThreadId(0), stack, State::Running);
        }
    }
    settle(&mut profile);
    let found = missing(&profile).unwrap();
    assert_eq!(
        found.causes,
        [
            (Cause::Row(Reason::SignalsBlocked), 6 * MS),
            (Cause::Row(Reason::Broken), 4 * MS),
        ]
    );
    assert!(found.is_grave(MS));
}

/// Of 40 ms, ten samples were lost and ten are unreadable. The other twenty stand for the lost
/// ones, too.
#[test]
fn what_could_not_be_read_is_not_scaled_up() {
    let mut profile = empty();
    process(&mut profile, (1, "app"), (40 * MS, 0), 20);
    let broken = profundo_model::LocationKind::Reason(Reason::PythonBroken);
    let location = profile.locations.intern(broken, None);
    let stack = profile.stacks.intern(None, location);
    for _ in 0..10 {
        take(&mut profile, ThreadId(0), stack, State::Running);
    }
    settle(&mut profile);
    assert_eq!(all(&profile).weight(&profile), 40 * MS);
    let found = missing(&profile).unwrap();
    let wanted = [
        (Cause::Missed, 10 * MS),
        (Cause::Row(Reason::PythonBroken), 10 * MS),
    ];
    for (cause, weight) in wanted {
        let of = found.causes.iter().find(|(other, _)| *other == cause);
        let found = of.map_or(0, |(_, weight)| *weight);
        assert!(found.abs_diff(weight) < 100, "{cause:?}: {found} ns");
    }
    assert!(found.sum() <= 20 * MS);
}

#[test]
fn a_process_that_becomes_another_program_is_one_process() {
    let mut profile = shell();
    let before = profile.process_count();
    let child = process(&mut profile, (600, "sh script.sh"), (MS, 0), 0);
    profile.processes[child.index()].parent = Some(ProcessId(0));
    let program = process(&mut profile, (600, "expr 1 + 1"), (MS, 0), 0);
    profile.processes[program.index()].parent = Some(child);
    assert_eq!(profile.processes.len(), before + 2);
    assert_eq!(profile.process_count(), before + 1);
    assert_eq!(profile.thread_count(), profile.threads.len() - 1);
    settle(&mut profile);
    let rows = totals(&profile, &all(&profile)).commands;
    let processes: u64 = rows.iter().map(|row| row.processes).sum();
    assert_eq!(processes, profile.process_count() as u64);
}

#[test]
fn times_in_ticks_do_not_take_samples_away() {
    let mut profile = shell();
    process(&mut profile, (700, "coarse"), (10 * MS, 0), 14);
    settle(&mut profile);
    let id = profile.processes.len() as u32 - 1;
    assert_eq!(weight_of(&profile, id), 14 * MS);
    assert_eq!(profile.processes[id as usize].user, Some(Nanos(14 * MS)));
}

#[test]
fn a_process_without_a_thread_is_in_the_tables_too() {
    let mut profile = shell();
    let command = profile.strings.intern("python3 fork.py");
    profile.processes.push(Process {
        pid: 900,
        command,
        ..Process::default()
    });
    settle(&mut profile);
    let found = totals(&profile, &all(&profile));
    assert_eq!(found.processes.len(), profile.process_count());
    let commands: u64 = found.commands.iter().map(|row| row.processes).sum();
    assert_eq!(commands, profile.process_count() as u64);
    let last = found.processes.last().unwrap();
    assert_eq!((last.threads, last.amount.weight), (0, 0));
    // A filter by thread leaves out the process without known threads.
    let filter = crate::Filter {
        threads: crate::Numbers::from(1),
        ..crate::Filter::default()
    };
    let some = crate::Selection::new(&profile, &filter);
    assert_eq!(totals(&profile, &some).processes.len(), 1);
}

#[test]
fn two_processes_without_a_sample_have_a_row_each() {
    let mut profile = shell();
    profile.processes.truncate(2);
    profile.samples.clear();
    settle(&mut profile);
    assert_eq!(weight_of(&profile, 0), 100 * MS);
    assert_eq!(weight_of(&profile, 1), 3 * MS + 1);
    assert_eq!(profile.samples_taken(), 0);
    // A single one has a sentence in place of rows.
    let mut profile = shell();
    profile.processes.truncate(1);
    profile.samples.clear();
    settle(&mut profile);
    assert!(profile.samples.is_empty());
}

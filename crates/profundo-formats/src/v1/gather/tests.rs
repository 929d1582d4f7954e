//! Gathered samples have the sums of single ones.

use std::io::Cursor;
use std::ops::Range;

use profundo_analysis::{
    Filter, FunctionShare, GroupBy, Selection, groups, keep_only, quality, settle, shares, totals,
};
use profundo_model::{Engine, Gil, Nanos, Process, Profile, Sample, SampleKind, State};

use super::{Manner, gather};
use crate::{Warning, header, read, write};

const PERIOD: u64 = 1_000_000;
const ALL: Range<Nanos> = Nanos(0)..Nanos(u64::MAX);

/// Pseudo-random numbers.
fn dice(state: &mut u64, bound: u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % bound
}

/// Samples of three threads in forty stacks, like a recorder's.
fn made_up(samples: u64) -> Profile {
    let mut profile = Profile::default();
    profile.meta.kind = SampleKind::Cpu;
    profile.meta.engine = Engine::PerfSignal;
    profile.meta.period = Nanos(PERIOD);
    let command = profile.strings.intern("made-up");
    profile.processes.push(Process {
        pid: 7,
        command,
        ..Process::default()
    });
    let threads: Vec<_> = (1..=3)
        .map(|number| {
            let thread = profile.hand_made_thread(number, &format!("worker-{number}"));
            (thread, profile.hand_made_task(number))
        })
        .collect();
    let mut stacks = Vec::new();
    for number in 0..40 {
        let levels: Vec<_> = (0..3)
            .map(|level| {
                let of = number % (10 + 10 * level);
                let name = format!("function_{of}");
                profile.hand_made_python("made_up.py", &name, of + 1, level < 2)
            })
            .collect();
        stacks.push(profile.hand_made_stack(&levels));
    }
    let mut state = 1;
    for number in 0..samples {
        let (thread, task) = threads[(number % 3) as usize];
        let stack = stacks[(dice(&mut state, 7) * dice(&mut state, 6)) as usize];
        let weight = PERIOD / 2 + dice(&mut state, PERIOD);
        profile.samples.push(Sample {
            time: Nanos(number * PERIOD / 3 + dice(&mut state, 1000)),
            weight: Nanos(weight),
            thread,
            task,
            stack,
            state: [State::Running, State::System][usize::from(dice(&mut state, 9) == 0)],
            gil: [Gil::None, Gil::Held][dice(&mut state, 2) as usize],
            ..Sample::default()
        });
    }
    let used: u64 = profile.samples.iter().map(|sample| sample.weight.0).sum();
    profile.processes[0].user = Some(Nanos(used));
    profile.processes[0].system = Some(Nanos(used / 50));
    profile
}

fn gathered(bytes: &[u8], within: Range<Nanos>) -> Option<(Profile, Vec<Warning>)> {
    let manner = Manner { least: 0, within };
    gather(&mut Cursor::new(bytes), header::LEN, &manner).unwrap()
}

fn file_of(profile: &Profile) -> Vec<u8> {
    let mut file = Vec::new();
    write(profile, &mut file).unwrap();
    file
}

/// Asserts that both give the same answers.
fn assert_same(single: &Profile, gathered: &Profile, filter: &Filter) {
    assert!(gathered.gathered.is_any());
    assert!(gathered.samples.len() < single.samples.len() / 10);
    assert_eq!(gathered.sample_count(), single.sample_count());
    let of = |profile: &Profile| {
        let selection = Selection::new(profile, filter);
        (
            shares(profile, &selection, profundo_analysis::Shown::default()),
            selection,
        )
    };
    let ((one, first), (other, second)) = (of(single), of(gathered));
    let is_near = |one: f64, other: f64| (one - other).abs() <= 1e-3 * one.abs().max(1e-9);
    assert_eq!(one.len(), other.len());
    for (one, other) in one.iter().zip(&other) {
        let FunctionShare {
            place,
            own_amount,
            total_amount,
            ..
        } = *one;
        assert_eq!(place, other.place);
        assert_eq!(own_amount.samples, other.own_amount.samples);
        assert_eq!(total_amount.samples, other.total_amount.samples);
        // Rounding differs between single samples and rows.
        assert!(is_near(
            total_amount.weight as f64,
            other.total_amount.weight as f64
        ));
        assert!(is_near(total_amount.squares, other.total_amount.squares));
        assert!(is_near(one.total.share, other.total.share));
        let (margin, again) = (one.total.margin(), other.total.margin());
        assert!(
            (margin - again).abs() <= 0.2 * margin,
            "{margin} and {again}"
        );
    }
    assert_eq!(first.taken(single), second.taken(gathered));
    assert!(is_near(
        first.total(single) as f64,
        second.total(gathered) as f64
    ));
    let (one, other) = (totals(single, &first), totals(gathered, &second));
    for (one, other) in one.threads.iter().zip(&other.threads) {
        assert_eq!(
            (one.thread, one.amount.samples),
            (other.thread, other.amount.samples)
        );
        assert!(is_near(one.amount.squares, other.amount.squares));
        // Each sample's count is rounded, and scaled samples cannot be counted again.
        let (count, again) = (one.amount.count as f64, other.amount.count as f64);
        assert!((count - again).abs() < 0.02 * count, "{count} and {again}");
        let (one, other) = (one.amount.split, other.amount.split);
        assert!(is_near(one.system as f64, other.system as f64));
    }
    let (one, other) = (quality(single, &first), quality(gathered, &second));
    assert_eq!((one.samples, one.used), (other.samples, other.used));
    assert!(is_near(one.sampled as f64, other.sampled as f64));
}

#[test]
fn rows_answer_as_their_samples_do() {
    let profile = made_up(60_000);
    let file = file_of(&profile);
    let (mut single, _) = read(&file).unwrap();
    let (mut rows, warnings) = gathered(&file, ALL).unwrap();
    assert_eq!(warnings, []);
    assert_same(&single, &rows, &Filter::default());
    let stacks = |profile: &Profile| -> Vec<_> {
        let selection = Selection::new(profile, &Filter::default());
        selection
            .stacks(profile)
            .iter()
            .map(|stack| (stack.stack, stack.weight, stack.count))
            .collect()
    };
    assert_eq!(
        stacks(&single),
        stacks(&rows),
        "in the order in which they were met"
    );
    settle(&mut single);
    settle(&mut rows);
    assert_eq!(rows.meta.settled, single.meta.settled);
    rows.meta.settled.expect("the weights were settled");
    assert_same(&single, &rows, &Filter::default());
    assert_same(&single, &rows, &Filter::default().thread("2"));
    assert_same(&single, &rows, &Filter::default().function("function_3"));
    let numbers = |profile: &Profile| -> Vec<_> {
        let groups = groups(profile, &Filter::default(), &GroupBy::Task);
        groups
            .iter()
            .map(|group| (group.task, group.selection.taken(profile)))
            .collect()
    };
    assert_eq!(numbers(&single), numbers(&rows));
}

#[test]
fn a_stretch_of_time_is_kept_apart() {
    let profile = made_up(60_000);
    let file = file_of(&profile);
    let within = Nanos(4_000_000_123)..Nanos(9_000_000_456);
    let (mut rows, _) = gathered(&file, within.clone()).unwrap();
    let (mut single, _) = read(&file).unwrap();
    let mut filter = Filter::default();
    (filter.from, filter.to) = (Some(within.start), Some(within.end));
    assert_same(&single, &rows, &filter);
    keep_only(&mut single, &filter);
    keep_only(&mut rows, &filter);
    assert_same(&single, &rows, &Filter::default());
}

#[test]
fn what_was_cut_is_said_as_ever() {
    let file = file_of(&made_up(60_000));
    for length in [file.len() - 1, file.len() / 2, file.len() / 3] {
        let cut = &file[..length];
        let (single, expected) = read(cut).unwrap();
        let (rows, warnings) = gathered(cut, ALL).unwrap();
        assert_eq!(format!("{warnings:?}"), format!("{expected:?}"));
        assert_eq!(rows.sample_count(), single.sample_count());
        // A checksum that is wrong.
        let mut flipped = file.clone();
        flipped[length] ^= 1;
        let (single, expected) = read(&flipped).unwrap();
        let (rows, warnings) = gathered(&flipped, ALL).unwrap();
        assert_eq!(format!("{warnings:?}"), format!("{expected:?}"));
        assert_eq!(rows.sample_count(), single.sample_count());
    }
    let mut longer = file.clone();
    longer.push(0);
    let (_, warnings) = gathered(&longer, ALL).unwrap();
    assert!(matches!(warnings[..], [Warning::Trailing { bytes: 1, .. }]));
}

#[test]
fn what_is_odd_is_left_to_the_other_reader() {
    // Calls were counted, and each is a sample.
    let mut profile = made_up(1000);
    profile.meta.kind = SampleKind::Traced;
    assert!(gathered(&file_of(&profile), ALL).is_none());
    // No samples at all are few.
    let manner = Manner {
        least: 1,
        within: ALL,
    };
    let empty = file_of(&made_up(0));
    let read = gather(&mut Cursor::new(&empty), header::LEN, &manner).unwrap();
    assert!(read.is_none());
}

//! A part of a recording as a recording of its own: each of its tables is what the filter shows of
//! the whole.

use std::collections::BTreeMap;

use profundo_model::{
    Block, Bytes, Engine, Gauge, Mark, Nanos, Process, ProcessEnd, ProcessId, Profile, Sampling,
    Span, SpanPath, State, SyscallCount, Thread, ThreadId, Traffic,
};
use proptest::prelude::*;

use super::properties::any_profile;
use crate::*;

/// The own and the total amounts of each function, with their intervals.
fn functions(profile: &Profile, filter: &Filter) -> BTreeMap<String, (Amount, Amount, Estimate)> {
    let selection = Selection::new(profile, filter);
    let rows = shares(profile, &selection, true).into_iter();
    rows.map(|row| {
        let name = match row.place {
            Place::Frame(frame) => format!("{}:{}", profile.function_name(frame), frame.0),
            place => format!("{place:?}"),
        };
        (name, (row.own_amount, row.total_amount, row.own))
    })
    .collect()
}

fn cut_of(profile: &Profile, filter: &str) -> Profile {
    let mut part = profile.clone();
    cut(&mut part, &filter.parse().unwrap());
    // As it is when it was read again.
    part.meta.settled = None;
    settle(&mut part);
    part
}

/// Two processes with three threads, of which one is too short for a sample, settled.
fn recorded() -> Profile {
    let mut profile = Profile::from_folded("main;a 30\nmain;b 20\nmain;c 8").unwrap();
    let second = 1_000_000_000;
    profile.meta.engine = Engine::PerfSignal;
    profile.meta.period = Nanos(10_000_000);
    profile.meta.duration = Nanos(second);
    profile.meta.started_at_unix = 5 * second;
    profile.meta.own_cost = Some(Nanos(6_000_000));
    profile.meta.loss.truncated = 10;
    let ms = |count: u64| Some(Nanos(count * 1_000_000));
    profile.processes[0].pid = 10;
    (profile.processes[0].user, profile.processes[0].system) = (ms(505), ms(40));
    for (pid, user) in [(11, 90), (12, 7)] {
        profile.processes.push(Process {
            pid,
            parent: Some(ProcessId(0)),
            user: ms(user),
            system: ms(0),
            ..Process::default()
        });
    }
    let first = profile.threads.iter().next().unwrap().0;
    profile.threads.get_mut(first).tid = 10;
    let thread = |profile: &mut Profile, number, process| {
        profile.threads.push(Thread {
            number,
            tid: 9 + number as u32,
            process,
            alive: Some(Nanos(second)),
            ..Thread::default()
        })
    };
    let second_thread = thread(&mut profile, 2, ProcessId(0));
    let child = thread(&mut profile, 3, ProcessId(1));
    let words = ["outer", "inner", "key", "one"];
    let [outer, inner, key, one] = words.map(|word| profile.strings.intern(word));
    let around = profile.spans.paths.intern(SpanPath {
        name: outer,
        ..SpanPath::default()
    });
    let within = profile.spans.paths.intern(SpanPath {
        parent: Some(around),
        name: inner,
        attributes: [(key, one)].into(),
    });
    for (number, sample) in (0..).zip(&mut profile.samples) {
        sample.time = Nanos((number + 1) * 10_000_000);
        sample.weight = Nanos(10_000_000);
        (sample.thread, sample.span) = match number {
            0..30 => (first, around),
            30..50 => (second_thread, within),
            _ => (child, profundo_model::SpanId(0)),
        };
        if number % 10 == 0 {
            sample.state = State::System;
        }
    }
    let span = |path, thread, from: u64, to: u64| Span {
        path,
        thread,
        from: Nanos(from * 1_000_000),
        to: Some(Nanos(to * 1_000_000)),
        ..Span::default()
    };
    profile.spans.each = vec![
        span(around, first, 0, 320),
        span(within, second_thread, 310, 400),
        span(within, second_thread, 410, 450),
    ];
    profile.spans.marks.push(Mark {
        name: one,
        time: Nanos(320_000_000),
        thread: second_thread,
        span: within,
        ..Mark::default()
    });
    for number in 0..50 {
        profile.heap.gauges.push(Gauge {
            process: ProcessId(number % 2),
            time: Nanos(u64::from(number) * 10_000_000),
            resident: 1000 + u64::from(number),
            anonymous: 900,
            elsewhere: Some(100),
            ..Gauge::default()
        });
    }
    profile.heap.sampling = Sampling::Bytes(100);
    for number in 0..20 {
        profile.heap.blocks.push(Block {
            time: Nanos(number * 25_000_000),
            freed: (number % 3 == 0).then_some(Nanos(490_000_000)),
            size: 10 + number,
            thread: if number < 10 { first } else { second_thread },
            span: if number < 10 { around } else { within },
            stack: profile.samples[0].stack,
            ..Block::default()
        });
    }
    for number in 0..40 {
        profile.syscalls.push(SyscallCount {
            thread: if number % 2 == 0 { first } else { child },
            from: Nanos(number * 10_000_000),
            to: Nanos((number + 1) * 10_000_000),
            call: one,
            count: number,
            ..SyscallCount::default()
        });
    }
    settle(&mut profile);
    assert!(profile.meta.settled.unwrap().too_short.is_some());
    profile
}

const FILTERS: [&str; 9] = [
    "",
    "thread=2",
    "process=10",
    "process=12",
    "span=inner",
    "span=key=one from=0.32 to=0.47",
    "from=0.105 to=0.355",
    "focus=^b$",
    "ignore=^a$ transform=merge-function:^main$",
];

#[test]
fn each_table_of_a_part_is_what_the_filter_shows() {
    let whole = recorded();
    for text in FILTERS {
        let (part, none) = (cut_of(&whole, text), Filter::default());
        let mut shown = whole.clone();
        let filter = transform(&mut shown, &text.parse().unwrap());
        let (selected, all) = (
            Selection::new(&shown, &filter),
            Selection::new(&part, &none),
        );
        assert_eq!(
            functions(&part, &none),
            functions(&shown, &filter),
            "{text}"
        );
        assert_eq!(all.taken(&part), selected.taken(&shown), "{text}");
        let threads = |profile: &Profile, selection| -> Vec<_> {
            let rows = totals(profile, selection).threads.into_iter();
            let number = |thread: ThreadId| profile.threads.get(thread).number;
            rows.map(|row| (number(row.thread), row.amount)).collect()
        };
        assert_eq!(threads(&part, &all), threads(&shown, &selected), "{text}");
        let processes = |profile: &Profile, selection| -> Vec<_> {
            let rows = totals(profile, selection).processes.into_iter();
            let pid = |id: ProcessId| profile.processes[id.index()].pid;
            rows.map(|row| (pid(row.process), row.threads, row.amount))
                .collect()
        };
        assert_eq!(
            processes(&part, &all),
            processes(&shown, &selected),
            "{text}"
        );
        let of_spans = |profile: &Profile, selection, filter| {
            let found = spans(profile, selection, filter, &GroupBy::Span);
            let rows: Vec<_> = (found.rows.into_iter())
                .map(|row| (row.name, row.lengths.count, row.lengths.total, row.total))
                .collect();
            (rows, found.outside, found.count, found.marks.len())
        };
        let (its, theirs) = (
            of_spans(&part, &all, &none),
            of_spans(&shown, &selected, &filter),
        );
        assert_eq!(its, theirs, "{text}");
        let of_calls = |profile: &Profile, selection, filter| {
            let found = syscalls(profile, selection, filter, Shown::default());
            (found.calls, found.total)
        };
        let (its, theirs) = (
            of_calls(&part, &all, &none),
            of_calls(&shown, &selected, &filter),
        );
        assert_eq!(its, theirs, "{text}");
        let memory = |profile: &Profile, selection: &Selection, filter: &Filter| -> Vec<_> {
            let rows = gauges(profile, selection, filter).into_iter();
            rows.map(|row| {
                let pid = profile.processes[row.process.index()].pid;
                let in_use: Vec<_> = (row.uses.iter())
                    .map(|used| used.in_use.map(|figure| figure.value))
                    .collect();
                (pid, row.peak, row.readings.len(), in_use)
            })
            .collect()
        };
        let (its, theirs) = (
            memory(&part, &all, &none),
            memory(&shown, &selected, &filter),
        );
        assert_eq!(its, theirs, "{text}");
        let blocks = |profile: &Profile, filter: &Filter| {
            let mut kept = profile.clone();
            keep_only(&mut kept, filter);
            let blocks = kept.heap.blocks.into_iter();
            blocks.map(|block| block.size).collect::<Vec<_>>()
        };
        assert_eq!(blocks(&part, &none), blocks(&shown, &filter), "{text}");
        // The whole adds up, as that of a recording does.
        let (user, system) = part.cpu_used().unwrap_or_default();
        assert_eq!(user.0 + system.0, all.weight(&part), "{text}");
        let share = |profile: &Profile, selection| quality(profile, selection).sampled_share();
        let (its, theirs) = (
            share(&part, &all).unwrap_or(1.0),
            share(&shown, &selected).unwrap(),
        );
        let is_counted_alone = all.taken(&part) == 0;
        assert!(
            is_counted_alone || (its - theirs).abs() < 0.06,
            "{text}: {its} {theirs}"
        );
    }
}

#[test]
fn a_part_has_its_own_time_and_its_own_figures() {
    let whole = recorded();
    let part = cut_of(&whole, "from=0.32 to=0.47 span=inner");
    assert_eq!(part.meta.duration, Nanos(150_000_000));
    assert_eq!(part.meta.started_at_unix, 5_320_000_000);
    let times: Vec<u64> = part.samples.iter().map(|sample| sample.time.0).collect();
    assert_eq!((times[0], times[14]), (0, 140_000_000));
    assert_eq!(part.spans.marks[0].time, Nanos(0));
    // One began before, and keeps its length.
    assert_eq!(part.spans.each.len(), 1);
    assert_eq!(part.spans.each[0].from, Nanos(90_000_000));
    assert_eq!(part.spans.sums[0].lengths.total, 90_000_000);
    assert_eq!(part.meta.loss.truncated, 3);
    let cost = part.meta.own_cost.unwrap().0 as f64;
    assert!((1.4e6..1.6e6).contains(&cost), "{cost}");
    assert!(
        part.threads
            .iter()
            .all(|(_, thread)| thread.alive <= Some(Nanos(150_000_000)))
    );
    // Nothing that is there is left behind.
    let thread = cut_of(&whole, "process=12");
    assert_eq!(thread.processes.len(), 1);
    assert_eq!(
        (thread.processes[0].pid, thread.processes[0].parent),
        (12, None)
    );
    assert_eq!(thread.samples_taken(), 0);
}

#[test]
fn a_process_goes_on_behind_a_part() {
    let mut profile = recorded();
    let (whole, ended) = (ProcessId(0), ProcessId(1));
    let ms = |count: u64| Some(Nanos(count * 1_000_000));
    // As in a recording that was looked at while the program ran.
    profile.processes[0].ended = ms(1000);
    (profile.processes[1].ended, profile.processes[1].end) = (ms(200), ProcessEnd::Exited(0));
    for filter in ["", "from=0.1", "to=0.5", "from=0.1 to=0.5"] {
        let part = cut_of(&profile, filter);
        assert!(goes_on(&part, whole), "{filter}");
        assert!(!goes_on(&part, ended), "{filter}");
    }
    // One that ends later goes on, too.
    profile.processes[0].end = ProcessEnd::Exited(0);
    assert!(!goes_on(&profile, whole));
    assert!(goes_on(&cut_of(&profile, "to=0.5"), whole));
}

#[test]
fn parts_of_parts_and_merged_parts_add_up() {
    let whole = recorded();
    let all = functions(&whole, &Filter::default());
    // A part of a part is the part.
    let once = cut_of(&whole, "thread=2 from=0.32 to=0.47");
    let twice = cut_of(&cut_of(&whole, "thread=2"), "from=0.32 to=0.47");
    let none = Filter::default();
    assert_eq!(functions(&once, &none), functions(&twice, &none));
    let parts = ["thread=1", "thread=2", "process=11", "process=12"].map(|text| {
        let mut part = whole.clone();
        cut(&mut part, &text.parse().unwrap());
        part.meta.settled = None;
        (part, InputLabels::default())
    });
    let mut merged = merge(&parts, profundo_model::Alignment::Start).unwrap();
    settle(&mut merged);
    let sum = |profile: &Profile| Selection::new(profile, &Filter::default()).weight(profile);
    assert_eq!(sum(&merged), sum(&whole));
    assert_eq!(merged.samples_taken(), whole.samples_taken());
    // The division into user and system time is that of the samples then.
    let used = |profile: &Profile| profile.cpu_used().map(|(user, system)| user.0 + system.0);
    assert_eq!(used(&merged), used(&whole));
    let again = functions(&merged, &Filter::default());
    let weights = |rows: BTreeMap<String, (Amount, Amount, Estimate)>| -> Vec<u64> {
        let mut weights: Vec<u64> = rows.into_values().map(|row| row.0.weight).collect();
        weights.sort_unstable();
        weights
    };
    assert_eq!(weights(again), weights(all));
}

#[test]
fn bytes_belong_to_the_samples_that_had_them() {
    let mut whole = Profile::from_folded("main;read 4\nmain;work 2").unwrap();
    for (number, sample) in (1..).zip(&mut whole.samples) {
        sample.time = Nanos(number * 10);
        sample.weight = Nanos(10);
        sample.state = State::System;
    }
    for (from, to, read) in [(0, 20, 100), (20, 40, 7), (500, 510, 3)] {
        whole.traffic.push(Traffic {
            from: Nanos(from),
            to: Nanos(to),
            bytes: Bytes {
                read,
                fetched: 1,
                ..Bytes::default()
            },
            ..Traffic::default()
        });
    }
    for text in ["", "to=0.00000002", "from=0.000000015", "focus=^read$"] {
        let filter: Filter = text.parse().unwrap();
        let selection = Selection::new(&whole, &filter);
        let wanted = io(&whole, &selection, &filter, Shown::default());
        let mut part = whole.clone();
        cut(&mut part, &filter);
        let all = Selection::new(&part, &Filter::default());
        let found = io(&part, &all, &Filter::default(), Shown::default());
        assert_eq!(found, wanted, "{text}");
    }
}

proptest! {
    #[test]
    fn a_part_of_any_profile_has_the_same_functions(
        profile in any_profile(),
        filter in prop::sample::select(vec!["focus=^a$", "ignore=^b$", "hide=c", "show-from=^a$", "from=0.000000003", "thread=1"]),
    ) {
        let mut part = profile.clone();
        cut(&mut part, &filter.parse().unwrap());
        let mut shown = profile;
        let passing = transform(&mut shown, &filter.parse().unwrap());
        prop_assert_eq!(functions(&part, &Filter::default()), functions(&shown, &passing));
    }
}

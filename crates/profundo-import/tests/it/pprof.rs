//! `profile.proto` of Go 1.19 and of the crate pprof 0.15, against Google's `pprof`; and what we
//! write ourselves, read again.

use std::collections::BTreeMap;

use profundo_formats::export::{self, Options};
use profundo_model::{
    Amount, FrameKey, Gil, Language, LocationKind, Nanos, Profile, Sample, SampleKind, Sampling,
    Site, SpanPath, State, Task, TaskId, Thread, ThreadId,
};
use proptest::prelude::*;

use crate::oracle::top;
use crate::support::{functions, functions_of_samples, read, read_value, stacks};

#[test]
fn cpu_time_of_go() {
    let imported = read("pprof/go-cpu.pb.gz");
    assert_eq!(imported.reader.name(), "pprof");
    let profile = &imported.profile;
    assert_eq!(functions_of_samples(profile), top("pprof/go-cpu.top.txt"));
    assert_eq!(profile.meta.kind, SampleKind::Cpu);
    assert_eq!(profile.meta.period, Nanos(10_000_000));
    assert_eq!(profile.meta.duration, Nanos(303_200_469));
    assert_eq!(profile.sample_count(), 16);
    assert!(profile.meta.started_at_unix > 0 && !profile.has_times());
    // Labels of `pprof.Do`.
    let mut spans = BTreeMap::new();
    for sample in &profile.samples {
        let path = profile.spans.paths.get(sample.span);
        *spans.entry(profile.strings.get(path.name)).or_insert(0) += sample.weight.0 / 10_000_000;
    }
    assert_eq!(spans["endpoint=/a, method=GET"], 6);
    assert_eq!(spans["endpoint=/b"], 3);
    // An inlined function stands in the location of its caller.
    let inlined = profile.frames.iter().find(|frame| frame.inlined);
    let inlined = inlined.expect("an inlined function");
    assert!(inlined.line > 0);
}

#[test]
fn memory_of_go() {
    let profile = read("pprof/go-heap.pb.gz").profile;
    assert_eq!(profile.heap.sampling, Sampling::Bytes(512 << 10));
    let of = |weight: fn(&Site) -> u64| {
        let sites = profile.heap.sites.iter();
        let found = functions(&profile, sites.map(|site| (site.stack, weight(site))));
        // The tool leaves out functions without any.
        let found = found.into_iter().filter(|(_, sums)| *sums != (0, 0));
        found.collect::<BTreeMap<_, _>>()
    };
    assert_eq!(
        of(|site| site.live().bytes),
        top("pprof/go-heap.live.top.txt")
    );
    assert_eq!(
        of(|site| site.allocated.bytes),
        top("pprof/go-heap.allocated.top.txt")
    );
    assert_eq!(
        of(|site| site.allocated.count),
        top("pprof/go-heap.blocks.top.txt")
    );
    assert!(profile.samples.is_empty());
    // A value of memory by name is there anyway.
    let by_name = read_value("pprof/go-heap.pb.gz", Some("inuse_space")).profile;
    assert_eq!(by_name.heap.sites, profile.heap.sites);
}

#[test]
fn waits_of_go() {
    for name in ["mutex", "block"] {
        let profile = read(&format!("pprof/go-{name}.pb.gz")).profile;
        let wanted = top(&format!("pprof/go-{name}.top.txt"));
        assert_eq!(functions_of_samples(&profile), wanted);
        assert_eq!(profile.meta.kind, SampleKind::Wall);
        let is_waiting = |sample: &Sample| sample.state == State::WallWaiting;
        assert!(profile.samples.iter().all(is_waiting));
    }
    let profile = read_value("pprof/go-block.pb.gz", Some("contentions")).profile;
    assert_eq!(
        functions_of_samples(&profile),
        top("pprof/go-block.contentions.top.txt")
    );
    assert_eq!(profile.meta.event, "contentions");
}

#[test]
fn goroutines_are_events() {
    let profile = read("pprof/go-goroutine.pb.gz").profile;
    assert_eq!(
        functions_of_samples(&profile),
        top("pprof/go-goroutine.top.txt")
    );
    assert_eq!(profile.meta.event, "goroutine");
}

#[test]
fn cpu_time_of_rust_with_threads() {
    let profile = read("pprof/rust.pb.gz").profile;
    assert_eq!(functions_of_samples(&profile), top("pprof/rust.top.txt"));
    let mut threads = BTreeMap::new();
    for sample in &profile.samples {
        let name = profile.strings.get(profile.threads.get(sample.thread).name);
        *threads.entry(name).or_insert(0) += sample.weight.0 / 2_004_008;
    }
    assert_eq!(
        threads,
        [("demo", 2), ("worker-0", 4), ("worker-1", 10)].into()
    );
}

/// A message by hand: fields of bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2, bytes.len() as u8];
    field.extend_from_slice(bytes);
    field
}

/// A profile with these texts behind the empty one, a type of value of texts 1 and 2, and the rest.
fn message(texts: &[&str], rest: &[(u8, &[u8])]) -> Vec<u8> {
    let mut message = field(1, &[0x08, 1, 0x10, 2]);
    rest.iter()
        .for_each(|(number, bytes)| message.extend(field(*number, bytes)));
    message.extend(field(6, b""));
    texts
        .iter()
        .for_each(|text| message.extend(field(6, text.as_bytes())));
    message
}

fn read_bytes(bytes: &[u8]) -> profundo_import::Imported {
    profundo_import::read(bytes, &profundo_import::Options::default()).expect("a profile")
}

#[test]
fn a_location_that_the_file_does_not_have_keeps_the_weight() {
    // Locations 9 and 1, and the unpacked value 5.
    let sample: &[u8] = &[0x0a, 2, 9, 1, 0x10, 5];
    let location: &[u8] = &[0x08, 1, 0x22, 2, 0x08, 1];
    let function: &[u8] = &[0x08, 1, 0x10, 3];
    let texts = ["samples", "count", "main"];
    let rows = [
        (2, sample),
        (4, location),
        (5, function),
        (2, &[0x10, 7][..]),
    ];
    let profile = read_bytes(&message(&texts, &rows)).profile;
    let weights: Vec<u64> = profile.samples.iter().map(|row| row.weight.0).collect();
    assert_eq!(weights, [5, 7]);
    assert_eq!(stacks(&profile)["main"], 5);
}

#[test]
fn an_address_without_a_name_stays_an_address() {
    let sample: &[u8] = &[0x0a, 1, 1, 0x12, 1, 5];
    // Mapping 1 at 0x40, address 0x41.
    let location: &[u8] = &[0x08, 1, 0x10, 1, 0x18, 0x41];
    let mapping: &[u8] = &[0x08, 1, 0x10, 0x40, 0x18, 0x60, 0x28, 3, 0x30, 4];
    let texts = ["samples", "count", "/bin/x", "00ff"];
    let rows = [(2, sample), (3, mapping), (4, location)];
    let profile = read_bytes(&message(&texts, &rows)).profile;
    let (_, location) = profile.locations.iter().next().expect("a location");
    let module = profile.modules.get(location.module.expect("a module"));
    assert_eq!(profile.strings.get(module.path), "/bin/x");
    assert_eq!(
        (module.build_id.as_slice(), module.bias),
        (&[0, 0xff][..], 0)
    );
    assert!(location.frames.is_empty());
    let process = profile.processes[0].command;
    assert_eq!(profile.strings.get(process), "/bin/x");
}

#[test]
fn frames_to_hide_are_hidden_with_what_they_call() {
    // malloc (1) below work (2), which main (3) calls; `drop_frames` is the text 6.
    let rows: Vec<(u8, Vec<u8>)> = vec![
        (2, vec![0x0a, 3, 1, 2, 3, 0x12, 1, 5]),
        (2, vec![0x0a, 1, 1, 0x12, 1, 2]),
        (4, vec![0x08, 1, 0x22, 2, 0x08, 1]),
        (4, vec![0x08, 2, 0x22, 2, 0x08, 2]),
        (4, vec![0x08, 3, 0x22, 2, 0x08, 3]),
        (5, vec![0x08, 1, 0x10, 3]),
        (5, vec![0x08, 2, 0x10, 4]),
        (5, vec![0x08, 3, 0x10, 5]),
    ];
    let rows: Vec<(u8, &[u8])> = rows.iter().map(|(at, row)| (*at, &row[..])).collect();
    let texts = [
        "samples",
        "count",
        "malloc(int)",
        "work",
        "main",
        "mal+oc|free",
    ];
    let mut bytes = message(&texts, &rows);
    bytes.extend([0x38, 6]);
    let found = stacks(&read_bytes(&bytes).profile);
    // Where nothing is left, nothing is hidden.
    assert_eq!(
        found,
        [("main;work".to_owned(), 5), ("malloc(int)".to_owned(), 2)].into()
    );
}

#[test]
fn a_difference_has_negative_values() {
    let minus_one = [0x10, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
    let rows = [(2, &minus_one[..]), (2, &[0x10, 3][..])];
    let imported = read_bytes(&message(&["samples", "count"], &rows));
    let warnings: Vec<String> = imported.warnings.iter().map(ToString::to_string).collect();
    assert!(warnings[0].contains("1 negative values"), "{warnings:?}");
    assert_eq!(imported.profile.samples.len(), 1);
}

/// A row of a profile made by chance: the thread, the stack, the weight, the state, the task, the
/// span.
type Made = (usize, Vec<usize>, u64, usize, usize, usize);

/// A profile with these rows.
fn made(kind: SampleKind, rows: &[Made]) -> Profile {
    let mut profile = Profile::default();
    profile.meta.kind = kind;
    profile.meta.period = Nanos(1_000_000);
    profile.meta.started_at_unix = 1_700_000_000_000_000_000;
    profile.meta.duration = Nanos(5_000_000_000);
    let processes = [(7, "python3 app.py"), (8, "worker"), (0, "")];
    for (pid, command) in processes {
        profile.hand_made_process(pid, command);
    }
    let threads = [
        (0, 70, "main"),
        (0, 71, ""),
        (1, 80, "main"),
        (2, 0, ""),
        (2, 0, "pool"),
    ];
    for ((process, tid, name), number) in threads.into_iter().zip(1..) {
        let name = profile.strings.intern(name);
        profile.threads.push(Thread {
            number,
            tid,
            name,
            process: profundo_model::ProcessId::from_index(process),
            ..Thread::default()
        });
        profile.tasks.push(Task {
            number,
            is_root: true,
            ..Task::default()
        });
    }
    for (number, name) in [(100, "fetch"), (101, "")] {
        let name = profile.strings.intern(name);
        profile.tasks.push(Task {
            number,
            name,
            ..Task::default()
        });
    }
    let (outer, inner) = (
        profile.strings.intern("request"),
        profile.strings.intern("query"),
    );
    let path = |parent, name| SpanPath {
        parent,
        name,
        ..SpanPath::default()
    };
    let parent = profile.spans.paths.intern(path(None, outer));
    profile.spans.paths.intern(path(Some(parent), inner));
    let key = |function, signature, line, inlined| FrameKey {
        function,
        signature,
        file: "src/a.c",
        line,
        language: Language::Native,
        inlined,
        ..FrameKey::default()
    };
    let mut locations = Vec::new();
    for (name, signature) in [("main", ""), ("work", "work(int)"), ("leaf", "")] {
        for line in [3, 4] {
            let frame = key(name, signature, line, false);
            let kind = LocationKind::Invented(locations.len() as u64 + 1);
            locations.push(profile.hand_made_location(kind, None, &[frame]));
            let small = key("small", "", 9, true);
            let kind = LocationKind::Invented(locations.len() as u64 + 1);
            locations.push(profile.hand_made_location(kind, None, &[small, frame]));
        }
    }
    for (thread, stack, weight, state, task, span) in rows {
        let stack: Vec<_> = stack
            .iter()
            .map(|&at| locations[at % locations.len()])
            .collect();
        let stack = profile.hand_made_stack(&stack);
        let thread = ThreadId::from_index(thread % 5);
        let states = match kind {
            SampleKind::Wall => [State::WallRunning, State::WallWaiting, State::WallRunning],
            SampleKind::Events => [State::Running, State::System, State::Running],
            _ => [State::Running, State::System, State::Sleeping],
        };
        profile.samples.push(Sample {
            time: Nanos(profile.samples.len() as u64),
            weight: Nanos(*weight),
            thread,
            task: match task {
                0 | 1 => TaskId::from_index(5 + task),
                _ => TaskId::from_index(thread.index()),
            },
            stack,
            state: states[state % 3],
            gil: [Gil::None, Gil::Held, Gil::Waiting, Gil::Released][state % 4],
            span: profundo_model::SpanId::from_index(span % 3),
            ..Sample::default()
        });
    }
    profile
}

/// What pprof can hold of the samples: by the thread and all else, the sum of the weights.
fn held(profile: &Profile) -> BTreeMap<String, u64> {
    let text = |id| profile.strings.get(id);
    let mut sums = BTreeMap::new();
    for sample in &profile.samples {
        let thread = profile.threads.get(sample.thread);
        let process = &profile.processes[thread.process.index()];
        let task = profile.tasks.get(sample.task);
        let task = (!task.is_root).then_some((task.number, text(task.name)));
        let spans: Vec<&str> = (profile.spans.paths.outwards(sample.span))
            .map(|id| text(profile.spans.paths.get(id).name))
            .collect();
        let frames: Vec<_> = (profile.stacks.locations(sample.stack))
            .flat_map(|id| profile.locations.get(id).frames.iter())
            .map(|&id| {
                let frame = profile.frames.get(id);
                let (name, signature) = (text(frame.function), text(frame.signature));
                (
                    name,
                    signature,
                    profile.file_path(id),
                    frame.line,
                    frame.inlined,
                )
            })
            .collect();
        let key = format!(
            "{} {} {} {} {} {task:?} {spans:?} {:?} {:?} {frames:?}",
            process.pid,
            text(process.command),
            thread.number,
            thread.tid,
            text(thread.name),
            sample.state,
            sample.gil,
        );
        *sums.entry(key).or_default() += sample.weight.0;
    }
    sums
}

fn written(profile: &Profile) -> profundo_import::Imported {
    let mut bytes = Vec::new();
    export::pprof::write(profile, &Options::default(), &mut bytes).expect("it is written");
    let imported = read_bytes(&bytes);
    assert_eq!(imported.reader.name(), "pprof");
    assert_eq!(imported.warnings, []);
    imported
}

fn rows() -> impl Strategy<Value = Vec<Made>> {
    let stack = prop::collection::vec(0..12_usize, 1..6);
    let row = (
        0..5_usize,
        stack,
        1..5_000_000_u64,
        0..12_usize,
        0..4_usize,
        0..3_usize,
    );
    prop::collection::vec(row, 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_written_is_read(rows in rows(), kind in 0..3_usize) {
        let kind = [SampleKind::Cpu, SampleKind::Wall, SampleKind::Events][kind];
        let before = made(kind, &rows);
        let after = written(&before).profile;
        prop_assert_eq!(held(&after), held(&before));
        let counts = |profile: &Profile| -> u64 {
            let rows = profile.samples.iter().enumerate();
            rows.map(|(row, sample)| profile.count_of_row(row, sample)).sum()
        };
        prop_assert_eq!(counts(&after), counts(&before));
        let (before, after) = (&before.meta, &after.meta);
        prop_assert_eq!(after.kind, before.kind);
        prop_assert_eq!(after.started_at_unix, before.started_at_unix);
        prop_assert_eq!(after.duration, before.duration);
        if kind != SampleKind::Events {
            prop_assert_eq!(after.period, before.period);
        }
    }
}

#[test]
fn memory_that_was_written_is_read() {
    let mut before = made(SampleKind::Cpu, &[(0, vec![0, 4], 1_000_000, 0, 2, 0)]);
    before.heap.sampling = Sampling::All;
    let stack = before.samples[0].stack;
    let amount = |count, bytes| Amount { count, bytes };
    before.heap.sites.push(Site {
        stack,
        allocated: amount(9, 900),
        freed: amount(4, 500),
        ..Site::default()
    });
    let after = written(&before).profile;
    let [site] = after.heap.sites[..] else {
        panic!("{:?}", after.heap.sites);
    };
    assert_eq!(
        (site.allocated, site.live()),
        (amount(9, 900), amount(5, 400))
    );
    assert_eq!(after.meta.kind, SampleKind::Cpu);
    assert_eq!(after.samples.len(), 1);
}

#[test]
fn calls_that_were_written_are_read() {
    let rows = [(0, vec![0], 500, 0, 2, 0), (0, vec![0, 4], 300, 0, 2, 0)];
    let mut before = made(SampleKind::Traced, &rows);
    for (sample, calls) in before.samples.iter().zip([1, 7]) {
        before.traced.calls.push(profundo_model::Call {
            thread: sample.thread,
            stack: sample.stack,
            calls,
            own: sample.weight,
            ..profundo_model::Call::default()
        });
    }
    let after = written(&before).profile;
    assert_eq!(after.meta.kind, SampleKind::Traced);
    let calls = after.traced.calls.iter();
    let mut calls: Vec<_> = calls
        .map(|call| (call.calls, call.own.0, call.total.0))
        .collect();
    calls.sort_unstable();
    assert_eq!(calls, [(1, 500, 800), (7, 300, 300)]);
}

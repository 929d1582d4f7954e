//! What is written comes back.

use std::collections::BTreeMap;

use profundo_model::{
    Block, Domain, FrameKey, Gil, Language, LocationKind, Module, Nanos, Profile, Reason, Role,
    Sample, SampleKind, Sampling, State, Wait,
};
use profundo_store::{Folder, Segment, Stretch};
use profundo_testing::Folder as Temporary;
use proptest::prelude::*;

use crate::given::{HOUR, NINE, PERIOD, ask, label, profile, put, stack, sums, writer};

#[test]
fn stacks_threads_and_labels_come_back() {
    let folder = Temporary::new("store-round");
    let store = Folder::new(folder.path());
    let mut given = profile(NINE, &["main;a", "main;a", "main;b"]);
    label(
        &mut given,
        &[("version", "1.5"), ("zone", "b"), ("pod", "p1")],
    );
    put(&store, &mut writer("api", "h1"), &given);
    let found = ask(&store, "service=api").unwrap();
    let wanted = BTreeMap::from([
        ("main;a".to_owned(), 2 * PERIOD),
        ("main;b".to_owned(), PERIOD),
    ]);
    assert_eq!(sums(&found), wanted);
    assert_eq!(found.sample_count(), 3);
    assert_eq!(found.meta.period, Nanos(PERIOD));
    assert_eq!(found.meta.kind, SampleKind::Cpu);
    assert_eq!(found.meta.started_at_unix, NINE as u64 * 1_000_000);
    assert_eq!(found.meta.duration, Nanos(10_000_000_000));
    let (_, thread) = found.threads.iter().next().unwrap();
    assert_eq!((thread.tid, found.strings.get(thread.name)), (42, "worker"));
    let process = &found.processes[0];
    assert_eq!(
        (process.pid, found.strings.get(process.command)),
        (41, "python3 -m serve")
    );
    let labels = found.labels_of(process.origin.unwrap());
    assert_eq!(labels, "service=api, host=h1, version=1.5, pod=p1, zone=b");
    let squares: f64 = found.gathered.rows.iter().map(|row| row.squares).sum();
    assert_eq!(squares, 3.0 * (PERIOD as f64).powi(2));
}

#[test]
fn an_answer_lasts_as_long_as_what_is_asked_for() {
    let folder = Temporary::new("store-lasts");
    let store = Folder::new(folder.path());
    for (version, at) in [("1.5", NINE), ("1.6", NINE + HOUR)] {
        let mut given = profile(at, &["main", "main", "main"]);
        label(&mut given, &[("version", version)]);
        put(&store, &mut writer("api", "h1"), &given);
    }
    put(&store, &mut writer("api", "h2"), &profile(NINE, &["main"]));
    let lasts = |rest: &str| {
        let meta = ask(&store, rest).unwrap().meta;
        (
            meta.started_at_unix / 1_000_000,
            meta.duration.0 / 1_000_000,
        )
    };
    let (nine, hour) = (NINE as u64, HOUR as u64);
    // Segments of ten seconds, of any version.
    assert_eq!(lasts("service=api"), (nine, hour + 10_000));
    assert_eq!(lasts("service=api&host=h2"), (nine, 10_000));
    // From the first sample to the end of the segment of the last one.
    assert_eq!(lasts("service=api&version=1.6"), (nine + hour, 10_000));
}

#[test]
fn frames_come_back_with_what_tells_whose_code_it_is() {
    let folder = Temporary::new("store-frames");
    let store = Folder::new(folder.path());
    let mut given = profile(NINE, &["main"]);
    let (path, build_id) = (
        given.strings.intern("/usr/lib/libpython3.12.so"),
        vec![0xAB, 0x01],
    );
    let module = given.modules.push(Module {
        path,
        build_id: build_id.clone(),
        ..Module::default()
    });
    let key = |function, language| FrameKey {
        function,
        language,
        file: "/lib/std/x.rs",
        prefix: "@std",
        rest: "x.rs",
        line: 9,
        ..FrameKey::default()
    };
    let python = given.frame(FrameKey {
        function: "f",
        language: Language::Python,
        ..FrameKey::default()
    });
    let kind = LocationKind::Python {
        frame: python,
        column: 5,
        is_call: true,
    };
    let python_at = given.locations.intern(kind, None);
    given.locations.set_frames(python_at, &[python]);
    // `inner` was put into `outer`.
    let inner = given.frame(FrameKey {
        inlined: true,
        ..key("inner", Language::Rust)
    });
    let outer = given.frame(key("outer", Language::Rust));
    let native = given
        .locations
        .intern(LocationKind::Invented(77), Some(module));
    given.locations.set_frames(native, &[inner, outer]);
    let waits = given.frame(FrameKey {
        function: "[reads /tmp/a]",
        language: Language::Synthetic,
        ..FrameKey::default()
    });
    let wait = given.locations.intern(
        LocationKind::Wait {
            frame: waits,
            wait: Wait::Read,
        },
        None,
    );
    given.locations.set_frames(wait, &[waits]);
    let gap = given
        .locations
        .intern(LocationKind::Reason(Reason::Broken), None);
    let mut at = None;
    for location in [gap, python_at, native, wait] {
        at = Some(given.stacks.intern(at, location));
    }
    let sample = &mut given.samples[0];
    sample.stack = at.unwrap();
    (sample.gil, sample.state) = (Gil::Held, State::System);
    put(&store, &mut writer("api", "h1"), &given);

    let found = ask(&store, "").unwrap();
    assert_eq!(
        sums(&found),
        BTreeMap::from([(
            "[broken stack];f;outer;inner;[reads /tmp/a]".to_owned(),
            PERIOD
        )])
    );
    assert_eq!(
        (found.samples[0].gil, found.samples[0].state),
        (Gil::Held, State::System)
    );
    let kinds: Vec<LocationKind> = found
        .stacks
        .locations(found.samples[0].stack)
        .map(|location| found.locations.get(location).kind)
        .collect();
    assert!(
        matches!(
            kinds[0],
            LocationKind::Wait {
                wait: Wait::Read,
                ..
            }
        ),
        "{kinds:?}"
    );
    assert!(
        matches!(
            kinds[2],
            LocationKind::Python {
                column: 5,
                is_call: true,
                ..
            }
        ),
        "{kinds:?}"
    );
    assert_eq!(kinds[3], LocationKind::Reason(Reason::Broken));
    let native = found
        .stacks
        .locations(found.samples[0].stack)
        .nth(1)
        .unwrap();
    let native = found.locations.get(native);
    let module = found.modules.get(native.module.unwrap());
    assert_eq!(
        (module.build_id.clone(), module.role),
        (build_id, Role::Interpreter)
    );
    let outer = found.frames.get(native.frames[1]);
    let file = found.files.get(outer.file);
    assert_eq!(
        (found.strings.get(file.prefix), found.strings.get(file.rest)),
        ("@std", "x.rs")
    );
    assert_eq!((outer.line, outer.language), (9, Language::Rust));
    assert!(found.frames.get(native.frames[0]).inlined);
}

#[test]
fn conditions_choose_and_coarser_answers_have_the_same_sums() {
    let folder = Temporary::new("store-conditions");
    let store = Folder::new(folder.path());
    for (host, stacks) in [("h1", &["main;a"; 3][..]), ("h2", &["main;a"; 5])] {
        let mut given = profile(NINE, stacks);
        label(&mut given, &[("zone", host)]);
        put(&store, &mut writer("api", host), &given);
    }
    put(
        &store,
        &mut writer("web", "h1"),
        &profile(NINE, &["main;w"; 7]),
    );
    let count = |query: &str| ask(&store, query).unwrap().sample_count();
    for (query, wanted) in [
        ("", 15),
        ("service=api", 8),
        ("service=web", 7),
        ("service=none", 0),
        ("service=api&service=web", 15),
        ("service=api&host=h2", 5),
        ("host=h1", 10),
        ("host=h1&host=h2", 15),
        ("label.zone=h1", 3),
        ("label.zone=h1&host=h2", 0),
        ("version=1.4&pid=41", 15),
        ("version=1.5", 0),
        ("thread=worker&command=python3 -m serve", 15),
        // Elapsed time has CPU time in it.
        ("type=wall", 15),
        ("type=alloc", 0),
    ] {
        assert_eq!(count(query), wanted, "{query}");
        for by in ["thread", "process", "host", "service"] {
            assert_eq!(
                count(&format!("{query}&by={by}")),
                wanted,
                "{query} by {by}"
            );
        }
    }
    assert_eq!(ask(&store, "by=service").unwrap().processes.len(), 2);
    assert_eq!(ask(&store, "by=host").unwrap().processes.len(), 3);
}

#[test]
fn time_is_cut_at_steps_and_hours() {
    let folder = Temporary::new("store-time");
    let store = Folder::new(folder.path());
    // 20 seconds around the full hour.
    let given = profile(NINE + HOUR - 10_000, &["main;a"; 20]);
    put(&store, &mut writer("api", "h1"), &given);
    let files = store_files(&folder);
    assert!(
        files.iter().any(|path| path.contains("hour=09")),
        "{files:?}"
    );
    assert!(
        files.iter().any(|path| path.contains("hour=10")),
        "{files:?}"
    );
    let count = |rest: &str| ask_times(&store, rest).sample_count();
    assert_eq!(count("from=2026-11-28T09:00&to=2026-11-28T11:00"), 20);
    assert_eq!(count("from=2026-11-28T09:00&to=2026-11-28T10:00"), 10);
    assert_eq!(count("from=2026-11-28T10:00&to=2026-11-28T11:00"), 10);
    assert_eq!(count("from=2026-11-28T10:00:10&to=2026-11-28T11:00"), 0);
    assert_eq!(count("from=2026-10-28&to=2026-12-28"), 20);
    assert_eq!(count("from=2026-10-28&to=2026-11-28"), 0);
    let whole = ask_times(&store, "from=2026-11-28T09:00&to=2026-11-28T11:00");
    assert_eq!((whole.samples.len(), whole.has_times()), (1, false));
    let steps = ask_times(&store, "from=2026-11-28T09:00&to=2026-11-28T11:00&step=10s");
    assert_eq!((steps.samples.len(), steps.has_times()), (2, true));
    assert_eq!(
        steps.samples[1].time.0 - steps.samples[0].time.0,
        10_000_000_000
    );
}

/// The sum of the pieces' time in each second: of all, or of those in a function.
fn by_second(found: &Profile, seconds: usize, of: Option<&str>) -> Vec<u64> {
    let leaf = |sample: &Sample| {
        let location = found.stacks.locations(sample.stack).next().unwrap();
        found.function_name(found.locations.get(location).frames[0])
    };
    let mut sums = vec![0; seconds];
    for taken in &found.gathered.taken {
        if of.is_some_and(|of| leaf(&found.sample_of(taken)) != of) {
            continue;
        }
        let (to, length) = (taken.time.0, taken.weight.0);
        let from = to.checked_sub(length).expect("none begins before the step");
        for (second, sum) in sums.iter_mut().enumerate() {
            let (begin, end) = (
                second as u64 * 1_000_000_000,
                (second as u64 + 1) * 1_000_000_000,
            );
            *sum += to.min(end).saturating_sub(from.max(begin));
        }
        assert!(to <= seconds as u64 * 1_000_000_000, "{taken:?}");
    }
    sums
}

/// A profile of 10 s with a sample each 100 ms that stands for so long, of two stacks.
fn busy(at: i64, tid: u32) -> Profile {
    let mut given = profile(at, &[]);
    let [often, seldom] = ["main;often", "main;seldom"].map(|line| stack(&mut given, line));
    let (thread, task) = (profundo_model::ThreadId(0), profundo_model::TaskId(0));
    given.meta.period = Nanos(100_000_000);
    given.samples = (0..100)
        .map(|number| Sample {
            time: Nanos(number * 100_000_000 + 90_000_000),
            weight: Nanos(100_000_000),
            thread,
            task,
            // All the seldom ones stand together in truth.
            stack: if number < 20 { seldom } else { often },
            state: State::Running,
            ..Sample::default()
        })
        .collect();
    given.threads.get_mut(thread).tid = tid;
    given
}

#[test]
fn the_time_of_a_step_is_spread_over_it() {
    let folder = Temporary::new("store-even");
    let store = Folder::new(folder.path());
    for tid in [42, 43] {
        // A segment of another begin.
        let given = busy(NINE + i64::from(tid - 42), tid);
        put(&store, &mut writer("api", "h1"), &given);
    }
    let time = "from=2026-11-28T09:00&to=2026-11-28T09:01&service=api";
    for (rest, threads) in [
        ("&step=10s", 2),
        // The store's own step is longer, and so is what it can say.
        ("&step=1s", 2),
        ("&step=1m", 2),
        ("&step=10s&by=host", 2),
        ("&step=10s&by=service", 2),
        ("&step=10s&thread=worker", 2),
    ] {
        let found = ask_times(&store, &format!("{time}{rest}"));
        let sums = by_second(&found, 10, None);
        let full = threads * 1_000_000_000;
        let is_full = |&sum: &u64| sum <= full && sum >= full / 100 * 99;
        assert!(sums.iter().all(is_full), "{rest}: {sums:?}");
        // A fifth of each second, give or take a piece.
        let sums = by_second(&found, 10, Some("seldom"));
        let is_fifth = |&sum: &u64| sum.abs_diff(full / 5) <= full / 10;
        assert!(sums.iter().all(is_fifth), "{rest}: {sums:?}");
        assert_eq!(sums.iter().sum::<u64>(), full * 2);
        assert_eq!(found.sample_count(), 200);
    }
}

#[test]
fn steps_of_several_lengths_are_told_apart() {
    let folder = Temporary::new("store-even-mixed");
    let store = Folder::new(folder.path());
    put(&store, &mut writer("api", "h1"), &busy(NINE, 42));
    let short = std::time::Duration::from_secs(2);
    let mut other = writer("api", "h2").with_step(short);
    put(&store, &mut other, &busy(NINE, 42));
    let time = "from=2026-11-28T09:00&to=2026-11-28T09:01&service=api";
    for by in ["thread", "host"] {
        let found = ask_times(&store, &format!("{time}&step=1s&by={by}"));
        let sums = by_second(&found, 10, None);
        let is_full = |&sum: &u64| (1_980_000_000..=2_000_000_000).contains(&sum);
        assert!(sums.iter().all(is_full), "{by}: {sums:?}");
    }
    let found = ask_times(&store, &format!("{time}&step=1s&host=h2"));
    let seldom = by_second(&found, 10, Some("seldom"));
    assert_eq!(seldom[0] + seldom[1], 2_000_000_000, "{seldom:?}");
}

fn store_files(folder: &Temporary) -> Vec<String> {
    let files = profundo_testing::files_below(folder.path());
    files
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

fn ask_times(store: &Folder, rest: &str) -> Profile {
    let query = profundo_store::Query::parse(&format!("f?{rest}"), NINE).unwrap();
    profundo_store::answer(store, &query, 1).unwrap()
}

#[test]
fn allocations_and_waits_have_types_of_their_own() {
    let folder = Temporary::new("store-types");
    let store = Folder::new(folder.path());
    let mut given = profile(NINE, &["main;a", "main;a"]);
    given.samples[1].state = State::WallWaiting;
    given.samples[1].weight = Nanos(5_000_000_000);
    given.heap.sampling = Sampling::Bytes(1000);
    let stack = stack(&mut given, "main;alloc");
    given.heap.blocks.push(Block {
        size: 1_000_000,
        stack,
        domain: Domain::Native,
        ..Block::default()
    });
    put(&store, &mut writer("api", "h1"), &given);
    let cpu = ask(&store, "type=cpu").unwrap();
    assert_eq!(sums(&cpu), BTreeMap::from([("main;a".to_owned(), PERIOD)]));
    let wall = ask(&store, "type=wall").unwrap();
    assert_eq!(
        sums(&wall),
        BTreeMap::from([("main;a".to_owned(), PERIOD + 5_000_000_000)])
    );
    let waits = |sample: &&Sample| sample.state == State::WallWaiting;
    assert_eq!(wall.samples.iter().filter(waits).count(), 1);
    let alloc = ask(&store, "type=alloc").unwrap();
    assert_eq!(
        sums(&alloc),
        BTreeMap::from([("main;alloc".to_owned(), 1_000_000)])
    );
    assert_eq!(alloc.heap.sampling, Sampling::Bytes(1000));
    assert!(matches!(alloc.meta.kind, SampleKind::Heap(_)));
    given.meta.kind = SampleKind::Traced;
    let refused = writer("api", "h1").segment(&given, &Stretch::all(&given));
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.ends_with("this profile measures Traced"),
        "{refused}"
    );
}

#[test]
fn losses_are_counted_once() {
    let folder = Temporary::new("store-loss");
    let store = Folder::new(folder.path());
    let mut given = profile(NINE + HOUR - 10_000, &["main;a"; 20]);
    given.meta.loss.buffer_full = 3;
    given.meta.loss.truncated = 2;
    put(&store, &mut writer("api", "h1"), &given);
    let found = ask(&store, "").unwrap();
    assert_eq!((found.meta.loss.lost(), found.meta.loss.truncated), (3, 2));
}

#[test]
fn a_stretch_without_samples_is_no_segment() {
    let given = profile(NINE, &["main;a"]);
    let stretch = Stretch {
        time: Nanos(5_000_000_000)..Nanos(9_000_000_000),
        ..Stretch::all(&given)
    };
    let segment = writer("api", "h1").segment(&given, &stretch).unwrap();
    assert_eq!(segment, Segment::default());
}

#[test]
fn answers_depend_on_the_store_alone() {
    let folder = Temporary::new("store-same");
    let store = Folder::new(folder.path());
    for host in 0..9 {
        let stacks = ["main;a", "main;b;c", "main;d"];
        put(
            &store,
            &mut writer(&format!("s{host}"), "h"),
            &profile(NINE, &stacks),
        );
    }
    let query = |threads| {
        let text = "f?from=2026-11-28T06:00&to=2026-11-28T13:00";
        let query = profundo_store::Query::parse(text, NINE).unwrap();
        let profile = profundo_store::answer(&store, &query, threads).unwrap();
        format!(
            "{:?}",
            (
                &profile.samples,
                &profile.gathered,
                sums(&profile),
                profile.processes
            )
        )
    };
    let one = query(1);
    for threads in [1, 2, 5] {
        assert_eq!(query(threads), one);
    }
}

/// Samples as `(second, function names, weight, state)`.
fn samples() -> impl Strategy<Value = Vec<(u64, Vec<u8>, u64, bool)>> {
    let sample = (
        0..8000_u64,
        prop::collection::vec(0..6_u8, 1..7),
        1..4 * PERIOD,
        any::<bool>(),
    );
    prop::collection::vec(sample, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn sums_of_stacks_come_back(given in samples(), cut in 0..8000_u64) {
        let folder = Temporary::new("store-any");
        let store = Folder::new(folder.path());
        let mut whole = profile(NINE, &["main"]);
        let first = whole.samples.remove(0);
        for (second, names, weight, is_system) in &given {
            let names: Vec<String> = names.iter().map(|name| format!("f{name}")).collect();
            let stack = stack(&mut whole, &names.join(";"));
            let state = if *is_system { State::System } else { State::Running };
            let (time, weight) = (Nanos(second * 1_000_000_000), Nanos(*weight));
            whole.samples.push(profundo_model::Sample { time, weight, stack, state, ..first });
        }
        // In two stretches, as they come.
        let mut writer = writer("api", "h1");
        let cut = Nanos(cut * 1_000_000_000);
        for time in [Nanos(0)..cut, cut..Nanos(u64::MAX)] {
            let stretch = Stretch { time, ..Stretch::all(&whole) };
            writer.segment(&whole, &stretch).unwrap().put(&store).unwrap();
        }
        let found = ask(&store, "service=api").unwrap();
        prop_assert_eq!(sums(&found), sums(&whole));
        prop_assert_eq!(found.sample_count(), whole.sample_count());
        let square = |weight: u64| (weight as f64).powi(2);
        let wanted: f64 = whole.samples.iter().map(|sample| square(sample.weight.0)).sum();
        let squares: f64 = found.gathered.rows.iter().map(|row| row.squares).sum();
        prop_assert!((squares / wanted - 1.0).abs() < 0.023, "{} for {}", squares, wanted);
        profundo_store::join(&store, &profundo_store::Joining::at(NINE + 5 * HOUR)).unwrap();
        let joined = ask(&store, "service=api").unwrap();
        prop_assert_eq!(sums(&joined), sums(&whole));
    }
}

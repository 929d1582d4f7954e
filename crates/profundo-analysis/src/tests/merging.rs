//! Merged recordings: nothing is lost, what is alike is one row, and what differs stays apart.

use std::collections::BTreeMap;

use profundo_model::{
    Alignment, Amount, Avma, Block, Clock, CodeAddress, Energy, EnergyZone, Engine, Fingerprint,
    FrameKey, LocationKind, Many, Module, ModuleId, Moment, Nanos, Profile, Sample, SampleKind,
    Sampling, Site, SourceFile, StackId, TaskId, ThreadId, Tracing, Traffic,
};
use proptest::prelude::*;

use super::all;
use super::properties::any_profile;
use crate::*;

fn labels(name: &str, labels: &[(&str, &str)]) -> InputLabels {
    let own = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
    InputLabels {
        name: name.to_owned(),
        labels: labels.iter().map(own).collect(),
    }
}

/// The inputs with the labels `run=1`, `run=2` and so on.
fn runs(inputs: Vec<Profile>) -> Vec<(Profile, InputLabels)> {
    let label = |(number, input): (usize, Profile)| {
        let name = format!("r{number}");
        (input, labels(&name, &[("run", &number.to_string())]))
    };
    (1..).zip(inputs).map(label).collect()
}

fn merged(inputs: Vec<Profile>) -> Profile {
    merge(&runs(inputs), Alignment::Start).unwrap()
}

/// The own and the total weight of each function, by name.
fn weights(profile: &Profile, filter: &Filter) -> BTreeMap<String, (u64, u64)> {
    let selection = Selection::new(profile, filter);
    let mut weights: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for row in shares(profile, &selection, true) {
        let name = match row.place {
            Place::Frame(frame) => profile.function_name(frame).to_owned(),
            place => format!("{place:?}"),
        };
        let sum = weights.entry(name).or_default();
        sum.0 += row.own_amount.weight;
        sum.1 += row.total_amount.weight;
    }
    weights
}

proptest! {
    #[test]
    fn sums_of_the_merged_are_sums_of_the_inputs(
        inputs in prop::collection::vec((any_profile(), 1..9_u64), 1..5),
        align in 0..3_usize,
    ) {
        let alignment = [Alignment::Start, Alignment::Sequence, Alignment::Clock][align];
        let inputs: Vec<Profile> = inputs.into_iter().zip(1_u64..).map(|((mut input, rate), number)| {
            // Each has a period of its own, and all weights are times.
            input.meta.period = Nanos(input.meta.period.0 * rate);
            for sample in &mut input.samples {
                sample.weight.0 *= rate;
            }
            input.meta.started_at_unix = 1_000 * number;
            input.meta.loss.broken = number;
            input.traffic.push(Traffic { to: Nanos(number), waits: 1, ..Traffic::default() });
            input
        }).collect();
        let merged = merge(&runs(inputs.clone()), alignment).unwrap();
        let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for (number, input) in (1..).zip(&inputs) {
            let its = weights(input, &Filter::default());
            // One input is found again by its label.
            let label = Filter::default().label("run", &format!("{number}"));
            prop_assert_eq!(&weights(&merged, &label), &its);
            for (name, (own, total)) in its {
                let sum = sums.entry(name).or_default();
                *sum = (sum.0 + own, sum.1 + total);
            }
        }
        prop_assert_eq!(weights(&merged, &Filter::default()), sums);
        prop_assert_eq!(merged.sample_count(), inputs.iter().map(Profile::sample_count).sum::<u64>());
        let count = |len: fn(&Profile) -> usize| inputs.iter().map(len).sum::<usize>();
        prop_assert_eq!(merged.threads.len(), count(|input| input.threads.len()));
        prop_assert_eq!(merged.tasks.len(), count(|input| input.tasks.len()));
        prop_assert_eq!(merged.processes.len(), count(|input| input.processes.len()));
        prop_assert_eq!(merged.traffic.len(), inputs.len());
        prop_assert_eq!(merged.meta.loss.broken, inputs.iter().map(|input| input.meta.loss.broken).sum::<u64>());
        let groups = groups(&merged, &Filter::default(), &GroupBy::Label);
        prop_assert_eq!(groups.len(), inputs.iter().filter(|input| !input.samples.is_empty()).count());
        // Merging the same in two steps gives the same.
        if let [first, rest @ ..] = &runs(inputs)[..] && !rest.is_empty() && alignment == Alignment::Start {
            let rest = merge(rest, alignment).unwrap();
            let again = merge(&[first.clone(), (rest, labels("rest", &[]))], alignment).unwrap();
            prop_assert_eq!(weights(&again, &Filter::default()), weights(&merged, &Filter::default()));
            prop_assert_eq!(again.origin_names(), merged.origin_names());
        }
    }
}

#[test]
fn recordings_with_one_label_alike_are_a_group() {
    let input = |folded: &str, its: &[(&str, &str)]| {
        (Profile::from_folded(folded).unwrap(), labels("x", its))
    };
    let inputs = [
        input("a 1", &[("host", "x"), ("rank", "0")]),
        input("a 2", &[("rank", "1"), ("host", "y")]),
        input("a 4", &[("rank", "2"), ("host", "x")]),
        input("a 8", &[("rank", "0")]),
    ];
    let merged = merge(&inputs, Alignment::Start).unwrap();
    let counts = |by: &str| -> Vec<u64> {
        let groups = groups(&merged, &Filter::default(), &by.parse().unwrap());
        (groups.iter())
            .map(|group| group.selection.total(&merged))
            .collect()
    };
    assert_eq!(counts("label"), [1, 2, 4, 8]);
    assert_eq!(counts("label:host"), [5, 2, 8]);
    assert_eq!(counts("label:rank"), [9, 2, 4]);
    assert_eq!(counts("label:no"), [15]);
}

#[test]
fn equal_stacks_are_stored_once() {
    let input = Profile::from_folded("main;work;leaf 3\nmain;idle 1").unwrap();
    let merged = merged(vec![input.clone(); 20]);
    assert_eq!(merged.stacks.len(), input.stacks.len());
    assert_eq!(merged.frames.len(), input.frames.len());
    assert_eq!(merged.samples.len(), 80);
    assert_eq!(merged.strings.find("r20").map(|_| ()), Some(()));
}

/// A profile with one sample at an address of a library that lies at `start`.
fn native(start: u64, address: u64, function: &str, build_id: &[u8]) -> Profile {
    let mut profile = Profile::from_folded("").unwrap();
    let path = profile.strings.intern("/lib/libx.so");
    let module = profile.modules.push(Module {
        path,
        start: Avma(start),
        end: Avma(start + 0x1000),
        bias: start,
        build_id: build_id.into(),
        ..Module::default()
    });
    add_code(&mut profile, Some(module), address, function);
    profile
}

fn add_code(profile: &mut Profile, module: Option<ModuleId>, address: u64, function: &str) {
    let kind = LocationKind::Code(CodeAddress::Instruction(Avma(address)));
    let key = FrameKey {
        function,
        ..FrameKey::default()
    };
    let location = profile.hand_made_location(kind, module, &[key]);
    let stack = profile.hand_made_stack(&[location]);
    profile.samples.push(Sample {
        weight: Nanos(1_000_000),
        stack,
        ..Sample::default()
    });
}

#[test]
fn a_library_at_another_address_is_the_same_library() {
    let one = native(0x10_0000, 0x10_0040, "f", b"id");
    let merged = merged(vec![
        one.clone(),
        native(0x70_0000, 0x70_0040, "f", b"id"),
        one,
    ]);
    assert_eq!((merged.modules.len(), merged.stacks.len()), (1, 1));
    // Another build is another library, and without a build id the address decides.
    let other = native(0x70_0000, 0x70_0040, "f", b"other");
    let unknown = native(0x70_0000, 0x70_0040, "f", b"");
    let moved = native(0x80_0000, 0x80_0040, "f", b"");
    let merged = self::merged(vec![other, unknown.clone(), unknown, moved]);
    assert_eq!((merged.modules.len(), merged.stacks.len()), (3, 3));
}

#[test]
fn other_code_at_the_same_address_stays_apart() {
    let in_module = |function| native(0x1000, 0x1040, function, b"");
    let anywhere = |function| {
        let mut profile = Profile::from_folded("").unwrap();
        add_code(&mut profile, None, 0x1040, function);
        profile
    };
    for code in [&in_module as &dyn Fn(&'static str) -> Profile, &anywhere] {
        let inputs = vec![code("f"), code("g"), code("h"), code("f"), code("g")];
        let merged = merged(inputs);
        let weights = weights(&merged, &Filter::default());
        let own = |name: &str| weights[name].0 / 1_000_000;
        assert_eq!((own("f"), own("g"), own("h")), (2, 2, 1));
        assert_eq!(merged.locations.len(), 3);
    }
}

/// A profile with one sample of `work` in `app.py`, with the line's text and the file's.
fn python(line: u32, text: &str, file: &[u8]) -> Profile {
    let mut profile = Profile::from_folded("").unwrap();
    let location = profile.hand_made_python("app.py", "work", line, false);
    let stack = profile.hand_made_stack(&[location]);
    profile.samples.push(Sample {
        weight: Nanos(1_000_000),
        stack,
        ..Sample::default()
    });
    let file_id = profile.file("app.py", "", "");
    let text = profile.strings.intern(text);
    profile.sources.insert(file_id, line, text);
    if !file.is_empty() {
        let text = SourceFile::Ran(Fingerprint::of(file));
        profile.source_files.insert(file_id, text);
    }
    profile
}

#[test]
fn an_edited_file_is_two_files() {
    let paths = |profile: &Profile| -> Vec<String> {
        let files = profile.files.iter().skip(1);
        let paths = files.map(|file| profile.strings.get(file.path).to_owned());
        paths.collect()
    };
    let first = python(3, "a()", b"one");
    let second = python(3, "b()", b"two");
    let edited = merged(vec![first.clone(), second.clone(), first.clone(), second]);
    assert_eq!(paths(&edited), ["app.py", "app.py (version 2)"]);
    assert_eq!(edited.sources.len(), 2);
    assert_eq!(shares(&edited, &all(&edited), false).len(), 2);
    // Lines alone show it, too, where no fingerprint does; and other lines of one text agree.
    let by_lines = merged(vec![python(3, "a()", b""), python(3, "b()", b"")]);
    assert_eq!(paths(&by_lines).len(), 2);
    let same = merged(vec![first, python(4, "b()", b"one"), python(5, "c()", b"")]);
    assert_eq!(paths(&same), ["app.py"]);
    assert_eq!(same.sources.len(), 3);
}

#[test]
fn recordings_stand_where_they_were_asked_to() {
    let input = |started| {
        let mut input = Profile::from_folded("main 3").unwrap();
        input.meta.started_at_unix = started;
        input.meta.duration = Nanos(5_000_000);
        input
    };
    let inputs = || {
        runs(vec![
            input(7_000_000_000),
            input(7_002_000_000),
            input(6_999_000_000),
        ])
    };
    for (alignment, begins, duration) in [
        (Alignment::Start, [0, 0, 0], 5),
        (Alignment::Sequence, [0, 5, 10], 15),
        (Alignment::Clock, [1, 3, 0], 8),
    ] {
        let merged = merge(&inputs(), alignment).unwrap();
        let found = [0, 1, 2].map(|at| merged.origins[at].begins.0 / 1_000_000);
        assert_eq!(found, begins, "{alignment:?}");
        assert_eq!(merged.meta.duration, Nanos(duration * 1_000_000));
        let firsts = [0, 3, 6].map(|row| merged.samples[row].time.0 / 1_000_000);
        assert_eq!(firsts, begins, "{alignment:?}");
        assert_eq!(merged.alignment(), alignment);
        assert_eq!(merged.meta.started_at_unix, 6_999_000_000);
    }
    let unknown = runs(vec![input(1), input(0)]);
    let error = merge(&unknown, Alignment::Clock).unwrap_err();
    assert_eq!(error, MergeError::NoClock("r2".into()));
}

#[test]
fn a_slower_rate_weighs_the_same_time() {
    let fast = Profile::from_folded("f 100").unwrap();
    let mut slow = Profile::from_folded("g 10").unwrap();
    slow.meta.period = Nanos(10_000_000);
    for sample in &mut slow.samples {
        sample.weight = slow.meta.period;
    }
    let merged = merged(vec![slow, fast]);
    let rows = shares(&merged, &all(&merged), true);
    assert!(
        rows.iter()
            .all(|row| row.own.share == 0.5 && row.count == 100)
    );
    assert!(
        merged.meta.notes[0].contains("different rates (100, 1000"),
        "{:?}",
        merged.meta.notes
    );
}

#[test]
fn labels_of_an_earlier_merge_are_kept() {
    let input = || Profile::from_folded("main 3").unwrap();
    let inner = [
        (input(), labels("a", &[])),
        (input(), labels("b", &[("run", "1")])),
    ];
    let inner = merge(&inner, Alignment::Start).unwrap();
    assert_eq!(inner.origin_names(), ["recording=a", "run=1"]);
    let outer = [
        (inner, labels("ab", &[("host", "x")])),
        (input(), labels("c", &[])),
    ];
    let outer = merge(&outer, Alignment::Start).unwrap();
    let names = ["recording=a, host=x", "run=1, host=x", "recording=c"];
    assert_eq!(outer.origin_names(), names);
    let count = |filter: Filter| Selection::new(&outer, &filter).len();
    let by = |labels: &[(&str, &str)]| {
        let filter = Filter::default();
        count(
            labels
                .iter()
                .fold(filter, |filter, (key, value)| filter.label(key, value)),
        )
    };
    assert_eq!(by(&[("host", "x")]), 6);
    // Values of one key are alternatives, different keys must both be there.
    assert_eq!(by(&[("recording", "a"), ("recording", "c")]), 6);
    assert_eq!(by(&[("host", "x"), ("recording", "c")]), 0);
    assert_eq!(by(&[("recording", "*")]), 6);
    assert_eq!(by(&[("recording", "")]), 0);
    assert_eq!(by(&[("nothing", "x")]), 0);
}

#[test]
fn what_cannot_be_added_up_is_refused() {
    let cpu = || Profile::from_folded("main 3").unwrap();
    let with = |change: &dyn Fn(&mut Profile)| {
        let mut profile = cpu();
        change(&mut profile);
        profile
    };
    let refused = |one: Profile, other: Profile, what: &str| {
        let error = merge(&runs(vec![one, other]), Alignment::Start).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    };
    let traced = with(&|profile| {
        profile.meta.kind = SampleKind::Traced;
        profile.traced.tracing = Tracing::Calls;
    });
    let by_cpu = with(&|profile| {
        profile.meta.kind = SampleKind::Traced;
        profile.traced.tracing = Tracing::Calls;
        profile.traced.clock = Clock::Cpu;
    });
    refused(cpu(), traced.clone(), "r2 has calls by the wall clock");
    refused(traced, by_cpu, "calls by CPU time");
    let sampled = |mean| {
        with(&|profile| {
            profile.heap.sampling = Sampling::Bytes(mean);
            profile.heap.blocks.push(Block::default());
        })
    };
    let exact = with(&|profile| {
        profile.heap.sampling = Sampling::All;
        profile.heap.sites.push(Site::default());
    });
    refused(sampled(512), exact.clone(), "sums of all allocations");
    refused(exact.clone(), sampled(512), "about each 512");
    refused(sampled(512), sampled(700), "about each 700");
    // A rarer sampling is the same one, doubled.
    let merged = merged(vec![sampled(512), sampled(2048), cpu()]);
    let doublings: Vec<u8> = merged
        .heap
        .blocks
        .iter()
        .map(|block| block.doublings)
        .collect();
    assert_eq!(doublings, [0, 2]);
    let note = "memory was recorded in 2 of the 3 merged recordings only";
    assert!(
        merged.meta.notes.iter().any(|line| line == note),
        "{:?}",
        merged.meta.notes
    );
}

#[test]
fn allocations_keep_their_owners() {
    let input = |bytes| {
        let mut input = Profile::from_folded("main;work 1").unwrap();
        input.heap.sampling = Sampling::All;
        let amount = Amount { count: 1, bytes };
        input.heap.sites.push(Site {
            stack: StackId(1),
            allocated: amount,
            ..Site::default()
        });
        input.heap.moments.push(Moment {
            time: Nanos(3),
            allocated: amount,
            ..Moment::default()
        });
        input.heap.searched.push(profundo_model::ProcessId(0));
        input
    };
    let merged = merge(&runs(vec![input(10), input(20)]), Alignment::Sequence).unwrap();
    let heap = &merged.heap;
    let sites: Vec<(u32, u64)> = (heap.sites.iter())
        .map(|site| (site.process.0, site.allocated.bytes))
        .collect();
    assert_eq!(sites, [(0, 10), (1, 20)]);
    assert_eq!(heap.sites[0].stack, heap.sites[1].stack);
    let moments: Vec<u32> = heap.moments.iter().map(|moment| moment.site).collect();
    assert_eq!(moments, [0, 1]);
    assert_eq!(heap.searched.len(), 2);
}

#[test]
fn energy_is_a_sum_or_left_out() {
    let with = |joules| {
        let mut input = Profile::from_folded("main 3").unwrap();
        input.meta.energy = Some(Energy {
            zones: vec![EnergyZone {
                name: "package-0".into(),
                microjoules: joules,
                is_counted: true,
            }],
            duration: Nanos(1_000_000_000),
            machine_cpu: Nanos(4_000_000_000),
            program_cpu: Nanos(1_000_000_000),
        });
        input
    };
    let both = merged(vec![with(8_000_000), with(4_000_000)]);
    let used = energy(&both).unwrap();
    assert_eq!((used.joules, used.program()), (12.0, Some(3.0)));
    let without = Profile::from_folded("main 3").unwrap();
    let one = merged(vec![with(8_000_000), without]);
    assert_eq!(energy(&one), None);
    assert!(
        one.meta.notes[0].starts_with("energy"),
        "{:?}",
        one.meta.notes
    );
}

#[test]
fn notes_say_whose_they_are() {
    let with = |notes: &[&str]| {
        let mut input = Profile::from_folded("main 3").unwrap();
        input.meta.notes = notes.iter().map(|&note| note.to_owned()).collect();
        input.meta.engine = Engine::PerfSignal;
        input
    };
    let merged = merged(vec![with(&["x", "y"]), with(&["y"]), with(&["y", "x"])]);
    assert_eq!(merged.meta.notes, ["run=1; run=3: x", "y"]);
}

#[test]
fn gathered_samples_merge_with_others() {
    let single = Profile::from_folded("main;work 3\nmain;idle 1").unwrap();
    let mut gathered = Profile::from_folded("main;work 1\nmain;idle 1").unwrap();
    gathered.samples[0].weight = Nanos(50_000_000);
    let many = |samples, squares| Many {
        samples,
        count: samples,
        squares,
        ..Many::default()
    };
    gathered.gathered.rows = vec![many(50, 5e13), many(1, 1e12)];
    for inputs in [
        vec![single.clone(), gathered.clone(), single.clone()],
        vec![gathered.clone(), single.clone(), gathered],
    ] {
        let count: u64 = inputs.iter().map(Profile::sample_count).sum();
        let merged = merged(inputs);
        assert_eq!(merged.gathered.rows.len(), merged.samples.len());
        assert_eq!(merged.sample_count(), count);
        assert_eq!(all(&merged).total(&merged), count);
    }
}

#[test]
fn the_spread_over_recordings_is_what_they_were_made_of() {
    let inputs = [(300, 100), (310, 100), (295, 400), (305, 100)].map(|(even, uneven)| {
        Profile::from_folded(&format!("main;even {even}\nmain;uneven {uneven}")).unwrap()
    });
    let merged = merged(inputs.to_vec());
    let spread = origin_spread(&merged, &all(&merged), true).unwrap();
    assert_eq!(spread.origins.len(), 4);
    let of = |name: &str| {
        let is_it = |row: &&FunctionInOrigins| match row.place {
            Place::Frame(frame) => merged.function_name(frame) == name,
            _ => false,
        };
        *spread.functions.iter().find(is_it).unwrap()
    };
    let uneven = of("uneven").own;
    let ms = |time: u64| time / 1_000_000;
    assert_eq!(
        (ms(uneven.least), uneven.median / 1e6, ms(uneven.most)),
        (100, 100.0, 400)
    );
    assert_eq!(uneven.most_at.0, 2);
    assert!((uneven.imbalance() - (400.0 / 175.0 - 1.0)).abs() < 1e-9);
    assert!(uneven.is_uneven);
    let even = of("even").own;
    assert_eq!(
        (ms(even.least), even.median / 1e6, ms(even.most)),
        (295, 302.5, 310)
    );
    assert!(!even.is_uneven);
    assert_eq!(ms(of("main").total.most), 695);
    assert_eq!(ms(spread.whole.most), 695);
    // One recording has nothing to be compared with.
    let one = Selection::new(&merged, &Filter::default().label("run", "1"));
    assert_eq!(origin_spread(&merged, &one, true), None);
    let two = (Filter::default().label("run", "1")).label("run", "2");
    let two = origin_spread(&merged, &Selection::new(&merged, &two), true).unwrap();
    assert_eq!(two.origins.len(), 2);
}

#[test]
fn threads_and_tasks_of_several_recordings_are_different_ones() {
    let merged = merged(vec![Profile::from_folded("main 3").unwrap(); 2]);
    let [first, second] = [&merged.samples[0], &merged.samples[3]];
    assert_eq!((first.thread, second.thread), (ThreadId(0), ThreadId(1)));
    assert_eq!((first.task, second.task), (TaskId(0), TaskId(1)));
    // The number of the main thread is 1 in both.
    let main = Filter::default().thread("1");
    assert_eq!(Selection::new(&merged, &main).len(), 6);
    let one = main.label("run", "2");
    assert_eq!(Selection::new(&merged, &one).len(), 3);
}

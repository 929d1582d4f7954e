//! Transforms on profiles written by hand, and properties of any profile.

use profundo_model::{
    Call, FrameKey, Gil, Kinds, Language, LocationKind, Nanos, Profile, SampleKind, StackId, State,
};
use proptest::prelude::*;

use super::properties::any_profile;
use super::{mixed, push, stack};
use crate::*;

fn filter(text: &str) -> Filter {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The functions of a stack from its root.
fn names(profile: &Profile, stack: StackId) -> String {
    let mut names: Vec<&str> = Vec::new();
    for location in profile.stacks.locations(stack) {
        let frames = profile.locations.get(location).frames.iter();
        names.extend(frames.map(|&frame| profile.function_name(frame)));
    }
    names.reverse();
    names.join(";")
}

/// What is left of a profile as collapsed stacks, in their order.
fn left(mut profile: Profile, text: &str) -> String {
    let filter = transform(&mut profile, &filter(text));
    let selection = Selection::new(&profile, &filter);
    let mut rows: std::collections::BTreeMap<String, u64> = Default::default();
    for row in selection.stacks(&profile) {
        *rows.entry(names(&profile, row.stack)).or_default() += row.count;
    }
    let rows: Vec<String> = (rows.iter())
        .map(|(stack, count)| format!("{stack} {count}"))
        .collect();
    rows.join("\n")
}

fn check(folded: &str, text: &str, expected: &str) {
    let profile = Profile::from_folded(folded).unwrap();
    assert_eq!(left(profile, text), expected, "{text} of {folded}");
}

const PROGRAM: &str = "main;load;parse;read 3\nmain;load;read 2\nmain;work 4\nidle 1";

#[test]
fn focus_and_ignore_choose_whole_stacks() {
    check(PROGRAM, "focus=^parse$", "main;load;parse;read 3");
    check(PROGRAM, "ignore=load", "idle 1\nmain;work 4");
    check(PROGRAM, "focus=work focus=idle", "idle 1\nmain;work 4");
    check(PROGRAM, "focus=load ignore=parse", "main;load;read 2");
}

#[test]
fn frames_are_taken_away_and_their_time_is_their_callers() {
    check(
        PROGRAM,
        "hide=^(parse|load)$",
        "idle 1\nmain;read 5\nmain;work 4",
    );
    check(
        PROGRAM,
        "hide=read",
        "idle 1\nmain;load 2\nmain;load;parse 3\nmain;work 4",
    );
    check(
        PROGRAM,
        "transform=merge-function:read",
        "idle 1\nmain;load 2\nmain;load;parse 3\nmain;work 4",
    );
    check(PROGRAM, "show=load show=work", "[hidden] 1\nload 5\nwork 4");
    check(PROGRAM, "hide=.", "[hidden] 10");
    check(
        PROGRAM,
        "hide=^main$ hide=idle hide=load transform=drop-hidden",
        "parse;read 3\nread 2\nwork 4",
    );
    // It looks at what the transforms before it have left.
    check(
        PROGRAM,
        "transform=drop-hidden transform=merge-function:idle",
        "[hidden] 1\nmain;load;parse;read 3\nmain;load;read 2\nmain;work 4",
    );
}

#[test]
fn callers_are_cut_off() {
    check(PROGRAM, "show-from=load", "load;parse;read 3\nload;read 2");
    check(
        PROGRAM,
        "transform=focus-function:read|work",
        "read 5\nwork 4",
    );
    // The first match counts: the one nearest to the root.
    check("main;a;b;a;c 1", "show-from=^a$", "a;b;a;c 1");
}

#[test]
fn stacks_are_chosen_before_frames_are_hidden() {
    check(PROGRAM, "hide=parse focus=parse", "main;load;read 3");
    check(PROGRAM, "function=parse hide=parse", "main;load;read 3");
    // The transforms follow in their order.
    check(
        PROGRAM,
        "transform=merge-function:load transform=drop-function:load",
        "idle 1\nmain;parse;read 3\nmain;read 2\nmain;work 4",
    );
    check(
        PROGRAM,
        "transform=drop-function:load transform=merge-function:load",
        "idle 1\nmain;work 4",
    );
    // A sample that was left out is not taken for one that has the same stack now.
    check("main;a 2\nmain 3", "focus=^a$ hide=^a$", "main 2");
}

#[test]
fn recursion_is_collapsed() {
    let nested = "main;f;f;f;g 2\nmain;f;f 1\nmain;f;g;f;g;h 4";
    check(
        nested,
        "transform=collapse-recursion",
        "main;f 1\nmain;f;g 2\nmain;f;g;h 4",
    );
    check(
        "main;f;g;f;h 2",
        "transform=collapse-recursion",
        "main;f;g;f;h 2",
    );
    check(
        "main;f;g;f;h 2\nmain;f;g 1",
        "transform=collapse-recursion:^f$",
        "main;f;g 1\nmain;f;h 2",
    );
    check(
        "f;g;f;g;f;k 2",
        "transform=collapse-recursion:^[fg]$",
        "f;k 2",
    );
}

#[test]
fn what_a_function_calls_is_collapsed() {
    check(
        PROGRAM,
        "transform=collapse-function-subtree:load",
        "idle 1\nmain;load 5\nmain;work 4",
    );
}

#[test]
fn libraries_are_known_by_package_and_by_file() {
    let rows = |text| left(mixed(), text);
    assert_eq!(
        rows("focus=site-packages"),
        "start;main;json.dumps;parse_c 1\nstart;main;json.loads;parse_c 1"
    );
    assert_eq!(
        rows("transform=merge-library:^json$ transform=merge-library:^libsum"),
        "idle 10\nstart;main 7\nstart;main;parse_c 2"
    );
    assert_eq!(
        rows("transform=collapse-library:^json$ transform=drop-file:never"),
        "idle 10\nstart;main 3\nstart;main;[json] 1\nstart;main;[json];parse_c 2\nstart;main;sum_c 3"
    );
    assert_eq!(
        rows("transform=drop-library:libidle transform=merge-file:app"),
        "start 3\nstart;json.dumps;parse_c 1\nstart;json.loads 1\nstart;json.loads;parse_c 1\nstart;sum_c 3"
    );
}

#[test]
fn a_run_of_a_library_is_one_frame() {
    let mut profile = Profile::from_folded("").unwrap();
    let it = &mut profile;
    let own = it.hand_made_python("/home/me/app.py", "main", 1, true);
    let numpy = |it: &mut Profile, name| {
        it.hand_made_python("/v/lib/python3.12/site-packages/numpy/a.py", name, 1, true)
    };
    let (one, two) = (numpy(it, "one"), numpy(it, "two"));
    let module = it.hand_made_module("/usr/bin/python3.12");
    let key = FrameKey {
        function: "eval",
        language: Language::Runtime,
        ..FrameKey::default()
    };
    let plumbing = it.hand_made_location(LocationKind::Invented(99), Some(module), &[key]);
    let path = [own, one, plumbing, two, one, own, two];
    let path = stack(it, &path);
    push(it, path, 1, State::Running);
    let rows = left(profile, "transform=collapse-library:numpy");
    assert_eq!(rows, "main;[numpy];main;[numpy] 1");
}

#[test]
fn inlined_functions_are_taken_away_alone() {
    let mut profile = Profile::from_folded("").unwrap();
    let key = |function, inlined| FrameKey {
        function,
        inlined,
        ..FrameKey::default()
    };
    let frames = [key("inner", true), key("middle", true), key("outer", false)];
    let location = profile.hand_made_location(LocationKind::Invented(1), None, &frames);
    let path = stack(&mut profile, &[location]);
    push(&mut profile, path, 2, State::Running);
    assert_eq!(left(profile.clone(), "hide=middle"), "outer;inner 2");
    assert_eq!(left(profile.clone(), "hide=outer"), "middle;inner 2");
    assert_eq!(left(profile, "show-from=middle"), "middle;inner 2");
}

#[test]
fn the_kind_of_the_time_stays() {
    for text in [
        "hide=_c$",
        "hide=json hide=main",
        "hide=.",
        "show=main",
        "transform=collapse-library:.",
    ] {
        let mut profile = mixed();
        let before = Kinds::of(&profile);
        let kinds: Vec<_> = (profile.samples.iter())
            .map(|sample| (before.kind(sample), before.library(sample)))
            .collect();
        transform(&mut profile, &filter(text));
        let after = Kinds::of(&profile);
        let left: Vec<_> = (profile.samples.iter())
            .map(|sample| (after.kind(sample), after.library(sample)))
            .collect();
        assert_eq!(left, kinds, "{text}");
    }
}

#[test]
fn samples_that_are_left_out_still_count_in_the_whole() {
    let mut profile = Profile::from_folded(PROGRAM).unwrap();
    let filter = transform(&mut profile, &filter("transform=drop-function:load"));
    assert_eq!(profile.samples.len(), 10);
    assert_eq!(Selection::new(&profile, &filter).len(), 5);
    keep_only(&mut profile, &filter);
    assert_eq!(profile.samples.len(), 5);
}

#[test]
fn the_state_of_the_lock_chooses_samples() {
    let mut profile = Profile::from_folded("a 3\nb 2").unwrap();
    for (at, gil) in [(0, Gil::Held), (1, Gil::Waiting), (3, Gil::Held)] {
        profile.samples[at].gil = gil;
    }
    let count = |text| Selection::new(&profile, &filter(text)).len();
    assert_eq!(
        [count("gil=held"), count("gil=waiting"), count("gil=none")],
        [2, 1, 2]
    );
    assert_eq!(
        [count("gil=held gil=waiting"), count("gil=released")],
        [3, 0]
    );
    assert_eq!(count("gil=held focus=b"), 1);
}

#[test]
fn each_name_is_tested_once() {
    let mut profile = Profile::from_folded("").unwrap();
    let mut path = Vec::new();
    for number in 0..10_000_u64 {
        let function = format!("package_{}::module::function_{number}", number % 100);
        path.push(super::location(&mut profile, number, &function, 1));
    }
    for calls in path.chunks(100) {
        for depth in 1..=calls.len() {
            let path = stack(&mut profile, &calls[..depth]);
            push(&mut profile, path, 1, State::Running);
        }
    }
    let started = std::time::Instant::now();
    let hide = "hide=(package_[0-9]*7)::.*_[0-9]*3$ hide=x{10,50}y focus=^package";
    let passing = transform(&mut profile, &filter(hide));
    let took = started.elapsed();
    assert_eq!(Selection::new(&profile, &passing).len(), 10_000);
    assert!(took.as_millis() < 1500, "{took:?}");
}

/// Any filter that leaves no sample out.
fn any_keeping() -> impl Strategy<Value = String> {
    let name = prop::sample::select(&["a", "b", "c", ".", "nothing", "[ab]"][..]);
    let what = prop::sample::select(
        &[
            "hide=",
            "show=",
            "transform=merge-function:",
            "transform=merge-file:",
            "transform=merge-library:",
            "transform=collapse-recursion:",
            "transform=collapse-library:",
            "transform=collapse-function-subtree:",
        ][..],
    );
    let one = prop_oneof![
        (what, name).prop_map(|(what, name)| format!("{what}{name}")),
        Just("transform=collapse-recursion".to_owned()),
    ];
    prop::collection::vec(one, 1..4).prop_map(|terms| terms.join(" "))
}

proptest! {
    #[test]
    fn the_sum_stays(profile in any_profile(), text in any_keeping()) {
        let total = super::all(&profile).total(&profile);
        let mut changed = profile.clone();
        let passing = transform(&mut changed, &filter(&text));
        let selection = Selection::new(&changed, &passing);
        prop_assert_eq!(selection.total(&changed), total, "{}", text);
        let options = TreeOptions { shown: Shown::ALL, ..TreeOptions::default() };
        let tree = tree(&changed, &selection, &options);
        // No time is without a frame.
        prop_assert_eq!(tree.node(tree.root()).overhead, 0);
        prop_assert_eq!(selection.split(&changed), super::all(&profile).split(&profile));
    }

    #[test]
    fn focus_and_ignore_divide_the_samples(profile in any_profile(), name in "[abc.]") {
        let count = |what: &str| Selection::new(&profile, &filter(&format!("{what}={name}"))).len();
        prop_assert_eq!(count("focus") + count("ignore"), profile.samples.len());
        // As a transform, it leaves out the same.
        let mut changed = profile.clone();
        let passing = transform(&mut changed, &filter(&format!("transform=drop-function:{name}")));
        prop_assert_eq!(Selection::new(&changed, &passing).len(), count("ignore"));
    }

    #[test]
    fn hidden_functions_are_in_no_stack(profile in any_profile(), name in "[abc]") {
        let mut changed = profile.clone();
        transform(&mut changed, &filter(&format!("hide={name}")));
        for sample in &changed.samples {
            prop_assert!(!names(&changed, sample.stack).split(';').any(|frame| frame == name));
        }
    }
}

/// Calls of `main`, of `a` by it, of `b` by that, and of `b` by itself: each with its stack, its
/// number of calls, its total time and its own.
fn traced_calls() -> Profile {
    let mut profile = Profile::from_folded("main 1\nmain;a 1\nmain;a;b 1\nmain;a;b;b 1").unwrap();
    profile.meta.kind = SampleKind::Traced;
    let rows = [(1, 100, 10), (5, 90, 20), (7, 70, 40), (3, 30, 30)];
    for (sample, (calls, total, own)) in profile.samples.iter_mut().zip(rows) {
        sample.weight = Nanos(own);
        profile.traced.calls.push(Call {
            thread: sample.thread,
            stack: sample.stack,
            calls,
            total: Nanos(total),
            own: Nanos(own),
            ..Call::default()
        });
    }
    profile
}

#[test]
fn counted_calls_follow_their_stacks() {
    let rows = |text: &str| {
        let mut profile = traced_calls();
        let filter = transform(&mut profile, &filter(text));
        let selection = Selection::new(&profile, &filter);
        let table = traced(&profile, &selection);
        let row = |function: &CountedFunction| {
            let Place::Frame(frame) = function.place else {
                panic!("all have names")
            };
            let Counted {
                begun, total, own, ..
            } = function.counted;
            format!(
                "{} {} {total} {own}",
                profile.function_name(frame),
                begun.calls
            )
        };
        let mut rows: Vec<String> = table.functions.iter().map(row).collect();
        rows.sort();
        rows.join(", ")
    };
    // The function, its calls, its total time and its own.
    assert_eq!(rows("hide=nothing"), "a 5 90 20, b 10 70 70, main 1 100 10");
    assert_eq!(rows("hide=^a$"), "b 10 70 70, main 1 100 30");
    assert_eq!(rows("hide=^b$"), "a 5 90 90, main 1 100 10");
    assert_eq!(rows("hide=main hide=^a$"), "[hidden] 0 30 30, b 10 70 70");
    assert_eq!(
        rows("hide=main hide=^a$ transform=drop-hidden"),
        "b 10 70 70"
    );
    assert_eq!(
        rows("transform=collapse-recursion"),
        "a 5 90 20, b 10 70 70, main 1 100 10"
    );
    assert_eq!(
        rows("transform=collapse-function-subtree:^a$"),
        "a 5 90 90, main 1 100 10"
    );
    // What is left out is in no total.
    assert_eq!(
        rows("transform=drop-function:^b$"),
        "a 5 20 20, main 1 30 10"
    );
    assert_eq!(rows("ignore=^b$"), "a 5 20 20, main 1 30 10");
    assert_eq!(rows("show-from=^a$"), "a 5 90 20, b 10 70 70");
}

//! Trees and pictures of folded stacks.

use profundo_model::{Nanos, Profile};

use super::*;
use crate::{Filter, Selection};

fn forest(text: &str) -> (Profile, Forest, Weights) {
    let profile = Profile::from_folded(text).unwrap();
    let forest = Forest::new(&profile, &ForestOptions::default());
    let all = Selection::new(&profile, &Filter::default());
    let weights = Weights::new(&profile, &forest, &all);
    (profile, forest, weights)
}

fn drawn(profile: &Profile, forest: &Forest, boxes: &[ForestBox]) -> String {
    let mut text = String::new();
    for a_box in boxes {
        let name = match a_box.of {
            BoxOf::Root => "all".to_owned(),
            BoxOf::Part(part) => format!("part {part}"),
            BoxOf::Function(function) => match forest.functions()[function as usize].place {
                Place::Frame(frame) => profile.function_name(frame).to_owned(),
                other => format!("{other:?}"),
            },
            BoxOf::System => "[system]".to_owned(),
            BoxOf::Narrow(number) => format!("{number} narrow"),
        };
        let indent = "  ".repeat(a_box.level as usize);
        let (all, own) = (a_box.weight.weight / PERIOD, a_box.own.weight / PERIOD);
        text.push_str(&format!("{indent}{name} {all} ({own})\n"));
    }
    text
}

/// Folded text has a sample of a millisecond for each count.
const PERIOD: u64 = 1_000_000;

const LIMITS: Limits = Limits::new(1, 1000);

fn ranks(profile: &Profile, forest: &Forest) -> Vec<u32> {
    let name = |row: u32| match forest.functions()[row as usize].place {
        Place::Frame(frame) => profile.function_name(frame).to_owned(),
        _ => String::new(),
    };
    let mut order: Vec<u32> = (0..forest.functions().len() as u32).collect();
    order.sort_by_key(|&row| name(row));
    let mut rank = vec![0; order.len()];
    for (place, row) in (0..).zip(order) {
        rank[row as usize] = place;
    }
    rank
}

#[test]
fn callers_are_below() {
    let (profile, forest, weights) = forest("main;b;leaf 3\nmain;a 5\nmain 1");
    let rank = ranks(&profile, &forest);
    let boxes = below(&forest, &weights, 0, LIMITS, BoxOrder::Name, &rank);
    expect_test::expect![[r#"
        all 9 (0)
          main 9 (1)
            a 5 (5)
            b 3 (0)
              leaf 3 (3)
    "#]]
    .assert_eq(&drawn(&profile, &forest, &boxes));
}

#[test]
fn narrow_boxes_are_one() {
    let (profile, forest, weights) = forest("main;a 100\nmain;b 2\nmain;c;d 1");
    let rank = ranks(&profile, &forest);
    let limits = Limits::new(5 * PERIOD, 10);
    let boxes = below(&forest, &weights, 0, limits, BoxOrder::Widest, &rank);
    expect_test::expect![[r#"
        all 103 (0)
          main 103 (0)
            2 narrow 3 (3)
            a 100 (100)
    "#]]
    .assert_eq(&drawn(&profile, &forest, &boxes));
}

#[test]
fn too_many_boxes_leave_the_widest() {
    let text = "main;a 100\nmain;b 20\nmain;c 10\nmain;d 9";
    let (profile, forest, weights) = forest(text);
    let rank = ranks(&profile, &forest);
    let limits = Limits::new(1, 3);
    let boxes = below(&forest, &weights, 0, limits, BoxOrder::Name, &rank);
    expect_test::expect![[r#"
        all 139 (0)
          main 139 (0)
            2 narrow 19 (19)
            a 100 (100)
            b 20 (20)
    "#]]
    .assert_eq(&drawn(&profile, &forest, &boxes));
}

#[test]
fn turned_round_callees_are_below() {
    let (profile, forest, weights) = forest("main;a;leaf 3\nmain;b;leaf 4\nmain;leaf 1\nmain 2");
    let boxes = sets(&forest, &weights, Start::Ends, LIMITS);
    expect_test::expect![[r#"
        all 10 (0)
          leaf 8 (0)
            b 4 (0)
              main 4 (4)
            a 3 (0)
              main 3 (3)
            main 1 (1)
          main 2 (2)
    "#]]
    .assert_eq(&drawn(&profile, &forest, &boxes));
}

/// The row of a function.
fn row(profile: &Profile, forest: &Forest, name: &str) -> u32 {
    let mut functions = forest.functions().iter();
    let found = functions.position(|function| {
        matches!(function.place, Place::Frame(frame) if profile.function_name(frame) == name)
    });
    found.unwrap() as u32
}

#[test]
fn a_function_stands_between_its_callers_and_its_callees() {
    let text = "main;f;g 3\nmain;h;f 2\nmain;f;g;f;g 4\nmain 1";
    let (profile, forest, weights) = forest(text);
    let f = row(&profile, &forest, "f");
    let boxes = sets(&forest, &weights, Start::CallersOf(f), LIMITS);
    expect_test::expect![[r#"
        f 9 (0)
          main 7 (7)
          h 2 (0)
            main 2 (2)
    "#]]
    .assert_eq(&drawn(&profile, &forest, &boxes));
    let boxes = sets(&forest, &weights, Start::CalleesOf(f), LIMITS);
    expect_test::expect![[r#"
        f 9 (2)
          g 7 (3)
            f 4 (0)
              g 4 (4)
    "#]]
    .assert_eq(&drawn(&profile, &forest, &boxes));
}

#[test]
fn a_path_is_found_in_another_recording() {
    let (_, first, _) = forest("main;a;b 1\nmain;c 1");
    let (profile, second, weights) = forest("x 1\nmain;c 7\nmain;a;b 2");
    let rank = ranks(&profile, &second);
    let b = (0..first.len() as u32)
        .find(|&call| first.call(call).level == 3)
        .unwrap();
    let found = second.find(first.path(b)).unwrap();
    let boxes = below(&second, &weights, found, LIMITS, BoxOrder::Name, &rank);
    assert_eq!(drawn(&profile, &second, &boxes), "b 2 (2)\n");
    assert_eq!(second.find(12345), None);
}

/// Samples at these milliseconds, each of so many milliseconds and on one of the stacks, as lanes.
fn lanes(text: &str, samples: &[(u64, u64, usize)], window: (u64, u64), least: u64) -> String {
    let mut profile = Profile::from_folded(text).unwrap();
    let stacks: Vec<_> = profile.samples.iter().map(|sample| sample.stack).collect();
    let first = profile.samples[0];
    profile.samples = (samples.iter())
        .map(|&(time, weight, stack)| profundo_model::Sample {
            time: Nanos(time * PERIOD),
            weight: Nanos(weight * PERIOD),
            stack: stacks[stack],
            ..first
        })
        .collect();
    profile.meta.period = Nanos(PERIOD);
    let forest = Forest::new(&profile, &ForestOptions::default());
    let all = Selection::new(&profile, &Filter::default());
    let options = LaneOptions {
        from: window.0 * PERIOD,
        to: window.1 * PERIOD,
        least: least * PERIOD,
        lanes: 4,
        most: 1000,
    };
    let threads: Vec<_> = profile.threads.iter().map(|(id, _)| id).collect();
    let (lanes, left_out) = in_time(&profile, &forest, &all, &threads, options);
    assert_eq!(left_out, 0);
    let mut text = String::new();
    for a_box in lanes.iter().flat_map(|lane| &lane.boxes) {
        let name = match a_box.of {
            BoxOf::Function(function) => match forest.functions()[function as usize].place {
                Place::Frame(frame) => profile.function_name(frame).to_owned(),
                other => format!("{other:?}"),
            },
            other => format!("{other:?}"),
        };
        let times = (a_box.from / PERIOD, a_box.to / PERIOD);
        let weights = (a_box.weight.weight / PERIOD, a_box.own.weight / PERIOD);
        text.push_str(&format!("{} {name} {times:?} {weights:?}\n", a_box.level));
    }
    text
}

#[test]
fn neighbours_in_time_are_one_box() {
    let samples = [(10, 10, 0), (20, 10, 0), (30, 10, 1), (60, 10, 1)];
    let drawn = lanes("main;a 1\nmain;b 1", &samples, (0, 100), 1);
    // From 30 to 50 the thread did not run.
    let expected = "0 main (0, 30) (30, 0)\n0 main (50, 60) (10, 0)\n\
                    1 a (0, 20) (20, 20)\n1 b (20, 30) (10, 10)\n1 b (50, 60) (10, 10)\n";
    assert_eq!(drawn, expected);
}

#[test]
fn boxes_are_cut_to_the_window() {
    let samples = [(10, 10, 0), (20, 10, 1), (30, 10, 0)];
    let drawn = lanes("main;a 1\nmain;b 1", &samples, (12, 18), 1);
    assert_eq!(drawn, "0 main (12, 18) (10, 0)\n1 b (12, 18) (10, 10)\n");
}

#[test]
fn narrow_boxes_in_time_are_one_while_they_touch() {
    let samples = [(2, 2, 0), (4, 2, 1), (6, 2, 0), (20, 14, 1), (22, 2, 0)];
    let drawn = lanes("main;a;x 1\nmain;b 1", &samples, (0, 100), 5);
    // `a`, `b`, `a` are narrow, and so is the last one, which cannot be seen at all.
    let expected = "0 main (0, 22) (22, 0)\n1 Narrow(3) (0, 6) (6, 6)\n1 b (6, 20) (14, 14)\n";
    assert_eq!(drawn, expected);
}

#[test]
fn parts_stand_beside_each_other() {
    let (profile, forest, weights) = forest("main;a 3\nmain;b 1");
    let rank = ranks(&profile, &forest);
    let parts = [CallWeight::default(), weights.all()];
    let boxes = beside(&parts, |part| match part {
        1 => below(&forest, &weights, 0, LIMITS, BoxOrder::Name, &rank),
        _ => Vec::new(),
    });
    expect_test::expect![[r#"
        all 4 (0)
          part 1 4 (0)
            main 4 (0)
              a 3 (3)
              b 1 (1)
    "#]]
    .assert_eq(&drawn(&profile, &forest, &boxes));
}

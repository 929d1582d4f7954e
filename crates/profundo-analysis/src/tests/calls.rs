//! The callers and the callees of a function.

use profundo_model::Profile;

use super::{all, mixed};
use crate::*;

/// `name samples` of a side, from the hottest.
fn side(profile: &Profile, calls: &[Call]) -> Vec<String> {
    calls
        .iter()
        .map(|call| {
            let name = match call.place {
                Some(Place::Frame(frame)) => profile.function_name(frame),
                Some(_) => "?",
                None => "-",
            };
            format!("{name} {}", call.amount.samples)
        })
        .collect()
}

fn check(folded: &str, name: &str, callers: &[&str], callees: &[&str], own: u64) {
    let profile = Profile::from_folded(folded).unwrap();
    let calls = calls(&profile, &all(&profile), &name.into(), Shown::ALL);
    assert_eq!(side(&profile, &calls.callers), callers);
    assert_eq!(side(&profile, &calls.callees), callees);
    assert_eq!(calls.own_amount.samples, own);
    let sum = |calls: &[Call]| calls.iter().map(|call| call.amount.samples).sum::<u64>();
    assert_eq!(sum(&calls.callers), calls.total_amount.samples);
    assert_eq!(sum(&calls.callees) + own, calls.total_amount.samples);
}

#[test]
fn both_sides_add_up_to_the_functions_time() {
    let folded = "main;f;g 3\nmain;f;h 2\nother;f 1\nf;h 1\nmain;x 5";
    check(
        folded,
        "f",
        &["main 5", "- 1", "other 1"],
        &["g 3", "h 3"],
        1,
    );
    check(folded, "nobody", &[], &[], 0);
}

#[test]
fn recursion_is_one_call() {
    check(
        "main;f;g;f;f;h 3\nmain;f;f 1",
        "f",
        &["main 4"],
        &["h 3"],
        1,
    );
}

#[test]
fn what_is_hidden_is_no_neighbour() {
    let profile = mixed();
    let mine = Shown {
        libraries: Libraries::Hidden,
        ..Shown::COMMAND
    };
    let of = |name: &str, shown| calls(&profile, &all(&profile), &name.into(), shown);
    let main = of("main", Shown::COMMAND);
    assert_eq!(side(&profile, &main.callers), ["- 9"]);
    assert_eq!(
        side(&profile, &main.callees),
        ["sum_c 3", "json.loads 2", "json.dumps 1"]
    );
    assert_eq!(of("main", mine).own_amount.samples, 9);
    assert!(of("json.loads", mine).functions.is_empty());
    let loads = of("loads", Shown::COMMAND);
    assert_eq!(loads.callers[0].of_function.share, 1.0);
    assert!((loads.callers[0].of_all.share - 2.0 / 19.0).abs() < 1e-9);
}

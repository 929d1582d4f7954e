//! Counts, shares, and their uncertainty.

use profundo_model::{Nanos, Profile, State};

use super::{all, location, push, stack};
use crate::*;

#[test]
fn samples_that_stand_for_several_count_as_several() {
    let mut profile = Profile::from_folded("").unwrap();
    let main = location(&mut profile, 1, "main", 1);
    let stack = stack(&mut profile, &[main]);
    push(&mut profile, stack, 4, State::Running);
    push(&mut profile, stack, 1, State::Sleeping);
    let selection = all(&profile);
    assert_eq!(selection.total(&profile), 5);
    let rows = flat(&profile, &selection, &FlatOptions::default());
    assert_eq!((rows[0].count, rows[0].overhead), (5, 5));
    assert_eq!(utilization(&profile, &selection), Some(0.8));
    assert!(!{
        let tree = tree(&profile, &selection, &TreeOptions::default());
        tree.node(tree.root()).sleeping
    });
}

#[test]
fn shares_add_lines_together_and_say_how_sure_they_are() {
    let mut profile = Profile::from_folded("").unwrap();
    let first = location(&mut profile, 1, "main", 1);
    let second = location(&mut profile, 2, "main", 2);
    let stacks = [
        stack(&mut profile, &[first]),
        stack(&mut profile, &[second]),
    ];
    for index in 0..100 {
        push(&mut profile, stacks[index % 2], 1, State::Running);
    }
    let work = location(&mut profile, 3, "work", 9);
    let work = stack(&mut profile, &[first, work]);
    for _ in 0..100 {
        push(&mut profile, work, 1, State::Running);
    }
    let shares = shares(&profile, &all(&profile), false);
    let numbers: Vec<(u64, u64, f64, f64)> = (shares.iter())
        .map(|share| {
            (
                share.count,
                share.overhead,
                share.own.share,
                share.total.share,
            )
        })
        .collect();
    assert_eq!(numbers, [(200, 100, 0.5, 1.0), (100, 100, 0.5, 0.5)]);
    let Interval { low, high } = shares[1].own.interval;
    assert_eq!(
        (format!("{low:.4}"), format!("{high:.4}")),
        // One jump, from one phase to the next.
        ("0.4956".into(), "0.5044".into())
    );
    assert_eq!(shares[0].total.interval.high, 1.0);
}

#[test]
fn unequal_weights_are_worth_fewer_samples() {
    assert_eq!(effective_samples([1, 1, 1, 1]), 4.0);
    assert_eq!(effective_samples([7]), 1.0);
    assert!(effective_samples([1, 1, 1, 100]) < 1.1);
    assert_eq!(effective_samples([]), 0.0);
    assert_eq!(
        Estimate::new(0.0, 0.0).interval,
        Interval {
            low: 0.0,
            high: 1.0
        }
    );
}

#[test]
fn quality_says_only_what_is_known() {
    let mut profile = Profile::from_folded("main 1000").unwrap();
    let before = quality(&profile, &all(&profile));
    assert_eq!(
        (before.samples, before.expected, before.own_cost),
        (1000, None, None)
    );
    assert_eq!(format!("{:.3}", before.margin.unwrap()), "0.031");
    profile.meta.cpu = Some(Nanos(2_000_000_000));
    profile.meta.own_cost = Some(Nanos(1_000_000));
    let after = quality(&profile, &all(&profile));
    assert_eq!(
        (after.expected, after.own_cost),
        (Some(2000.0), Some(0.0005))
    );
}

#[test]
fn a_part_of_few_heavy_samples_is_less_sure() {
    let mass = |count: f64, weight: f64| Mass {
        weight: count * weight,
        squares: count * weight * weight,
        ..Mass::default()
    };
    let whole = |light: f64, heavy: f64| Mass {
        weight: light + 10.0 * heavy,
        squares: light + 100.0 * heavy,
        ..Mass::default()
    };
    // Of equal weights, it is the plain interval.
    let equal = Estimate::of(mass(250.0, 1.0), mass(1000.0, 1.0));
    let plain = Estimate::new(0.25, 1000.0);
    assert!((equal.margin() - plain.margin()).abs() < 1e-12);
    // Ten heavy samples among nine hundred light ones are as certain as ten of a hundred.
    let heavy = Estimate::of(mass(10.0, 10.0), whole(900.0, 10.0));
    assert!(heavy.share > 0.09 && heavy.share < 0.11);
    assert!(
        heavy.margin() > 2.5 * Estimate::new(0.1, 1000.0).margin(),
        "{heavy:?}"
    );
    // A place without samples may still have time, and all samples in one place may not be all
    // time.
    let none = Estimate::of(Mass::default(), mass(100.0, 1.0));
    assert_eq!(none.share, 0.0);
    assert!(none.interval.high > 0.03 && none.interval.high < 0.05);
    assert_eq!(
        Estimate::of(mass(4.0, 1.0), mass(4.0, 1.0)).interval.high,
        1.0
    );
    assert_eq!(
        Estimate::of(Mass::default(), Mass::default()).interval.high,
        1.0
    );
}

#[test]
fn any_weight_may_be_in_a_damaged_file() {
    let mut profile = super::mixed();
    for sample in &mut profile.samples {
        sample.weight = Nanos(u64::MAX - 1);
    }
    for period in [0, 1, u64::MAX / 2] {
        profile.meta.period = Nanos(period);
        let selection = all(&profile);
        let function = |name: &str| calls(&profile, &selection, &name.into(), Shown::ALL);
        assert_eq!(function("main").functions.len(), 1);
        let _ = tree(&profile, &selection, &TreeOptions::default());
        let _ = flat(&profile, &selection, &FlatOptions::default());
        let _ = lines(&profile, &selection, &LinesOptions::default());
        let _ = (
            totals(&profile, &selection),
            utilization(&profile, &selection),
        );
        let _ = (
            quality(&profile, &selection),
            callers(&profile, "main", None, None),
        );
        for row in shares(&profile, &selection, true) {
            assert!(row.total.share.is_finite());
        }
    }
}

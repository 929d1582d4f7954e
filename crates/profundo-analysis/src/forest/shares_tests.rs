//! The shares of boxes, and parts of pictures, compared with the boxes of whole pictures.

use profundo_model::Profile;

use super::*;
use crate::{Filter, Selection};

const TEXT: &str = "main;a;leaf 300\nmain;b;leaf 100\nmain;a;b;a 40\nmain 60\nother;b 500";

/// Every box of the four kinds of pictures has the weights that its shares are made from.
#[test]
fn shares_are_those_of_the_picture() {
    let profile = Profile::from_folded(TEXT).unwrap();
    let forest = Forest::new(&profile, &ForestOptions::default());
    let all = Selection::new(&profile, &Filter::default());
    let weights = Weights::new(&profile, &forest, &all);
    let limits = Limits {
        least: 1,
        most: 1000,
    };
    let rank = vec![0; forest.functions().len()];
    let functions = 0..forest.functions().len() as u32;
    let starts = [None, Some(Start::Ends)].into_iter();
    let callers = functions.clone().map(|one| Some(Start::CallersOf(one)));
    let callees = functions.map(|one| Some(Start::CalleesOf(one)));
    let mut seen = 0;
    for start in starts.chain(callers).chain(callees) {
        let boxes = match start {
            None => below(&forest, &weights, 0, limits, BoxOrder::Name, &rank),
            Some(start) => sets(&forest, &weights, start, limits),
        };
        for a_box in boxes {
            if matches!(a_box.of, BoxOf::System | BoxOf::Narrow(_)) {
                continue;
            }
            let shares = box_shares(&profile, &all, &forest, start, a_box.path).unwrap();
            let (own, total) = shares.weights;
            assert_eq!(total, a_box.weight.weight, "{start:?} {a_box:?}");
            assert_eq!(own, a_box.own.weight, "{start:?} {a_box:?}");
            let share = total as f64 / weights.all().weight as f64;
            assert!((shares.total.share - share).abs() < 1e-9, "{shares:?}");
            let interval = shares.total.interval;
            assert!(
                interval.low <= share && share <= interval.high,
                "{shares:?}"
            );
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
    assert_eq!(box_shares(&profile, &all, &forest, None, 12_345), None);
}

/// The boxes of a picture from one on, their levels counted from it.
fn cut(boxes: &[ForestBox], at: usize) -> Vec<ForestBox> {
    let level = boxes[at].level;
    let above = boxes[at + 1..]
        .iter()
        .take_while(|a_box| a_box.level > level);
    let all = std::iter::once(&boxes[at]).chain(above);
    all.map(|a_box| ForestBox {
        level: a_box.level - level,
        ..*a_box
    })
    .collect()
}

/// Every box of every picture opens, and shows what the whole picture shows above it.
#[test]
fn each_box_of_each_picture_opens() {
    let profile = Profile::from_folded(TEXT).unwrap();
    let forest = Forest::new(&profile, &ForestOptions::default());
    let all = Selection::new(&profile, &Filter::default());
    let weights = Weights::new(&profile, &forest, &all);
    let limits = Limits {
        least: 1,
        most: 1000,
    };
    let functions = 0..forest.functions().len() as u32;
    let callers = functions.clone().map(Start::CallersOf);
    let callees = functions.map(Start::CalleesOf);
    let mut seen = 0;
    for start in std::iter::once(Start::Ends).chain(callers).chain(callees) {
        let whole = sets(&forest, &weights, start, limits);
        for (at, a_box) in whole.iter().enumerate() {
            if !matches!(a_box.of, BoxOf::Function(_)) {
                continue;
            }
            let made = |weight: u64| {
                assert_eq!(weight, a_box.weight.weight);
                limits
            };
            let (below, boxes) = sets_at(&forest, &weights, start, a_box.path, made).unwrap();
            assert_eq!(boxes, cut(&whole, at), "{start:?} {a_box:?}");
            let root = u32::from(start == Start::Ends);
            assert_eq!(
                below.len() as u32,
                a_box.level - root,
                "{start:?} {a_box:?}"
            );
            for known in &below {
                let same = |other: &&ForestBox| other.path == known.path;
                let other = whole.iter().find(same).unwrap();
                assert_eq!((known.of, known.weight), (other.of, other.weight));
            }
            seen += 1;
        }
        assert!(sets_at(&forest, &weights, start, 12_345, |_| limits).is_none());
    }
    assert!(seen > 20, "{seen}");
    let part = path_beside(2, forest.path(3));
    assert_eq!(find_beside(&forest, 4, part), Some((2, 3)));
    assert_eq!(find_beside(&forest, 2, part), None);
}

//! Properties of any profile.

use profundo_model::{FrameKey, LocationId, LocationKind, Profile, State};
use proptest::prelude::*;

use super::{all, location, push, stack};
use crate::*;

/// Profiles of up to 40 stacks over 8 locations, some of them C, inlined, or without names, with
/// much recursion.
pub(super) fn any_profile() -> impl Strategy<Value = Profile> {
    let sample = (
        prop::collection::vec(0..8_usize, 1..8),
        1..5_u64,
        any::<bool>(),
    );
    prop::collection::vec(sample, 0..40).prop_map(|samples| {
        let mut profile = Profile::from_folded("").unwrap();
        let mut locations: Vec<LocationId> = (0..6)
            .map(|n| location(&mut profile, n, ["a", "b", "c"][n as usize % 3], 1))
            .collect();
        locations.push(profile.locations.intern(LocationKind::Invented(6), None));
        let c = FrameKey {
            function: "c",
            inlined: true,
            ..FrameKey::default()
        };
        let frames = [
            profile.frame(c),
            profile.locations.get(locations[0]).frames[0],
        ];
        profile.locations.set_frames(locations[1], &frames);
        let more = profile.locations.intern(LocationKind::Invented(7), None);
        profile.locations.set_frames(more, &[frames[1], frames[0]]);
        locations.push(more);
        for (path, count, asleep) in samples {
            let path: Vec<LocationId> = path.into_iter().map(|at| locations[at]).collect();
            let stack = stack(&mut profile, &path);
            let state = if asleep {
                State::Sleeping
            } else {
                State::Running
            };
            push(&mut profile, stack, count, state);
        }
        profile
    })
}

proptest! {
    #[test]
    fn a_tree_adds_up(profile in any_profile(), c: bool, combine: bool, fold_recursion: bool, recur in 0..3_usize) {
        let recur = Recur::CHOICES[recur].1;
        let selection = all(&profile);
        let options = TreeOptions { shown: c.into(), combine, recur, fold_recursion, ..TreeOptions::default() };
        let tree = tree(&profile, &selection, &options);
        let root = tree.node(tree.root());
        prop_assert_eq!(root.count, selection.total(&profile));
        let mut seen = 0;
        for (id, node) in tree.nodes() {
            let below: Vec<&Node> = tree.children(id).iter().map(|&id| tree.node(id)).collect();
            seen += below.len();
            let flat: u64 = below.iter().map(|node| node.flat_count).sum();
            prop_assert_eq!(node.flat_count, node.overhead + flat);
            if recur == Recur::Off {
                let counts: u64 = below.iter().map(|node| node.count).sum();
                prop_assert_eq!(node.count, node.overhead + counts);
            }
            prop_assert!(node.count >= node.flat_count);
            prop_assert!(below.iter().all(|child| !node.sleeping || child.sleeping));
            prop_assert!(below.iter().all(|child| child.parent == id && child.level == node.level + 1));
        }
        prop_assert_eq!(seen + 1, tree.nodes().count());
    }

    #[test]
    fn no_row_exceeds_the_total(profile in any_profile(), c: bool, combine: bool) {
        let selection = all(&profile);
        let total = selection.total(&profile);
        let rows = flat(&profile, &selection, &FlatOptions { shown: c.into(), combine });
        prop_assert!(rows.iter().all(|row| row.overhead <= row.count && row.count <= total));
        let tree = tree(&profile, &selection, &TreeOptions { shown: c.into(), combine, ..TreeOptions::default() });
        let own: u64 = rows.iter().map(|row| row.overhead).sum();
        prop_assert_eq!(own + tree.node(tree.root()).overhead, total);
        for row in shares(&profile, &selection, c) {
            for Estimate {
                share, interval, ..
            } in [row.own, row.total] {
                prop_assert!(0.0 <= interval.low && interval.low <= share + 1e-9);
                prop_assert!(share <= interval.high + 1e-9 && interval.high <= 1.0);
            }
        }
    }

    #[test]
    fn groups_divide_the_samples(profile in any_profile()) {
        for (_, by) in GroupBy::CHOICES {
            let groups = groups(&profile, &Filter::default(), &by);
            let rows: usize = groups.iter().map(|group| group.selection.len()).sum();
            prop_assert_eq!(rows, profile.samples.len());
        }
    }
}

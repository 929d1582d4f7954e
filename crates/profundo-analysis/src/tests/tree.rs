//! Call trees.

use profundo_model::{FrameKey, Language, LocationId, LocationKind, Profile, Reason, State};

use super::{all, push, stack};
use crate::*;

/// A tree as one `level name count/overhead/flat_count max_recur+count_recur` a line.
fn show(profile: &Profile, tree: &Tree) -> Vec<String> {
    let mut lines = Vec::new();
    let mut pending = vec![tree.root()];
    while let Some(id) = pending.pop() {
        let node = tree.node(id);
        let name = match node.place {
            Place::Frame(frame) => profile.function_name(frame),
            Place::Reason(reason) => reason.name(),
            Place::Unknown => "?",
        };
        let Node {
            level,
            count,
            overhead,
            flat_count,
            max_recur,
            count_recur,
            ..
        } = node;
        lines.push(format!(
            "{level} {name} {count}/{overhead}/{flat_count} {max_recur}+{count_recur}"
        ));
        pending.extend(tree.children(id).iter().rev());
    }
    lines
}

fn check_tree(folded: &str, options: TreeOptions, expected: &[&str]) {
    let profile = Profile::from_folded(folded).unwrap();
    let tree = tree(&profile, &all(&profile), &options);
    assert_eq!(show(&profile, &tree), expected);
}

#[test]
fn a_tree_counts_what_passes_and_what_ends() {
    check_tree(
        "main;a;b 3\nmain;c 1\nmain 2",
        TreeOptions::default(),
        &[
            "0 ? 6/0/6 1+0",
            "1 main 6/2/6 1+0",
            "2 a 3/0/3 1+0",
            "3 b 3/3/3 1+0",
            "2 c 1/1/1 1+0",
        ],
    );
}

#[test]
fn flattened_recursion_counts_a_sample_once() {
    let recur = TreeOptions {
        recur: Recur::Flat,
        ..TreeOptions::default()
    };
    check_tree(
        "top;fact;fact;fact;mul 2\ntop;fact;fact 1",
        recur,
        &[
            "0 ? 3/0/3 1+0",
            "1 top 3/0/3 1+0",
            "2 fact 3/1/3 3+5",
            "3 mul 2/2/2 1+0",
        ],
    );
}

#[test]
fn flattened_recursion_counts_the_loop_it_left() {
    let recur = TreeOptions {
        recur: Recur::Flat,
        ..TreeOptions::default()
    };
    check_tree(
        "a;b;a;c 2",
        recur,
        &[
            "0 ? 2/0/2 1+0",
            "1 a 2/0/2 2+2",
            "2 b 2/0/0 1+0",
            "2 c 2/2/2 1+0",
        ],
    );
}

#[test]
fn two_roots_at_two_lines_of_one_function() {
    let mut profile = Profile::from_folded("").unwrap();
    let rows = [
        ("f1", "file1", 1),
        ("f2", "file1", 5),
        ("f3", "file2", 1),
        ("f2", "file1", 15),
        ("f4", "file1", 20),
        ("f5", "file3", 1),
        ("f1", "file1", 2),
        ("f6", "file3", 10),
    ];
    let mut at = Vec::new();
    for (number, (function, file, line)) in (1..).zip(rows) {
        let key = FrameKey {
            function,
            file,
            line,
            language: Language::Rust,
            ..FrameKey::default()
        };
        let frame = profile.frame(key);
        let location = profile
            .locations
            .intern(LocationKind::Invented(number), None);
        profile.locations.set_frames(location, &[frame]);
        at.push(location);
    }
    for numbers in [&[1, 2, 3, 4][..], &[1, 5, 6], &[7, 8], &[1, 2, 3, 4]] {
        let locations: Vec<LocationId> = numbers.iter().map(|number| at[number - 1]).collect();
        let stack = stack(&mut profile, &locations);
        push(&mut profile, stack, 1, State::Running);
    }
    let options = TreeOptions {
        combine: false,
        ..TreeOptions::default()
    };
    let tree = tree(&profile, &all(&profile), &options);
    let roots = tree.children(tree.root());
    let line = |id: NodeId| match tree.node(id).place {
        Place::Frame(frame) => profile.frames.get(frame).line,
        _ => 0,
    };
    assert_eq!(roots.iter().map(|&id| line(id)).collect::<Vec<_>>(), [1, 2]);
    let below: Vec<_> = tree
        .children(roots[1])
        .iter()
        .map(|&id| tree.node(id).location)
        .collect();
    assert_eq!(below, [Some(at[7])]);
}

#[test]
fn a_stack_that_ends_for_a_reason_keeps_its_weight() {
    let mut profile = Profile::from_folded("").unwrap();
    let cut = profile
        .locations
        .intern(LocationKind::Reason(Reason::Truncated), None);
    let nameless = profile.locations.intern(LocationKind::Invented(9), None);
    let stack = stack(&mut profile, &[cut, nameless]);
    push(&mut profile, stack, 1, State::Running);
    for named in [false, true] {
        if named {
            profile.name_reasons();
        }
        let tree = tree(&profile, &all(&profile), &TreeOptions::default());
        assert_eq!(
            show(&profile, &tree),
            ["0 ? 1/0/1 1+0", "1 [truncated] 1/1/1 1+0"]
        );
    }
}

#[test]
fn folded_recursion_is_one_node_and_adds_up() {
    let options = TreeOptions {
        by_function: true,
        fold_recursion: true,
        ..TreeOptions::default()
    };
    check_tree(
        "top;f;f;f;g 2\ntop;f;f 1\ntop;f;g;h 1",
        options,
        &[
            "0 ? 4/0/4 1+0",
            "1 top 4/0/4 1+0",
            "2 f 4/1/4 1+0",
            "3 g 3/2/3 1+0",
            "4 h 1/1/1 1+0",
        ],
    );
    // A cycle of two, entered in its middle and left anywhere.
    check_tree(
        "a;b;a;b;a;b 3\na;b;a;c 1\nb;a;b;a 1",
        options,
        &[
            "0 ? 5/0/5 1+0",
            "1 a 4/0/4 1+0",
            "2 b 4/3/4 1+0",
            "3 a 1/0/1 1+0",
            "4 c 1/1/1 1+0",
            "1 b 1/0/1 1+0",
            "2 a 1/1/1 1+0",
            // The second `b` is called before the cycle is known to be one. It keeps no samples.
            "3 b 0/0/0 1+0",
        ],
    );
}

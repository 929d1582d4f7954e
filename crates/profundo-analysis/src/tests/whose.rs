//! The owners of shown code, and of its time.

use super::{all, mixed};
use profundo_model::Profile;

use crate::*;

/// `name own/total` of every function, in weight of samples.
fn functions(shown: impl Into<Shown>) -> Vec<String> {
    functions_of(&mixed(), shown)
}

fn functions_of(profile: &Profile, shown: impl Into<Shown>) -> Vec<String> {
    let mut rows: Vec<String> = shares(profile, &all(profile), shown)
        .iter()
        .map(|row| {
            let name = match row.place {
                Place::Frame(frame) => profile.function_name(frame),
                _ => "?",
            };
            let (own, total) = (row.own_amount.weight, row.total_amount.weight);
            format!("{name} {}/{}", own / 1_000_000, total / 1_000_000)
        })
        .collect();
    rows.sort();
    rows
}

#[test]
fn everything_is_shown_or_only_what_is_not_plumbing_or_not_c() {
    assert_eq!(
        functions(Hidden::Nothing),
        [
            "idle 10/10",
            "json.dumps 0/1",
            "json.loads 1/2",
            "main 3/9",
            "parse_c 2/2",
            "start 0/9",
            "sum_c 3/3"
        ]
    );
    assert_eq!(
        functions(Hidden::Runtime),
        [
            "idle 10/10",
            "json.dumps 0/1",
            "json.loads 1/2",
            "main 3/9",
            "parse_c 2/2",
            "sum_c 3/3"
        ]
    );
    assert_eq!(
        functions(Hidden::C),
        ["json.dumps 1/1", "json.loads 2/2", "main 6/9"]
    );
}

#[test]
fn the_time_of_libraries_is_their_callers() {
    let mine = Shown {
        libraries: Libraries::Hidden,
        ..Shown::COMMAND
    };
    // Time without own code on its stack has no owner.
    assert_eq!(functions(mine), ["main 9/9"]);
    let folded = Shown {
        libraries: Libraries::Folded,
        ..Shown::COMMAND
    };
    assert_eq!(
        functions(folded),
        [
            "idle 10/10",
            "json.dumps 1/1",
            "json.loads 2/2",
            "main 3/9",
            "sum_c 3/3"
        ]
    );
}

/// `name count/overhead` of every node, indented by level.
fn nodes(options: TreeOptions) -> Vec<String> {
    let profile = mixed();
    let tree = tree(&profile, &all(&profile), &options);
    let mut rows = Vec::new();
    let mut pending = tree.children(tree.root()).to_vec();
    pending.reverse();
    while let Some(id) = pending.pop() {
        let node = tree.node(id);
        let Place::Frame(frame) = node.place else {
            panic!("every frame has a name");
        };
        rows.push(format!(
            "{}{} {}/{}",
            " ".repeat(node.level as usize - 1),
            profile.function_name(frame),
            node.weight / 1_000_000,
            node.own_weight / 1_000_000
        ));
        pending.extend(tree.children(id).iter().rev());
    }
    rows
}

#[test]
fn a_tree_of_functions_folds_libraries() {
    let folded = TreeOptions {
        shown: Shown {
            libraries: Libraries::Folded,
            ..Shown::COMMAND
        },
        by_function: true,
        ..TreeOptions::default()
    };
    assert_eq!(
        nodes(folded),
        [
            "main 9/3",
            " sum_c 3/3",
            " json.loads 2/2",
            " json.dumps 1/1",
            "idle 10/10"
        ]
    );
    let mine = TreeOptions {
        shown: Shown {
            libraries: Libraries::Hidden,
            ..Shown::COMMAND
        },
        ..TreeOptions::default()
    };
    // Line by line, and without time of other owners.
    assert_eq!(nodes(mine), ["main 5/5", "main 1/1", "main 3/3"]);
}

#[test]
fn the_reader_says_what_is_his() {
    let mine = Shown {
        libraries: Libraries::Hidden,
        ..Shown::COMMAND
    };
    let functions = |patterns: &[&str]| {
        let mut profile = mixed();
        profile.meta.mine = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        functions_of(&profile, mine)
    };
    assert_eq!(
        functions(&["**/site-packages/p.so"]),
        ["main 7/9", "parse_c 2/2"]
    );
    assert_eq!(
        functions(&["/usr/lib/python3.12/json"]),
        ["json.dumps 1/1", "json.loads 2/2", "main 6/9"]
    );
    let none: [&str; 0] = [];
    assert_eq!(functions(&["!/home/me/**"]), none);
}

//! The time of lines.

use profundo_model::{Profile, State};

use super::{all, location, mixed, push, stack};
use crate::*;

/// `file:line own/total` of every line, and what has none.
fn shown(profile: &Profile, options: &LinesOptions) -> Vec<String> {
    let shares = lines(profile, &all(profile), options);
    let mut rows = Vec::new();
    for file in &shares.files {
        let path = profile.strings.get(profile.files.get(file.file).path);
        let name = path.rsplit('/').next().unwrap();
        let own: u64 = file.lines.iter().map(|line| line.own_amount.weight).sum();
        assert_eq!(own, file.own_amount.weight, "{name}");
        for line in &file.lines {
            let (own, total) = (line.own_amount.weight, line.total_amount.weight);
            let line = line.line;
            rows.push(format!(
                "{name}:{line} {}/{}",
                own / 1_000_000,
                total / 1_000_000
            ));
        }
    }
    let elsewhere = shares.elsewhere.weight;
    let sum: u64 = (shares.elsewhere_by.iter())
        .map(|(_, amount)| amount.weight)
        .sum();
    assert_eq!(sum, elsewhere);
    rows.push(format!("elsewhere {}", elsewhere / 1_000_000));
    rows
}

fn with(libraries: Libraries) -> LinesOptions {
    LinesOptions {
        shown: Shown {
            libraries,
            ..Shown::COMMAND
        },
        files: Vec::new(),
    }
}

#[test]
fn what_a_line_calls_in_libraries_is_its_time() {
    assert_eq!(
        shown(&mixed(), &with(Libraries::Hidden)),
        [
            "app.py:5 5/5",
            "app.py:6 1/1",
            "app.py:7 3/3",
            "elsewhere 10"
        ]
    );
    let with_libraries = [
        "app.py:5 5/5",
        "app.py:6 1/1",
        "app.py:7 3/3",
        "decoder.py:30 0/2",
        "decoder.py:40 0/1",
        "elsewhere 10",
    ];
    assert_eq!(shown(&mixed(), &with(Libraries::Folded)), with_libraries);
}

#[test]
fn libraries_may_have_time_of_their_own() {
    assert_eq!(
        shown(&mixed(), &with(Libraries::Shown)),
        [
            "app.py:5 5/5",
            "app.py:6 1/1",
            "app.py:7 0/3",
            "decoder.py:30 2/2",
            "decoder.py:40 1/1",
            "elsewhere 10"
        ]
    );
}

#[test]
fn files_that_are_asked_for_are_looked_at_whoever_made_them() {
    let options = LinesOptions {
        files: vec!["decoder.py".into()],
        ..with(Libraries::Hidden)
    };
    assert_eq!(
        shown(&mixed(), &options),
        ["decoder.py:30 2/2", "decoder.py:40 1/1", "elsewhere 16"]
    );
}

#[test]
fn kinds_go_with_the_line() {
    let profile = mixed();
    let shares = lines(&profile, &all(&profile), &with(Libraries::Hidden));
    let split = |at: usize| {
        let Split {
            python,
            native,
            system,
            ..
        } = shares.files[0].lines[at].own_amount.split;
        [python, native, system].map(|part| part / 1_000_000)
    };
    assert_eq!(
        [split(0), split(1), split(2)],
        [[2, 3, 0], [1, 0, 0], [1, 2, 0]]
    );
    assert_eq!(shares.elsewhere.split.system, 10_000_000);
    assert!(shares.files[0].is_python);
}

#[test]
fn recursion_counts_once() {
    let mut profile = Profile::from_folded("").unwrap();
    let [a, b] =
        [(1, "a", 3), (2, "b", 4)].map(|(n, name, line)| location(&mut profile, n, name, line));
    let stack = stack(&mut profile, &[a, b, a, a, b, a]);
    push(&mut profile, stack, 7, State::Running);
    assert_eq!(
        shown(&profile, &with(Libraries::Hidden)),
        ["f.rs:3 7/7", "f.rs:4 0/7", "elsewhere 0"]
    );
}

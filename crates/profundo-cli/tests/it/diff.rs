//! `diff`, on recordings whose difference is known.

use profundo_formats::write_file;
use profundo_model::{Nanos, Profile};

use crate::machine::Folder;

/// A profile of so many samples of each stack, mixed.
fn recorded(stacks: &[(&str, u64)]) -> Profile {
    let text: String = (stacks.iter())
        .map(|(stack, count)| format!("{stack} {count}\n"))
        .collect();
    let mut profile = Profile::from_folded(&text).unwrap();
    let length = profile.samples.len();
    let mixed: Vec<_> = (0..length)
        .map(|at| profile.samples[(at * 7919) % length])
        .collect();
    for (at, sample) in profile.samples.iter_mut().enumerate() {
        *sample = mixed[at];
        sample.time = Nanos(at as u64 * 1_000_000);
    }
    profile.meta.duration = Nanos(length as u64 * 1_000_000);
    profile
}

/// Two recordings, of which the second has one function slower.
fn folder() -> Folder {
    let folder = Folder::new();
    let write = |name: &str, parse: u64| {
        let profile = recorded(&[
            ("main;parse", parse),
            ("main;score", 3001),
            ("main;load", 2000),
        ]);
        write_file(folder.path().join(name), &profile).unwrap();
    };
    write("a.profundo", 3000);
    write("b.profundo", 4200);
    write("c.profundo", 4230);
    folder
}

#[test]
fn the_slower_function_is_named() {
    let folder = folder();
    let outcome = folder.run(&[
        "diff",
        "a.profundo",
        "b.profundo",
        "--per",
        "run",
        "--width",
        "120",
    ]);
    let text = &outcome.succeeded().out;
    assert!(text.starts_with("After is 15 % (±"), "{text}");
    assert!(
        text.contains("slower: 1.20 s more, of which 1.20 s in `parse`"),
        "{text}"
    );
    assert!(
        text.contains("before: a (") && text.contains("after:  b ("),
        "{text}"
    );
    // The other way round it is faster.
    let outcome = folder.run(&["diff", "b.profundo", "a.profundo", "--per", "run"]);
    assert!(outcome.succeeded().out.contains("faster"), "{outcome:#?}");
    let outcome = folder.run(&["diff", "b.profundo", "c.profundo", "--per", "run"]);
    assert!(
        outcome
            .succeeded()
            .out
            .starts_with("No difference beyond chance"),
        "{outcome:#?}"
    );
    let outcome = folder.run(&["diff", "a.profundo", "b.profundo", "--per", "run", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&outcome.succeeded().out).unwrap();
    assert_eq!(json["tables"][0]["rows"][0]["name"], "parse");
}

#[test]
fn only_a_growth_above_the_limit_is_exit_code_3() {
    let folder = folder();
    let code = |one: &str, other: &str, limit: &str| {
        let words = ["diff", one, other, "--per", "run", "--fail-above", limit];
        folder.run(&words).code
    };
    assert_eq!(code("a.profundo", "b.profundo", "5%"), Some(3));
    assert_eq!(code("a.profundo", "b.profundo", "50%"), Some(0));
    assert_eq!(code("b.profundo", "a.profundo", "5%"), Some(0));
    assert_eq!(code("b.profundo", "c.profundo", "0%"), Some(0));
}

#[test]
fn sets_of_runs_have_two_hyphens_between_them() {
    let folder = folder();
    let outcome = folder.run(&[
        "diff",
        "a.profundo",
        "a.profundo",
        "a.profundo",
        "--",
        "b.profundo",
        "c.profundo",
        "--per",
        "run",
    ]);
    // Behind `--` all words are recordings.
    outcome.refused(1, "there is no recording");
    let outcome = folder.run(&[
        "diff",
        "--per",
        "run",
        "a.profundo",
        "a.profundo",
        "--",
        "b.profundo",
        "c.profundo",
    ]);
    let text = &outcome.succeeded().out;
    assert!(text.contains("measured: 2 before and 2 after"), "{text}");
    assert!(text.contains("before: 2 runs, a and a"), "{text}");
    let three = folder.run(&["diff", "a.profundo", "b.profundo", "c.profundo"]);
    three.refused(2, "have `--` between them");
    folder.run(&["diff", "a.profundo"]).refused(2, "name both");
    folder
        .run(&["diff", "--", "a.profundo"])
        .refused(2, "no recording is named before");
}

#[test]
fn what_cannot_be_compared_is_a_sentence() {
    let folder = folder();
    let run = |words: &[&str]| {
        let mut all = vec!["diff", "a.profundo", "b.profundo"];
        all.extend(words);
        folder.run(&all)
    };
    run(&["--by", "type"]).refused(1, "there is no table by type");
    run(&["--by", "calls"]).refused(1, "`profundo trace` counts them");
    run(&["--per", "calls"]).refused(1, "calls were not counted");
    run(&["--per", "absent"]).refused(1, "`absent`");
    run(&["--of", "allocated"]).refused(1, "not recorded");
    run(&["--function", "absent"]).refused(4, "pass the filter");
    run(&["-o", "-", "--json"]).refused(2, "in place of the report");
    folder
        .run(&["diff", "a.profundo", "none.profundo"])
        .refused(1, "there is no recording");
    folder
        .run(&["compare", "a", "b"])
        .refused(2, "is called `diff`");
}

#[test]
fn the_picture_is_written_beside_the_report() {
    let folder = folder();
    let outcome = folder.run(&[
        "diff",
        "a.profundo",
        "b.profundo",
        "--per",
        "run",
        "-o",
        "x.svg",
    ]);
    outcome.succeeded();
    assert!(outcome.err.contains("wrote x.svg"), "{outcome:#?}");
    let picture = std::fs::read_to_string(folder.path().join("x.svg")).unwrap();
    assert!(picture.contains("<svg"), "{picture}");
    // A recording is not replaced by a picture.
    let outcome = folder.run(&["diff", "a.profundo", "b.profundo", "-o", "a.profundo"]);
    outcome.refused(2, "what is being read");
}

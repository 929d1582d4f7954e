//! Two recordings: what has changed.

use profundo_testing::Folder;
use serde_json::Value;

use crate::client::{Served, record};

fn compared(name: &str) -> (Folder, Served) {
    let folder = Folder::new(name);
    let paths = ["before.profundo", "after.profundo"].map(|name| folder.join(name));
    record(
        &paths[0],
        "main;work;old 900\nmain;work 100\nmain;same 1000",
    );
    record(
        &paths[1],
        "main;work;new 1800\nmain;work 100\nmain;same 1000",
    );
    let served = Served::new(&paths);
    (folder, served)
}

fn row<'a>(diff: &'a Value, name: &str) -> &'a Value {
    let rows = diff["tables"][0]["rows"].as_array().unwrap();
    let found = rows.iter().find(|row| row["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {rows:?}"))
}

#[test]
fn rows_are_those_of_the_report() {
    let (_folder, served) = compared("view-compare");
    let diff = served.ask("diff?all=1&limit=100").json();
    assert_eq!(diff["profundo"]["report"], "diff");
    assert_eq!(diff["before"][0]["name"], "before");
    assert_eq!(diff["after"][0]["name"], "after");
    for (name, before, after) in [("old", 0.9, 0.0), ("new", 0.0, 1.8)] {
        let row = row(&diff, name);
        assert_eq!(row["self_changed"], true, "{row}");
        assert_eq!(row["self_before"], before, "{row}");
        assert_eq!(row["self_after"], after, "{row}");
    }
    let same = row(&diff, "same");
    assert_eq!(same["self_changed"], false, "{same}");
    let few = served.ask("diff?by=function").json();
    assert_eq!(few["tables"].as_array().unwrap().len(), 1);
    assert!(
        few["tables"][0]["rows"]
            .as_array()
            .unwrap()
            .iter()
            .all(|row| row["name"] != "same")
    );
    assert_eq!(served.ask("diff?by=nothing").status, 400);
}

#[test]
fn a_picture_has_both_weights() {
    let (_folder, served) = compared("view-diff-flame");
    let flame = served.ask("diff_flame").json();
    let boxes = &flame["boxes"];
    let names = flame["functions"]["name"].as_array().unwrap();
    let place = |name: &str| -> usize {
        let row = names.iter().position(|known| known == name).unwrap();
        let of = boxes["function"].as_array().unwrap();
        of.iter().position(|at| *at == row).unwrap()
    };
    let trend = |at: usize| boxes["trend"].as_str().unwrap().chars().nth(at).unwrap();
    for (name, before, after, what) in [("old", 9e8, 0.0, 'g'), ("new", 0.0, 1.8e9, 'n')] {
        let at = place(name);
        assert_eq!(boxes["before"][at], before, "{name}");
        assert_eq!(boxes["after"][at], after, "{name}");
        assert_eq!(trend(at), what, "{name}");
    }
    assert_eq!(boxes["before"][0], 2e9);
    assert_eq!(boxes["after"][0], 2.9e9);
    // Zoomed in, the callers are above.
    let path = &boxes["path"][place("new")];
    let zoomed = served.ask(&format!("diff_flame?path={path}")).json();
    let callers = zoomed["callers"]["function"].as_array().unwrap();
    assert_eq!(callers.len(), 2, "{zoomed}");
    assert_eq!(zoomed["boxes"]["after"][0], 1.8e9);
    assert_eq!(served.ask("diff_flame?path=1").status, 404);
}

#[test]
fn a_filter_holds_for_both() {
    let (_folder, served) = compared("view-diff-filter");
    let flame = served.ask("diff_flame?filter=focus%3D%5Esame%24").json();
    assert_eq!(flame["boxes"]["before"][0], 1e9);
    assert_eq!(flame["boxes"]["after"][0], 1e9);
    let nothing = served.ask("diff?filter=focus%3D%5Enothing%24");
    assert_eq!(nothing.status, 404);
    assert!(nothing.body.contains("passes the filter"), "{nothing:?}");
}

#[test]
fn one_recording_has_no_difference() {
    let folder = Folder::new("view-single");
    let path = folder.join("app.profundo");
    record(&path, "main 1");
    let served = Served::new(&[path]);
    for question in ["diff", "diff_flame"] {
        let answer = served.ask(question);
        assert_eq!(answer.status, 404, "{question}");
        assert!(answer.body.contains("profundo view BEFORE AFTER"));
    }
}

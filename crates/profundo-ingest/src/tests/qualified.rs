//! Functions whose interpreter knows only bare names.

use super::incremental::{begun, code_of, feed};
use crate::Ingest;

#[test]
fn functions_without_qualified_names_differ_by_line() {
    let codes = [(8, 1, 2), (8, 2, 9), (10, 3, 2), (8, 4, 5), (11, 5, 20)];
    let codes = codes.map(|(minor, number, line)| code_of(minor, number, "run", line));
    let names = |ingest: Ingest| {
        let profile = ingest.profile();
        let codes = profile.growing.codes.iter();
        codes
            .map(|code| profile.strings.get(code.name).to_owned())
            .collect::<Vec<_>>()
    };
    let mut ingest = begun();
    feed(&mut ingest, 1, &codes);
    let bare = ["run", "run (line 9)", "run", "run (line 5)", "run"];
    assert_eq!(names(ingest), bare);
    // The source of names is asked, but not for names that the interpreter knows.
    let mut ingest = begun().qualified_names(Box::new(|file, name, line| {
        (line != 5).then(|| format!("{file} {line}.{name}"))
    }));
    feed(&mut ingest, 1, &codes);
    let asked = [
        "/app/a.py 2.run",
        "/app/a.py 9.run",
        "/app/a.py 2.run",
        "run",
        "run",
    ];
    assert_eq!(names(ingest), asked);
}

//! Lines of a statement as one.

use profundo_model::State;
use profundo_report::{Lines, View};

use crate::mixed::{APP, Maker};

#[test]
fn a_statement_over_several_lines_counts_as_one() {
    let mut maker = Maker::new();
    let root = maker.python(APP, "<module>", 9, true);
    let [first, second] = [2, 3].map(|line| maker.python(APP, "total", line, false));
    let within = maker.python(APP, "total", 2, true);
    maker.samples(30, &[root, first], State::Running);
    maker.samples(20, &[root, second], State::Running);
    // It calls itself: the sample is the statement's once.
    maker.samples(10, &[root, within, second], State::Running);
    let file = maker.profile.file(APP, "", "");
    for (line, text) in (1..).zip(["def total(rows):", "    return sum(", "        rows)", "x"]) {
        let text = maker.profile.strings.intern(text);
        maker.profile.sources.insert(file, line, text);
    }
    let rows = |statements: bool| {
        let lines = Lines::new().all_lines(true).statements(statements);
        let json = lines.from_disk(false).json(&maker.profile).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let lines = json["files"][0]["lines"].as_array().unwrap().clone();
        let number = |line: &serde_json::Value, name: &str| line[name].as_u64();
        (lines.iter())
            .map(|line| {
                let names = ["line", "last_line", "self_samples", "total_samples"];
                names.map(|name| number(line, name))
            })
            .collect::<Vec<_>>()
    };
    let row = |line, last, own, total| [Some(line), last, Some(own), Some(total)];
    assert_eq!(
        rows(false),
        [
            row(2, None, 30, 40),
            row(3, None, 30, 30),
            row(9, None, 0, 60)
        ]
    );
    assert_eq!(
        rows(true),
        [row(2, Some(3), 60, 60), row(9, Some(9), 0, 60)]
    );
}

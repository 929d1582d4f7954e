//! Options by name, and options that do not go together.

use expect_test::{Expect, expect};
use profundo_report::{Error, Format, GroupBy, Recur, Report, SortBy, When};

use crate::fixture::{recursive, report};

fn check_error(report: Report, expected: Expect) {
    let error = report.render(&recursive()).unwrap_err();
    expected.assert_eq(&error.to_string());
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let flat = || report().format(Format::Flat);
    check_error(
        flat().recur(Recur::Flat),
        expect!["format flat only knows recur off, not flat"],
    );
    check_error(
        report().format(Format::Functions).recur(Recur::FlatC),
        expect!["format functions only knows recur off, not flatc"],
    );
    check_error(
        report().format(Format::Functions).combine(false),
        expect!["format functions always combines addresses"],
    );
    check_error(
        report().noisefloor(-1.0),
        expect!["noisefloor -1 is not a number of at least 0"],
    );
    check_error(
        report().noisefloor(f64::NAN),
        expect!["noisefloor NaN is not a number of at least 0"],
    );
    let nowhere = report()
        .write_to_path(&recursive(), "/nowhere/at/all")
        .unwrap_err();
    assert!(matches!(nowhere, Error::Create { .. }));
    assert_eq!(nowhere.to_string(), "cannot create /nowhere/at/all");
}

#[test]
fn options_are_known_by_name() {
    assert!(
        Format::CHOICES
            .iter()
            .all(|(name, format)| name.parse::<Format>().unwrap() == *format)
    );
    assert!(
        SortBy::CHOICES
            .iter()
            .all(|(name, order)| name.parse::<SortBy>().unwrap() == *order)
    );
    assert!(
        GroupBy::CHOICES
            .iter()
            .all(|(name, group_by)| name.parse::<GroupBy>().unwrap() == *group_by)
    );
    assert!(
        Recur::CHOICES
            .iter()
            .all(|(name, recur)| name.parse::<Recur>().unwrap() == *recur)
    );
    assert!(
        When::CHOICES
            .iter()
            .all(|(name, when)| name.parse::<When>().unwrap() == *when)
    );
    let errors = [
        "treee".parse::<Format>().unwrap_err(),
        "time".parse::<SortBy>().unwrap_err(),
        "module".parse::<GroupBy>().unwrap_err(),
        "on".parse::<Recur>().unwrap_err(),
        "".parse::<When>().unwrap_err(),
    ];
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    expect![[r#"
        format "treee" is not known; it is one of tree, flat, functions
        sorted_by "time" is not known; it is one of filefuncline, count, overhead, flat_count
        group_by "module" is not known; it is one of none, thread, task, thread,task, task,thread, process, command, label, span
        recur "on" is not known; it is one of off, flat, flatc
        when "" is not known; it is one of auto, always, never"#]]
    .assert_eq(&errors.join("\n"));
}

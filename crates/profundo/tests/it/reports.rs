//! Every report, on a profile of this very program and on an empty one.

use profundo::model::Language;
use profundo::{
    Data, Format, GroupBy, Names, Numbers, Recur, Report, SortBy, StackFrame, print, print_path,
    profile, report, retrieve,
};
use profundo_testing::Folder;

use crate::alone::{alone, on_each_engine};
use crate::blocks::my_number;
use crate::work::{busy, deep};

#[test]
fn every_kind_of_report_shows_something_and_can_go_to_a_file() {
    on_each_engine(|_| {
        profile!(deep(10, 80)).unwrap();
        let reports: [(&str, Report); 7] = [
            ("defaults", report()),
            ("tree with C", report().c(true)),
            ("shallow tree", report().maxdepth(2)),
            ("flat with C", report().format(Format::Flat).c(true)),
            (
                "flat by count",
                report().format(Format::Flat).sorted_by(SortBy::Count),
            ),
            ("folded recursion", report().recur(Recur::Flat)),
            ("functions", report().format(Format::Functions)),
        ];
        for (name, report) in reports {
            let text = report.to_text().unwrap();
            assert!(text.lines().count() > 4, "{name}: {text}");
            let folder = Folder::new("reports");
            let file = folder.join("report.txt");
            report.write_path(&file).unwrap();
            let written = std::fs::read_to_string(&file).unwrap();
            assert_eq!(
                written.lines().count(),
                text.lines().count(),
                "{name}: {written}"
            );
        }
        let text = report().width(200).to_text().unwrap();
        assert!(text.contains("work::busy"), "{text}");
        assert!(text.contains("Utilization: "), "{text}");
        let folder = Folder::new("reports");
        let file = folder.join("print.txt");
        print_path(&file).unwrap();
        assert!(std::fs::metadata(&file).unwrap().len() > 100);
        print().unwrap();
    });
}

#[test]
fn every_grouping_goes_with_every_choice_of_threads() {
    let _alone = alone();
    profile!(busy(60)).unwrap();
    let (data, names) = retrieve().unwrap();
    let me = my_number(&data);
    let threads: [Numbers; 5] = [
        (1..).into(),
        me.into(),
        (me..=me).into(),
        (1..=me).into(),
        [1, me].into(),
    ];
    for (grouping, group_by) in GroupBy::CHOICES {
        for threads in &threads {
            for format in [Format::Tree, Format::Flat] {
                let text = report()
                    .of(&data, &names)
                    .width(200)
                    .group_by(group_by.clone())
                    .threads(threads.clone())
                    .format(format)
                    .to_text()
                    .unwrap();
                let found = text.contains("work::busy") && text.contains("Total snapshots: ");
                assert!(found, "{grouping} {format:?} {threads:?}: {text}");
            }
        }
    }
}

#[test]
fn the_choice_of_threads_and_tasks_is_a_filter() {
    let _alone = alone();
    profile!(busy(60)).unwrap();
    let (data, names) = retrieve().unwrap();
    let me = my_number(&data);
    let of = |report: Report| report.of(&data, &names).width(200).to_text().unwrap();
    assert!(!of(report().threads(me + 1000)).contains("work::busy"));
    let task = data.get_task_ids(Some(me)).unwrap()[0];
    assert_ne!(task, 0);
    assert!(of(report().tasks(task)).contains("work::busy"));
    assert!(!of(report().tasks(task + 1000)).contains("work::busy"));
}

#[test]
fn no_samples_are_a_warning() {
    let _alone = alone();
    for format in [Format::Tree, Format::Flat, Format::Functions] {
        let text = report().format(format).c(true).to_text().unwrap();
        assert!(text.contains("no samples were collected"), "{text}");
    }
}

#[test]
fn nothing_but_c_is_a_warning_too() {
    let data = Data::from_words(&[1, 1, 0xa, 100, 1, 0, 0]).unwrap();
    let unknown = StackFrame {
        language: Language::Native,
        pointer: 1,
        ..StackFrame::default()
    };
    let names: Names = [(1, vec![unknown])].into_iter().collect();
    for format in [Format::Tree, Format::Flat] {
        let on = report().of(&data, &names).format(format);
        let text = on.to_text().unwrap();
        assert!(text.contains("no samples were collected"), "{text}");
        let text = on.c(true).to_text().unwrap();
        assert!(text.contains("Total snapshots: 1"), "{text}");
    }
}

#[test]
fn wrong_choices_are_refused_with_or_without_samples() {
    let _alone = alone();
    let wrong = report().format(Format::Flat).recur(Recur::Flat);
    assert_eq!(
        wrong.to_text().unwrap_err().to_string(),
        "format flat only knows recur off, not flat"
    );
    let wrong = report().noisefloor(f64::NAN);
    assert_eq!(
        wrong.to_text().unwrap_err().to_string(),
        "noisefloor NaN is not a number of at least 0"
    );
    let nowhere = report().write_path("/nowhere/at/all.txt").unwrap_err();
    assert!(nowhere.to_string().contains("/nowhere/at/all.txt"));
}

#[test]
fn paths_are_short_where_the_package_is_known() {
    let _alone = alone();
    profile!(busy(60)).unwrap();
    let text = report().c(true).width(1000).to_text().unwrap();
    for prefix in ["@std/", "@profundo/"] {
        assert!(text.contains(prefix), "{prefix} is not in {text}");
    }
}

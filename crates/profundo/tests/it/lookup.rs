//! Names: looked up for this program's own addresses, used in queries for callers, saved and
//! loaded.

use profundo::{
    Format, GroupBy, SortBy, callers, clear, flatten, load, names_of, print_to, profile, report,
    retrieve, save,
};
use profundo_testing::Folder;

use crate::alone::{alone, on_each_engine};
use crate::blocks::mine;
use crate::work::{busy, early};

#[test]
fn a_saved_profile_prints_the_same() {
    on_each_engine(|_| {
        profile!(early(80)).unwrap();
        let (data, names) = retrieve().unwrap();
        let folder = Folder::new("lookup");
        let path = folder.join("same.profundo");
        save(&path, &data, &names).unwrap();
        let loaded = load(&path);
        let (loaded_data, loaded_names) = loaded.unwrap();
        assert_eq!(data.words(), loaded_data.words());
        let reports = [
            report(),
            report().c(true).combine(false),
            report().format(Format::Flat).sorted_by(SortBy::Overhead),
            report().format(Format::Functions).c(true),
            report().group_by(GroupBy::ThreadTask),
        ];
        for report in reports {
            let before = report.clone().of(&data, &names).width(150);
            let after = report.of(&loaded_data, &loaded_names).width(150);
            assert_eq!(before.to_text().unwrap(), after.to_text().unwrap());
        }
        for block in mine(&data) {
            for ip in block.ips {
                assert_eq!(names.get(ip), loaded_names.get(ip));
            }
        }
    });
}

/// Asserts that an error's one sentence has these parts: the action, its object, and the reason.
fn assert_says(error: &profundo::Error, parts: [&str; 3]) {
    let text = error.to_string();
    let mut rest = text.as_str();
    for part in parts {
        let at = rest.find(part);
        rest = &rest[at.unwrap_or_else(|| panic!("{part:?} is missing: {text}"))..];
    }
    // A caller that prints the causes too does not print them twice.
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        assert!(!text.contains(&error.to_string()), "twice: {text}: {error}");
        cause = error.source();
    }
}

#[test]
fn a_file_that_is_not_a_profile_is_refused() {
    let folder = Folder::new("lookup");
    let path = folder.join("nonsense.profundo");
    assert_says(
        &load(&path).unwrap_err(),
        ["cannot read", "nonsense", "No such file"],
    );
    std::fs::write(&path, "nonsense").unwrap();
    let refused = load(&path);
    assert_says(
        &refused.unwrap_err(),
        ["cannot use", "nonsense", "not a profundo file"],
    );
}

#[test]
fn what_cannot_be_written_says_why() {
    let _alone = alone();
    profile!(busy(30)).unwrap();
    let (data, names) = retrieve().unwrap();
    let nowhere = "/nowhere/at/all";
    assert_says(
        &save(nowhere, &data, &names).unwrap_err(),
        ["cannot create", nowhere, "No such file"],
    );
    let report = report().of(&data, &names);
    assert_says(
        &report.write_path(nowhere).unwrap_err(),
        ["cannot create", nowhere, "No such file"],
    );
    let bare = data.strip_meta();
    let folder = Folder::new("lookup");
    let refused = save(folder.join("bare.profundo"), &bare, &names).unwrap_err();
    assert!(refused.to_string().contains("`add_fake_meta`"), "{refused}");
    let faked = bare.add_fake_meta(1, 7).unwrap();
    let path = folder.join("faked.profundo");
    save(&path, &faked, &names).unwrap();
    let loaded = load(&path);
    assert_eq!(loaded.unwrap().0.words(), faked.words());
}

#[test]
fn names_are_those_of_the_source() {
    let _alone = alone();
    profile!(early(60)).unwrap();
    let (data, names) = retrieve().unwrap();
    assert_eq!(names, names_of(&data));
    let (words, flat) = flatten(&data, &names).unwrap();
    assert!(words.len() >= data.words().len() && flat.len() >= names.len());
    let of_busy: Vec<_> = flat
        .values()
        .filter(|frame| frame.func.ends_with("work::busy"))
        .collect();
    assert!(of_busy.iter().any(|frame| frame.line > 20));
    for frame in of_busy {
        assert!(frame.file.ends_with("tests/it/work.rs"), "{frame}");
        // The compiler gives some instructions no line.
        assert!(frame.line == 0 || frame.line > 20, "{frame}");
        assert!(!frame.from_c(), "{frame}");
    }
    let mut text = Vec::new();
    print_to(&mut text, &data, &names).unwrap();
    assert!(!text.is_empty());
}

#[test]
fn callers_are_found_by_name_and_by_function() {
    on_each_engine(|_| {
        profile!(early(80)).unwrap();
        let by_name = callers("work::busy").ask().unwrap();
        assert!(by_name[0].1.func.ends_with("work::early"), "{by_name:?}");
        let by_function = callers(std::any::type_name_of_val(&busy)).ask().unwrap();
        assert_eq!(by_function, by_name);
        let here = callers("busy").filename("tests/it/work.rs");
        assert!(!here.clone().linerange(1..=1000).ask().unwrap().is_empty());
        assert!(here.linerange(1..=2).ask().unwrap().is_empty());
    });
}

#[test]
fn an_empty_profile_has_no_callers() {
    let _alone = alone();
    clear();
    assert!(callers("busy").ask().unwrap().is_empty());
    let question = callers("busy").linerange(1..=2);
    assert_eq!(
        question.ask().unwrap_err().to_string(),
        "lines 1..=2 need a file"
    );
}

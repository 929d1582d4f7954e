//! Files that change while their page is open.

use std::fs;

use profundo_testing::{Folder, wait_until};

use crate::client::{Served, record};

#[test]
fn a_replaced_file_is_read_again() {
    let folder = Folder::new("view-replaced");
    let path = folder.join("app.profundo");
    record(&path, "main;before 5");
    let served = Served::new(std::slice::from_ref(&path));
    let mut page = served.events();
    let first = page.version();
    assert_eq!(served.ask("flame").json()["functions"]["name"][1], "before");
    record(&path, "main;after 9");
    assert_ne!(page.version(), first);
    let flame = served.ask("flame").json();
    assert_eq!(flame["functions"]["name"][1], "after");
    assert_eq!(flame["total_count"], 9);
}

#[test]
fn a_file_that_goes_is_told_of() {
    let folder = Folder::new("view-gone");
    let path = folder.join("app.profundo");
    record(&path, "main 1");
    let served = Served::new(std::slice::from_ref(&path));
    let mut page = served.events();
    page.version();
    assert_eq!(served.ask("about").status, 200);
    fs::remove_file(&path).unwrap();
    page.version();
    let answer = served.ask("about");
    assert_eq!(answer.status, 500);
    assert!(answer.body.contains("app.profundo"), "{answer:?}");
    record(&path, "main;again 2");
    wait_until("the file is there again", || {
        served.ask("flame").status == 200
    });
}

#[test]
fn a_file_that_grows_is_followed() {
    let folder = Folder::new("view-grows");
    let whole = folder.join("whole.profundo");
    let lines: String = (0..4000)
        .map(|at| format!("main;function_{at} {}\n", 1 + at % 3))
        .collect();
    record(&whole, &lines);
    let bytes = fs::read(&whole).unwrap();
    let path = folder.join("app.profundo");
    // A cut file has the samples before the cut, or none yet.
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let served = Served::new(std::slice::from_ref(&path));
    let mut page = served.events();
    page.version();
    let begun = served.ask("about");
    assert!(matches!(begun.status, 200 | 500), "{begun:?}");
    fs::write(&path, &bytes).unwrap();
    page.version();
    wait_until("all samples are there", || {
        let flame = served.ask("flame");
        flame.status == 200 && flame.json()["total_count"] == 7999
    });
}

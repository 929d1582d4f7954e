//! Names that promise another kind of file than the one that is written, and recordings that have
//! nothing to draw.

use profundo_formats::write_file;
use profundo_model::Profile;

use crate::machine::Folder;

#[test]
fn a_picture_is_not_written_under_the_name_of_another_kind() {
    let folder = Folder::new();
    let profile = Profile::from_folded("main;parse 300\nmain;load 200\n").unwrap();
    write_file(folder.path().join("a.profundo"), &profile).unwrap();
    for words in [
        &["flame", "a.profundo", "-o", "x.png"][..],
        &["heatmap", "a.profundo", "-o", "x.pdf"],
        &["graph", "a.profundo", "--square", "-o", "x.profundo"],
        &["diff", "a.profundo", "a.profundo", "-o", "x.html"],
    ] {
        folder.run(words).refused(2, "ends otherwise");
    }
    let copy = folder.path().join("b.profundo");
    std::fs::copy(folder.path().join("a.profundo"), copy).unwrap();
    let merge = ["merge", "a.profundo", "b.profundo", "-o", "x.svg"];
    folder.run(&merge).refused(2, "ends in .profundo");
    let forced = folder.run(&["flame", "a.profundo", "-o", "x.png", "--force"]);
    forced.succeeded();
    assert!(folder.path().join("x.png").exists());
}

#[test]
fn a_recording_without_samples_has_no_heatmap() {
    let folder = Folder::new();
    let nothing = Profile::from_folded("").unwrap();
    write_file(folder.path().join("a.profundo"), &nothing).unwrap();
    let outcome = folder.run(&["heatmap", "a.profundo"]);
    outcome.refused(1, "no samples were taken");
}

#[test]
fn a_report_that_is_typed_as_a_verb_is_named() {
    let folder = Folder::new();
    let outcome = folder.run(&["annotate", "parse"]);
    outcome.refused(2, "`annotate` is a report: `profundo report annotate`");
    folder
        .run(&["syscalls"])
        .refused(2, "`profundo report FILE syscalls`");
}

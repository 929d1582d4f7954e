//! A recording whose calls and lines were counted, read by the programs of others: they find in our
//! exports what our own tables say.

mod callgrind;
mod lprof;
mod made;
mod pstats;
mod tools;

use std::path::PathBuf;

use crate::machine::Folder;

/// A folder with a saved recording.
fn saved() -> (Folder, PathBuf) {
    let folder = Folder::new();
    let source = folder.file("größe.py", made::SOURCE);
    let profile = made::traced(source.to_str().unwrap());
    let file = folder.path().join("app.profundo");
    profundo_formats::write_file(&file, &profile).unwrap();
    (folder, file)
}

/// An export beside it.
fn exported(folder: &Folder, format: &str) -> PathBuf {
    let outcome = folder.run(&["export", "app.profundo", "--to", format]);
    outcome.succeeded();
    folder.path().join(format!("app.{format}"))
}

#[test]
fn what_was_not_counted_is_not_written() {
    let folder = Folder::new();
    let plain = profundo_model::Profile::from_folded("main;work 3").unwrap();
    profundo_formats::write_file(folder.path().join("app.profundo"), &plain).unwrap();
    for (format, what) in [("pstats", "calls"), ("lprof", "lines")] {
        let outcome = folder.run(&["export", "app.profundo", "--to", format]);
        outcome.refused(1, &format!("no {what} were counted"));
    }
    let outcome = folder.run(&["report", "app.profundo", "trace"]);
    assert!(outcome.out.contains("no calls were counted"), "{outcome:?}");
}

#[test]
fn what_an_export_of_counts_does_not_take_is_refused() {
    let (folder, _) = saved();
    for option in [
        "--c",
        "--only-mine",
        "--threads",
        "--weights=time",
        "--title=x",
    ] {
        let outcome = folder.run(&["export", "app.profundo", "--to", "pstats", option]);
        outcome.refused(2, "every call");
    }
    let outcome = folder.run(&[
        "export",
        "app.profundo",
        "--to",
        "pstats",
        "--thread",
        "nobody",
    ]);
    outcome.refused(4, "no calls pass the filter");
    folder
        .run(&["report", "app.profundo", "trace", "--only-mine"])
        .refused(2, "every call");
    folder
        .run(&["report", "app.profundo", "trace", "--groupby=task"])
        .refused(2, "thread or process");
    folder
        .run(&["report", "app.profundo", "tree", "--sort=time"])
        .refused(2, "no order `time`");
}

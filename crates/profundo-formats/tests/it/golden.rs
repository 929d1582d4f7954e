//! Files of every version ever written, kept for ever: they stay readable.

use std::fs;
use std::path::{Path, PathBuf};

use crate::dump::dump;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/profundo/v1")
}

/// Compares `file` with the dump beside it; `BLESS=1` rewrites the dump, never the file.
fn check(file: &Path) {
    let (profile, warnings) = profundo_formats::read_file(file).unwrap();
    let mut text = dump(&profile);
    for warning in warnings {
        text += &format!("warning: {warning}\n");
    }
    let expected = file.with_extension("txt");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&expected, &text).unwrap();
    }
    let expected = fs::read_to_string(&expected).expect("a golden file has its dump beside it");
    assert!(text == expected, "{}:\n{text}", file.display());
}

#[test]
fn golden_files_read_as_ever() {
    let mut files = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "profundo")
        {
            check(&path);
            files += 1;
        }
    }
    assert!(files >= 5);
}

/// The writer makes these bytes today. Other bytes need another file; a change must not go
/// unnoticed.
#[test]
fn the_writer_writes_as_ever() {
    // Those with `reasons` are from the time before waits had a kind, and those without from the
    // time of one reason less. Those without `collecting` are from the time before the mark for
    // garbage collections, those with it from the time before the mark for unreadable Python. Those
    // without `joins` are from the time when a wait for the end of a thread was recorded as one for
    // a lock.
    same_bytes("full-joins", &crate::write(&crate::small::small()));
    same_bytes(
        "full-energy-joins",
        &crate::write(&crate::small::with_energy()),
    );
    same_bytes(
        "full-traffic-joins",
        &crate::write(&crate::small::reading()),
    );
    // `full-gauges` is from the time when the bytes in use could not be unknown.
    same_bytes("full-in-use-joins", &crate::write(&crate::small::gauged()));
    same_bytes(
        "full-syscalls",
        &crate::write(&crate::small::with_syscalls()),
    );
    same_bytes("full-traced-joins", &crate::write(&crate::small::traced()));
    same_bytes(
        "full-source-files-joins",
        &crate::write(&crate::small::with_source_files()),
    );
    same_bytes(
        "full-attached-joins",
        &crate::write(&crate::small::attached()),
    );
    same_bytes(
        "full-ticks-joins",
        &crate::write(&crate::small::with_ticks()),
    );
    same_bytes(
        "full-own-code-joins",
        &crate::write(&crate::small::with_own_code()),
    );
    same_bytes(
        "full-exceptions",
        &crate::write(&crate::small::with_exceptions()),
    );
    same_bytes(
        "full-of-machine",
        &crate::write(&crate::small::of_machine()),
    );
    same_bytes("full-merged", &crate::write(&crate::small::merged()));
    let (whole, cut) = crate::stream::small();
    same_bytes("streamed-joins", &whole);
    same_bytes("streamed-cut-joins", &whole[..cut]);
}

fn same_bytes(name: &str, written: &[u8]) {
    let path = folder().join(format!("{name}.profundo"));
    if std::env::var_os("BLESS").is_some() && !path.exists() {
        fs::write(&path, written).unwrap();
    }
    assert!(
        written == fs::read(&path).unwrap(),
        "the bytes of a saved file have changed"
    );
}

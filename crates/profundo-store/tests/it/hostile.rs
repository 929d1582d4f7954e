//! Damaged and foreign files: the answer has a note, and reading neither panics nor grows.

use profundo_store::names::Partition;
use profundo_store::table::{LabelRow, TABLES};
use profundo_store::{Folder, Joining, Store, Texts, encode, join};
use profundo_testing::{Folder as Temporary, damage};

use crate::given::{HOUR, NINE, ask, profile, put, writer};

/// A store with one segment, the paths of its files, and their bytes.
fn given(folder: &Temporary) -> (Folder, Vec<(String, Vec<u8>)>) {
    let store = Folder::new(folder.path());
    let stacks = ["main;a", "main;b;c", "main;a;d", "main;e"];
    put(&store, &mut writer("api", "h1"), &profile(NINE, &stacks));
    let files = store.list("").unwrap().into_iter().map(|entry| {
        let bytes = store.read(&entry.path, 0..entry.size).unwrap();
        (entry.path, bytes.to_vec())
    });
    let files = files.collect();
    (store, files)
}

#[test]
fn damaged_files_are_told_and_nothing_panics() {
    let folder = Temporary::new("store-damaged");
    let (store, files) = given(&folder);
    assert_eq!(files.len(), TABLES.len());
    for (path, bytes) in &files {
        let (mut told, mut whole) = (0, 0);
        damage(bytes, 150, |changed| {
            std::fs::write(folder.join(path), changed).unwrap();
            match ask(&store, "service=api&host=h1") {
                Ok(found) if found.meta.notes.is_empty() => whole += 1,
                Ok(_) => told += 1,
                Err(error) => panic!("{path}: {error}"),
            }
            // Joining leaves what it cannot read.
            join(&store, &Joining::at(NINE)).unwrap();
        });
        assert!(
            told > 100 && whole > 0,
            "{path}: {told} told, {whole} whole"
        );
        std::fs::write(folder.join(path), bytes).unwrap();
    }
    assert_eq!(ask(&store, "").unwrap().sample_count(), 4);
}

#[test]
fn a_page_that_lies_about_its_size_is_refused() {
    let folder = Temporary::new("store-lies");
    let (store, _) = given(&folder);
    // Another service of the bucket, so that the first column is looked into.
    let bucket = profundo_store::ids::bucket;
    let other = (0..)
        .map(|number| format!("s{number}"))
        .find(|name| bucket(name) == bucket("api"));
    put(
        &store,
        &mut writer(&other.unwrap(), "h1"),
        &profile(NINE, &["main;a"]),
    );
    join(&store, &Joining::at(NINE + 9 * HOUR)).unwrap();
    let entry = store.list("samples/").unwrap().remove(0);
    let (path, bytes) = (&entry.path, store.read(&entry.path, 0..entry.size).unwrap());
    // The first page begins behind the magic: its kind, and its size, which becomes 2 GB.
    assert_eq!((&bytes[..5], bytes[6]), (&b"PAR1\x15"[..], 0x15));
    let mut changed = bytes.to_vec();
    let end = 7 + bytes[7..].iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
    changed.splice(7..end, [0xFE, 0xFF, 0xFF, 0xFF, 0x0F]);
    std::fs::write(folder.join(path), changed).unwrap();
    let found = ask(&store, "").unwrap();
    let [note] = &found.meta.notes[..] else {
        panic!("{:?}", found.meta.notes)
    };
    assert!(note.contains("a page of 2147483647 bytes"), "{note}");
}

#[test]
fn a_table_of_other_columns_is_told() {
    let folder = Temporary::new("store-others");
    let (store, _) = given(&folder);
    let other = encode::<LabelRow>(&[LabelRow::default()], &Texts::default(), &[]).unwrap();
    let part = Partition::of("api", NINE).folder("samples", false);
    store.put(&format!("{part}mine.parquet"), &other).unwrap();
    let found = ask(&store, "").unwrap();
    assert_eq!(found.sample_count(), 4);
    let [note] = &found.meta.notes[..] else {
        panic!("{:?}", found.meta.notes)
    };
    assert!(
        note.contains("is not a table of samples: the column ts is missing"),
        "{note}"
    );
}

#[test]
fn a_newer_version_is_told_and_not_joined() {
    let folder = Temporary::new("store-version");
    let (store, files) = given(&folder);
    let (path, bytes) = files
        .iter()
        .find(|(path, _)| path.contains("/samples/"))
        .unwrap();
    let at = bytes
        .windows(16)
        .rposition(|part| part == b"profundo.version")
        .unwrap();
    let mut changed = bytes.clone();
    assert_eq!(&changed[at + 16..at + 19], b"\x18\x011");
    changed[at + 18] = b'2';
    std::fs::write(folder.join(path), changed).unwrap();
    let found = ask(&store, "").unwrap();
    let [note] = &found.meta.notes[..] else {
        panic!("{:?}", found.meta.notes)
    };
    assert!(
        note.contains("is of version 2 of the store; this Profundo reads up to 1"),
        "{note}"
    );
    assert_eq!(
        join(&store, &Joining::at(NINE + 9 * HOUR))
            .unwrap()
            .unreadable,
        1
    );
}

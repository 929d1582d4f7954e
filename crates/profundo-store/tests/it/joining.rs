//! Joined files have each row once, for our readers and for plain ones.

use profundo_store::names::Partition;
use profundo_store::table::{SampleRow, StackRow};
use profundo_store::{Folder, Joining, Opened, Store, Texts, join, sweep};
use profundo_testing::Folder as Temporary;

use crate::given::{HOUR, NINE, PERIOD, ask, profile, put, sums, writer};

/// The samples that a reader finds who takes all files below `samples/`.
pub fn plain_count(store: &dyn Store) -> i64 {
    let mut texts = Texts::default();
    let mut count = 0;
    for entry in store.list("samples/").unwrap() {
        let opened = Opened::new::<SampleRow>(store, &entry).unwrap();
        let rows = opened.rows::<SampleRow>(&mut texts).unwrap();
        assert!(rows.is_sorted_by_key(|row| (texts.get(row.service).to_owned(), row.ts)));
        count += rows.iter().map(|row| row.count).sum::<i64>();
    }
    count
}

#[test]
fn segments_become_one_file_and_late_ones_another() {
    let folder = Temporary::new("store-join");
    let store = Folder::new(folder.path());
    let mut writer = writer("api", "h1");
    for minute in 0..5 {
        put(
            &store,
            &mut writer,
            &profile(NINE + minute * 60_000, &["main;a", "main;b"]),
        );
    }
    let before = ask(&store, "").unwrap();
    // The hour is not over, or not for long enough.
    assert_eq!(join(&store, &Joining::at(NINE + HOUR)).unwrap().segments, 0);
    let joined = join(&store, &Joining::at(NINE + HOUR + 600_000)).unwrap();
    assert_eq!((joined.segments, joined.rows, joined.files), (5, 10, 1));
    assert_eq!(sums(&ask(&store, "").unwrap()), sums(&before));
    assert_eq!(plain_count(&store), 10);
    // Nothing is left to join, before and after the segments are gone.
    assert_eq!(
        join(&store, &Joining::at(NINE + 2 * HOUR))
            .unwrap()
            .segments,
        0
    );
    assert!(sweep(&store).unwrap() > 5);
    assert_eq!(sweep(&store).unwrap(), 0);
    assert_eq!(store.list("fresh/").unwrap(), []);
    assert_eq!(sums(&ask(&store, "").unwrap()), sums(&before));
    // A late one defines what it needs, and so does one that is sent again.
    let mut late = crate::given::writer("api", "h2");
    put(
        &store,
        &mut late,
        &profile(NINE + 30 * 60_000, &["main;late"]),
    );
    assert_eq!(ask(&store, "").unwrap().sample_count(), 11);
    assert_eq!(
        join(&store, &Joining::at(NINE + 3 * HOUR)).unwrap().files,
        1
    );
    sweep(&store).unwrap();
    let found = ask(&store, "service=api").unwrap();
    assert_eq!(sums(&found)["main;late"], PERIOD);
    assert_eq!((found.sample_count(), plain_count(&store)), (11, 11));
}

#[test]
fn a_segment_that_comes_again_after_it_was_joined_counts_once() {
    let folder = Temporary::new("store-again");
    let store = Folder::new(folder.path());
    let given = profile(NINE, &["main;a"; 4]);
    let mut writer = writer("api", "h1");
    let segment = writer
        .segment(&given, &profundo_store::Stretch::all(&given))
        .unwrap();
    segment.put(&store).unwrap();
    join(&store, &Joining::at(NINE + 2 * HOUR)).unwrap();
    sweep(&store).unwrap();
    segment.put(&store).unwrap();
    assert_eq!(ask(&store, "").unwrap().sample_count(), 4);
    assert_eq!(
        join(&store, &Joining::at(NINE + 2 * HOUR))
            .unwrap()
            .segments,
        0
    );
    assert!(sweep(&store).unwrap() > 0);
    assert_eq!(
        (ask(&store, "").unwrap().sample_count(), plain_count(&store)),
        (4, 4)
    );
}

#[test]
fn batches_bound_the_memory() {
    let folder = Temporary::new("store-batch");
    let store = Folder::new(folder.path());
    let mut writer = writer("api", "h1");
    for minute in 0..6 {
        put(
            &store,
            &mut writer,
            &profile(NINE + minute * 60_000, &["main;a"]),
        );
    }
    let joining = Joining {
        batch: 1,
        ..Joining::at(NINE + 2 * HOUR)
    };
    assert_eq!(join(&store, &joining).unwrap().files, 6);
    sweep(&store).unwrap();
    assert_eq!(
        (ask(&store, "").unwrap().sample_count(), plain_count(&store)),
        (6, 6)
    );
}

#[test]
fn a_segment_that_cannot_be_read_stays_and_stops_nothing() {
    let folder = Temporary::new("store-unreadable");
    let store = Folder::new(folder.path());
    put(
        &store,
        &mut writer("api", "h1"),
        &profile(NINE, &["main;a"]),
    );
    let part = Partition::of("api", NINE);
    let broken = format!(
        "{}1-2-0123456789abcdef.parquet",
        part.folder("samples", true)
    );
    store.put(&broken, b"no Parquet").unwrap();
    let joined = join(&store, &Joining::at(NINE + 2 * HOUR)).unwrap();
    assert_eq!((joined.segments, joined.unreadable), (1, 1));
    sweep(&store).unwrap();
    assert_eq!(store.list("fresh/").unwrap().len(), 1);
    assert_eq!(plain_count(&store), 1);
}

#[test]
fn definitions_are_written_once_an_hour() {
    let folder = Temporary::new("store-once");
    let store = Folder::new(folder.path());
    let mut writer = writer("api", "h1");
    let mut stacks_in = |at: i64| {
        put(&store, &mut writer, &profile(at, &["main;a", "main;b"]));
        let mut texts = Texts::default();
        let folder = Partition::of("api", at).folder("stacks", true);
        let rows = store.list(&folder).unwrap().into_iter().map(|entry| {
            let opened = Opened::new::<StackRow>(&store, &entry).unwrap();
            opened.rows::<StackRow>(&mut texts).unwrap().len()
        });
        rows.sum::<usize>()
    };
    assert_eq!(stacks_in(NINE), 2);
    assert_eq!(stacks_in(NINE + 60_000), 2);
    assert_eq!(stacks_in(NINE + HOUR), 2);
    writer.forget();
    put(&store, &mut writer, &profile(NINE + 120_000, &["main;a"]));
    let folder = Partition::of("api", NINE).folder("stacks", true);
    assert_eq!(store.list(&folder).unwrap().len(), 2);
}

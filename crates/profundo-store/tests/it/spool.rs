//! Segments on their way to a store that is away.

use profundo_store::{Error, Folder, Segment, Spool, Store, Stretch, Writer};
use profundo_testing::Folder as Temporary;

use crate::given::{Failing, NINE, ask, profile, sums, writer};

fn segment(writer: &mut Writer, minute: i64) -> Segment {
    let given = profile(NINE + minute * 60_000, &["main;a", "main;b"]);
    writer.segment(&given, &Stretch::all(&given)).unwrap()
}

#[test]
fn segments_wait_for_the_store_and_are_sent_once() {
    let folder = Temporary::new("store-spool");
    let store = Folder::new(folder.join("store"));
    let mut spool = Spool::open(folder.join("spool"), 1 << 20).unwrap();
    let mut writer = writer("api", "h1");
    let away = Failing::after(&store, 0, false);
    for minute in 0..3 {
        spool.push(&segment(&mut writer, minute)).unwrap();
        let sent = spool.send(&away).unwrap();
        assert_eq!((sent.segments, sent.waiting), (0, minute as u64 + 1));
        assert!(sent.because.is_some());
    }
    // Another process takes over.
    let locked = Spool::open(folder.join("spool"), 1 << 20).unwrap_err();
    assert!(matches!(locked, Error::InUse { .. }), "{locked}");
    drop(spool);
    let mut spool = Spool::open(folder.join("spool"), 1 << 20).unwrap();
    assert_eq!(spool.waiting(), 3);
    let sent = spool.send(&store).unwrap();
    assert_eq!((sent.segments, sent.waiting), (3, 0));
    assert!(sent.because.is_none());
    assert_eq!(spool.send(&store).unwrap().segments, 0);
    assert_eq!(ask(&store, "").unwrap().sample_count(), 6);
    assert_eq!(spool.bytes(), 0);
}

#[test]
fn beyond_the_bound_the_oldest_samples_go_and_are_counted() {
    let folder = Temporary::new("store-bound");
    let store = Folder::new(folder.join("store"));
    let mut writer = writer("api", "h1");
    let all: Vec<Segment> = (0..9).map(|minute| segment(&mut writer, minute)).collect();
    let bound = all.iter().map(Segment::bytes).sum::<u64>() * 2 / 3;
    let mut spool = Spool::open(folder.join("spool"), bound).unwrap();
    for segment in &all {
        spool.push(segment).unwrap();
        assert!(spool.bytes() <= bound);
    }
    let dropped = spool.dropped();
    assert!((2..9).contains(&dropped.segments), "{dropped:?}");
    assert_eq!(
        (dropped.samples, dropped.definitions),
        (dropped.segments * 2, 0)
    );
    drop(spool);
    let mut spool = Spool::open(folder.join("spool"), bound).unwrap();
    assert_eq!(spool.dropped(), dropped);
    spool.send(&store).unwrap();
    let found = ask(&store, "").unwrap();
    assert_eq!(found.sample_count(), 18 - dropped.samples);
    // The first segment had the definitions of all.
    assert_eq!(
        sums(&found).keys().collect::<Vec<_>>(),
        ["main;a", "main;b"]
    );
}

#[test]
fn a_bound_without_room_is_kept_and_the_writer_can_begin_anew() {
    let folder = Temporary::new("store-no-room");
    let store = Folder::new(folder.join("store"));
    let mut writer = writer("api", "h1");
    let mut spool = Spool::open(folder.join("spool"), 100).unwrap();
    spool.push(&segment(&mut writer, 0)).unwrap();
    assert_eq!((spool.waiting(), spool.bytes()), (0, 0));
    assert_eq!(spool.dropped().definitions, 1);
    writer.forget();
    drop(spool);
    let mut spool = Spool::open(folder.join("spool"), 1 << 20).unwrap();
    spool.push(&segment(&mut writer, 1)).unwrap();
    spool.send(&store).unwrap();
    assert!(sums(&ask(&store, "").unwrap()).contains_key("main;a"));
    assert_eq!(store.list("fresh/samples/").unwrap().len(), 1);
}

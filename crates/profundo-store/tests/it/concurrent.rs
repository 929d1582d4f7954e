//! Readers while writers, joiners and retention are at work.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use profundo_store::{Error, Folder, Joining, Limits, join, retain, sweep};
use profundo_testing::Folder as Temporary;

use crate::given::{HOUR, NINE, ask, profile, put, sums, writer};
use crate::joining::plain_count;

const LENGTH: Duration = Duration::from_millis(2500);

#[test]
fn a_reader_sees_each_row_once_while_segments_are_joined() {
    let folder = Temporary::new("store-concurrent");
    let store = Folder::new(folder.path());
    let (begun, written) = (AtomicU64::new(0), AtomicU64::new(0));
    let is_over = AtomicBool::new(false);
    let (mut reads, mut most_plain) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = writer("api", "h1");
            let start = Instant::now();
            for second in 0.. {
                begun.fetch_add(3, Ordering::SeqCst);
                let given = profile(
                    NINE + second % 300 * 10_000 + second / 300,
                    &["main;a", "main;b", "main;a"],
                );
                put(&store, &mut writer, &given);
                written.fetch_add(3, Ordering::SeqCst);
                if start.elapsed() > LENGTH {
                    break;
                }
            }
            is_over.store(true, Ordering::SeqCst);
        });
        // Two joiners run at once. One may find that the other has joined already.
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    join(&store, &Joining::at(NINE + 9 * HOUR)).unwrap();
                    sweep(&store).unwrap();
                }
            });
        }
        while !is_over.load(Ordering::SeqCst) {
            let least = written.load(Ordering::SeqCst);
            let found = match ask(&store, "service=api") {
                Err(Error::Unsteady { .. }) => continue,
                found => found.unwrap(),
            };
            let most = begun.load(Ordering::SeqCst);
            let count = found.sample_count();
            assert!(
                (least..=most).contains(&count),
                "{count} of {least} to {most}"
            );
            assert!(
                sums(&found).keys().all(|stack| stack.starts_with("main;")),
                "{:?}",
                sums(&found)
            );
            let plain = plain_count(&store);
            assert!(plain <= begun.load(Ordering::SeqCst) as i64 && plain >= most_plain);
            most_plain = plain;
            reads += 1;
        }
    });
    let all = written.load(Ordering::SeqCst);
    assert!(
        reads > 3 && most_plain > 0 && all > 30,
        "{reads} reads of {all}, {most_plain}"
    );
    join(&store, &Joining::at(NINE + 9 * HOUR)).unwrap();
    sweep(&store).unwrap();
    assert_eq!(plain_count(&store), all as i64);
    assert_eq!(ask(&store, "").unwrap().sample_count(), all);
}

#[test]
fn a_reader_sees_whole_hours_while_old_ones_go() {
    let folder = Temporary::new("store-retaining");
    let store = Folder::new(folder.path());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let start = Instant::now();
            let mut writer = writer("api", "h1");
            while start.elapsed() < LENGTH {
                for hour in 0..3 {
                    put(
                        &store,
                        &mut writer,
                        &profile(NINE + hour * HOUR, &["main;a", "main;b"]),
                    );
                }
                retain(
                    &store,
                    &Limits {
                        age: Some(0),
                        bytes: None,
                    },
                    NINE + 2 * HOUR,
                )
                .unwrap();
                writer.forget();
            }
            is_over.store(true, Ordering::SeqCst);
        });
        let mut reads = 0;
        while !is_over.load(Ordering::SeqCst) {
            let found = match ask(&store, "") {
                Err(Error::Unsteady { .. }) => continue,
                found => found.unwrap(),
            };
            assert!(
                sums(&found).keys().all(|stack| stack.starts_with("main;")),
                "{:?}",
                sums(&found)
            );
            assert!(found.sample_count().is_multiple_of(2));
            reads += 1;
        }
        assert!(reads > 3);
    });
}

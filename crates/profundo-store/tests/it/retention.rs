//! A store within its limits.

use profundo_store::{Folder, Joining, Limits, Removed, Store, join, retain};
use profundo_testing::Folder as Temporary;

use crate::given::{HOUR, NINE, ask, profile, put, sums, writer};

fn size(store: &Folder) -> u64 {
    store.list("").unwrap().iter().map(|entry| entry.size).sum()
}

/// Three hours of two services, of which the first two are joined.
fn three_hours(folder: &Temporary) -> Folder {
    let store = Folder::new(folder.path());
    for service in ["api", "web"] {
        let mut writer = writer(service, "h1");
        for hour in 0..3 {
            for minute in 0..3 {
                let at = NINE + hour * HOUR + minute * 60_000;
                put(&store, &mut writer, &profile(at, &["main;a", "main;b"]));
            }
        }
    }
    join(&store, &Joining::at(NINE + 2 * HOUR + 600_000)).unwrap();
    store
}

#[test]
fn old_hours_go_as_a_whole() {
    let folder = Temporary::new("store-age");
    let store = three_hours(&folder);
    let limits = Limits {
        age: Some(HOUR),
        ..Limits::default()
    };
    assert_eq!(
        retain(&store, &Limits::default(), NINE + 9 * HOUR).unwrap(),
        Removed::default()
    );
    assert_eq!(
        retain(&store, &limits, NINE + HOUR).unwrap(),
        Removed::default()
    );
    let removed = retain(&store, &limits, NINE + 2 * HOUR).unwrap();
    assert_eq!(removed.hours, 1);
    let found = ask(&store, "").unwrap();
    assert_eq!(found.sample_count(), 24);
    assert!(
        sums(&found).keys().all(|stack| stack.starts_with("main;")),
        "{:?}",
        sums(&found)
    );
    let files = profundo_testing::files_below(folder.path());
    assert!(
        files
            .iter()
            .all(|path| !path.display().to_string().contains("hour=09"))
    );
    retain(&store, &limits, NINE + 9 * HOUR).unwrap();
    assert_eq!(store.list("").unwrap(), []);
}

#[test]
fn a_size_is_kept_and_the_newest_hour_keeps_its_definitions() {
    let folder = Temporary::new("store-bytes");
    let store = three_hours(&folder);
    let all = size(&store);
    for most in [all - 1, all / 2, all / 3] {
        retain(
            &store,
            &Limits {
                bytes: Some(most),
                age: None,
            },
            NINE,
        )
        .unwrap();
        assert!(size(&store) <= most, "{} of {most}", size(&store));
        let found = ask(&store, "").unwrap();
        assert!(found.sample_count() > 0);
        assert!(
            sums(&found).keys().all(|stack| stack.starts_with("main;")),
            "{:?}",
            sums(&found)
        );
    }
    // Only samples of the newest hour go, so what comes then has its definitions.
    retain(
        &store,
        &Limits {
            bytes: Some(0),
            age: None,
        },
        NINE,
    )
    .unwrap();
    assert_eq!(ask(&store, "").unwrap().sample_count(), 0);
    assert!(!store.list("fresh/stacks/").unwrap().is_empty());
}

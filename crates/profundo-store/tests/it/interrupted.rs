//! Work that ends between any two of its steps: by a store that goes away for good, and by SIGKILL.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use profundo_store::{
    Folder, Joining, Limits, Segment, Spool, Store, Stretch, Writer, join, retain, sweep,
};
use profundo_testing::Folder as Temporary;

use crate::given::{Failing, HOUR, NINE, ask, profile, put, sums, writer};
use crate::joining::plain_count;

/// More steps than any of the tests takes.
const MANY: u64 = 400;

#[test]
fn sending_goes_on_after_any_step() {
    let mut was_finished = false;
    for steps in 0..MANY {
        let folder = Temporary::new("store-cut-send");
        let store = Folder::new(folder.join("store"));
        let mut spool = Spool::open(folder.join("spool"), 1 << 20).unwrap();
        let mut writer = writer("api", "h1");
        for minute in 0..3 {
            let given = profile(NINE + minute * 60_000, &["main;a", "main;b"]);
            spool
                .push(&writer.segment(&given, &Stretch::all(&given)).unwrap())
                .unwrap();
        }
        let cut = Failing::after(&store, steps, steps % 2 == 1);
        was_finished = spool.send(&cut).unwrap().because.is_none();
        // What is there has its names.
        assert!(
            sums(&ask(&store, "").unwrap())
                .keys()
                .all(|stack| stack.starts_with("main;"))
        );
        drop(spool);
        Spool::open(folder.join("spool"), 1 << 20)
            .unwrap()
            .send(&store)
            .unwrap();
        assert_eq!(
            ask(&store, "").unwrap().sample_count(),
            6,
            "after {steps} steps"
        );
        assert_eq!(store.list("fresh/samples/").unwrap().len(), 3);
        if was_finished {
            break;
        }
    }
    assert!(was_finished);
}

#[test]
fn joining_goes_on_after_any_step() {
    let mut was_finished = false;
    for steps in 0..MANY {
        let folder = Temporary::new("store-cut-join");
        let store = Folder::new(folder.path());
        let mut writer = writer("api", "h1");
        for minute in 0..3 {
            put(
                &store,
                &mut writer,
                &profile(NINE + minute * 60_000, &["main;a", "main;b"]),
            );
        }
        let wanted = sums(&ask(&store, "").unwrap());
        let joining = Joining {
            batch: 1,
            ..Joining::at(NINE + 2 * HOUR)
        };
        let cut = Failing::after(&store, steps, steps % 2 == 1);
        let done = join(&cut, &joining).and_then(|_| sweep(&cut));
        was_finished = done.is_ok();
        assert_eq!(
            sums(&ask(&store, "").unwrap()),
            wanted,
            "after {steps} steps"
        );
        assert!(plain_count(&store) <= 6);
        join(&store, &joining).unwrap();
        assert_eq!(plain_count(&store), 6, "after {steps} steps");
        sweep(&store).unwrap();
        assert_eq!(
            sums(&ask(&store, "").unwrap()),
            wanted,
            "after {steps} steps"
        );
        assert_eq!(store.list("fresh/").unwrap(), []);
        if was_finished {
            break;
        }
    }
    assert!(was_finished);
}

#[test]
fn retention_goes_on_after_any_step() {
    let mut was_finished = false;
    for steps in 0..MANY {
        let folder = Temporary::new("store-cut-retain");
        let store = Folder::new(folder.path());
        let mut writer = writer("api", "h1");
        for hour in 0..2 {
            put(
                &store,
                &mut writer,
                &profile(NINE + hour * HOUR, &["main;a", "main;b"]),
            );
        }
        let limits = Limits {
            age: Some(HOUR),
            bytes: None,
        };
        let cut = Failing::after(&store, steps, steps % 2 == 1);
        was_finished = retain(&cut, &limits, NINE + 2 * HOUR).is_ok();
        assert!(
            sums(&ask(&store, "").unwrap())
                .keys()
                .all(|stack| stack.starts_with("main;"))
        );
        retain(&store, &limits, NINE + 2 * HOUR).unwrap();
        assert_eq!(ask(&store, "").unwrap().sample_count(), 2);
        let files = store.list("").unwrap();
        assert!(
            files.iter().all(|file| file.path.contains("hour=10")),
            "{files:?}"
        );
        if was_finished {
            break;
        }
    }
    assert!(was_finished);
}

/// The folder of the child below, and the number of its first segment.
const CHILD: &str = "PROFUNDO_STORE_CHILD";

/// The child of [`a_killed_writer_loses_and_doubles_nothing`]: writes one segment after the other,
/// and says so when it is safe.
#[test]
fn child_that_is_killed() {
    let Ok(given) = std::env::var(CHILD) else {
        return;
    };
    let (folder, first) = given.rsplit_once(' ').unwrap();
    let mut spool = Spool::open(format!("{folder}/spool"), 1 << 30).unwrap();
    let store = Folder::new(format!("{folder}/store"));
    let mut writer = writer("api", "h1");
    for number in first.parse().unwrap()..100_000 {
        spool.push(&numbered(&mut writer, number)).unwrap();
        profundo_testing::skip(&format!("segment {number} is safe"));
        spool.send(&store).unwrap();
        if number % 4 == 0 {
            join(
                &store,
                &Joining {
                    batch: 20_000,
                    ..Joining::at(NINE + 99 * HOUR)
                },
            )
            .unwrap();
            sweep(&store).unwrap();
        }
    }
}

/// The segment of a number: one sample in a step of its own.
fn numbered(writer: &mut Writer, number: i64) -> Segment {
    let given = profile(NINE + number * 10_000, &["main;a"]);
    writer.segment(&given, &Stretch::all(&given)).unwrap()
}

#[test]
fn a_killed_writer_loses_and_doubles_nothing() {
    let folder = Temporary::new("store-killed");
    let mut next = 0_i64;
    for turn in 0..25_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "interrupted::child_that_is_killed",
                "--nocapture",
            ])
            .env(CHILD, format!("{} {next}", folder.path().display()))
            .env_remove("PROFUNDO_SKIP_FILE")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let reader = std::thread::spawn(move || {
            let numbers = lines.map_while(Result::ok).filter_map(|line| {
                let number = line
                    .strip_prefix("skipped: segment ")?
                    .strip_suffix(" is safe")?;
                number.parse::<i64>().ok()
            });
            numbers.last()
        });
        // Any moment will do, and each turn has another one.
        std::thread::sleep(Duration::from_millis(30 + turn * 37 % 120));
        child.kill().unwrap();
        child.wait().unwrap();
        next = reader.join().unwrap().map_or(next, |last| last + 1);
    }
    assert!(next > 10, "only {next} segments were written");
    let store = Folder::new(folder.join("store"));
    let mut spool = Spool::open(folder.join("spool"), 1 << 30).unwrap();
    spool.send(&store).unwrap();
    // The last one may be there without its word.
    let found = ask(&store, "step=10s").unwrap();
    let mut times: Vec<u64> = found.samples.iter().map(|sample| sample.time.0).collect();
    let count = times.len() as i64;
    times.dedup();
    assert_eq!(times.len() as i64, count);
    assert!(count == next || count == next + 1, "{count} of {next}");
    assert_eq!(found.sample_count() as i64, count);
    assert_eq!(sums(&found).len(), 1);
    join(&store, &Joining::at(NINE + 99 * HOUR)).unwrap();
    sweep(&store).unwrap();
    assert_eq!(plain_count(&store), count);
}

//! What a comparison says of waits, threads, bytes and shares of a second, on pairs of recordings
//! with one known change.

use profundo_analysis::diff::{By, Options, compare};
use profundo_model::{
    Bytes, FrameKey, Nanos, Profile, SampleKind, State, Thread, ThreadId, Traffic, Wait,
};
use profundo_report::{Compared, Diff, Look, Ready, Shown};

use crate::mixed::{APP, Maker};

fn text(before: &Profile, after: &Profile, by: &[By]) -> String {
    let options = Options {
        by: by.to_vec(),
        shown: Shown::COMMAND,
        ..Options::default()
    };
    let comparison = compare(&[before], &[after], &options).unwrap();
    let side = |name, profile| {
        [Compared {
            name,
            made: "",
            profile,
            of: "runs",
        }]
    };
    let (old, new) = (side("old", before), side("new", after));
    let diff = Diff::new(&comparison, &old, &new).look(Look::new().width(120));
    diff.render().unwrap()
}

/// Some threads beside the main one, of which each holds a lock for so long, and waits for it and
/// sleeps as long as ever.
fn with_lock(threads: u64, held: u64) -> Profile {
    let mut maker = Maker::new();
    let root = maker.python(APP, "<module>", 60, true);
    let holds = maker.python(APP, "hold", 12, true);
    let rests = maker.python(APP, "rest", 19, true);
    let locks = maker.python(APP, "worker", 17, true);
    let asleep = maker.waits(Wait::Sleep, "");
    let lock = maker.waits(Wait::Lock, "0x7f0000001000");
    maker.samples(2000, &[root], State::Running);
    for number in 0..threads {
        let thread = Thread {
            number: number + 2,
            tid: 4712 + number as u32,
            ..Thread::default()
        };
        maker.on_thread(thread, &format!("worker-{number}"));
        maker.samples(held, &[root, holds, asleep], State::WallWaiting);
        maker.samples(500, &[root, rests, asleep], State::WallWaiting);
        maker.samples(3 * held, &[root, locks, lock], State::WallWaiting);
    }
    maker.profile.meta.kind = SampleKind::Wall;
    maker.profile.meta.cpu = None;
    maker.profile.meta.started_at_unix = 1_795_654_177_000_000_000 + held;
    maker.profile
}

/// The row of a table whose name ends so.
fn row<'a>(text: &'a str, end: &str) -> &'a str {
    let mut rows = text.lines().filter(|line| line.contains(end));
    rows.next_back().unwrap_or_else(|| panic!("{end}: {text}"))
}

#[test]
fn waits_share_no_factor() {
    // Two of three waits are three times as long: that is no slower machine.
    let text = text(&with_lock(2, 300), &with_lock(2, 900), &[By::Wait]);
    assert!(!text.contains("alike"), "{text}");
    let (holds, locks) = (row(&text, ":12"), row(&text, ":17"));
    assert!(holds.contains("600 ms   1.80 s   +1.20 s"), "{text}");
    assert!(locks.contains("1.80 s   5.40 s   +3.60 s"), "{text}");
    assert!(holds.contains("×3.00") && locks.contains("×3.00"), "{text}");
    // The third is the same, and is no row.
    assert!(!text.contains(":19"), "{text}");
}

#[test]
fn two_threads_that_are_new_are_not_slower() {
    let text = text(&with_lock(1, 300), &with_lock(3, 300), &[By::Thread]);
    assert!(text.starts_with("After takes 92 % (±"), "{text}");
    assert!(
        text.contains("more time in all threads together: 3.40 s more"),
        "{text}"
    );
    assert!(
        !text.contains("slower") && !text.contains("alike"),
        "{text}"
    );
    for name in ["worker-1 [new]", "worker-2 [new]"] {
        assert!(row(&text, name).contains("+1.70 s"), "{text}");
    }
    assert!(text.contains("2 other threads differ by no more"), "{text}");
}

#[test]
fn a_recording_is_known_as_itself() {
    let one = with_lock(1, 300);
    let text = text(&one, &one, &[By::Wait]);
    assert!(text.contains("Both are the same recording."), "{text}");
    assert!(text.starts_with("No difference beyond chance"), "{text}");
    // Nothing stands above this row.
    let other = self::text(&one, &with_lock(1, 301), &[By::Wait, By::Function]);
    assert!(!other.contains("the same recording"), "{other}");
    assert!(!other.contains(" other "), "{other}");
}

/// A program that was looked at for so long, while it ran on.
fn looked_at(samples: u64, seconds: u64) -> Profile {
    let mut maker = Maker::new();
    let root = maker.python(APP, "<module>", 60, true);
    let works = maker.python(APP, "work", 12, true);
    maker.samples(samples, &[root, works], State::Running);
    maker.profile.meta.duration = Nanos(seconds * 1_000_000_000);
    for process in maker.profile.processes.iter_mut() {
        process.end = profundo_model::ProcessEnd::Unknown;
        (process.user, process.system) = (None, None);
    }
    maker.profile
}

#[test]
fn more_work_in_a_second_is_not_slower() {
    let text = text(&looked_at(2000, 10), &looked_at(4000, 10), &[]);
    assert!(text.starts_with("After takes 100 % (±"), "{text}");
    assert!(text.contains(" more CPU time: 200 ms more"), "{text}");
    assert!(text.contains("one second of the recording"), "{text}");
}

/// A program that writes so many bytes to one file.
fn writing(bytes: u64) -> Profile {
    let mut maker = Maker::new();
    let root = maker.python(APP, "<module>", 60, true);
    let store = maker.python(APP, "store", 33, true);
    let key = FrameKey {
        function: "__libc_write",
        ..FrameKey::default()
    };
    let write = maker.native("/usr/lib/x86_64-linux-gnu/libc.so.6", key);
    maker.samples(5, &[root, store, write], State::System);
    let out = maker.profile.strings.intern("/tmp/out");
    for sample in &mut maker.profile.samples {
        sample.file = out;
    }
    maker.profile.traffic = vec![Traffic {
        thread: ThreadId(0),
        from: Nanos(0),
        to: Nanos(1_000_000_000),
        waits: 1,
        bytes: Bytes {
            written: bytes,
            ..Bytes::default()
        },
    }];
    maker.profile.meta.kind = SampleKind::Wall;
    maker.profile.meta.cpu = None;
    maker.profile
}

#[test]
fn bytes_of_the_only_file_are_counted() {
    let twice = text(&writing(50_000_000), &writing(100_000_000), &[By::Io]);
    let row = row(&twice, "/tmp/out");
    assert!(row.contains("50.0 MB   100 MB  +50.0 MB"), "{twice}");
    // Which file bytes went to is estimated.
    assert!(!twice.contains("Everything was counted"), "{twice}");
    let same = text(&writing(50_000_000), &writing(50_000_000), &[By::Io]);
    assert!(!same.contains("/tmp/out"), "{same}");
}

#[test]
fn a_verdict_that_is_wider_than_the_page_says_each_word_once() {
    let options = Options {
        by: vec![By::Function],
        shown: Shown::COMMAND,
        ..Options::default()
    };
    let with = |name: &str| {
        let mut maker = Maker::new();
        let root = maker.python(APP, "<module>", 60, true);
        let works = maker.python(APP, name, 12, true);
        let other = maker.python(APP, "rest", 19, true);
        maker.samples(2000, &[root, works], State::Running);
        maker.samples(3000, &[root, other], State::Running);
        (
            maker.profile.processes[0].user,
            maker.profile.processes[0].system,
        ) = (None, None);
        maker.profile
    };
    let (before, after) = (with("one_that_goes"), with("another_that_comes"));
    let comparison = compare(&[&before], &[&after], &options).unwrap();
    let side = |profile| {
        [Compared {
            name: "x",
            made: "",
            profile,
            of: "runs",
        }]
    };
    let (old, new) = (side(&before), side(&after));
    for colors in [profundo_report::When::Never, profundo_report::When::Always] {
        for columns in [50, 80, 200] {
            let look = Look::new().width(columns).colors(colors);
            let text = Diff::new(&comparison, &old, &new)
                .look(look)
                .render()
                .unwrap();
            let verdict = text.split("\n\n").next().unwrap();
            let plain: String = (verdict.split('\u{1b}'))
                .map(|part| match part.split_once('m') {
                    Some((code, rest)) if code.starts_with('[') => rest,
                    _ => part,
                })
                .collect();
            assert!(
                plain.lines().all(|line| line.chars().count() <= columns),
                "{plain}"
            );
            let words: Vec<&str> = plain.split_whitespace().collect();
            let wanted = Diff::new(&comparison, &old, &new).verdict();
            assert_eq!(words, wanted.split_whitespace().collect::<Vec<_>>());
        }
    }
}

/// A run of three functions on two CPUs, of which other programs had so many tenths.
fn beside(others: u64, counts: [u64; 3]) -> Profile {
    let mut maker = Maker::new();
    let root = maker.python(APP, "<module>", 60, true);
    let lines = [("parse", 12), ("score", 17), ("load", 19)];
    for ((name, line), count) in lines.into_iter().zip(counts) {
        let at = maker.python(APP, name, line, true);
        maker.samples(count, &[root, at], State::Running);
    }
    let samples: u64 = counts.iter().sum();
    let profile = &mut maker.profile;
    (profile.processes[0].user, profile.processes[0].system) = (None, None);
    profile.meta.duration = Nanos(samples * 1_000_000);
    profile.meta.machine = Some(profundo_model::Machine {
        cpus: 2,
        others: Some(Nanos(samples * 200_000 * others)),
        ..profundo_model::Machine::default()
    });
    maker.profile
}

#[test]
fn what_a_busy_machine_makes_slower_is_no_change() {
    let [usual, slower] = [[3000, 3000, 3000], [3000, 3900, 2700]];
    let quiet = text(&beside(0, usual), &beside(0, slower), &[By::Function]);
    assert!(row(&quiet, "score").contains("+900 ms"), "{quiet}");
    let busy = text(&beside(0, usual), &beside(9, slower), &[By::Function]);
    assert!(
        busy.contains("4 functions differ by no more than chance"),
        "{busy}"
    );
    assert!(
        busy.split_whitespace().collect::<Vec<_>>().join(" ").contains(
            "10 % for each function and 9.5 % for the whole are assumed, because other programs \
             had 90 % of the CPUs"
        ),
        "{busy}"
    );
}

//! The report on the time in system calls.

use expect_test::expect;
use profundo_model::{Profile, State, StringId, SyscallCount};
use profundo_report::{Look, Syscalls, View};

use crate::mixed::reading;

fn text(profile: &Profile, columns: usize) -> String {
    let look = Look::new().width(columns);
    Syscalls::new().look(look).render(profile).unwrap()
}

#[test]
fn calls_and_lines_have_a_table_each() {
    for columns in [80, 120] {
        let text = text(&reading(), columns);
        let mut lines = text.lines().filter(|line| !line.contains(": "));
        assert!(lines.all(|line| line.chars().count() <= columns), "{text}");
    }
    expect![[r#"
           Waited      CPU  Samples  System calls
           400 ms   300 ms      430  read
                    120 ms       12  write

           Waited      CPU  Samples  Lines that make them
           400 ms               400  read  confidence.py:27  receive
                    300 ms       30  read  confidence.py:21  load
                    120 ms       12  write  confidence.py:33  store

           400 ms   420 ms      442  in all
        Calls: how long calls waited is measured, how long they ran is sampled. How often they were made, and how often they failed, is recorded with `--syscalls`.

        Quality: 492 samples, 0 lost, 0 truncated, 0 broken; perf-signal every 1.000 ms, in the kernel every few ms; shares are ± 7.6 points (95 %).
    "#]].assert_eq(&text(&reading(), 80));
}

#[test]
fn a_recording_without_waits_says_so() {
    let mut profile = reading();
    profile
        .samples
        .retain(|sample| sample.state != State::WallWaiting);
    let text = text(&profile, 100);
    assert!(text.contains("`--wall` records waits too"), "{text}");
}

#[test]
fn counts_errors_and_lines_have_columns() {
    let mut profile = reading();
    let read = profile.strings.intern("read");
    let count = |error, count| SyscallCount {
        call: read,
        error,
        count,
        ..SyscallCount::default()
    };
    let sampled = profile.samples.iter();
    let sampled = sampled.filter(|sample| sample.state == State::System);
    let stack = sampled.map(|sample| sample.stack).next();
    profile.syscalls = vec![count(0, 9000), count(11, 700), count(2, 5)];
    profile.syscalls.extend((0..50).map(|_| SyscallCount {
        call: StringId::default(),
        stack,
        samples: 1,
        ..count(0, 97)
    }));
    let text = text(&profile, 100);
    let line = |name: &str| {
        let found = text.lines().find(|line| line.contains(name));
        found.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let calls = "9705 705 400 ms 300 ms 430 read EAGAIN 700, ENOENT 5";
    assert_eq!(line("EAGAIN").as_deref(), Some(calls), "{text}");
    let lines = line("load").unwrap_or_default();
    assert!(
        lines.starts_with("9705 ") && lines.contains(" 300 ms 30 read"),
        "{text}"
    );
    assert!(
        text.contains("95 % of the numbers are within their ±"),
        "{text}"
    );
}

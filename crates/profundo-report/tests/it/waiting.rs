//! The table of what threads wait for.

use profundo_model::{SampleKind, State, Thread, Wait};
use profundo_report::{Look, Summary, View};

use crate::mixed::{APP, Maker};

#[test]
fn the_children_that_a_line_waits_for_are_one_row() {
    let mut maker = Maker::new();
    let root = maker.python(APP, "<module>", 60, true);
    let run = maker.python(APP, "run", 12, true);
    let children = ["4713", "4714", "4715"].map(|pid| maker.waits(Wait::Child, pid));
    for child in children {
        maker.samples(100, &[root, run, child], State::WallWaiting);
    }
    let file = maker.waits(Wait::Read, "/tmp/fifo");
    maker.samples(50, &[root, run, file], State::WallWaiting);
    maker.profile.meta.kind = SampleKind::Wall;
    maker.profile.meta.cpu = None;
    let look = Look::new().width(100);
    let text = Summary::new().look(look).render(&maker.profile).unwrap();
    let (_, table) = text.split_once("Where threads wait\n").unwrap();
    let rows: Vec<&str> = table.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(rows.len(), 2, "{text}");
    assert!(rows[0].ends_with("[waits for 3 children]"), "{text}");
    assert!(rows[0].contains("300 ms"), "{text}");
    assert!(rows[1].ends_with("[reads /tmp/fifo]"), "{text}");
    assert!(
        text.contains("One thread waited 300 ms in confidence.py:12: waits for 3 children."),
        "{text}"
    );
}

#[test]
fn threads_without_a_line_wait_in_a_whole_sentence() {
    let mut maker = Maker::new();
    let waits = maker.waits(Wait::Cpu, "");
    for number in [2, 3] {
        let thread = Thread {
            number,
            tid: 4700 + number as u32,
            ..Thread::default()
        };
        maker.on_thread(thread, "worker");
        maker.samples(300, &[waits], State::WallWaiting);
    }
    maker.profile.meta.kind = SampleKind::Wall;
    maker.profile.meta.cpu = None;
    let look = Look::new().width(100);
    let text = Summary::new().look(look).render(&maker.profile).unwrap();
    let sentence = text.split_once("threads waited").map(|(_, rest)| rest);
    let sentence = sentence.and_then(|rest| rest.lines().next());
    assert_eq!(
        sentence,
        Some(", 600 ms in sum: waits for a CPU."),
        "{text}"
    );
}

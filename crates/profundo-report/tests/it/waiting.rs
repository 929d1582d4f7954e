//! The table of what threads wait for.

use profundo_model::{SampleKind, State, Wait};
use profundo_report::{Look, Summary};

use crate::mixed::{APP, Maker};

#[test]
fn the_children_that_a_line_waits_for_are_one_row() {
    let mut it = Maker::new();
    let root = it.python(APP, "<module>", 60, true);
    let run = it.python(APP, "run", 12, true);
    let children = ["4713", "4714", "4715"].map(|pid| it.waits(Wait::Child, pid));
    for child in children {
        it.samples(100, &[root, run, child], State::WallWaiting);
    }
    let file = it.waits(Wait::Read, "/tmp/fifo");
    it.samples(50, &[root, run, file], State::WallWaiting);
    it.profile.meta.kind = SampleKind::Wall;
    it.profile.meta.cpu = None;
    let look = Look::new().width(100);
    let text = Summary::new().look(look).render(&it.profile).unwrap();
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

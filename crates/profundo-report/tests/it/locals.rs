//! Local variables below the frames of stacks.

use expect_test::expect;
use profundo_report::{FrameLocals, Local, Look, Stacks, ThreadLocals, View};

use crate::mixed::waiting;

/// The variables of a thread with these frames, innermost first.
pub fn locals_of(pid: u32, tid: u32, frames: &[&[(&str, &str, &str)]]) -> ThreadLocals {
    let local = |&(name, class, value): &(&str, &str, &str)| Local {
        name: name.to_owned(),
        origin: "local",
        class: class.to_owned(),
        value: value.to_owned(),
        is_hidden: false,
    };
    let frame = |locals: &&[(&str, &str, &str)]| FrameLocals {
        variables: locals.iter().map(local).collect(),
        missing: locals.is_empty().then_some("not read"),
    };
    ThreadLocals {
        pid,
        tid,
        frames: frames.iter().map(frame).collect(),
    }
}

#[test]
fn variables_stand_below_their_frames() {
    let mut profile = waiting();
    profile
        .samples
        .dedup_by_key(|sample| (sample.thread, sample.stack));
    let long = "x".repeat(90);
    let locals = [
        locals_of(
            4711,
            4711,
            &[
                &[
                    ("seconds", "float", "0.5"),
                    ("a_name_longer_than_any_column", "int", "1"),
                    ("long", "str", &long),
                    ("gone", "", "<unreadable>"),
                ],
                &[],
            ],
        ),
        // Of another moment: it has fewer frames than the stack.
        locals_of(4711, 4712, &[&[("lock", "int", "1")]]),
    ];
    let shown = Stacks::new()
        .locals(locals.into())
        .look(Look::new().width(80));
    let expected = expect![[r#"
            Process 4711: python3 confidence.py 600000  CPython 3.12.1

            Thread 1 MainThread (tid 4711): runs
                pause  confidence.py:12
                    seconds  float  0.5
                    a_name_longer_than_any_column  int  1
                    long     str    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
                    gone            <unreadable>
                <module>  confidence.py:60
                    [not read]
            Thread 1 MainThread (tid 4711): waits
                [sleeps]
                pause  confidence.py:12
                    seconds  float  0.5
                    a_name_longer_than_any_column  int  1
                    long     str    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
                    gone            <unreadable>
                <module>  confidence.py:60
                    [not read]
            Thread 2 worker (tid 4712): waits
                [waits for the lock at 0x7f0000001000]
                worker  confidence.py:17
                <module>  confidence.py:60
            Thread 2 worker (tid 4712): waits
                [reads /tmp/fifo]
                worker  confidence.py:19
                <module>  confidence.py:60
        "#]];
    expected.assert_eq(&shown.render(&profile).unwrap());
}

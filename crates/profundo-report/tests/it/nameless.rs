//! Code without a name, and reasons why a stack ends.

use expect_test::{Expect, expect};
use profundo_model::{FrameKey, Language, LocationKind, Reason};
use profundo_report::{Format, Report};

use crate::fixture::{check_rows, empty, frame, location, report, samples};

#[test]
fn code_without_a_name_is_marked() {
    let (mut profile, thread, task) = empty();
    let cut = profile
        .locations
        .intern(LocationKind::Reason(Reason::Truncated), None);
    let main = location(&mut profile, 1, &[frame("main", "", 0)]);
    let module = FrameKey {
        file: "/lib/libz.so",
        ..FrameKey::default()
    };
    let module = location(&mut profile, 2, &[module]);
    let nameless = location(&mut profile, 3, &[FrameKey::default()]);
    let unlooked = profile
        .locations
        .intern(LocationKind::Invented(0x7f00_1234), None);
    samples(
        &mut profile,
        1,
        &[unlooked, module, main, cut],
        thread,
        task,
    );
    samples(
        &mut profile,
        2,
        &[nameless, module, main, cut],
        thread,
        task,
    );
    profile.name_reasons();
    let check = |report: Report, expected: Expect| check_rows(&profile, report, expected);
    check(
        report(),
        expect![[r#"
            ⋮
             ╎3 [truncated]
            3╎ 3 main
        "#]],
    );
    check(
        report().c(true),
        expect![[r#"
            ⋮
             ╎3 [truncated]
             ╎ 3 main
             ╎  3 /lib/libz.so:?  [unknown function]
            3╎   3 [unknown stackframe]
        "#]],
    );
    check(
        report().c(true).combine(false),
        expect![[r#"
            ⋮
             ╎3 [truncated]
             ╎ 3 0x0000000000000001 main
             ╎  3 /lib/libz.so:?  0x0000000000000002 [unknown function]
            2╎   2 [unknown function] (pointer: 0x0000000000000003)
            1╎   1 [unknown function] (pointer: 0x000000007f001234)
        "#]],
    );
    check(
        report().c(true).format(Format::Flat),
        expect![[r#"
            ⋮
                 3         0 [unknown file]     ? main
                 3         0 /lib/libz.so       ? [unknown function]
                 3         0 [truncated]
                 3         3 [any unknown stackframes]
        "#]],
    );
    check(
        report().c(true).format(Format::Flat).combine(false),
        expect![[r#"
            ⋮
                 3         0 [unknown file]     ? 0x0000000000000001 main
                 3         0 /lib/libz.so       ? 0x0000000000000002 [unknown function]
                 3         0 [truncated]
                 2         2 @0x3
                 1         1 @0x7f001234
        "#]],
    );
    check(
        report().c(true).format(Format::Functions),
        expect![[r#"
            ⋮
               3 of 3    3 of 3 [any unknown stackframes]
               0 of 3    3 of 3 [unknown file] main
               0 of 3    3 of 3 /lib/libz.so   [unknown function]
               0 of 3    3 of 3 [truncated]
            Note: 3 samples are too few for shares: a longer run or a shorter `delay` gives more.
        "#]],
    );
}

#[test]
fn reasons_come_after_functions_and_the_unknown_last() {
    let (mut profile, thread, task) = empty();
    let rows = [
        FrameKey::default(),
        FrameKey {
            function: "[gone]",
            language: Language::Synthetic,
            ..FrameKey::default()
        },
        frame("b", "z.rs", 2),
        frame("b", "z.rs", 1),
        frame("a", "z.rs", 9),
        frame("z", "a.rs", 1),
    ];
    for (number, key) in (1..).zip(rows) {
        let at = location(&mut profile, number, &[key]);
        samples(&mut profile, 1, &[at], thread, task);
    }
    check_rows(
        &profile,
        report().c(true),
        expect![[r#"
        ⋮
        1╎1 a.rs:1  z
        1╎1 z.rs:9  a
        1╎1 z.rs:1  b
        1╎1 z.rs:2  b
        1╎1 [gone]
        1╎1 [unknown stackframe]
    "#]],
    );
}

//! Every option that the worked examples and the files beside this one leave out.

use expect_test::expect;
use profundo_model::{FrameKey, Nanos};
use profundo_report::{Format, GroupBy, Recur, SortBy, Unit};

use crate::fixture::{app, check, check_rows, empty, frame, location, report, samples};

#[test]
fn addresses_are_shown_when_they_are_not_combined() {
    let tree = report().combine(false).c(true);
    check_rows(
        &app(),
        tree,
        expect![[r#"
        ⋮
         ╎8 @App/app.jl:10  0x0000000000000001 main()
         ╎ 5 @App/app.jl:20  0x0000000000000002 alpha(n::Int64)
        3╎  5 @Base/reduce.jl:7  0x0000000000000004 sum(v)
        2╎   2 libc.so:?  0x0000000000000005 memcpy
        1╎ 1 @App/app.jl:31  0x0000000000000003 beta(x)
         ╎ 2 @App/app.jl:31  0x0000000000000006 beta(x)
        2╎  2 @App/app.jl:41  0x0000000000000006 inl(x)
    "#]],
    );
    let flat = report().combine(false).format(Format::Flat).width(100);
    check_rows(
        &app(),
        flat,
        expect![[r#"
        ⋮
             5         0 @App/app.jl        20 0x0000000000000002 alpha(n::Int64)
             1         1 @App/app.jl        31 0x0000000000000003 beta(x)
             2         0 @App/app.jl        31 0x0000000000000006 beta(x)
             2         2 @App/app.jl        41 0x0000000000000006 inl(x)
             8         0 @App/app.jl        10 0x0000000000000001 main()
             5         5 @Base/reduce.jl     7 0x0000000000000004 sum(v)
    "#]],
    );
}

#[test]
fn recursion_through_c_is_flattened_only_when_asked() {
    let (mut profile, thread, task) = empty();
    let main = location(&mut profile, 1, &[frame("main", "m.rs", 1)]);
    let sort = FrameKey {
        function: "qsort",
        file: "libc.so",
        ..FrameKey::default()
    };
    let sort = location(&mut profile, 2, &[sort]);
    samples(&mut profile, 2, &[sort, sort, sort, main], thread, task);
    for (recur, expected) in [
        (
            Recur::Off,
            expect![[r#"
            ⋮
             ╎2 m.rs:1  main
             ╎ 2 libc.so:?  qsort
             ╎  2 libc.so:?  qsort
            2╎   2 libc.so:?  qsort
        "#]],
        ),
        (
            Recur::Flat,
            expect![[r#"
            ⋮
             ╎2 m.rs:1  main
             ╎ 2 libc.so:?  qsort
             ╎  2 libc.so:?  qsort
            2╎   2 libc.so:?  qsort
        "#]],
        ),
        (
            Recur::FlatC,
            expect![[r#"
            ⋮
             ╎2 m.rs:1  main
            2╎ 2 libc.so:?  qsort
        "#]],
        ),
    ] {
        check_rows(&profile, report().c(true).recur(recur), expected);
    }
}

#[test]
fn a_flat_table_hides_small_counts_but_keeps_its_widths() {
    check_rows(
        &app(),
        report().format(Format::Flat).mincount(8),
        expect![[r#"
            ⋮
                 8         0 @App/app.jl        10 main()
        "#]],
    );
}

#[test]
fn functions_show_shares_and_how_sure_they_are() {
    let functions = || report().format(Format::Functions);
    check(
        &app(),
        functions(),
        expect![[r#"
                 Self     Total File            Function
                 ====     ===== ====            ========
               5 of 8    5 of 8 @Base/reduce.jl sum(v)
               2 of 8    2 of 8 @App/app.jl     inl(x)
               1 of 8    3 of 8 @App/app.jl     beta(x)
               0 of 8    8 of 8 @App/app.jl     main()
               0 of 8    5 of 8 @App/app.jl     alpha(n::Int64)
            Total snapshots: 8. Utilization: 100% across all threads and tasks. Use `group_by` to break down by thread and/or task.
            Note: 8 samples are too few for shares: a longer run or a shorter `delay` gives more.
        "#]],
    );
    check_rows(
        &app(),
        functions().sorted_by(SortBy::Count).c(true),
        expect![[r#"
            ⋮
               2 of 8    2 of 8 libc.so         memcpy
               2 of 8    2 of 8 @App/app.jl     inl(x)
               1 of 8    3 of 8 @App/app.jl     beta(x)
               0 of 8    5 of 8 @App/app.jl     alpha(n::Int64)
               3 of 8    5 of 8 @Base/reduce.jl sum(v)
               0 of 8    8 of 8 @App/app.jl     main()
            Note: 8 samples are too few for shares: a longer run or a shorter `delay` gives more.
        "#]],
    );
    check_rows(
        &app(),
        functions().sorted_by(SortBy::FileFuncLine).mincount(3),
        expect![[r#"
            ⋮
               0 of 8    5 of 8 @App/app.jl     alpha(n::Int64)
               1 of 8    3 of 8 @App/app.jl     beta(x)
               0 of 8    8 of 8 @App/app.jl     main()
               5 of 8    5 of 8 @Base/reduce.jl sum(v)
            Note: 8 samples are too few for shares: a longer run or a shorter `delay` gives more.
        "#]],
    );
}

/// Each sample is an allocation of 100 bytes.
#[test]
fn bytes_are_counted_like_snapshots() {
    let mut profile = app();
    profile.meta.period = Nanos(1);
    for sample in &mut profile.samples {
        sample.weight = Nanos(100);
    }
    let bytes = || report().unit(Unit::Bytes);
    check(
        &profile,
        bytes(),
        expect![[r#"
        Overhead ╎ [+additional indent] Count File:Line  Function
        =========================================================
           ╎800 @App/app.jl:10  main()
           ╎ 500 @App/app.jl:20  alpha(n::Int64)
        500╎  500 @Base/reduce.jl:7  sum(v)
        100╎ 300 @App/app.jl:31  beta(x)
        200╎  200 @App/app.jl:41  inl(x)
        Total snapshots: 8
        Total bytes: 800
    "#]],
    );
    check(
        &profile,
        bytes().format(Format::Flat).mincount(301),
        expect![[r#"
             Count  Overhead File             Line Function
             =====  ======== ====             ==== ========
               500         0 @App/app.jl        20 alpha(n::Int64)
               800         0 @App/app.jl        10 main()
               500       500 @Base/reduce.jl     7 sum(v)
            Total snapshots: 8
            Total bytes: 800
        "#]],
    );
    check(
        &profile,
        bytes().group_by(GroupBy::Thread).maxdepth(0),
        expect![[r#"
            Overhead ╎ [+additional indent] Count File:Line  Function
            =========================================================
            Thread 1 (default) Total snapshots: 6. Total bytes: 600
               ╎600 @App/app.jl:10  main()

            Thread 2 (default) Total snapshots: 2. Total bytes: 200
               ╎200 @App/app.jl:10  main()

        "#]],
    );
}

#[test]
fn only_some_threads_and_tasks() {
    check(
        &app(),
        report().threads(2),
        expect![[r#"
        Overhead ╎ [+additional indent] Count File:Line  Function
        =========================================================
         ╎2 @App/app.jl:10  main()
         ╎ 2 @App/app.jl:31  beta(x)
        2╎  2 @App/app.jl:41  inl(x)
        Total snapshots: 2. Utilization: 100% across all threads and tasks. Use `group_by` to break down by thread and/or task.
    "#]],
    );
    check_rows(
        &app(),
        report().tasks([0xa]),
        expect![[r#"
        ⋮
         ╎5 @App/app.jl:10  main()
         ╎ 5 @App/app.jl:20  alpha(n::Int64)
        5╎  5 @Base/reduce.jl:7  sum(v)
    "#]],
    );
    check_rows(
        &app(),
        report().threads(1..=1).tasks(0xb..),
        expect![[r#"
        ⋮
         ╎1 @App/app.jl:10  main()
        1╎ 1 @App/app.jl:31  beta(x)
    "#]],
    );
}

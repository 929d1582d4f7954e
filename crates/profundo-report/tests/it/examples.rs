//! The worked examples of the manual, with every self count credited.

use expect_test::expect;
use profundo_report::{Format, GroupBy, Recur, SortBy};

use crate::fixture::{app, check, check_rows, deep, frame, one_stack, recursive, report};

#[test]
fn e1_tree() {
    check(
        &app(),
        report(),
        expect![[r#"
            Overhead ╎ [+additional indent] Count File:Line  Function
            =========================================================
             ╎8 @App/app.jl:10  main()
             ╎ 5 @App/app.jl:20  alpha(n::Int64)
            5╎  5 @Base/reduce.jl:7  sum(v)
            1╎ 3 @App/app.jl:31  beta(x)
            2╎  2 @App/app.jl:41  inl(x)
            Total snapshots: 8. Utilization: 100% across all threads and tasks. Use `group_by` to break down by thread and/or task.
        "#]],
    );
}

#[test]
fn e2_c() {
    check_rows(
        &app(),
        report().c(true),
        expect![[r#"
            ⋮
             ╎8 @App/app.jl:10  main()
             ╎ 5 @App/app.jl:20  alpha(n::Int64)
            3╎  5 @Base/reduce.jl:7  sum(v)
            2╎   2 libc.so:?  memcpy
            1╎ 3 @App/app.jl:31  beta(x)
            2╎  2 @App/app.jl:41  inl(x)
        "#]],
    );
}

#[test]
fn e3_maxdepth() {
    check_rows(
        &app(),
        report().maxdepth(0),
        expect![[r#"
            ⋮
             ╎8 @App/app.jl:10  main()
        "#]],
    );
    check_rows(
        &app(),
        report().maxdepth(1),
        expect![[r#"
            ⋮
             ╎8 @App/app.jl:10  main()
             ╎ 5 @App/app.jl:20  alpha(n::Int64)
            1╎ 3 @App/app.jl:31  beta(x)
        "#]],
    );
}

#[test]
fn e4_mincount() {
    check_rows(
        &app(),
        report().mincount(3),
        expect![[r#"
            ⋮
             ╎8 @App/app.jl:10  main()
             ╎ 5 @App/app.jl:20  alpha(n::Int64)
            5╎  5 @Base/reduce.jl:7  sum(v)
            1╎ 3 @App/app.jl:31  beta(x)
        "#]],
    );
}

#[test]
fn e5_noisefloor() {
    check_rows(
        &app(),
        report().noisefloor(1.5),
        expect![[r#"
            ⋮
             ╎8 @App/app.jl:10  main()
             ╎ 5 @App/app.jl:20  alpha(n::Int64)
            5╎  5 @Base/reduce.jl:7  sum(v)
        "#]],
    );
}

#[test]
fn e6_sorted_by_count() {
    check_rows(
        &app(),
        report().sorted_by(SortBy::Count),
        expect![[r#"
            ⋮
             ╎8 @App/app.jl:10  main()
            1╎ 3 @App/app.jl:31  beta(x)
            2╎  2 @App/app.jl:41  inl(x)
             ╎ 5 @App/app.jl:20  alpha(n::Int64)
            5╎  5 @Base/reduce.jl:7  sum(v)
        "#]],
    );
}

#[test]
fn e7_flat() {
    check(
        &app(),
        report().format(Format::Flat),
        expect![[r#"
             Count  Overhead File             Line Function
             =====  ======== ====             ==== ========
                 5         0 @App/app.jl        20 alpha(n::Int64)
                 3         1 @App/app.jl        31 beta(x)
                 2         2 @App/app.jl        41 inl(x)
                 8         0 @App/app.jl        10 main()
                 5         5 @Base/reduce.jl     7 sum(v)
            Total snapshots: 8. Utilization: 100% across all threads and tasks. Use `group_by` to break down by thread and/or task.
        "#]],
    );
}

#[test]
fn e8_flat_c_by_overhead() {
    check_rows(
        &app(),
        report()
            .format(Format::Flat)
            .c(true)
            .sorted_by(SortBy::Overhead),
        expect![[r#"
            ⋮
                 5         0 @App/app.jl        20 alpha(n::Int64)
                 8         0 @App/app.jl        10 main()
                 3         1 @App/app.jl        31 beta(x)
                 2         2 @App/app.jl        41 inl(x)
                 2         2 libc.so             ? memcpy
                 5         3 @Base/reduce.jl     7 sum(v)
        "#]],
    );
}

#[test]
fn e9_by_thread_and_task() {
    check(
        &app(),
        report().group_by(GroupBy::ThreadTask),
        expect![[r#"
            Overhead ╎ [+additional indent] Count File:Line  Function
            =========================================================
            Thread 1 (default)
             Task 0x000000000000000b Total snapshots: 1. Utilization: 100%
             ╎1 @App/app.jl:10  main()
            1╎ 1 @App/app.jl:31  beta(x)

             Task 0x000000000000000a Total snapshots: 5. Utilization: 100%
             ╎5 @App/app.jl:10  main()
             ╎ 5 @App/app.jl:20  alpha(n::Int64)
            5╎  5 @Base/reduce.jl:7  sum(v)

            Thread 2 (default) Task 0x000000000000000b Total snapshots: 2. Utilization: 100%
             ╎2 @App/app.jl:10  main()
             ╎ 2 @App/app.jl:31  beta(x)
            2╎  2 @App/app.jl:41  inl(x)

        "#]],
    );
}

#[test]
fn e10_recursion() {
    check_rows(
        &recursive(),
        report(),
        expect![[r#"
            ⋮
             ╎3 r.jl:9  top()
             ╎ 3 r.jl:3  fact(n)
            1╎  3 r.jl:3  fact(n)
             ╎   2 r.jl:3  fact(n)
            2╎    2 r.jl:5  mul(a)
        "#]],
    );
    let flattened = expect![[r#"
        ⋮
         ╎3 r.jl:9  top()
        1╎ 3 r.jl:3  fact(n)
        2╎  2 r.jl:5  mul(a)
    "#]];
    check_rows(&recursive(), report().recur(Recur::Flat), flattened);
    check_rows(
        &recursive(),
        report().format(Format::Flat),
        expect![[r#"
            ⋮
                 3         1 r.jl       3 fact(n)
                 2         2 r.jl       5 mul(a)
                 3         0 r.jl       9 top()
        "#]],
    );
}

#[test]
fn e11_deep_stack_on_a_narrow_screen() {
    check_rows(
        &deep(16),
        report().width(24),
        expect![[r#"
            ⋮
             ╎1 d.jl:1  f1
             ╎ 1 d.jl:2  f2
             ╎  1 d.jl:3  f3
             ╎   1 d.jl:4  f4
             ╎    1 d.jl:5  f5
             ╎     1 d.jl:6  f6
             ╎    ╎ 1 d.jl:7  f7
             ╎    ╎  1 d.jl:8  f8
             ╎    ╎   1 d.jl:9  f9
             ╎    ╎    1 d.jl:10  f…
             ╎    ╎     1 d.jl:11  …
             ╎    ╎    ╎ 1 d.jl:12 …
             ╎    ╎    ╎  1 d.jl:13…
             ╎    ╎    +1 1 d.jl:14…
             ╎    ╎    +2 1 d.jl:15…
            1╎    ╎    +3 1 d.jl:16…
        "#]],
    );
}

#[test]
fn e12_long_names() {
    let file = "src/some/extremely/long/path/to/a/module/file_with_long_name.jl";
    let name = "a_very_long_function_name(arguments::Tuple{Int64, Float64})";
    check_rows(
        &one_stack(&[frame(name, file, 1234)]),
        report().width(60),
        expect![[r#"
            ⋮
            1╎1 …h_long_name.jl:1234  a_very_long_function_name(argumen…
        "#]],
    );
}

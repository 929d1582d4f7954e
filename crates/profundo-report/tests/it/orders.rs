//! The order of siblings and rows.

use expect_test::expect;
use profundo_report::{Format, Recur, SortBy};

use crate::fixture::{app, check_rows, empty, frame, location, report, samples};

#[test]
fn orders_by_count_can_start_with_the_hottest() {
    let by = |sorted_by| report().sorted_by(sorted_by).hot_first(true);
    check_rows(
        &app(),
        by(SortBy::FileFuncLine),
        expect![[r#"
        ⋮
         ╎8 @App/app.jl:10  main()
         ╎ 5 @App/app.jl:20  alpha(n::Int64)
        5╎  5 @Base/reduce.jl:7  sum(v)
        1╎ 3 @App/app.jl:31  beta(x)
        2╎  2 @App/app.jl:41  inl(x)
    "#]],
    );
    check_rows(
        &app(),
        by(SortBy::Count),
        expect![[r#"
        ⋮
         ╎8 @App/app.jl:10  main()
         ╎ 5 @App/app.jl:20  alpha(n::Int64)
        5╎  5 @Base/reduce.jl:7  sum(v)
        1╎ 3 @App/app.jl:31  beta(x)
        2╎  2 @App/app.jl:41  inl(x)
    "#]],
    );
    check_rows(
        &app(),
        by(SortBy::Count).format(Format::Flat),
        expect![[r#"
            ⋮
                 8         0 @App/app.jl        10 main()
                 5         5 @Base/reduce.jl     7 sum(v)
                 5         0 @App/app.jl        20 alpha(n::Int64)
                 3         1 @App/app.jl        31 beta(x)
                 2         2 @App/app.jl        41 inl(x)
        "#]],
    );
}

#[test]
fn a_tree_is_ordered_by_overhead() {
    check_rows(
        &app(),
        report().sorted_by(SortBy::Overhead).hot_first(true),
        expect![[r#"
            ⋮
             ╎8 @App/app.jl:10  main()
            1╎ 3 @App/app.jl:31  beta(x)
            2╎  2 @App/app.jl:41  inl(x)
             ╎ 5 @App/app.jl:20  alpha(n::Int64)
            5╎  5 @Base/reduce.jl:7  sum(v)
        "#]],
    );
    check_rows(
        &app(),
        report().sorted_by(SortBy::Overhead),
        expect![[r#"
        ⋮
         ╎8 @App/app.jl:10  main()
         ╎ 5 @App/app.jl:20  alpha(n::Int64)
        5╎  5 @Base/reduce.jl:7  sum(v)
        1╎ 3 @App/app.jl:31  beta(x)
        2╎  2 @App/app.jl:41  inl(x)
    "#]],
    );
}

/// More samples pass `left` than end below it, because they go back from there to `main`.
#[test]
fn a_tree_is_ordered_by_flat_count() {
    let (mut profile, thread, task) = empty();
    let named = ["main", "left", "right", "leaf"];
    let at: Vec<_> = (1..)
        .zip(named)
        .map(|(line, name)| location(&mut profile, line, &[frame(name, "m.rs", line as u32)]))
        .collect();
    samples(&mut profile, 3, &[at[3], at[0], at[1], at[0]], thread, task);
    samples(&mut profile, 2, &[at[2], at[0]], thread, task);
    let flattened = report().recur(Recur::Flat);
    check_rows(
        &profile,
        flattened.clone().sorted_by(SortBy::FlatCount),
        expect![[r#"
            ⋮
             ╎5 m.rs:1  main
             ╎ 3 m.rs:2  left
            2╎ 2 m.rs:3  right
            3╎ 3 m.rs:4  leaf
        "#]],
    );
    check_rows(
        &profile,
        flattened.sorted_by(SortBy::Count),
        expect![[r#"
        ⋮
         ╎5 m.rs:1  main
        2╎ 2 m.rs:3  right
        3╎ 3 m.rs:4  leaf
         ╎ 3 m.rs:2  left
    "#]],
    );
}

#[test]
fn a_flat_table_is_ordered_by_count_and_has_no_flat_count() {
    let flat = || report().format(Format::Flat);
    check_rows(
        &app(),
        flat().sorted_by(SortBy::Count),
        expect![[r#"
        ⋮
             2         2 @App/app.jl        41 inl(x)
             3         1 @App/app.jl        31 beta(x)
             5         0 @App/app.jl        20 alpha(n::Int64)
             5         5 @Base/reduce.jl     7 sum(v)
             8         0 @App/app.jl        10 main()
    "#]],
    );
    check_rows(
        &app(),
        flat().sorted_by(SortBy::FlatCount).hot_first(true),
        expect![[r#"
            ⋮
                 5         0 @App/app.jl        20 alpha(n::Int64)
                 3         1 @App/app.jl        31 beta(x)
                 2         2 @App/app.jl        41 inl(x)
                 8         0 @App/app.jl        10 main()
                 5         5 @Base/reduce.jl     7 sum(v)
        "#]],
    );
}

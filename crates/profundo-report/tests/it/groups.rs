//! Reports by thread and by task.

use expect_test::expect;
use profundo_model::{FrameKey, Nanos, State};
use profundo_report::{Format, GroupBy, Numbers, SortBy};

use crate::fixture::{app, check, check_rows, empty, frame, location, report, samples};

#[test]
fn by_thread() {
    check(
        &app(),
        report().group_by(GroupBy::Thread),
        expect![[r#"
        Overhead ╎ [+additional indent] Count File:Line  Function
        =========================================================
        Thread 1 (default) Total snapshots: 6. Utilization: 100%
         ╎6 @App/app.jl:10  main()
         ╎ 5 @App/app.jl:20  alpha(n::Int64)
        5╎  5 @Base/reduce.jl:7  sum(v)
        1╎ 1 @App/app.jl:31  beta(x)

        Thread 2 (default) Total snapshots: 2. Utilization: 100%
         ╎2 @App/app.jl:10  main()
         ╎ 2 @App/app.jl:31  beta(x)
        2╎  2 @App/app.jl:41  inl(x)

    "#]],
    );
}

#[test]
fn by_process() {
    check(
        &crate::mixed::crowd(),
        report()
            .hidden(profundo_report::Hidden::Runtime)
            .maxdepth(0)
            .quality(false)
            .group_by(GroupBy::Process),
        expect![[r#"
            Overhead ╎ [+additional indent] Count File:Line  Function
            =========================================================
            Process 4711 (python3 confidence.py …) Total snapshots: 4320. Utilization: 100%
                ╎4320 …fidence/confidence.py:60  <module>

            Process 4720 (gzip -9 /nowhere/confi…) Total snapshots: 400. Utilization: 100%
               ╎400 …uild/gzip-1.12/gzip.c:420  main

        "#]],
    );
}

#[test]
fn by_task() {
    check(
        &app(),
        report().group_by(GroupBy::Task),
        expect![[r#"
        Overhead ╎ [+additional indent] Count File:Line  Function
        =========================================================
        Task 0x000000000000000b Total snapshots: 3. Utilization: 100%
         ╎3 @App/app.jl:10  main()
        1╎ 3 @App/app.jl:31  beta(x)
        2╎  2 @App/app.jl:41  inl(x)

        Task 0x000000000000000a Total snapshots: 5. Utilization: 100%
         ╎5 @App/app.jl:10  main()
         ╎ 5 @App/app.jl:20  alpha(n::Int64)
        5╎  5 @Base/reduce.jl:7  sum(v)

    "#]],
    );
}

#[test]
fn by_task_and_thread() {
    check(
        &app(),
        report().group_by(GroupBy::TaskThread),
        expect![[r#"
            Overhead ╎ [+additional indent] Count File:Line  Function
            =========================================================
            Task 0x000000000000000b
             Thread 1 (default) Total snapshots: 1. Utilization: 100%
             ╎1 @App/app.jl:10  main()
            1╎ 1 @App/app.jl:31  beta(x)

             Thread 2 (default) Total snapshots: 2. Utilization: 100%
             ╎2 @App/app.jl:10  main()
             ╎ 2 @App/app.jl:31  beta(x)
            2╎  2 @App/app.jl:41  inl(x)

            Task 0x000000000000000a Thread 1 (default) Total snapshots: 5. Utilization: 100%
             ╎5 @App/app.jl:10  main()
             ╎ 5 @App/app.jl:20  alpha(n::Int64)
            5╎  5 @Base/reduce.jl:7  sum(v)

        "#]],
    );
}

#[test]
fn tables_have_a_header_each() {
    let grouped = |format| report().group_by(GroupBy::Thread).format(format);
    check(
        &app(),
        grouped(Format::Flat).sorted_by(SortBy::Count),
        expect![[r#"
            Thread 1 (default) Total snapshots: 6. Utilization: 100%
             Count  Overhead File             Line Function
             =====  ======== ====             ==== ========
                 1         1 @App/app.jl        31 beta(x)
                 5         0 @App/app.jl        20 alpha(n::Int64)
                 5         5 @Base/reduce.jl     7 sum(v)
                 6         0 @App/app.jl        10 main()

            Thread 2 (default) Total snapshots: 2. Utilization: 100%
             Count  Overhead File          Line Function
             =====  ======== ====          ==== ========
                 2         0 @App/app.jl     31 beta(x)
                 2         2 @App/app.jl     41 inl(x)
                 2         0 @App/app.jl     10 main()

        "#]],
    );
    check(
        &app(),
        grouped(Format::Functions),
        expect![[r#"
            Thread 1 (default) Total snapshots: 6. Utilization: 100%
                 Self     Total File            Function
                 ====     ===== ====            ========
               5 of 6    5 of 6 @Base/reduce.jl sum(v)
               1 of 6    1 of 6 @App/app.jl     beta(x)
               0 of 6    6 of 6 @App/app.jl     main()
               0 of 6    5 of 6 @App/app.jl     alpha(n::Int64)

            Thread 2 (default) Total snapshots: 2. Utilization: 100%
                 Self     Total File         Function
                 ====     ===== ====         ========
               2 of 2    2 of 2 @App/app.jl  inl(x)
               0 of 2    2 of 2 @App/app.jl  beta(x)
               0 of 2    2 of 2 @App/app.jl  main()

            Note: 8 samples are too few for shares: a longer run or a shorter `delay` gives more.
        "#]],
    );
}

#[test]
fn names_stand_beside_numbers() {
    let mut profile = app();
    let name = profile.strings.intern("tokio-worker");
    let threads: Vec<_> = profile.threads.iter().map(|(id, _)| id).collect();
    profile.threads.get_mut(threads[1]).name = name;
    profile.threads.get_mut(threads[0]).name = Default::default();
    let fetch = profile.strings.intern("fetch");
    let task = profile.tasks.find_number(0xb).unwrap();
    profile.tasks.get_mut(task).name = fetch;
    let shown = report().group_by(GroupBy::ThreadTask).maxdepth(0);
    check_rows(
        &profile,
        shown,
        expect![[r#"
        ⋮
        Thread 1
         Task 0x000000000000000b (fetch) Total snapshots: 1. Utilization: 100%
         ╎1 @App/app.jl:10  main()

         Task 0x000000000000000a Total snapshots: 5. Utilization: 100%
         ╎5 @App/app.jl:10  main()

        Thread 2 (tokio-worker) Task 0x000000000000000b (fetch) Total snapshots: 2. Utilization: 100%
         ╎2 @App/app.jl:10  main()

    "#]],
    );
    let json = report().group_by(GroupBy::Task).json(&profile).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let groups = value["groups"].as_array().unwrap().iter();
    let tasks: Vec<_> = groups
        .map(|group| (group["task"].as_str(), group["task_name"].as_str()))
        .collect();
    assert_eq!(tasks, [(Some("0xb"), Some("fetch")), (Some("0xa"), None)]);
}

#[test]
fn sleep_and_rest_lower_the_utilization() {
    let mut profile = app();
    for sample in &mut profile.samples[..3] {
        sample.state = State::Sleeping;
    }
    check_rows(
        &profile,
        report().group_by(GroupBy::Thread).maxdepth(0),
        expect![[r#"
            ⋮
            Thread 1 (default) Total snapshots: 6. Utilization: 50%
             ╎6 @App/app.jl:10  main()

            Thread 2 (default) Total snapshots: 2. Utilization: 100%
             ╎2 @App/app.jl:10  main()

        "#]],
    );
    let mut profile = app();
    for (number, alive) in [(1, 10), (2, 40)] {
        let thread = profile.threads.find_number(number).unwrap();
        profile.threads.get_mut(thread).alive = Some(Nanos(alive * 1_000_000));
    }
    check(
        &profile,
        report().maxdepth(0),
        expect![[r#"
        Overhead ╎ [+additional indent] Count File:Line  Function
        =========================================================
         ╎8 @App/app.jl:10  main()
        Total snapshots: 8. Utilization: 16% across all threads and tasks. Use `group_by` to break down by thread and/or task.
    "#]],
    );
    check_rows(
        &profile,
        report().group_by(GroupBy::Thread).maxdepth(0),
        expect![[r#"
            ⋮
            Thread 1 (default) Total snapshots: 6. Utilization: 60%
             ╎6 @App/app.jl:10  main()

            Thread 2 (default) Total snapshots: 2. Utilization: 5%
             ╎2 @App/app.jl:10  main()

        "#]],
    );
}

#[test]
fn a_wall_time_profile_has_no_utilization() {
    let mut profile = app();
    profile.samples[5].state = State::WallRunning;
    check(
        &profile,
        report().maxdepth(0),
        expect![[r#"
        Overhead ╎ [+additional indent] Count File:Line  Function
        =========================================================
         ╎8 @App/app.jl:10  main()
        Total snapshots: 8
    "#]],
    );
    check_rows(
        &profile,
        report().group_by(GroupBy::Thread).maxdepth(0),
        expect![[r#"
            ⋮
            Thread 1 (default) Total snapshots: 6
             ╎6 @App/app.jl:10  main()

            Thread 2 (default) Total snapshots: 2. Utilization: 100%
             ╎2 @App/app.jl:10  main()

        "#]],
    );
}

#[test]
fn a_group_of_c_frames_alone_is_warned_about() {
    let (mut profile, thread, task) = empty();
    let idle = profile.hand_made_thread(2, "idle");
    let main = location(&mut profile, 1, &[frame("main", "m.rs", 1)]);
    let wait = FrameKey {
        function: "poll",
        file: "libc.so",
        ..FrameKey::default()
    };
    let wait = location(&mut profile, 2, &[wait]);
    samples(&mut profile, 1, &[main], thread, task);
    samples(&mut profile, 3, &[wait], idle, task);
    let by_thread = report().group_by(GroupBy::Thread);
    check(
        &profile,
        by_thread.clone(),
        expect![[r#"
        Overhead ╎ [+additional indent] Count File:Line  Function
        =========================================================
        Thread 1 (default) Total snapshots: 1. Utilization: 100%
        1╎1 m.rs:1  main

        Thread 2 (idle) Total snapshots: 3

        Warning: no samples were collected in one or more groups. They may be idle threads; or all their frames are C, which `c(true)` shows; or run the program longer (perhaps by running it several times), or adjust the delay between samples with `profundo::init`.
    "#]],
    );
    check(
        &profile,
        by_thread.clone().c(true),
        expect![[r#"
        Overhead ╎ [+additional indent] Count File:Line  Function
        =========================================================
        Thread 1 (default) Total snapshots: 1. Utilization: 100%
        1╎1 m.rs:1  main

        Thread 2 (idle) Total snapshots: 3. Utilization: 100%
        3╎3 libc.so:?  poll

    "#]],
    );
    check(
        &profile,
        by_thread.format(Format::Flat),
        expect![[r#"
        Thread 1 (default) Total snapshots: 1. Utilization: 100%
         Count  Overhead File    Line Function
         =====  ======== ====    ==== ========
             1         1 m.rs       1 main

        Thread 2 (idle) Total snapshots: 3

        Warning: no samples were collected in one or more groups. They may be idle threads; or all their frames are C, which `c(true)` shows; or run the program longer (perhaps by running it several times), or adjust the delay between samples with `profundo::init`.
    "#]],
    );
}

#[test]
fn every_grouping_of_every_choice_of_threads_has_text() {
    let mut seen = 0;
    for (_, by) in GroupBy::CHOICES {
        let choices: [Numbers; 5] = [
            (1..).into(),
            1.into(),
            (1..=1).into(),
            (1..=2).into(),
            [1, 2].into(),
        ];
        for threads in choices {
            for format in [Format::Tree, Format::Flat] {
                let report = report()
                    .group_by(by.clone())
                    .threads(threads.clone())
                    .format(format);
                let text = report.render(&app()).unwrap();
                assert!(
                    text.contains("main()"),
                    "{by:?} {threads:?} {format:?}: {text}"
                );
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 90);
}

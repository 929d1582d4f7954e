//! Colours and hyperlinks, with the escape sequences written out.

use expect_test::{Expect, expect};
use profundo_model::{FrameKey, Profile, State};
use profundo_report::{Format, GroupBy, Report, When};

use crate::fixture::{app, frame, one_stack, report};

/// Shows ESC as `^`.
fn check_escaped(profile: &Profile, report: Report, expected: Expect) {
    let text = report.render(profile).unwrap();
    expected.assert_eq(&text.replace('\x1b', "^"));
}

fn colored() -> Report {
    report().colors(When::Always).hyperlinks(When::Never)
}

#[test]
fn a_row_with_overhead_is_bold_and_a_prefix_has_a_color() {
    check_escaped(
        &app(),
        colored(),
        expect![[r#"
            Overhead ╎ [+additional indent] Count File:Line  Function
            =========================================================
             ╎8 ^[35m@App^[0m/app.jl:10  main()
             ╎ 5 ^[35m@App^[0m/app.jl:20  alpha(n::Int64)
            ^[1m5╎  5 ^[0m^[1;36m@Base^[0m^[1m/^[0m^[1mreduce.jl:7^[0m^[1m  sum(v)^[0m
            ^[1m1╎ 3 ^[0m^[1;35m@App^[0m^[1m/app.jl:31^[0m^[1m  beta(x)^[0m
            ^[1m2╎  2 ^[0m^[1;35m@App^[0m^[1m/app.jl:41^[0m^[1m  inl(x)^[0m
            Total snapshots: 8. Utilization: 100% across all threads and tasks. Use `group_by` to break down by thread and/or task.
        "#]],
    );
    check_escaped(
        &app(),
        colored().format(Format::Flat),
        expect![[r#"
         Count  Overhead File             Line Function
         =====  ======== ====             ==== ========
             5         0 ^[35m@App^[0m/app.jl        20 alpha(n::Int64)
             3         1 ^[35m@App^[0m/app.jl        31 beta(x)
             2         2 ^[35m@App^[0m/app.jl        41 inl(x)
             8         0 ^[35m@App^[0m/app.jl        10 main()
             5         5 ^[36m@Base^[0m/reduce.jl     7 sum(v)
        Total snapshots: 8. Utilization: 100% across all threads and tasks. Use `group_by` to break down by thread and/or task.
    "#]],
    );
}

#[test]
fn what_slept_is_gray() {
    let mut profile = app();
    for sample in &mut profile.samples[..5] {
        sample.state = State::Sleeping;
    }
    check_escaped(
        &profile,
        colored(),
        expect![[r#"
            Overhead ╎ [+additional indent] Count File:Line  Function
            =========================================================
             ╎8 ^[35m@App^[0m/app.jl:10  main()
             ╎ ^[90m5^[0m ^[35m@App^[0m/app.jl:20  ^[90malpha(n::Int64)^[0m
            ^[1;90m5^[0m^[1m╎  ^[0m^[1;90m5^[0m^[1m ^[0m^[1;36m@Base^[0m^[1m/^[0m^[1mreduce.jl:7^[0m^[1m  ^[0m^[1;90msum(v)^[0m
            ^[1m1╎ 3 ^[0m^[1;35m@App^[0m^[1m/app.jl:31^[0m^[1m  beta(x)^[0m
            ^[1m2╎  2 ^[0m^[1;35m@App^[0m^[1m/app.jl:41^[0m^[1m  inl(x)^[0m
            Total snapshots: 8. Utilization: 38% across all threads and tasks. Use `group_by` to break down by thread and/or task.
        "#]],
    );
}

#[test]
fn the_standard_library_is_gray_and_crates_take_turns() {
    let prefixes = [
        "@std", "@a", "@core", "@b", "@c", "@alloc", "@d", "@e", "@a",
    ];
    let names: Vec<String> = (0..prefixes.len())
        .map(|number| format!("f{number}"))
        .collect();
    let paths: Vec<String> = prefixes
        .iter()
        .map(|prefix| format!("/x/{prefix}/lib.rs"))
        .collect();
    let frames: Vec<FrameKey<'_>> = (prefixes.iter().zip(&names).zip(&paths))
        .map(|((prefix, name), path)| FrameKey {
            prefix,
            rest: "/lib.rs",
            ..frame(name, path, 1)
        })
        .collect();
    check_escaped(
        &one_stack(&frames),
        colored(),
        expect![[r#"
            Overhead ╎ [+additional indent] Count File:Line  Function
            =========================================================
             ╎1 ^[90m@std^[0m/lib.rs:1  f0
             ╎ 1 ^[35m@a^[0m/lib.rs:1  f1
             ╎  1 ^[90m@core^[0m/lib.rs:1  f2
             ╎   1 ^[36m@b^[0m/lib.rs:1  f3
             ╎    1 ^[32m@c^[0m/lib.rs:1  f4
             ╎     1 ^[90m@alloc^[0m/lib.rs:1  f5
             ╎    ╎ 1 ^[33m@d^[0m/lib.rs:1  f6
             ╎    ╎  1 ^[35m@e^[0m/lib.rs:1  f7
            ^[1m1╎    ╎   1 ^[0m^[1;35m@a^[0m^[1m/lib.rs:1^[0m^[1m  f8^[0m
            Total snapshots: 1. Utilization: 100% across all threads and tasks. Use `group_by` to break down by thread and/or task.
        "#]],
    );
}

#[test]
fn headings_and_empty_groups_have_colors() {
    let grouped = colored().group_by(GroupBy::ThreadTask).maxdepth(0);
    check_escaped(
        &app(),
        grouped,
        expect![[r#"
        Overhead ╎ [+additional indent] Count File:Line  Function
        =========================================================
        ^[1;36mThread 1 (default)^[0m
         ^[1;34mTask 0x000000000000000b^[0m Total snapshots: 1. Utilization: 100%
         ╎1 ^[35m@App^[0m/app.jl:10  main()

         ^[1;34mTask 0x000000000000000a^[0m Total snapshots: 5. Utilization: 100%
         ╎5 ^[35m@App^[0m/app.jl:10  main()

        ^[1;36mThread 2 (default)^[0m ^[1;34mTask 0x000000000000000b^[0m Total snapshots: 2. Utilization: 100%
         ╎2 ^[35m@App^[0m/app.jl:10  main()

    "#]],
    );
    let only_c = one_stack(&[FrameKey {
        function: "poll",
        ..FrameKey::default()
    }]);
    check_escaped(
        &only_c,
        colored().group_by(GroupBy::Task),
        expect![[r#"
        Overhead ╎ [+additional indent] Count File:Line  Function
        =========================================================
        ^[1;34mTask 0x000000000000000a^[0m Total snapshots: ^[33m1^[0m

        ^[1;33mWarning:^[0m no samples were collected in one or more groups. They may be idle threads; or all their frames are C, which `c(true)` shows; or run the program longer (perhaps by running it several times), or adjust the delay between samples with `profundo::init`.
    "#]],
    );
}

#[test]
fn a_cut_keeps_the_escape_sequences_whole() {
    check_escaped(
        &app(),
        colored().width(20).c(true),
        expect![[r#"
            Overhead ╎ [+additional indent] Count File:Line  Function
            =========================================================
             ╎8 ^[35m@App^[0m/app.jl:10 …
             ╎ 5 ^[35m@App^[0m/app.jl:20…
            ^[1m3╎  5 ^[0m^[1;36m@Base^[0m^[1m/^[0m^[1m…ce.jl:…^[0m
            ^[1m2╎   2 ^[0m^[1mlibc.so:?^[0m^[1m  m…^[0m
            ^[1m1╎ 3 ^[0m^[1;35m@App^[0m^[1m/app.jl:31…^[0m
            ^[1m2╎  2 ^[0m^[1;35m@App^[0m^[1m/app.jl:4…^[0m
            Total snapshots: 8. Utilization: 100% across all threads and tasks. Use `group_by` to break down by thread and/or task.
        "#]],
    );
}

#[test]
fn automatic_is_for_terminals() {
    let plain = report().render(&app()).unwrap();
    assert!(!plain.contains('\x1b'));
    let never = report()
        .terminal(true)
        .colors(When::Never)
        .render(&app())
        .unwrap();
    assert_eq!(plain, never);
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    let terminal = report().terminal(true).render(&app()).unwrap();
    assert_eq!(terminal.contains("\x1b[1m"), !no_color && !is_dumb);
}

#[test]
fn a_line_that_exists_is_a_link() {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs");
    let known = FrameKey {
        prefix: "@report",
        rest: "/src/lib.rs",
        ..frame("here", here, 7)
    };
    let profile = one_stack(&[
        known,
        frame("gone", "/zzz/gone.rs", 8),
        frame("rel", "a.rs", 1),
    ]);
    let linked = report().hyperlinks(When::Always).editor("code");
    let check = |report: Report, expected: Expect| {
        let text = report.render(&profile).unwrap();
        let text = text
            .replace('\x1b', "^")
            .replace(env!("CARGO_MANIFEST_DIR"), "/HERE");
        expected.assert_eq(&text);
    };
    check(
        linked.clone(),
        expect![[r#"
            Overhead ╎ [+additional indent] Count File:Line  Function
            =========================================================
             ╎1 @report^]8;;vscode://file/HERE/src/lib.rs:7^\/src/lib.rs:7^]8;;^\  here
             ╎ 1 /zzz/gone.rs:8  gone
            1╎  1 a.rs:1  rel
            Total snapshots: 1. Utilization: 100% across all threads and tasks. Use `group_by` to break down by thread and/or task.
        "#]],
    );
    check(
        linked.format(Format::Flat).colors(When::Always),
        expect![[r#"
             Count  Overhead File                 Line Function
             =====  ======== ====                 ==== ========
                 1         0 ^[35m@report^[0m^]8;;vscode://file/HERE/src/lib.rs:7^\/src/lib.rs^]8;;^\      7 here
                 1         0 /zzz/gone.rs            8 gone
                 1         1 a.rs                    1 rel
            Total snapshots: 1. Utilization: 100% across all threads and tasks. Use `group_by` to break down by thread and/or task.
        "#]],
    );
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let profile = one_stack(&[frame("a\x1b[31mb\nc", "d\x07.rs", 1)]);
    for (_, format) in Format::CHOICES {
        let text = report().format(format).render(&profile).unwrap();
        assert!(text.contains("a\u{fffd}[31mb\u{fffd}c"), "{text}");
        assert!(!text.contains(['\x1b', '\x07']));
    }
}

#[test]
fn the_commands_reports_have_short_names_of_files() {
    use profundo_report::{Choices, Format, Report};
    let profile = crate::mixed::python();
    let report = |choices, format| {
        let report = Report::new().choices(choices).format(format).width(200);
        report.render(&profile).unwrap()
    };
    for format in [Format::Tree, Format::Flat] {
        let short = report(Choices::command(), format);
        assert!(!short.contains("/nowhere/"), "{short}");
        assert!(!short.contains("/usr/lib/"), "{short}");
        assert!(
            short.contains("confidence.py") && short.contains("random.py"),
            "{short}"
        );
        // In the library's reports they are as the profile has them.
        assert!(report(Choices::new(), format).contains("/nowhere/confidence/confidence.py"));
    }
}

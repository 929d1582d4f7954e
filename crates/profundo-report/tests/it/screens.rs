//! Wide and narrow screens, and files.

use expect_test::expect;
use profundo_model::FrameKey;
use profundo_report::{Format, Report};
use profundo_testing::Folder;

use crate::fixture::{check_rows, deep, frame, one_stack, report};

#[test]
fn a_wide_screen_shows_more_of_a_path() {
    let file = "/home/somebody/projects/with/a/very/deep/directory/structure/source.rs";
    let key = FrameKey {
        prefix: "@my-crate",
        rest: &file[14..],
        ..frame("run", file, 7)
    };
    let profile = one_stack(&[
        key,
        frame("run_some_longer_function_name_of_a_crate", "b.rs", 1),
    ]);
    for (width, tree, flat) in [
        (
            40,
            expect![[r#"
            ⋮
             ╎1 @my-crate…s:7  run
            1╎ 1 b.rs:1  run_some_longer_function_n…
        "#]],
            expect![[r#"
            ⋮
                 1         0 @my-crate…     7 run
                 1         1 b.rs         1 run_some_lo…
        "#]],
        ),
        (
            80,
            expect![[r#"
            ⋮
             ╎1 @my-crate…cture/source.rs:7  run
            1╎ 1 b.rs:1  run_some_longer_function_name_of_a_crate
        "#]],
            expect![[r#"
            ⋮
                 1         0 @my-crate…re/source.rs     7 run
                 1         1 b.rs                       1 run_some_longer_function_name_of…
        "#]],
        ),
        (
            160,
            expect![[r#"
            ⋮
             ╎1 @my-crate…/with/a/very/deep/directory/structure/source.rs:7  run
            1╎ 1 b.rs:1  run_some_longer_function_name_of_a_crate
        "#]],
            expect![[r#"
            ⋮
                 1         0 @my-crate/projects/with/a/very/deep/directory/structure/source.rs      7 run
                 1         1 b.rs                                                                   1 run_some_longer_function_name_of_a_crate
        "#]],
        ),
    ] {
        check_rows(&profile, report().width(width), tree);
        check_rows(&profile, report().width(width).format(Format::Flat), flat);
    }
}

#[test]
fn wide_characters_take_two_columns() {
    let profile = one_stack(&[frame("漢字漢字漢字漢字", "src/漢字/漢字漢字漢字漢字.rs", 7)]);
    check_rows(
        &profile,
        report().width(31),
        expect![[r#"
        ⋮
        1╎1 …字漢字.rs:7  漢字漢字漢字…
    "#]],
    );
    check_rows(
        &profile,
        report().width(50).format(Format::Flat),
        expect![[r#"
            ⋮
                 1         1 …字漢字.rs     7 漢字漢字漢字漢…
        "#]],
    );
}

#[test]
fn a_tiny_screen_is_survived() {
    for width in 1..40 {
        for (_, format) in Format::CHOICES {
            let text = report()
                .width(width)
                .format(format)
                .render(&deep(30))
                .unwrap();
            assert!(text.contains("Total snapshots: 1."));
        }
    }
    check_rows(
        &deep(3),
        report().width(1),
        expect![[r#"
        ⋮
        …
        …
        …
    "#]],
    );
}

#[test]
fn a_file_is_wide() {
    let folder = Folder::new("report");
    let path = folder.join("report.txt");
    for format in [Format::Tree, Format::Flat] {
        Report::new()
            .format(format)
            .write_to_path(&deep(40), &path)
            .unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.lines().any(|line| line.ends_with("f40")), "{text}");
    }
}

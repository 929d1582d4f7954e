//! Pages with few samples have a remark on that.

use expect_test::expect;

use super::super::super::processes::Sizes;
use super::*;

/// A moment: three samples.
fn few() -> Picture {
    let mut picture = picture();
    let counted = |number, name: &str, at: &str, own| Row {
        own,
        total: own,
        ..row(number, name, at, 0, 0)
    };
    picture.rows = [
        counted(1, "hot", "app.py:26", 2),
        counted(2, "[unknown function]", "libfoo.so.1", 1),
    ]
    .into();
    (picture.is_few, picture.samples, picture.whole) = (true, 3, 3);
    picture.length = 6 * SECOND / 10;
    picture.head.elapsed = 7 * SECOND / 10;
    picture.head.split = Split {
        python: 2,
        native: 1,
        ..Split::default()
    };
    picture.head.is_naming = true;
    picture
}

#[test]
fn few_samples_are_counted_and_the_window_is_as_long_as_it_is() {
    check(
        &mut state(),
        &few(),
        80,
        12,
        &expect![[r#"
            python3 app.py --po… 4711  0.7 s · CPU 99 % · RSS 45.0 MB (+1.20 MB) · 3 threads
            █████████████████████████████▓▓▓▓▓▓▓▓▓▓▓▓▓▓ █ Python 2  ▓ native 1 of 3 samples
             1 Functions  2 Lines  3 Threads  4 Processes       by self · last 0.6 s of 10 s
                 Self    Total  Function
               2 of 3   2 of 3  hot  app.py:26
               1 of 3   1 of 3  [unknown function]  libfoo.so.1




            looking up names…
            ? help  q quit  s sort: self  w window  / filter  Space pause  Enter closer
        "#]],
    );
}

#[test]
fn a_program_that_sleeps_has_a_reason() {
    let mut picture = picture();
    (picture.rows, picture.samples) = ([].into(), 0);
    picture.head.split = Split::default();
    picture.head.asleep = Some("sleeps until a time has come".into());
    check(
        &mut state(),
        &picture,
        80,
        10,
        &expect![[r#"
            python3 app.py --por… 4711  83 s · CPU 99 % · RSS 45.0 MB (+1.20 MB) · 3 threads

             1 Functions  2 Lines  3 Threads  4 Processes    by self · last 10 s · 0 samples
            Self % Nat Sys Total %  Function
              no CPU time was used in these 10.0 s
              its threads end before a sample is due: `-r 1000` samples more often
              the main thread of 4711 sleeps until a time has come
              `--wall` shows where threads wait, and for how long

            ? help  q quit  s sort: self  w window  / filter  Space pause  Enter closer
        "#]],
    );
    // Plain text has it, too.
    let text = plain(&picture, &mut state(), 80, 5);
    assert!(
        text.contains("no CPU time") && text.contains("sleeps"),
        "{text}"
    );
}

#[test]
fn what_is_missing_has_a_row_of_its_own() {
    let mut missing = picture();
    missing.head.unread = Some("2.1 % of the CPU time not readable: broken stack 2.1 %".into());
    let (with, without) = (
        lines(&drawn(&mut state(), &missing, 80, 12)),
        lines(&drawn(&mut state(), &picture(), 80, 11)),
    );
    assert!(
        with[2].starts_with("Missing: 2.1 % of the CPU time"),
        "{}",
        with[2]
    );
    assert_eq!(with[3..], without[2..]);
    let text = plain(&missing, &mut state(), 80, 5);
    assert!(
        text.contains("Missing: 2.1 %") && text.contains("sort"),
        "{text}"
    );
}

#[test]
fn processes_have_memory() {
    let mut picture = picture();
    picture.view = View::Processes;
    picture.head.others = 1;
    let sizes = Sizes {
        cpu: 5 * SECOND,
        length: 10 * SECOND,
        resident: 30_000_000,
        grown: Some(-2_000_000),
        peak: 40_000_000,
        threads: 2,
    };
    let process = |pid, name: &str, sizes: Option<Sizes>| Row {
        key: Key::Process(pid),
        threads: sizes.map_or(0, |sizes| sizes.threads),
        total: sizes.map_or(0, |sizes| sizes.resident),
        split: Split::default(),
        sizes,
        ..row(0, name, &format!("pid {pid}"), 50, 0)
    };
    picture.rows = [
        process(4711, "python3 app.py", Some(sizes)),
        process(4712, "worker", None),
    ]
    .into();
    let mut state = state();
    state.view = View::Processes;
    check(
        &mut state,
        &picture,
        80,
        8,
        &expect![[r#"
            python3 app.py --p… 4711  83 s · CPU 99 % · RSS 45.0 MB (+1.20 MB) · 2 processes
            █████████████████▓▓▓▓▓▓▓▓▓░░░ █ Python 60.0 %  ▓ native 30.0 %  ░ system 10.0 %
             1 Functions  2 Lines  3 Threads  4 Processes   by CPU · last 10 s · 987 samples
             CPU %   Memory   Growth     Peak Threads  Process
              50.0  30.0 MB −2.00 MB  40.0 MB       2  python3 app.py  pid 4711
                 ?        ?        ?        ?       ?  worker  pid 4712

            ? help  q quit  s sort: CPU  w window  / filter  Space pause  Enter closer
        "#]],
    );
}

#[test]
fn a_long_message_leaves_the_keys() {
    let picture = picture();
    let area = Rect::new(0, 0, 80, 12);
    let mut buffer = Buffer::empty(area);
    let around = Surroundings {
        output: Some(Path::new("/tmp/profundo-top.python3.13006.out")),
        ..Surroundings::default()
    };
    draw(&mut buffer, area, &mut state(), Some(&picture), around);
    let text = lines(&buffer);
    assert_eq!(text[10], "output: /tmp/profundo-top.python3.13006.out");
    assert!(text[11].starts_with("? help") && text[11].ends_with("Enter closer"));
}

#[test]
fn the_filter_and_the_order_are_seen() {
    let mut state = state();
    state.filter = "hot".into();
    state.reversed = true;
    let text = lines(&drawn(&mut state, &picture(), 120, 12));
    assert!(
        text[2].contains("by self, reversed · /hot · last 10 s"),
        "{}",
        text[2]
    );
    assert!(text[11].contains("/hot  Esc all"), "{}", text[11]);
}

#[test]
fn a_place_is_not_cut_for_a_long_name() {
    let mut picture = picture();
    let name = "std::vector<std::pair<long, long>>::_M_realloc_insert";
    picture.rows = [row(1, name, "app.cpp:90", 50, 100)].into();
    let text = lines(&drawn(&mut state(), &picture, 60, 8));
    assert!(text[4].ends_with("_insert  app.cpp:90"), "{}", text[4]);
}

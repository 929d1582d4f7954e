//! Pages as they look in a small terminal.

use expect_test::{Expect, expect};
use profundo_analysis::Split;
use profundo_model::{FileId, StringId, ThreadId, Wait};

use super::super::picture::{Detail, Head, Key, Memory, Row, View};
use super::super::window::Span;
use super::*;

mod truth;

const SECOND: u64 = 1_000_000_000;

fn row(number: u32, name: &str, at: &str, own: u64, total: u64) -> Row {
    Row {
        key: Key::Function(StringId(number), FileId(0)),
        name: name.into(),
        at: at.into(),
        own: own * SECOND / 10,
        total: total * SECOND / 10,
        split: Split {
            python: own * SECOND / 20,
            native: own * SECOND / 20,
            ..Split::default()
        },
        threads: 1,
        sizes: None,
    }
}

/// Ten seconds of a program with a few functions.
pub fn picture() -> Picture {
    Picture {
        view: View::Functions,
        span: Span::Last(10),
        length: 10 * SECOND,
        head: Head {
            command: "python3 app.py --port 8080".into(),
            pid: 4711,
            elapsed: 83 * SECOND,
            cpu: 0.987,
            own_cpu: 0.0042,
            rate: 98.7,
            split: Split {
                python: 60,
                native: 30,
                system: 10,
                waiting: 0,
                unreadable: 0,
            },
            threads: 3,
            memory: Some(Memory {
                resident: 45_000_000,
                grown: Some(1_200_000),
                peak: Some(50_000_000),
            }),
            ..Head::default()
        },
        rows: [
            row(1, "main", "app.py:90", 0, 100),
            row(2, "漢字の関数", "app.py:7", 30, 30),
            row(3, "hot", "app.py:26", 60, 70),
            row(4, "sort", "list.c:1", 10, 10),
        ]
        .into(),
        whole: 10 * SECOND,
        is_few: false,
        samples: 987,
        detail: None,
    }
}

fn state() -> State {
    State::new(Span::Last(10), false)
}

fn drawn(state: &mut State, picture: &Picture, width: u16, height: u16) -> Buffer {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    let around = Surroundings {
        colors: true,
        ..Surroundings::default()
    };
    draw(&mut buffer, area, state, Some(picture), around);
    buffer
}

fn check(state: &mut State, picture: &Picture, width: u16, height: u16, expected: &Expect) {
    let text = lines(&drawn(state, picture, width, height)).join("\n") + "\n";
    for line in text.lines() {
        assert!(super::width(line) <= usize::from(width), "{line:?}");
    }
    expected.assert_eq(&text);
}

#[test]
fn a_page_in_eighty_columns() {
    check(
        &mut state(),
        &picture(),
        80,
        10,
        &expect![[r#"
            python3 app.py --por… 4711  83 s · CPU 99 % · RSS 45.0 MB (+1.20 MB) · 3 threads
            █████████████████▓▓▓▓▓▓▓▓▓░░░ █ Python 60.0 %  ▓ native 30.0 %  ░ system 10.0 %
             1 Functions  2 Lines  3 Threads  4 Processes  by self · last 10 s · 987 samples
            Self %  Py Nat Sys Total %  Function
              60.0  30  30        70.0  hot  app.py:26
              30.0  15  15        30.0  漢字の関数  app.py:7
              10.0   5   5        10.0  sort  list.c:1


            ? help  q quit  s sort: self  w window  / filter  Space pause  Enter closer
        "#]],
    );
}

#[test]
fn a_narrow_page_leaves_out_what_matters_less() {
    check(
        &mut state(),
        &picture(),
        44,
        9,
        &expect![[r#"
            python3 app.py --port… 4711  83 s · CPU 99 %
             █ Python 60.0 %  ▓ native 30.0 %  ░ system
             1 Functions  2  3  4    by self · last 10 s
            Self % Total %  Function
              60.0    70.0  hot  app.py:26
              30.0    30.0  漢字の関数  app.py:7
              10.0    10.0  sort  list.c:1

            ? help  q quit  s sort: self  w window
        "#]],
    );
    check(
        &mut state(),
        &picture(),
        26,
        7,
        &expect![[r#"
            pyt… 4711  83 s · CPU 99 %
             █ Python 60.0 %  ▓ native
             1 Functions  2  3  4  … s
            Self %  Function
              60.0  hot  app.py:26
              30.0  …の関数  app.py:7
            ? help  q quit  w window
        "#]],
    );
    check(
        &mut state(),
        &picture(),
        20,
        4,
        &expect![[r#"
            too small (24 × 6)
            q quits


        "#]],
    );
}

#[test]
fn threads_and_waits_have_their_own_columns() {
    let mut threads = picture();
    threads.view = View::Threads;
    let mut thread = row(0, "worker", "tid 4712", 80, 90);
    thread.key = Key::Thread(ThreadId(1));
    thread.split.waiting = SECOND;
    threads.rows = [thread].into();
    let mut state = State::new(Span::SinceStart, true);
    state.view = View::Threads;
    check(
        &mut state,
        &threads,
        60,
        7,
        &expect![[r#"
            python3 app.… 4711  83 s · CPU 99 % · RSS 45.0 MB (+1.20 MB)
            █████▓▓▓░ █ Python 60.0 %  ▓ native 30.0 %  ░ system 10.0 %
             1  2  3 Threads  4  5              by CPU · since the start
             CPU %  Py Nat Sys Wait  Thread
              80.0  40  40       10  worker  tid 4712

            ? help  q quit  s sort: CPU  w window  / filter  Space pause
        "#]],
    );
    let mut waits = picture();
    waits.view = View::Waits;
    let mut wait = row(
        0,
        "waits for the lock at 0x7f00",
        "get  queue.py:81",
        90,
        90,
    );
    wait.key = Key::Wait(Some(Wait::Lock), None, None);
    waits.rows = [wait].into();
    state.view = View::Waits;
    check(
        &mut state,
        &waits,
        60,
        7,
        &expect![[r#"
            python3 app.… 4711  83 s · CPU 99 % · RSS 45.0 MB (+1.20 MB)
            █████▓▓▓░ █ Python 60.0 %  ▓ native 30.0 %  ░ system 10.0 %
             1  2  3  4  5 Waits               by time · since the start
            Time %     Time Threads  Waits for
              90.0   9.00 s       1  waits for the lock at 0x7f00  get …

            ? help  q quit  s sort: time  w window  / filter
        "#]],
    );
    waits.rows = [].into();
    check(
        &mut state,
        &waits,
        60,
        7,
        &expect![[r#"
            python3 app.… 4711  83 s · CPU 99 % · RSS 45.0 MB (+1.20 MB)
            █████▓▓▓░ █ Python 60.0 %  ▓ native 30.0 %  ░ system 10.0 %
             1  2  3  4  5 Waits               by time · since the start
            Time %     Time Threads  Waits for
              nothing waited

            ? help  q quit  s sort: time  w window  / filter
        "#]],
    );
}

#[test]
fn a_closer_look_shows_callers_and_the_hottest_stack() {
    let mut picture = picture();
    let key = Key::Function(StringId(3), FileId(0));
    picture.detail = Some(Detail {
        key,
        name: "hot".into(),
        callers: vec![("main  app.py:90".into(), 6 * SECOND)],
        stack: vec!["hot  app.py:26".into(), "main  app.py:90".into()],
        stack_weight: 5 * SECOND,
        weight: 7 * SECOND,
        whole: 10 * SECOND,
    });
    let mut state = state();
    state.detail = Some(key);
    check(
        &mut state,
        &picture,
        70,
        12,
        &expect![[r#"
            python3 app.py --port … 4711  83 s · CPU 99 % · RSS 45.0 MB (+1.20 MB)
            ███████████▓▓▓▓▓▓░░ █ Python 60.0 %  ▓ native 30.0 %  ░ system 10.0 %
             1 Functions  2 Lines  3 Threads  4 Processes      by self · last 10 s
            hot  70.0 % of the time
            Called by
              60.0 %  main  app.py:90
            Hottest stack, 50.0 %, innermost first
              hot  app.py:26
              main  app.py:90


            ? help  q quit  Esc back  s sort: self  w window  / filter
        "#]],
    );
    // Details of another row are not shown for this one.
    state.detail = Some(Key::Function(StringId(1), FileId(0)));
    assert!(
        !lines(&drawn(&mut state, &picture, 70, 12))
            .join("")
            .contains("Called by")
    );
}

#[test]
fn keys_are_explained() {
    let mut state = state();
    state.help = true;
    check(
        &mut state,
        &picture(),
        80,
        20,
        &expect![[r#"
            python3 app.py --por… 4711  83 s · CPU 99 % · RSS 45.0 MB (+1.20 MB) · 3 threads
            █████████████████▓▓▓▓▓▓▓▓▓░░░ █ Python 60.0 %  ▓ native 30.0 %  ░ system 10.0 %
             1 Functions  2 Lines  3 Threads  4 Processes  by self · last 10 s · 987 samples
             1 2 3 4 5, Tab, ← →     functions, lines, threads, processes (--wall: waits)
             ↑ ↓ PgUp PgDn Home End  choose a row
             Enter                   the chosen row's callers and its hottest stack
             Esc                     back; undo the filter, the choice
             s r                     sort by self, by total, by name; reverse the order
             w W                     the window: 2, 5, 10, 30, 60 s, since the start
             /                       show only what has this in its name or file
             Space                   pause: the page stays as it is, sampling goes on
             Ctrl-L Ctrl-Z           draw the page anew; suspend, `fg` goes on
             q                       leave; a program that top started goes on
             Ctrl-C                  interrupt the program that top started, or leave
             ? h                     this page; any key leaves it
             CPU                     of all processes together; 100 % is one CPU
             RSS (+ −)               memory, its growth in the window; ≤: shared is twice in
             itself                  what profundo takes
             Py Nat Sys Wait Unr     Python, native, system calls, waiting, not readable
            ? help  q quit  Esc back  s sort: self  w window  / filter  Space pause
        "#]],
    );
}

#[test]
fn the_chosen_row_is_seen_and_marked() {
    let mut picture = picture();
    let rows = (0..100).map(|number| {
        row(
            number,
            &format!("f{number:02}"),
            "",
            100 - u64::from(number),
            0,
        )
    });
    picture.rows = rows.collect();
    let mut state = state();
    state.chosen = Some(Key::Function(StringId(50), FileId(0)));
    let buffer = drawn(&mut state, &picture, 60, 12);
    let text = lines(&buffer);
    let at = text
        .iter()
        .position(|line| line.contains("f50"))
        .expect("it is seen");
    for (y, line) in (0..).zip(&text).skip(4).take(7) {
        let is_marked = buffer[(0, y)].modifier.contains(Modifier::REVERSED);
        assert_eq!(is_marked, usize::from(y) == at, "{line}");
    }
    // Fewer rows than were scrolled past.
    state.chosen = None;
    picture.rows = [row(1, "one", "", 1, 1)].into();
    assert!(lines(&drawn(&mut state, &picture, 60, 12))[4].contains("one"));
}

#[test]
fn no_color_is_none() {
    let picture = picture();
    for colors in [true, false] {
        let area = Rect::new(0, 0, 80, 10);
        let mut buffer = Buffer::empty(area);
        let around = Surroundings {
            colors,
            ..Surroundings::default()
        };
        draw(&mut buffer, area, &mut state(), Some(&picture), around);
        let is_colored = buffer.content.iter().any(|cell| cell.fg != Color::Reset);
        assert_eq!(is_colored, colors);
    }
}

#[test]
fn names_do_nothing_to_the_terminal() {
    let mut picture = picture();
    picture.head.command = "\x1b[2Jevil\r\n".into();
    picture.rows = [row(1, "\x1b]0;title\x07\u{202e}name", "\x1b[31m", 1, 1)].into();
    let text = lines(&drawn(&mut state(), &picture, 80, 10)).join("");
    assert!(text.contains("name") && text.contains("evil"), "{text}");
    assert!(!text.contains(char::is_control), "{text:?}");
}

#[test]
fn plain_text_has_all_rows_up_to_a_limit() {
    let text = plain(&picture(), &mut state(), 80, 2);
    expect![[r#"
        python3 app.py --por… 4711  83 s · CPU 99 % · RSS 45.0 MB (+1.20 MB) · 3 threads
        █████████████████▓▓▓▓▓▓▓▓▓░░░ █ Python 60.0 %  ▓ native 30.0 %  ░ system 10.0 %
        Functions                                      by self · last 10 s · 987 samples
        Self %  Py Nat Sys Total %  Function
          60.0  30  30        70.0  hot  app.py:26
          30.0  15  15        30.0  漢字の関数  app.py:7
    "#]]
    .assert_eq(&text);
}

#[test]
fn five_thousand_functions_are_drawn_in_a_frame() {
    let mut picture = picture();
    let rows = (0..5000).map(|number| {
        row(
            number,
            &format!("module{number}.function_{number}"),
            "some/where.py:17",
            u64::from(number % 977),
            1,
        )
    });
    picture.rows = rows.collect();
    let mut state = state();
    let area = Rect::new(0, 0, 200, 60);
    let mut buffer = Buffer::empty(area);
    let mut fastest = std::time::Duration::MAX;
    for filter in ["", "function_4"].repeat(5) {
        state.filter = filter.into();
        let began = std::time::Instant::now();
        draw(
            &mut buffer,
            area,
            &mut state,
            Some(&picture),
            Surroundings::default(),
        );
        fastest = fastest.min(began.elapsed());
    }
    // Without optimisation, on a busy machine: a bound that only a blunder exceeds.
    assert!(fastest.as_millis() < 160, "{fastest:?}");
}

#[test]
fn any_size_has_a_page() {
    let mut picture = picture();
    picture.head.command = "漢字 ".repeat(40);
    picture.head.note = Some("the engine is cpu-timer ".repeat(9));
    picture.head.ended = Some("ended with exit code 3".into());
    picture.detail = Some(Detail {
        key: picture.rows[0].key,
        name: "漢字の関数".repeat(20),
        callers: vec![("x".repeat(500), 3); 40],
        stack: vec!["漢字".repeat(100); 40],
        stack_weight: 1,
        weight: 2,
        whole: 3,
    });
    for width in (0..40).chain((40..150).step_by(11)) {
        for height in [0, 1, 3, 6, 7, 20] {
            for view in View::ALL {
                let mut state = State::new(Span::Last(60), true);
                state.view = view;
                picture.view = view;
                drawn(&mut state, &picture, width, height);
                state.paused = true;
                state.filter = "漢字".repeat(30);
                drawn(&mut state, &picture, width, height);
                state.is_typing = true;
                drawn(&mut state, &picture, width, height);
                state.help = true;
                drawn(&mut state, &picture, width, height);
                state.help = false;
                state.detail = picture.detail.as_ref().map(|detail| detail.key);
                state.above = 1000;
                drawn(&mut state, &picture, width, height);
            }
        }
    }
}

#[test]
fn a_warning_stands_above_the_table() {
    let warning =
        "24.7 % of the CPU time was not sampled or could not be read: signals blocked 24.7 %.";
    let mut warned = picture();
    warned.head.warning = Some(warning.into());
    let (with, without) = (
        plain(&warned, &mut state(), 100, 4),
        plain(&picture(), &mut state(), 100, 4),
    );
    let mut lines: Vec<&str> = with.lines().collect();
    assert_eq!(lines.remove(2), format!("Warning: {warning}"));
    // It takes nothing from the page.
    assert_eq!(lines, without.lines().collect::<Vec<_>>());
    let drawn = drawn(&mut state(), &warned, 80, 12);
    assert!(super::lines(&drawn)[2].starts_with("Warning: 24.7 %"));
    assert!(super::lines(&drawn)[4].contains("Function"));
}

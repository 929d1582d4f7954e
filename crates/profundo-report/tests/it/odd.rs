//! The command's reports on incomplete and odd profiles.

use expect_test::expect;
use profundo_model::{Engine, FrameKey, Language, Nanos, ProcessEnd, Profile, State, Thread};
use profundo_report::{
    Callers, Choices, Filter, Format, Functions, Lines, Look, NextStep, Report, Statprof, Summary,
    View, When,
};
use profundo_testing::Folder;

use crate::mixed::{APP, Maker, crowd, python};

fn look() -> Look {
    Look::new().width(80)
}

/// Every report, as text and as JSON, whatever is in the profile.
fn everything(profile: &Profile, width: usize) -> Vec<(String, String)> {
    let look = Look::new().width(width);
    let command = Choices::command();
    let report = Report::new().choices(command.clone()).look(look.clone());
    let texts = [
        Summary::new()
            .look(look.clone())
            .next([NextStep::new("profundo view", "")])
            .render(profile),
        Lines::new().look(look.clone()).render(profile),
        Lines::new()
            .look(look.clone())
            .all_lines(true)
            .render(profile),
        Functions::new().look(look.clone()).render(profile),
        Callers::both("m").look(look.clone()).render(profile),
        Statprof::new().look(look.clone()).render(profile),
        report.clone().format(Format::Tree).render(profile),
        report.clone().format(Format::Flat).render(profile),
    ];
    let jsons = [
        Summary::new().json(profile),
        Lines::new().json(profile),
        Lines::new().all_lines(true).json(profile),
        Functions::new().json(profile),
        Callers::both("m").json(profile),
        Statprof::new().json(profile),
        report.clone().format(Format::Tree).json(profile),
        report.format(Format::Flat).json(profile),
    ];
    let texts = texts.into_iter().zip(jsons);
    texts
        .map(|(text, json)| (text.unwrap(), json.unwrap()))
        .collect()
}

#[test]
fn no_samples_are_no_samples() {
    let mut maker = Maker::new();
    maker.profile.meta.duration = Nanos(42_000_000);
    maker.profile.processes[0].user = Some(Nanos(900_000));
    maker.profile.processes[0].system = Some(Nanos(100_000));
    maker.profile.processes[0].end = ProcessEnd::Exited(3);
    let profile = maker.profile;
    expect![[r#"
        python3 confidence.py 600000
        exited with 3 · 42.0 ms wall · 1.00 ms CPU (2 %) · 1 process · 1 thread
        Warning: no samples were taken: the program ended with exit code 3 after 1.00 ms of CPU time.
        Quality: 0.000 ms of 1.000 ms CPU time sampled (0.0 %), in the kernel 0.000 ms of 0.100 ms; 0 samples, 0 lost, 0 truncated, 0 broken; perf-signal every 1.000 ms.
        Next: profundo report x
    "#]]
    .assert_eq(&Summary::new().look(look()).next([NextStep::new("profundo report x", "")]).render(&profile).unwrap());
    for (text, json) in everything(&profile, 80) {
        assert!(text.contains("no samples were"), "{text}");
        serde_json::from_str::<serde_json::Value>(&json).unwrap();
    }
    everything(&Profile::default(), 80);
}

#[test]
fn one_sample_is_hardly_sure_of_anything() {
    let mut maker = Maker::new();
    let root = maker.python(APP, "<module>", 60, false);
    maker.samples(1, &[root], State::Running);
    expect![[r#"
        Warning: 100.0 % of the CPU time was not sampled or could not be read: no sample came 100.0 %.
        Self        Total        Samples  Function
        1 of 1      1 of 1             1  <module>  confidence.py:60

        Note: 1 sample is too few for shares: a longer run or a higher rate (--rate) gives more.
        Quality: 0.001 s of 34.900 s CPU time sampled (0.0 %), in the kernel 0.000 ms of 700.000 ms; 1 sample, 0 lost, 0 truncated, 0 broken; perf-signal every 1.000 ms; own cost not known.
    "#]].assert_eq(&Functions::new().look(look()).render(&maker.profile).unwrap());
    everything(&maker.profile, 80);
}

/// Names that want to do something to the terminal, paths without end, and wide characters.
fn hostile() -> Profile {
    let mut maker = Maker::new();
    maker.profile.meta.engine = Engine::Unknown;
    let command = maker.profile.strings.intern("\u{1b}]0;title\u{7} run\nme");
    maker.profile.processes[0].command = command;
    let long = format!("/{}/\u{202e}end.py", "very/long/path/".repeat(40));
    let root = maker.python(
        "/home/\u{9b}me/漢字ファイル名のとても長い名前/主.py",
        "主関数\u{1b}[31m",
        7,
        true,
    );
    let deep = maker.python(&long, &"名".repeat(200), 4_294_967_295, false);
    let native = maker.native(
        "/usr/lib/lib\u{1b}x.so",
        FrameKey {
            function: "",
            ..FrameKey::default()
        },
    );
    let main = maker.native(
        "/bin/x",
        FrameKey {
            function: "m",
            file: "a\tb\n.c",
            line: 1,
            language: Language::Native,
            ..FrameKey::default()
        },
    );
    maker.samples(3, &[root], State::Running);
    maker.samples(9, &[root, deep], State::Running);
    maker.samples(5, &[root, native], State::Running);
    maker.samples(5, &[main, native], State::System);
    let file = maker.profile.file(
        "/home/\u{9b}me/漢字ファイル名のとても長い名前/主.py",
        "",
        "",
    );
    let text = maker
        .profile
        .strings
        .intern("\tprint('\u{1b}[2J漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字')");
    maker.profile.sources.insert(file, 7, text);
    maker.profile
}

#[test]
fn no_name_affects_the_terminal() {
    for width in [1, 10, 40, 80, 200] {
        for (text, json) in everything(&hostile(), width) {
            for character in text.chars().chain(json.chars()) {
                assert!(character == '\n' || !character.is_control(), "{text}");
            }
            let value: serde_json::Value = serde_json::from_str(&json).unwrap();
            assert_eq!(value["profundo"]["schema"], 2);
        }
    }
    expect![[r#"
        �]0;title� run�me
        34.9 s CPU · 1 process · 1 thread · CPython 3.12.1
        Warning: 99.8 % of the CPU time was not sampled or could not be read: no sample came 99.8 %.
        Note: 22 samples are too few for shares: a longer run or a higher rate (--rate) gives more.

        Time          Hottest lines
        5 of 22       a�b�.c:1                                      in m
        9 of 22       �end.py:4294967295                             in 名名名名名名名…
        8 of 22       …e/�me/漢字ファイル名のとても長い名前/主.py:7  print('�[2J漢字漢…

        Self            Total  Hottest functions
        10 of 22     10 of 22  [unknown function]
        9 of 22       9 of 22  名名名名名名名名名名名名名名名名名名…  �end.py:4294967295
        3 of 22      17 of 22  主関数�[31m  …e/�me/漢字ファイル名のとても長い名前/主.py…

        Calls
        m › [unknown function]
        主関数�[31m  /home/�me/漢字ファイル名のとても長い名前/主.py:7
        ├ …名名名名名名名名名名名名名名名名名名名名名名名名名名名名名  �end.py:42949672…
        └ [unknown function]

    "#]]
    .assert_eq(&Summary::new().look(look()).render(&hostile()).unwrap());
}

#[test]
fn tables_are_no_wider_than_the_screen() {
    use unicode_width::UnicodeWidthStr;
    for profile in [hostile(), python(), crowd()] {
        for width in [60, 80, 100, 120, 250] {
            let look = Look::new().width(width);
            let texts = [
                Summary::new()
                    .look(look.clone())
                    .quality(false)
                    .render(&profile),
                Lines::new()
                    .look(look.clone())
                    .quality(false)
                    .render(&profile),
                Functions::new()
                    .look(look.clone())
                    .quality(false)
                    .render(&profile),
                Callers::both("m")
                    .look(look)
                    .quality(false)
                    .render(&profile),
            ];
            for text in texts.map(Result::unwrap) {
                for line in text.lines() {
                    let is_sentence = line.ends_with('.') || line.ends_with(").");
                    assert!(
                        is_sentence || line.width() <= width,
                        "{width}: {line:?}\n{text}"
                    );
                }
            }
        }
    }
}

#[test]
fn thousands_of_threads_are_a_few_lines() {
    let mut maker = Maker::new();
    let root = maker.python(APP, "<module>", 60, false);
    for number in 2..5000 {
        let thread = Thread {
            number,
            tid: number as u32,
            ..Thread::default()
        };
        maker.on_thread(thread, "pool");
        maker.samples(number % 3, &[root], State::Running);
    }
    let text = Summary::new().look(look()).render(&maker.profile).unwrap();
    assert!(text.lines().count() < 30, "{text}");
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("thread"))
        .collect();
    expect![[r#"
        34.9 s CPU · 1 process · 4999 threads · CPython 3.12.1
          99.8     4.99 s 100          4993 more threads"#]]
    .assert_eq(&rows.join("\n"));
}

#[test]
fn a_filter_shows_how_much_passes() {
    let choices = Choices::command().filter(Filter::default().file("*/random.py").to_seconds(2.0));
    expect![[r#"
        Self %      Total %       Py Nat Sys Samples  Function
         100.0 ±0.3  100.0 ±0.3  100            1100  …w_with_getrandbits  random.py:242
                     100.0 ±0.3  100            1100  <module>  confidence.py:60
                     100.0 ±0.3  100            1100  bootstrap  confidence.py:29
                     100.0 ±0.3  100            1100  main  confidence.py:54
                     100.0 ±0.3  100            1100  resample  confidence.py:16
                     100.0 ±0.3  100            1100  Random.randint  random.py:336
                     100.0 ±0.3  100            1100  Random.randrange  random.py:319

        Only: file=*/random.py to=2: 1100 of 4960 samples (22.2 %).
        Quality: 5.014 s of 5.021 s CPU time sampled (99.9 %), in the kernel 60.000 ms of 61.000 ms; 4960 samples, 0 lost, 0 truncated, 0 broken; perf-signal every 1.000 ms, in the kernel every few ms; own cost 0.6 %; shares are ± 2.9 points (95 %).
    "#]].assert_eq(
        &(Functions::new()
            .choices(choices.clone())
            .look(look())
            .render(&python()))
        .unwrap(),
    );
    expect![[r#"
        random.py  100.0 % of the time ±0.3
        Time %               Py Nat Sys Line  Source
         100.0 ±0.3  █████  100          242
        (source not found)

        Only: file=*/random.py to=2: 1100 of 4960 samples (22.2 %).
    "#]]
    .assert_eq(
        &(Lines::new()
            .choices(choices)
            .look(look())
            .quality(false)
            .render(&python()))
        .unwrap(),
    );
    let nothing = Choices::command().filter(Filter::default().thread("nobody").process("1"));
    expect![[r#"
        Warning: no samples pass the filter: thread=nobody process=1.
    "#]]
    .assert_eq(
        &Lines::new()
            .choices(nothing)
            .look(look())
            .quality(false)
            .render(&python())
            .unwrap(),
    );
}

#[test]
fn colours_say_nothing_that_the_text_does_not() {
    let plain = Summary::new().look(look()).render(&python()).unwrap();
    let look = look().colors(When::Always).hyperlinks(When::Never);
    let colored = Summary::new().look(look).render(&python()).unwrap();
    let mut bare = String::new();
    let mut rest = colored.as_str();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        bare.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    bare.push_str(rest);
    assert_eq!(bare, plain);
    assert_ne!(colored, plain);
}

#[test]
fn recursion_may_be_as_deep_as_it_likes() {
    let mut maker = Maker::new();
    let root = maker.python(APP, "<module>", 60, true);
    let one = maker.python(APP, "even", 2, true);
    let other = maker.python(APP, "odd", 5, true);
    let mut stack = vec![root];
    for _ in 0..25_000 {
        stack.extend([one, other]);
    }
    maker.samples(3, &stack, State::Running);
    let text = Summary::new().look(look()).render(&maker.profile).unwrap();
    let tree: Vec<&str> = text.lines().filter(|line| line.contains('›')).collect();
    expect!["<module> › even › odd  confidence.py:5"].assert_eq(&tree.join("\n"));
    everything(&maker.profile, 80);
}

#[test]
fn source_that_was_changed_is_not_shown() {
    let folder = Folder::new("source");
    let path = folder.write("app.py", "def f():\n\treturn 1\n\n\nf()\n");
    let mut maker = Maker::new();
    maker.profile.meta.engine = Engine::Unknown;
    let text = path.to_str().unwrap();
    let (root, leaf) = (
        maker.python(text, "<module>", 5, true),
        maker.python(text, "f", 2, false),
    );
    maker.samples(9, &[root, leaf], State::Running);
    maker.samples(1, &[root], State::Running);
    let show = |profile: &Profile| {
        let text = Lines::new()
            .look(look())
            .context(1)
            .quality(false)
            .render(profile)
            .unwrap();
        // The folder has another name each time.
        let (_, lines) = text.split_once('\n').unwrap();
        lines.to_owned()
    };
    // The time of the recording is unknown: the file is trusted, until the recording shows
    // otherwise.
    expect![[r#"
        Time                Line  Source
                               1  def f():
        9 of 10                2      return 1
                               3
                               4
        1 of 10                5  f()

        Note: 10 samples are too few for shares: a longer run or a higher rate (--rate) gives more.
    "#]]
    .assert_eq(&show(&maker.profile));
    maker.profile.meta.started_at_unix = 1_000_000_000_000_000_000;
    expect![[r#"
        Time                Line  Source
        9 of 10                2
                               ⋮
        1 of 10                5
        (source changed since the recording)

        Note: 10 samples are too few for shares: a longer run or a higher rate (--rate) gives more.
    "#]]
    .assert_eq(&show(&maker.profile));
    maker.profile.meta.started_at_unix = 4_000_000_000_000_000_000;
    let before = show(&maker.profile);
    assert!(before.contains("return 1"), "{before}");
    let file = maker.profile.file(text, "", "");
    let kept = maker.profile.strings.intern("\treturn 2");
    maker.profile.sources.insert(file, 2, kept);
    // What the profile carries is what ran.
    expect![[r#"
        Time                Line  Source
        9 of 10                2  return 2
                               ⋮
        1 of 10                5
        (source changed since the recording)

        Note: 10 samples are too few for shares: a longer run or a higher rate (--rate) gives more.
    "#]]
    .assert_eq(&show(&maker.profile));
    let bare = Lines::new()
        .look(look())
        .from_disk(false)
        .render(&maker.profile)
        .unwrap();
    assert!(bare.contains("source not found"), "{bare}");
}

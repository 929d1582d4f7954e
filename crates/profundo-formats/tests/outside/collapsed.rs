//! Collapsed stacks, by the rules of their readers: `flamegraph.pl`, inferno, speedscope.

use std::collections::BTreeMap;

use profundo_formats::export::{Format, Merge, Options, Weights};
use profundo_model::{Avma, CodeAddress, FrameKey, Language, LocationKind, Profile, Sample, State};
use profundo_testing::skip;

use crate::{made, tables, text, tools};

/// Own weights by the last frame of each line, read like `flamegraph.pl` does.
fn own(text: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for line in text.lines() {
        let (stack, weight) = line.rsplit_once(' ').expect("a weight ends the line");
        let weight: u64 = weight.parse().expect("a weight is a number");
        // It takes a second number at the end for another profile's weight.
        let before = stack.rsplit(' ').next().unwrap();
        let is_number = before.parse::<f64>().is_ok() && stack.contains(' ');
        assert!(!is_number, "two weights: {line}");
        assert!(
            stack.split(';').all(|name| !name.trim().is_empty()),
            "{line}"
        );
        let leaf = stack.rsplit(';').next().unwrap();
        *sums.entry(leaf.to_owned()).or_default() += weight;
    }
    sums
}

/// Our own numbers, by the weights alone: names change where they would break a line.
fn ours(profile: &Profile, weights: Weights, include_runtime: bool) -> Vec<u64> {
    let functions = tables::functions(profile, include_runtime);
    let mut own: Vec<u64> = (functions.values())
        .map(|numbers| match weights {
            Weights::Samples => numbers.own_count,
            Weights::Time => numbers.own_time,
        })
        .filter(|&own| own > 0)
        .collect();
    own.sort_unstable();
    own
}

#[test]
fn own_weights_are_those_of_our_tables() {
    for profile in [made::odd(), made::odd_wall(), made::large(20_000)] {
        for (weights, include_runtime) in [
            (Weights::Samples, false),
            (Weights::Time, false),
            (Weights::Time, true),
        ] {
            let options = Options {
                weights: Some(weights),
                include_runtime,
                ..Options::default()
            };
            let text = text(&profile, Format::COLLAPSED, &options);
            let mut sums: Vec<u64> = own(&text).into_values().collect();
            sums.sort_unstable();
            assert_eq!(sums, ours(&profile, weights, include_runtime));
        }
    }
}

#[test]
fn names_are_whole_and_break_nothing() {
    let text = text(&made::odd(), Format::COLLAPSED, &Options::default());
    let expected = "\
[runtime] 63
[truncated];operator new[](a: b)  \"quoted\" <T> & ünïcødé 漢字 ]]> 12;init (/srv/src/a.c) 3
[unknown];tcp_sendmsg 11
";
    for line in expected.lines() {
        assert!(text.lines().any(|other| other == line), "{line} in\n{text}");
    }
    assert!(text.contains("]]>_12 43\n"), "{text}");
    assert!(
        text.contains("init (/srv/src/b.c);[unknown in server] 23\n"),
        "{text}"
    );
    assert!(text.contains("<module> (/srv/app.py);Worker.work.<locals>.<lambda> (/srv/app.py) "));
}

#[test]
fn roots_lines_and_kinds_where_they_are_asked_for() {
    let options = Options {
        processes: true,
        threads: true,
        kinds: true,
        merge: Some(Merge::Line),
        include_runtime: true,
        ..Options::default()
    };
    let text = text(&made::odd(), Format::COLLAPSED, &options);
    let expected = [
        "python3 app.py --name \"a:b\" <x> & ]]> (4001);thread 1 MainThread (tid 4001);_start;",
        "/srv/my app/bin/server (4100);thread 3 tokio: worker 12 (tid 4003);init (/srv/src/a.c:1) 19",
        "thread 2 (tid 4002);_start;[system]_[k] 50",
        "_PyEval_EvalFrameDefault;<module> (/srv/app.py:30)_[j];",
        "<lambda> (/srv/app.py:14)_[j];_PyEval_EvalFrameDefault 97",
        "[unknown];tcp_sendmsg_[k] 11",
    ];
    for part in expected {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    // Frames at the roots and above the system's calls add nothing.
    let sum: u64 = own(&text).values().sum();
    let profile = made::odd();
    let count: u64 = profile.samples.iter().map(|s| profile.count_of(s)).sum();
    assert_eq!(sum, count);
}

#[test]
fn tasks_stand_below_what_they_ran() {
    let options = Options {
        tasks: true,
        ..Options::default()
    };
    let profile = made::odd();
    let text = text(&profile, Format::COLLAPSED, &options);
    let sum = |task: &str| -> u64 {
        let of_task = text.lines().filter(|line| line.starts_with(task));
        let counts = of_task.filter_map(|line| line.rsplit_once(' '));
        counts.map(|(_, count)| count.parse::<u64>().unwrap()).sum()
    };
    let count = |number: u64| -> u64 {
        let of_task = profile.samples.iter();
        let of_task = of_task.filter(|sample| profile.tasks.get(sample.task).number == number);
        of_task.map(|sample| profile.count_of(sample)).sum()
    };
    assert!(count(7) > 0 && count(0xbeef) > 0);
    assert_eq!(sum("fetch \"pages\";"), count(7));
    assert_eq!(sum("0xbeef;"), count(0xbeef));
    // A thread's root task is not shown.
    assert!(!text.contains("0xf0f0"), "{text}");
    assert_eq!(
        sum(""),
        made::odd()
            .samples
            .iter()
            .map(|sample| profile.count_of(sample))
            .sum::<u64>()
    );
}

#[test]
fn only_mine_is_what_reports_show() {
    use profundo_analysis::{Filter, Libraries, Selection, Shown, shares};
    let options = Options {
        only_mine: true,
        ..Options::default()
    };
    let profile = made::odd();
    let text = text(&profile, Format::COLLAPSED, &options);
    // Reports have one row for all unnamed functions, and this a name for each module.
    let (unknown, named): (Vec<_>, Vec<_>) = own(&text)
        .into_iter()
        .partition(|(name, _)| name.starts_with("[unknown"));
    let unknown: u64 = unknown.into_iter().map(|(_, own)| own).sum();
    let named = named.into_iter().map(|(_, own)| own);
    let mut ours: Vec<u64> = named.chain([unknown]).collect();
    let all = Selection::new(&profile, &Filter::default());
    let shown = Shown {
        libraries: Libraries::Hidden,
        ..Shown::COMMAND
    };
    let rows = shares(&profile, &all, shown);
    let mut theirs: Vec<u64> = rows
        .iter()
        .map(|row| row.overhead)
        .filter(|&own| own > 0)
        .collect();
    let rest = all.total(&profile) - theirs.iter().sum::<u64>();
    let hidden = format!("[libraries] {rest}");
    assert!(
        text.lines().any(|line| line == hidden),
        "{hidden} in\n{text}"
    );
    theirs.push(rest);
    ours.sort_unstable();
    theirs.sort_unstable();
    assert_eq!(ours, theirs, "{text}");
    assert!(!text.contains("[runtime]"), "{text}");
}

#[test]
fn speedscope_reads_them() {
    let page = match tools::speedscope() {
        Ok(page) => page,
        Err(why) => return skip(&why),
    };
    let text = text(&made::odd(), Format::COLLAPSED, &Options::default());
    match crate::speedscope::load(page, "odd.folded", text.as_bytes()) {
        Ok(dom) => assert!(dom.contains("Left Heavy"), "{dom}"),
        Err(why) => skip(&why),
    }
}

#[test]
fn the_kernels_functions_say_that_it_was_a_system_call() {
    let options = Options {
        kinds: true,
        ..Options::default()
    };
    let mut profile = Profile::default();
    let thread = profile.hand_made_thread(1, "main");
    let code = |address| LocationKind::Code(CodeAddress::Return(Avma(address)));
    let mut stack = None;
    for (address, function, language) in [
        (0x1000, "hot", Language::JavaScript),
        (0x2000, "read", Language::Native),
        (u64::MAX / 2 + 9, "[kernel] vfs_read", Language::Native),
    ] {
        let key = FrameKey {
            function,
            language,
            ..FrameKey::default()
        };
        let location = profile.hand_made_location(code(address), None, &[key]);
        let parent = stack;
        stack = Some(profile.stacks.intern(parent, location));
        profile.samples.push(Sample {
            thread,
            stack: stack.unwrap(),
            state: State::System,
            ..Sample::default()
        });
    }
    let text = text(&profile, Format::COLLAPSED, &options);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let expected = [
        "hot_[j];[system]_[k] 1",
        "hot_[j];read;[kernel] vfs_read_[k] 1",
        "hot_[j];read;[system]_[k] 1",
    ];
    assert_eq!(lines, expected);
}

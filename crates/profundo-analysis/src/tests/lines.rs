//! The time of lines.

use profundo_model::{Profile, State};

use super::{all, location, mixed, push, stack};
use crate::*;

/// `file:line own/total` of every line, and the time without one.
fn shown(profile: &Profile, options: &LinesOptions) -> Vec<String> {
    let shares = lines(profile, &all(profile), options);
    let mut rows = Vec::new();
    for file in &shares.files {
        let path = profile.strings.get(profile.files.get(file.file).path);
        let name = path.rsplit('/').next().unwrap();
        let own: u64 = file.lines.iter().map(|line| line.own_amount.weight).sum();
        assert_eq!(own, file.own_amount.weight, "{name}");
        for line in &file.lines {
            let (own, total) = (line.own_amount.weight, line.total_amount.weight);
            let line = line.line;
            rows.push(format!(
                "{name}:{line} {}/{}",
                own / 1_000_000,
                total / 1_000_000
            ));
        }
    }
    let elsewhere = shares.elsewhere.weight;
    let sum: u64 = (shares.elsewhere_by.iter())
        .map(|(_, amount)| amount.weight)
        .sum();
    assert_eq!(sum, elsewhere);
    let sum: u64 = (shares.lineless.iter()).map(|row| row.amount.weight).sum();
    assert_eq!(sum, elsewhere);
    rows.push(format!("elsewhere {}", elsewhere / 1_000_000));
    rows
}

fn with(libraries: Libraries) -> LinesOptions {
    LinesOptions {
        shown: Shown {
            libraries,
            ..Shown::COMMAND
        },
        files: Vec::new(),
    }
}

#[test]
fn what_a_line_calls_in_libraries_is_its_time() {
    assert_eq!(
        shown(&mixed(), &with(Libraries::Hidden)),
        [
            "app.py:5 5/5",
            "app.py:6 1/1",
            "app.py:7 3/3",
            "elsewhere 10"
        ]
    );
    let with_libraries = [
        "app.py:5 5/5",
        "app.py:6 1/1",
        "app.py:7 3/3",
        "decoder.py:30 0/2",
        "decoder.py:40 0/1",
        "elsewhere 10",
    ];
    assert_eq!(shown(&mixed(), &with(Libraries::Folded)), with_libraries);
}

#[test]
fn lines_of_a_statement_count_as_one() {
    let profile = mixed();
    // The lines 5 to 7 of one file are one statement, and all of the other file's.
    let first = |_, line: u32| if line >= 30 { 30 } else { 5 };
    let shares = lines_joined(&profile, &all(&profile), &with(Libraries::Shown), first);
    let rows: Vec<_> = (shares.files.iter().flat_map(|file| &file.lines))
        .map(|line| {
            let amounts = [line.own_amount, line.total_amount];
            (line.line, amounts.map(|amount| amount.weight / 1_000_000))
        })
        .collect();
    // What both lines have on their stack counts once.
    assert_eq!(rows, [(5, [6, 9]), (30, [3, 3])]);
}

#[test]
fn libraries_may_have_time_of_their_own() {
    assert_eq!(
        shown(&mixed(), &with(Libraries::Shown)),
        [
            "app.py:5 5/5",
            "app.py:6 1/1",
            "app.py:7 0/3",
            "decoder.py:30 2/2",
            "decoder.py:40 1/1",
            "elsewhere 10"
        ]
    );
}

#[test]
fn files_that_are_asked_for_are_looked_at_whoever_made_them() {
    let options = LinesOptions {
        files: vec!["decoder.py".into()],
        ..with(Libraries::Hidden)
    };
    assert_eq!(
        shown(&mixed(), &options),
        ["decoder.py:30 2/2", "decoder.py:40 1/1", "elsewhere 16"]
    );
}

#[test]
fn kinds_go_with_the_line() {
    let profile = mixed();
    let shares = lines(&profile, &all(&profile), &with(Libraries::Hidden));
    let split = |at: usize| {
        let Split {
            python,
            native,
            system,
            ..
        } = shares.files[0].lines[at].own_amount.split;
        [python, native, system].map(|part| part / 1_000_000)
    };
    assert_eq!(
        [split(0), split(1), split(2)],
        [[2, 3, 0], [1, 0, 0], [1, 2, 0]]
    );
    assert_eq!(shares.elsewhere.split.system, 10_000_000);
    assert!(shares.files[0].is_python);
}

#[test]
fn recursion_counts_once() {
    let mut profile = Profile::from_folded("").unwrap();
    let [a, b] =
        [(1, "a", 3), (2, "b", 4)].map(|(n, name, line)| location(&mut profile, n, name, line));
    let stack = stack(&mut profile, &[a, b, a, a, b, a]);
    push(&mut profile, stack, 7, State::Running);
    assert_eq!(
        shown(&profile, &with(Libraries::Hidden)),
        ["f.rs:3 7/7", "f.rs:4 0/7", "elsewhere 0"]
    );
}

/// A tool whose script only imports and calls, with the text of the script; returns the amounts.
fn tool(script: &[&str]) -> Profile {
    let mut profile = Profile::from_folded("").unwrap();
    let it = &mut profile;
    let bin = "/v/bin/tool";
    let start = it.hand_made_python(bin, "<module>", 3, true);
    let import = it.hand_made_python(bin, "<module>", 1, true);
    let library = "/v/lib/python3.12/site-packages/tool.py";
    let [main, work] = [("main", 5), ("work", 9)]
        .map(|(name, line)| it.hand_made_python(library, name, line, false));
    for (path, count) in [
        (&[start, main][..], 1),
        (&[start, main, work], 6),
        (&[import], 2),
        (&[import, work], 1),
    ] {
        let stack = stack(it, path);
        push(it, stack, count, State::Running);
    }
    let file = it.file(bin, "", "");
    for (line, text) in (1..).zip(script) {
        let text = it.strings.intern(text);
        it.sources.insert(file, line, text);
    }
    profile
}

#[test]
fn what_only_starts_a_library_leaves_the_time_to_its_lines() {
    let script = [
        "from tool import main",
        "if __name__ == '__main__':",
        "    main()",
    ];
    let profile = tool(&script);
    let rows = shown(&profile, &with(Libraries::Folded));
    assert_eq!(
        rows,
        [
            "tool.py:5 1/7",
            "tool.py:9 7/7",
            "tool:1 2/3",
            "tool:3 0/7",
            "elsewhere 0"
        ]
    );
    let launched = lines(&profile, &all(&profile), &with(Libraries::Folded)).launched;
    assert_eq!(launched.amount.weight, 10_000_000);
    let by = launched.by.iter();
    let by: Vec<_> = by
        .map(|(frame, amount)| (profile.frames.get(*frame).line, amount.count))
        .collect();
    assert_eq!(by, [(3, 7), (1, 3)]);
    // A script with work of its own has the time of its callees.
    let script = ["from tool import main", "x = [1]", "y = main(x)"];
    let profile = tool(&script);
    let rows = shown(&profile, &with(Libraries::Folded));
    assert!(rows.contains(&"tool:3 7/7".to_owned()), "{rows:?}");
    let launched = lines(&profile, &all(&profile), &with(Libraries::Folded)).launched;
    assert_eq!((launched.amount.weight, launched.by.len()), (0, 0));
}

/// Two programs of `-c`: one only starts a library from its line 1, the other does so with work of
/// its own in line 2.
fn two_texts() -> Profile {
    let mut profile = Profile::from_folded("").unwrap();
    let it = &mut profile;
    let library = "/v/lib/python3.12/site-packages/tool.py";
    let main = it.hand_made_python(library, "main", 5, false);
    for (pid, line, text) in [
        (7, 1, "'from tool import main; main()'"),
        (8, 2, "$'from tool import main\\nx = [main() for i in y]'"),
    ] {
        let start = it.hand_made_python("<string>", "<module>", line, true);
        let process = it.hand_made_process(pid, &format!("/usr/bin/python3 -c {text}"));
        let thread = it.hand_made_thread(u64::from(pid), "");
        it.threads.get_mut(thread).process = process;
        let stack = stack(it, &[start, main]);
        push(it, stack, 10, State::Running);
        it.samples.last_mut().unwrap().thread = thread;
    }
    profile
}

#[test]
fn each_program_is_judged_by_its_own_text() {
    let profile = two_texts();
    let rows = shown(&profile, &with(Libraries::Folded));
    let expected = [
        "tool.py:5 10/20",
        "<string>:1 0/10",
        "<string>:2 10/10",
        "elsewhere 0",
    ];
    assert_eq!(rows, expected);
    let launched = lines(&profile, &all(&profile), &with(Libraries::Folded)).launched;
    assert_eq!(launched.amount.count, 10);
    let frame = launched.by[0].0;
    assert_eq!(profile.frames.get(frame).line, 1);
}

/// Two threads of a program and one of a library's pool, at work at these times.
fn pooled(waiting: &[(u64, u32, u32, bool)], pool: &[u64]) -> Profile {
    let mut profile = Profile::from_folded("").unwrap();
    let it = &mut profile;
    let other = it.hand_made_thread(2, "other");
    let worker = it.hand_made_thread(3, "worker");
    let library = it.hand_made_module("/v/site-packages/libpool.so");
    let mut native = |number: u64, function| {
        let key = profundo_model::FrameKey {
            function,
            ..Default::default()
        };
        let kind = profundo_model::LocationKind::Code(profundo_model::CodeAddress::Instruction(
            profundo_model::Avma(number),
        ));
        it.hand_made_location(kind, Some(library), &[key])
    };
    let [wait, work] = [(16, "wait"), (32, "work")].map(|(at, name)| native(at, name));
    for &(time, thread, line, inside) in waiting {
        let line = it.hand_made_python("/home/me/app.py", "main", line, true);
        let path = if inside { &[line, wait][..] } else { &[line] };
        let stack = stack(it, path);
        push(it, stack, 1, State::Running);
        let sample = it.samples.last_mut().unwrap();
        sample.time = profundo_model::Nanos(time);
        if thread == 2 {
            sample.thread = other;
        }
    }
    let stack = stack(it, &[work]);
    for &time in pool {
        push(it, stack, 1, State::Running);
        let sample = it.samples.last_mut().unwrap();
        (sample.time, sample.thread) = (profundo_model::Nanos(time), worker);
    }
    profile
}

/// `threads: count of all`, and `line: count` of the lines that waited.
fn waited_for(profile: &Profile) -> Vec<String> {
    let shares = lines(profile, &all(profile), &with(Libraries::Folded));
    let [pool] = &shares.lineless[..] else {
        panic!("{:?}", shares.lineless);
    };
    let path = profile.modules.get(pool.module.unwrap()).path;
    assert_eq!(profile.strings.get(path), "/v/site-packages/libpool.so");
    let mut rows = vec![format!("{} of {}", pool.amount.count, pool.threads.len())];
    rows.extend(pool.lines.iter().map(|(frame, amount)| {
        let line = profile.frames.get(*frame).line;
        format!("{line}: {}", amount.count)
    }));
    rows
}

#[test]
fn the_work_of_a_pool_belongs_to_the_line_that_waits_for_it() {
    // Once seen in the library on both sides, once before only, and once on two lines.
    let waiting = [
        (10, 1, 5, true),
        (40, 1, 5, true),
        (50, 1, 6, true),
        (60, 1, 7, false),
    ];
    let profile = pooled(&waiting, &[20, 30, 55, 45, 70]);
    assert_eq!(waited_for(&profile), ["5 of 1", "5: 2", "6: 1"]);
    // Two may wait, or no thread was in the library.
    let waiting = [(10, 1, 5, true), (11, 2, 8, true), (40, 1, 5, true)];
    assert_eq!(waited_for(&pooled(&waiting, &[20, 50])), ["2 of 1"]);
    let waiting = [(10, 1, 5, false), (40, 1, 5, false)];
    assert_eq!(waited_for(&pooled(&waiting, &[20])), ["1 of 1"]);
}

#[test]
fn an_import_is_the_time_of_the_line_that_asks_for_it() {
    let mut profile = tool(&["from tool import main", "", "main()"]);
    let it = &mut profile;
    let start = it.hand_made_python("/v/bin/tool", "<module>", 3, true);
    let library = "/v/lib/python3.12/site-packages/tool.py";
    let asks = it.hand_made_python(library, "main", 7, true);
    let machinery = "<frozen importlib._bootstrap>";
    let imports = it.hand_made_python(machinery, "_find_and_load", 1360, false);
    for (path, count) in [(&[start, asks, imports][..], 4), (&[imports], 1)] {
        let stack = stack(it, path);
        push(it, stack, count, State::Running);
    }
    let rows = shown(&profile, &with(Libraries::Folded));
    for row in ["tool.py:7 4/4", "_bootstrap>:1360 1/5"] {
        let ends = |shown: &String| shown.ends_with(row);
        assert!(rows.iter().any(ends), "{rows:?}");
    }
}

#[test]
fn a_module_of_cython_has_lines_below_those_of_python() {
    let mut profile = Profile::from_folded("").unwrap();
    let it = &mut profile;
    let calls = it.hand_made_python("/home/me/app.py", "main", 3, true);
    let mut compiled = |number: u64, file| {
        let key = profundo_model::FrameKey {
            file,
            function: "fast.total",
            line: 4,
            ..Default::default()
        };
        let code = profundo_model::CodeAddress::Instruction(profundo_model::Avma(number));
        it.hand_made_location(profundo_model::LocationKind::Code(code), None, &[key])
    };
    let [cython, c] = [(16, "/home/me/fast.pyx"), (32, "/home/me/fast.c")]
        .map(|(number, file)| compiled(number, file));
    for (path, count) in [(&[calls, cython][..], 2), (&[calls, c], 3)] {
        let stack = stack(it, path);
        push(it, stack, count, State::Running);
    }
    let rows = shown(&profile, &with(Libraries::Folded));
    assert!(rows.contains(&"fast.pyx:4 2/2".to_owned()), "{rows:?}");
    assert!(rows.contains(&"app.py:3 3/5".to_owned()), "{rows:?}");
}

#[test]
fn time_of_an_interpreter_itself_has_a_row_for_its_start_and_its_end() {
    let mut profile = Profile::from_folded("").unwrap();
    let it = &mut profile;
    let python = it.hand_made_module("/usr/lib/libpython3.12.so.1.0");
    let functions = [
        "Py_InitializeFromConfig",
        "Py_FinalizeEx",
        "take_gil",
        "_Py_Finalize.part.0",
    ];
    for (number, name) in (1_u64..).zip(functions) {
        let key = profundo_model::FrameKey {
            function: name,
            ..Default::default()
        };
        let code = profundo_model::CodeAddress::Instruction(profundo_model::Avma(16 * number));
        let kind = profundo_model::LocationKind::Code(code);
        let location = it.hand_made_location(kind, Some(python), &[key]);
        let stack = stack(it, &[location]);
        push(it, stack, number, State::Running);
    }
    let shares = lines(&profile, &all(&profile), &with(Libraries::Folded));
    let rows = shares.lineless.iter();
    let rows: Vec<_> = rows.map(|row| (row.phase, row.amount.count)).collect();
    let expected = [(Some(Phase::End), 6), (None, 3), (Some(Phase::Start), 1)];
    assert_eq!(rows, expected);
}

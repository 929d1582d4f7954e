//! Every option changes what it says, on a recording that is known to the last sample.

use std::path::Path;

use profundo_formats::write_file;
use profundo_model::{
    Engine, LocationId, Nanos, ProcessId, Profile, Sample, State, Task, TaskId, Thread, ThreadId,
};

use crate::machine::Folder;

const LIBRARY: &str = "/usr/lib/python3.12/json/decoder.py";

/// A folder with `app.py` and a recording of it: 100 samples of a millisecond, and one of ten in a
/// system call; two processes with a thread each, and a task.
fn made() -> Folder {
    let folder = Folder::new();
    let source: String = (1..=60).map(|line| format!("line_{line}()\n")).collect();
    let app = folder.file("app.py", &source);
    write_file(folder.path().join("made.profundo"), &profile(&app)).unwrap();
    folder
}

/// The recording of that folder.
pub fn profile(app: &Path) -> Profile {
    let app = app.to_str().unwrap();
    let mut profile = Profile::default();
    profile.meta.period = Nanos(1_000_000);
    profile.meta.engine = Engine::PerfSignal;
    let first = profile.hand_made_process(100, "python3 app.py");
    let second = profile.hand_made_process(200, "worker --fast");
    let mut thread = |number, name: &str, process: ProcessId| {
        let name = profile.strings.intern(name);
        profile.threads.push(Thread {
            number,
            tid: number as u32 + 100,
            name,
            process,
            ..Thread::default()
        })
    };
    let (main, loader) = (thread(1, "main", first), thread(2, "loader", second));
    let name = profile.strings.intern("fetch");
    let root = profile.tasks.push(Task {
        number: 0xf0,
        is_root: true,
        ..Task::default()
    });
    let fetch = profile.tasks.push(Task {
        number: 7,
        name,
        ..Task::default()
    });
    let start = profile.hand_made_python(app, "main", 10, true);
    let parse = profile.hand_made_python(app, "parse", 20, true);
    let parse_too = profile.hand_made_python(app, "parse", 22, false);
    let render = profile.hand_made_python(app, "render", 40, false);
    let loads = profile.hand_made_python(LIBRARY, "loads", 30, false);
    let mut samples = |count, stack: &[LocationId], on: (ThreadId, TaskId), state| {
        let stack = profile.hand_made_stack(stack);
        for _ in 0..count {
            profile.samples.push(Sample {
                time: Nanos(profile.samples.len() as u64 * 1_000_000),
                weight: Nanos(if state == State::System { 10 } else { 1 } * 1_000_000),
                thread: on.0,
                task: on.1,
                stack,
                state,
                ..Sample::default()
            });
        }
    };
    samples(60, &[start, parse, loads], (main, root), State::Running);
    samples(25, &[start, render], (main, fetch), State::Running);
    samples(10, &[start, parse_too], (loader, root), State::Running);
    samples(5, &[start, parse], (loader, root), State::Running);
    samples(1, &[start, render], (main, root), State::System);
    profile
}

/// The collapsed stacks, without the folder of the test in them.
fn collapsed(folder: &Folder, options: &[&str]) -> String {
    let mut words = vec!["export", "made.profundo", "--to", "collapsed", "-o", "-"];
    words.extend(options);
    let outcome = folder.run(&words);
    assert_eq!(outcome.err, "", "{options:?}");
    let here = format!("{}/", folder.path().display());
    outcome.succeeded().out.replace(&here, "")
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

const MAIN: &str = "main (app.py)";

#[test]
fn an_export_shows_what_is_asked_for() {
    let folder = made();
    let with = |options: &[&str]| collapsed(&folder, options);
    let decoder = format!("loads ({LIBRARY})");
    let plain = format!(
        "{MAIN};parse (app.py) 15\n{MAIN};parse (app.py);{decoder} 60\n{MAIN};render (app.py) 35\n"
    );
    assert_eq!(with(&[]), plain);
    assert_eq!(with(&["--by", "function", "--weights", "samples"]), plain);
    assert_eq!(
        with(&["--weights", "time"]),
        plain.replace('\n', "000000\n")
    );
    let by_line = with(&["--by", "line"]);
    for line in [
        "main (app.py:10);parse (app.py:20) 5",
        "main (app.py:10);parse (app.py:22) 10",
    ] {
        assert!(lines(&by_line).contains(&line), "{by_line}");
    }
    assert_eq!(
        with(&["--only-mine"]),
        format!("{MAIN};parse (app.py) 75\n{MAIN};render (app.py) 35\n")
    );
    let kinds = with(&["--kinds"]);
    assert!(kinds.contains("render (app.py)_[j] 25\n"), "{kinds}");
    assert!(
        kinds.contains("render (app.py)_[j];[system]_[k] 10\n"),
        "{kinds}"
    );
}

#[test]
fn processes_threads_and_tasks_stand_below_their_stacks() {
    let folder = made();
    let roots = |options: &[&str]| {
        let text = collapsed(&folder, options);
        let root = |line: &str| line[..line.find(";main (").unwrap_or(0)].to_owned();
        let mut roots: Vec<String> = text.lines().map(root).collect();
        roots.sort();
        roots.dedup();
        roots
    };
    assert_eq!(
        roots(&["--processes"]),
        ["python3 app.py (100)", "worker --fast (200)"]
    );
    assert_eq!(
        roots(&["--threads"]),
        ["thread 1 main (tid 101)", "thread 2 loader (tid 102)"]
    );
    // What runs outside of tasks stands on the thread, or on nothing.
    assert_eq!(roots(&["--tasks"]), ["", "fetch"]);
    assert_eq!(
        roots(&["--processes", "--threads", "--tasks"]),
        [
            "python3 app.py (100);thread 1 main (tid 101)",
            "python3 app.py (100);thread 1 main (tid 101);fetch",
            "worker --fast (200);thread 2 loader (tid 102)",
        ]
    );
}

/// Each filter, and how many samples pass it.
const FILTERED: [(&[&str], u64); 11] = [
    (&["--thread", "loader"], 15),
    (&["--thread", "1", "--thread", "2"], 110),
    (&["--process", "200"], 15),
    (&["--process", "app.py"], 95),
    (&["--task", "fetch"], 25),
    (&["--file", "decoder.py"], 60),
    (&["--function", "render"], 35),
    (&["--function", "render", "--thread", "main"], 35),
    (&["--from", "0.06"], 50),
    (&["--to", "0.06"], 60),
    (&["--from", "0.05", "--until", "0.06"], 10),
];

#[test]
fn filters_are_the_same_everywhere() {
    let folder = made();
    let sum = |text: &str| -> u64 {
        let counts = text.lines().filter_map(|line| line.rsplit_once(' '));
        counts.map(|(_, count)| count.parse::<u64>().unwrap()).sum()
    };
    for (options, count) in FILTERED {
        assert_eq!(sum(&collapsed(&folder, options)), count, "{options:?}");
        let run = |words: &[&str]| folder.run(&[words, options].concat());
        let picture = run(&["flame", "made.profundo", "-o", "-", "--weights", "samples"]);
        let head = format!(">{count} samples: ");
        assert!(picture.succeeded().out.contains(&head), "{options:?}");
        for verb in ["summary", "tree", "lines", "functions"] {
            let report = run(&["report", "made.profundo", verb, "--json"]);
            let seconds = format!("\"seconds\": {:?}", count as f64 / 1000.0);
            assert!(
                report.succeeded().out.contains(&seconds),
                "{options:?} {report:#?}"
            );
        }
    }
    // Where nothing passes, that is said; an empty file would say nothing.
    let filter = ["--thread", "nobody", "-o", "x"];
    for verb in [
        &["flame", "made.profundo"][..],
        &["export", "made.profundo", "--to", "pprof"],
    ] {
        let outcome = folder.run(&[verb, &filter].concat());
        outcome.refused(4, "no samples pass the filter (thread=nobody)");
    }
    assert!(!folder.path().join("x").exists());
    let outcome = folder.run(&["report", "made.profundo", "functions", "--thread", "nobody"]);
    assert_eq!(outcome.code, Some(4), "{outcome:#?}");
    assert!(
        outcome
            .out
            .contains("no samples pass the filter: thread=nobody."),
        "{outcome:#?}"
    );
    let outcome = folder.run(&["report", "made.profundo", "callers", "nothing_like_it"]);
    assert_eq!(outcome.code, Some(4), "{outcome:#?}");
    assert!(
        outcome.out.contains("is called “nothing_like_it”"),
        "{outcome:#?}"
    );
}

#[test]
fn a_picture_is_drawn_as_it_is_asked_for() {
    let folder = made();
    let drawn = |options: &[&str]| {
        let outcome = folder.run(&[&["flame", "made.profundo", "-o", "-"], options].concat());
        outcome.succeeded().out.clone()
    };
    let plain = drawn(&[]);
    assert!(
        plain.contains("<title>python3 app.py</title>") && plain.contains("data-inverted=\"0\"")
    );
    assert!(
        plain.contains("110.0 ms of CPU time in 110 samples"),
        "{plain}"
    );
    let boxes = |picture: &str| picture.matches("<g class=\"b ").count();
    // All, main, parse, loads, render, [system].
    assert_eq!(boxes(&plain), 6);
    assert_eq!(boxes(&drawn(&["--min-share", "40"])), 4);
    assert_eq!(boxes(&drawn(&["--by", "line"])), 7);
    assert_eq!(boxes(&drawn(&["--only-mine"])), 5);
    let other = drawn(&["--icicle", "--title", "Before <the> fix", "--threads"]);
    assert!(other.contains("<title>Before &lt;the&gt; fix</title>"));
    assert!(other.contains("data-inverted=\"1\"") && other.contains("thread 2 loader"));
    let file = folder.run(&[
        "export",
        "made.profundo",
        "--to",
        "speedscope",
        "--title",
        "Before",
        "-o",
        "-",
    ]);
    assert!(
        file.succeeded().out.contains("\"name\":\"Before\""),
        "{file:#?}"
    );
}

#[test]
fn the_end_of_the_time_is_to_everywhere() {
    let folder = made();
    let words = [
        "export",
        "made.profundo",
        "-o",
        "-",
        "--to",
        "0.06",
        "--to",
        "collapsed",
    ];
    let outcome = folder.run(&words);
    assert!(
        outcome
            .succeeded()
            .out
            .ends_with("loads (/usr/lib/python3.12/json/decoder.py) 60\n")
    );
    folder
        .run(&["export", "made.profundo", "--to", "3"])
        .refused(2, "wants a format");
    folder
        .run(&[
            "export",
            "made.profundo",
            "--to",
            "pprof",
            "--to",
            "3",
            "--until",
            "4",
        ])
        .refused(2, "twice");
    folder
        .run(&[
            "export",
            "made.profundo",
            "--to",
            "pprof",
            "--to",
            "collapsed",
        ])
        .refused(2, "one format at a time");
}

#[test]
fn an_option_that_would_change_nothing_is_refused() {
    let folder = made();
    for (words, part) in [
        (
            &["export", "--to", "pprof", "--by", "line"][..],
            "needs no --frames",
        ),
        (&["export", "--to", "pprof", "--threads"], "has labels"),
        (
            &["export", "--to", "pprof", "--kinds"],
            "a label for the kind",
        ),
        (
            &["export", "--to", "collapsed", "--title", "x"],
            "have a --title",
        ),
        (
            &["export", "--to", "speedscope", "--threads"],
            "each thread by itself",
        ),
        (&["report", "tree", "--all-lines"], "an option of: lines"),
        (
            &["report", "functions", "--maxdepth", "2"],
            "an option of: tree",
        ),
        (&["report", "--recur", "flat"], "an option of: tree"),
        (
            &["report", "callees", "main", "--limit", "2"],
            "an option of: summary",
        ),
        (
            &["report", "functions", "--groupby", "thread", "--limit", "2"],
            "do not go together",
        ),
    ] {
        let mut all = vec![words[0], "made.profundo"];
        all.extend(&words[1..]);
        folder.run(&all).refused(2, part);
    }
}

#[test]
fn functions_are_counted_sorted_and_cut() {
    let folder = made();
    let rows = |options: &[&str]| -> Vec<String> {
        let words = ["report", "made.profundo", "functions", "--json"];
        let outcome = folder.run(&[&words, options].concat());
        let names = outcome.succeeded().out.lines().filter_map(|line| {
            let (_, rest) = line.split_once("\"function\": \"")?;
            Some(rest.split('"').next()?.to_owned())
        });
        names.collect()
    };
    assert_eq!(rows(&[]), ["loads", "render", "parse", "main"]);
    assert_eq!(
        rows(&["--sortedby", "count"]),
        ["main", "parse", "loads", "render"]
    );
    assert_eq!(rows(&["--limit", "2"]), ["loads", "render"]);
    assert_eq!(rows(&["--min-share", "60%"]), ["parse", "main"]);
    let grouped = rows(&["--groupby", "process"]);
    assert_eq!(
        grouped.iter().filter(|name| *name == "main").count(),
        2,
        "{grouped:?}"
    );
    // Julia's spelling and the usual one are the same.
    assert_eq!(rows(&["--group-by", "process"]), grouped);
    let run = |words: &[&str]| {
        let words = [&["report", "made.profundo", "--width", "200"], words].concat();
        folder.run(&words).succeeded().out.clone()
    };
    let (callers, callees, both) = (
        run(&["callers", "parse"]),
        run(&["callees", "parse"]),
        run(&["calls", "parse"]),
    );
    assert!(
        callers.contains("  main  ") && !callers.contains("loads"),
        "{callers}"
    );
    assert!(
        callees.contains("  loads  ") && !callees.contains("  main  "),
        "{callees}"
    );
    assert!(
        both.contains("  loads  ") && both.contains("  main  "),
        "{both}"
    );
    assert!(run(&[]).contains("Quality") && !run(&["--no-quality"]).contains("Quality"));
    let short = run(&["--limit", "1"]);
    assert!(
        short.contains("1 more process") && !short.contains("app.py:40"),
        "{short}"
    );
}

#[test]
fn lines_are_shown_as_far_as_they_are_wanted() {
    let folder = made();
    let shown = |options: &[&str]| {
        let words = ["report", "made.profundo", "lines", "--width", "120"];
        folder
            .run(&[&words, options].concat())
            .succeeded()
            .out
            .clone()
    };
    let has = |text: &str, line: u32| text.contains(&format!("line_{line}()\n"));
    let plain = shown(&[]);
    assert!(
        has(&plain, 18) && has(&plain, 24) && !has(&plain, 17) && !has(&plain, 30),
        "{plain}"
    );
    let wide = shown(&["--context", "5"]);
    assert!(has(&wide, 15) && !has(&wide, 14), "{wide}");
    assert!(!has(&shown(&["--context", "0"]), 21));
    let whole = shown(&["--all-lines"]);
    assert!((1..=60).all(|line| has(&whole, line)), "{whole}");
    let hot = shown(&["--context", "0", "--min-share", "30"]);
    assert!(has(&hot, 20) && has(&hot, 40) && !has(&hot, 22), "{hot}");
    // The line that only calls has no time of its own, but all of the time with what it calls.
    assert!(!has(&shown(&["--context", "0"]), 10));
    let total = shown(&["--context", "0", "--total"]);
    assert!(has(&total, 10) && total.contains("100.0"), "{total}");
    assert!(!plain.contains("decoder.py"), "{plain}");
    let libraries = shown(&["--libraries"]);
    assert!(libraries.contains("decoder.py"), "{libraries}");
    let one = shown(&["--libraries", "--limit", "1"]);
    assert!(one.contains("decoder.py") && !has(&one, 40), "{one}");
    let elsewhere = shown(&["--no-disk"]);
    assert!(
        !has(&elsewhere, 20) && elsewhere.contains("source not found"),
        "{elsewhere}"
    );
    let summary = |options: &[&str]| {
        let words = ["report", "made.profundo", "--width", "120"];
        folder
            .run(&[&words, options].concat())
            .succeeded()
            .out
            .clone()
    };
    assert!(has(&summary(&[]), 20) && !has(&summary(&["--no-disk"]), 20));
}

#[test]
fn plumbing_is_hidden_in_files_of_the_library_too() {
    use profundo_model::{Avma, CodeAddress, FrameKey, LocationKind};
    let folder = Folder::new();
    let mut profile = Profile::default();
    profile.meta.period = Nanos(1_000_000);
    let thread = profile.hand_made_thread(1, "main");
    let task = profile.hand_made_task(1);
    let module = profile.hand_made_module("/usr/lib/x86_64-linux-gnu/libc.so.6");
    let program = profile.hand_made_module("/home/me/app");
    let mut code = |address, module, function| {
        let kind = LocationKind::Code(CodeAddress::Return(Avma(address)));
        let key = FrameKey {
            function,
            ..FrameKey::default()
        };
        profile.hand_made_location(kind, Some(module), &[key])
    };
    let stack = [
        code(0x1000, program, "_start"),
        code(0x2000, module, "__libc_start_main_impl"),
        code(0x1100, program, "work"),
    ];
    let stack = profile.hand_made_stack(&stack);
    profile.samples.push(Sample {
        weight: Nanos(1_000_000),
        thread,
        task,
        stack,
        ..Sample::default()
    });
    // As the library writes it: nothing is marked.
    write_file(folder.path().join("library.profundo"), &profile).unwrap();
    let tree = |options: &[&str]| {
        let outcome = folder.run(&[&["report", "library.profundo", "tree"], options].concat());
        outcome.succeeded().out.clone()
    };
    assert!(tree(&[]).contains("work") && !tree(&[]).contains("start"));
    assert!(tree(&["--c"]).contains("_start") && tree(&["--c"]).contains("__libc_start_main"));
    let words = ["export", "library.profundo", "--to", "collapsed", "-o", "-"];
    assert_eq!(folder.run(&words).out, "work 1\n");
}

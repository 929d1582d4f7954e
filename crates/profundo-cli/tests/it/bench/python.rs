//! Statements of Python, in every version that is here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use profundo_testing::{python, pythons, skip};

use crate::machine::{Folder, Outcome};

/// `bench` of some statements by an interpreter.
fn bench(folder: &Folder, python: &Path, words: &[&str]) -> Outcome {
    let with = format!("--with={}", python.display());
    let mut all = vec!["bench", &with];
    all.extend(words);
    // What is printed is printed without that, too.
    let mut command = folder.profundo(&all);
    Outcome::of(command.env_remove("PYTHONUNBUFFERED").output().unwrap())
}

/// All versions that are here, oldest first.
fn versions() -> Vec<PathBuf> {
    let present = pythons().iter();
    // The system's has a version that pyenv's have too.
    let is_ours = |path: &PathBuf| !path.starts_with("/usr");
    let found: Vec<PathBuf> = present
        .map(|python| python.path.clone())
        .filter(is_ours)
        .collect();
    match found.is_empty() {
        true => python().into_iter().collect(),
        false => found,
    }
}

#[test]
fn loops_and_setups_are_as_many_as_timeits() {
    let versions = versions();
    for python in &versions {
        let folder = Folder::new();
        let ask = [
            "-n7",
            "-r3",
            "-s",
            "log = open('log', 'a', 1)",
            "-s",
            "log.write('s')",
            "--python",
            "log.write('x')\nlog.write(sys._getframe().f_code.co_name[0])\nlog.write(str(int(gc.isenabled())))",
        ];
        let outcome = bench(&folder, python, &ask);
        outcome.succeeded();
        // Set up once for each run; in the loop nothing is called, and no garbage is collected.
        let run = format!("s{}", "xi0".repeat(7));
        let log = fs::read_to_string(folder.path().join("log")).unwrap();
        assert_eq!(log, run.repeat(3), "{}", python.display());
        assert!(
            outcome.out.starts_with("7 loops, best of 3: "),
            "{outcome:#?}"
        );
        let notebook = " per loop (mean ± std. dev. of 3 runs, 7 loops each)";
        assert!(
            outcome.out.lines().nth(1).unwrap().ends_with(notebook),
            "{outcome:#?}"
        );
        assert_eq!(outcome.err, "");
    }
}

#[test]
fn the_loop_is_timeits() {
    for python in versions() {
        let folder = Folder::new();
        // What an interpreter makes of the statement is what its own timeit makes of it.
        let code = "import dis, operator, sys\nwhat = operator.attrgetter('opname', 'argrepr')\n\
                    all = dis.get_instructions(sys._getframe().f_code)\nprint(*map(what, all), file=open('code', 'w'))";
        bench(&folder, &python, &["-n1", "-r1", "--python", code]).succeeded();
        let ours = fs::read_to_string(folder.path().join("code")).unwrap();
        let status = Command::new(&python)
            .args(["-m", "timeit", "-n1", "-r1", code])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(status.status.success(), "{status:?}");
        let timeits = fs::read_to_string(folder.path().join("code")).unwrap();
        assert_eq!(ours, timeits, "{}", python.display());
    }
}

#[test]
fn the_number_of_loops_is_found_as_timeit_does() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let outcome = bench(
        &folder,
        &python,
        &["-v", "-r2", "--python", "time.sleep(0.021)"],
    );
    outcome.succeeded();
    let steps: Vec<&str> = outcome
        .out
        .lines()
        .filter_map(|line| line.split_once(" -> ").map(|(loops, _)| loops))
        .collect();
    // 5 loops take 0.1 seconds and more, and 10 take 0.2; on a busy machine sooner.
    assert!(steps.len() >= 3 && steps.len() <= 4, "{outcome:#?}");
    assert!(
        ["1 loop", "2 loops", "5 loops", "10 loops"].starts_with(&steps),
        "{outcome:#?}"
    );
    assert!(outcome.out.contains("\n\nraw times: "), "{outcome:#?}");
    assert!(outcome.out.contains("msec per loop"), "{outcome:#?}");
    let more = bench(
        &folder,
        &python,
        &["-vv", "-n1", "-r1", "-unsec", "--python", "pass"],
    );
    assert!(more.succeeded().out.contains(" nsec per loop"), "{more:#?}");
}

#[test]
fn it_agrees_with_timeit() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let statement = "sum(range(3000))";
    let best = |line: &str| -> f64 {
        let (_, text) = line.split_once("best of 60: ").unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    };
    let outcome = bench(
        &folder,
        &python,
        &["-n20", "-r60", "-uusec", "--python", statement],
    );
    let ours = best(&outcome.succeeded().out);
    let output = Command::new(&python)
        .args(["-m", "timeit", "-n20", "-r60", "-uusec", statement])
        .output()
        .unwrap();
    let theirs = best(&String::from_utf8_lossy(&output.stdout));
    // The best of many short runs, beside whatever else runs.
    let ratio = ours / theirs;
    assert!((0.4..2.5).contains(&ratio), "{ours} and {theirs} usec");
}

#[test]
fn what_a_statement_prints_is_its_own() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let print = [
        "-n2",
        "-r3",
        "--python",
        "print('hello'); os.write(1, b'raw\\n')",
        "-s",
        "import os",
    ];
    let silent = bench(&folder, &python, &print);
    assert!(!silent.succeeded().out.contains("hello"), "{silent:#?}");
    assert!(!silent.out.contains("raw"), "{silent:#?}");
    let shown = bench(&folder, &python, &[&print[..], &["--show-output"]].concat());
    assert_eq!(
        shown.succeeded().out.matches("hello\n").count(),
        6,
        "{shown:#?}"
    );
    assert_eq!(shown.out.matches("raw\n").count(), 6, "{shown:#?}");
    // Nor can it read what we say, or talk to us by accident.
    let reads = ["-n1", "-r1", "--python", "assert sys.stdin.read() == ''"];
    bench(&folder, &python, &reads).succeeded();
}

#[test]
fn an_error_is_shown_with_its_line() {
    for python in versions() {
        let folder = Folder::new();
        let failed = |words: &[&str], parts: &[&str]| {
            let outcome = bench(&folder, &python, words);
            assert_eq!(outcome.code, Some(1), "{outcome:#?}");
            assert_eq!(outcome.out, "");
            for part in parts {
                assert!(outcome.err.contains(part), "{part} in {outcome:#?}");
            }
            // Our own frames do not appear.
            assert!(!outcome.err.contains("_profundo"), "{outcome:#?}");
        };
        let line = "    missing + 1\n";
        failed(
            &["--python", "x = 1\nmissing + 1"],
            &["Traceback", "in inner\n", line, "NameError"],
        );
        failed(
            &["-s", "import nothing_of_this_name", "--python", "1"],
            &["No module named"],
        );
        failed(&["--python", "1 +"], &["SyntaxError"]);
        failed(&["--python", "return 5"], &["SyntaxError"]);
        failed(
            &["-s", "from math import *", "--python", "pi"],
            &["SyntaxError", "module level"],
        );
        failed(&["--python", "sys.exit(7)"], &["SystemExit: 7"]);
        failed(&["--python", "1", "--python", "nope"], &["NameError"]);
    }
}

#[test]
fn what_was_measured_before_an_error_is_printed() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let statement = "names = globals(); names['n'] = names.get('n', 0) + 1; assert names['n'] < 3";
    let ask = ["-n1", "-r5", "--python", statement];
    let outcome = bench(&folder, &python, &ask);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    assert!(
        outcome.out.starts_with("1 loop, best of 2: "),
        "{outcome:#?}"
    );
    assert!(outcome.err.contains("AssertionError"), "{outcome:#?}");
}

#[test]
fn an_interpreter_that_ends_is_one_sentence() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let end = |statement| {
        bench(
            &folder,
            &python,
            &["-s", "import os", "--python", statement],
        )
    };
    end("os._exit(4)").refused(1, "ended with exit code 4");
    end("os.kill(os.getpid(), 9)").refused(1, "killed by signal 9");
    end("os.closerange(3, 100)").refused(1, "ended with exit code 1");
    folder
        .run(&["bench", "--with", "/nowhere/python3", "--python", "1"])
        .refused(1, "no interpreter /nowhere/python3");
    folder
        .run(&["bench", "--with", "true", "--python", "1"])
        .refused(1, "no Python interpreter");
}

#[test]
fn children_of_the_statement_do_no_harm() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    // The child goes on in the loop, and must not answer in its parent's place; started programs
    // inherit no descriptors of ours.
    for statement in ["os.fork()", "subprocess.Popen(['sleep', '0.1'])"] {
        let ask = [
            "-s",
            "import os, subprocess",
            "-n1",
            "-r4",
            "--python",
            statement,
        ];
        let outcome = bench(&folder, &python, &ask);
        assert!(
            outcome.succeeded().out.starts_with("1 loop, best of 4: "),
            "{outcome:#?}"
        );
        assert_eq!(outcome.out.matches("best of").count(), 1);
    }
}

#[test]
fn an_interpreter_ends_as_programs_do() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    // The processes of a pool are ended by the process that started them, at its exit.
    let setup = "import atexit, multiprocessing, os\nglobal pool\npool = multiprocessing.Pool(2)\n\
                 log = open('pids', 'a', 1)\nfor it in multiprocessing.active_children(): log.write('%d\\n' % it.pid)\n\
                 atexit.register(open('left', 'a', 1).write, 'left\\n')";
    let with = format!("--with={}", python.display());
    let statement = "pool.map(abs, [1, 2])";
    let words = [
        "bench", &with, "-n1", "-r1", "-s", setup, "--python", statement,
    ];
    // A leftover process would keep a pipe open for ever.
    let status = folder
        .profundo(&words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.unwrap().success());
    let pids = fs::read_to_string(folder.path().join("pids")).unwrap();
    let is_there = |pid: &&str| Path::new("/proc").join(pid).exists();
    let mut left: Vec<&str> = pids.lines().filter(is_there).collect();
    for _ in 0..100 {
        left.retain(is_there);
        if left.is_empty() {
            break;
        }
        sleep(Duration::from_millis(100));
    }
    for pid in &left {
        // SAFETY: sends a signal to a process of the pool that is of this test.
        unsafe { libc::kill(pid.parse().unwrap(), libc::SIGKILL) };
    }
    assert!(
        left.is_empty() && pids.lines().count() >= 2,
        "{left:?} of {pids}"
    );
    let exits = fs::read_to_string(folder.path().join("left")).unwrap();
    assert_eq!(exits, "left\n");
}

#[test]
fn an_interpreter_that_does_not_end_is_not_waited_for_for_ever() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let setup = "import threading\nthreading.Thread(target=threading.Event().wait).start()";
    let ask = ["-s", setup, "-n1", "-r1", "--python", "1"];
    let outcome = bench(&folder, &python, &ask);
    assert!(
        outcome.succeeded().out.starts_with("1 loop, best of 1: "),
        "{outcome:#?}"
    );
}

#[test]
fn several_are_compared() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let ask = [
        "--python",
        "sum(range(20000))",
        "--python",
        "sum(range(2000))",
        "--name",
        "long",
        "--name",
        "short",
        "-n20",
        "-r10",
    ];
    let outcome = bench(&folder, &python, &ask);
    assert!(
        outcome.succeeded().out.contains("\n`short` is "),
        "{outcome:#?}"
    );
    assert!(
        outcome.out.contains(" times faster than `long`."),
        "{outcome:#?}"
    );
    let json = bench(&folder, &python, &[&ask[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json.succeeded().out).unwrap();
    assert_eq!(json["fastest"], "short");
    let pair = &json["comparisons"][0];
    assert_eq!(
        (&pair["one"], &pair["differs"]),
        (&"short".into(), &true.into())
    );
    assert!(pair["ratio_high"].as_f64().unwrap() < 0.5, "{pair}");
    assert_eq!(json["candidates"][0]["runs"].as_array().unwrap().len(), 10);
    let by = json["candidates"][0]["by"].as_str().unwrap();
    assert!(by.starts_with("CPython 3."), "{by}");
    let few = bench(&folder, &python, &[&ask[..], &["-r5"]].concat());
    // The option that comes last would count, but it is given twice.
    few.refused_with_usage("cannot be used multiple times");
    let few = bench(
        &folder,
        &python,
        &["--python", "1", "--python", "2", "-n9", "-r5"],
    );
    assert!(
        few.succeeded().out.contains("5 runs cannot tell"),
        "{few:#?}"
    );
}

#[test]
fn each_run_of_a_comparison_has_an_interpreter_of_its_own() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let log = "open('pids', 'a').write('%s %d\\n' % (NAME, os.getpid()))";
    let statement = |name: &str| log.replace("NAME", &format!("'{name}'"));
    let (a, b) = (statement("a"), statement("b"));
    let ask = [
        "-s",
        "import os",
        "-n1",
        "-r10",
        "--python",
        &a,
        "--python",
        &b,
    ];
    bench(&folder, &python, &ask).succeeded();
    let text = fs::read_to_string(folder.path().join("pids")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 20, "{text}");
    let mut pids: Vec<&str> = lines.iter().map(|line| &line[2..]).collect();
    pids.sort_unstable();
    pids.dedup();
    assert_eq!(pids.len(), 20, "{text}");
    let firsts = lines
        .chunks(2)
        .filter(|round| round[0].starts_with('a'))
        .count();
    assert_eq!(firsts, 5, "each comes first as often as the other: {text}");
    assert!(
        lines.chunks(2).all(|round| round[0][..1] != round[1][..1]),
        "{text}"
    );
}

#[test]
fn interpreters_are_compared() {
    let versions = versions();
    let [first, .., last] = versions.as_slice() else {
        skip("there are no two versions of Python");
        return;
    };
    let folder = Folder::new();
    let second = format!("--with={}", last.display());
    let outcome = bench(
        &folder,
        first,
        &[&second, "-n9", "-r6", "--python", "1", "--json"],
    );
    let json: serde_json::Value = serde_json::from_str(&outcome.succeeded().out).unwrap();
    let by = |index: usize| json["candidates"][index]["by"].as_str().unwrap().to_owned();
    assert_ne!(by(0), by(1));
    assert_eq!(json["candidates"][1]["name"], last.display().to_string());
}

#[test]
fn answers_are_compared_first() {
    for python in versions() {
        let folder = Folder::new();
        let check = |one: &str, other: &str| {
            let ask = [
                "--check",
                "-n1",
                "-r1",
                "-s",
                "import os",
                "--python",
                one,
                "--python",
                other,
            ];
            bench(&folder, &python, &ask)
        };
        let same = check("x = [3, 1, 2]\nsorted(x)", "[1, 2, 3]");
        assert!(
            same.succeeded().out.contains("All of them give the same."),
            "{same:#?}"
        );
        check("{'a', 'b', 'c'}", "set('cba')").succeeded();
        check("{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}").succeeded();
        check("map(str, [1])", "iter(['1'])").refused(1, "list_iterator");
        check("map(str, [1])", "map(str, [2])").refused(1, "`map(str, [2])` gives");
        check("(x for x in 'ab')", "(y for y in 'ab')").succeeded();
        check("lambda: 1", "lambda: 2").refused(1, "gives");
        let of = |number: u8| {
            format!("(lambda a: (setattr(a, 'n', {number}), a)[1])(type('A', (), {{}})())")
        };
        check(&of(1), &of(1)).succeeded();
        check(&of(1), &of(2)).refused(1, "'n': 2");
        check("2 ** 20000", "2 ** 20001").refused(1, "gives");
        let opaque = check("object()", "object()");
        assert!(
            opaque
                .succeeded()
                .out
                .contains("cannot compare what they give"),
            "{opaque:#?}"
        );
        check("print(5)", "os.write(1, b'5\\n'); None").succeeded();
        check("6 * 7", "6 * 6").refused(1, "`6 * 7` gives 42, `6 * 6` gives 36");
        check("1.0", "1").refused(1, "gives 1.0");
        check("print('a\\nb')", "print('a\\nc')").refused(1, "in line 2");
        let nothing = check("x = 1", "y = 2");
        assert!(
            nothing.succeeded().out.contains("nothing to compare"),
            "{nothing:#?}"
        );
    }
}

//! Python programs: they run as they do without the profiler, and their functions are named.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use profundo_model::Sample;
use profundo_testing::{Python, profundo, pythons, skip, tool};

use crate::program::{Outcome, Program};
use crate::recording::Recording;
use crate::targets::{cpp, python_with, pythons_for, scratch, source};

/// Identifiers of threads and addresses differ from run to run.
fn without_addresses(mut outcome: Outcome) -> Outcome {
    for text in [&mut outcome.stdout, &mut outcome.stderr] {
        let mut parts = text.split("0x");
        let mut kept = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            kept.push_str("0x");
            kept.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_hexdigit()));
        }
        *text = kept;
    }
    outcome
}

fn python(python: &Python, target: &str, arguments: &[&str]) -> Program {
    let program = Program::new(&python.path).with(&[source(target)]);
    program.with(arguments).slack(2.0)
}

#[track_caller]
fn run_both_ways(program: &Program) -> Recording {
    program.run_both_ways_with(without_addresses).0
}

#[test]
fn shares_by_qualified_names_on_every_version() {
    if pythons().is_empty() {
        skip("there is no CPython from 3.8 to 3.15");
    }
    for version in pythons() {
        let recording = run_both_ways(&python(version, "shares.py", &[]));
        let names = [
            ("half", 50.0),
            ("Class.method", 20.0),
            ("outer.<locals>.closure", 10.0),
            ("generator", 10.0),
            ("coroutine", 10.0),
        ];
        recording
            .assert_parts(&names, 5.0)
            .assert_share("burn", 80.0)
            .assert_share("main", 85.0);
        // The first samples in a library that was just loaded come before its tables are there.
        recording.assert_sampled(96.0).assert_whole(99.5);
        let runtimes: Vec<&str> = (recording.profile.processes.iter())
            .map(|process| recording.profile.strings.get(process.runtime))
            .collect();
        let wanted = format!("CPython {}.{}", version.version.0, version.version.1);
        assert!(runtimes[0].starts_with(&wanted), "{runtimes:?}");
    }
}

#[test]
fn the_builtin_of_kernprof_is_there_where_the_source_mentions_it() {
    for version in pythons_for("decorated/app.py") {
        run_both_ways(&python(&version, "decorated/app.py", &[]));
        let told = |verb: &str, script: &str| {
            let output = Command::new(profundo())
                .args([verb, "--no-config", "-o"])
                .arg(scratch().join("decorated.profundo"))
                .arg("--")
                .args([version.path.as_path(), &source(script)])
                .arg("told")
                .env("PYTHONDONTWRITEBYTECODE", "1")
                .output()
                .unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        for verb in ["record", "trace"] {
            let said = told(verb, "decorated/app.py");
            assert!(said.starts_with("499501\nTrue 4 True\n"), "{verb}: {said}");
        }
        // The name is in no other program.
        assert!(told("record", "undecorated/app.py").starts_with("[]\n"));
    }
}

#[test]
fn no_stack_is_impossible_on_any_version() {
    let program = source("../../bench/programs/alternate.py");
    for version in pythons() {
        let edges = Command::new(&version.path)
            .arg(&program)
            .arg("--edges")
            .output()
            .unwrap();
        let edges = String::from_utf8(edges.stdout).unwrap();
        let edges: BTreeMap<String, Vec<String>> = serde_json::from_str(&edges).unwrap();
        let seconds = if crate::targets::wants_all_pythons() {
            "8"
        } else {
            "1.5"
        };
        let target =
            Program::new(&version.path).with(&[program.clone().into_os_string(), seconds.into()]);
        let recording = run_both_ways(&target.options(&["--rate", "5000"]));
        recording.assert_callers("alternate.py", &edges);
        recording.assert_whole(99.5).assert_sampled(90.0);
    }
}

#[test]
fn tasks() {
    for version in pythons_for("asyncio_tasks") {
        let recording = run_both_ways(&python(&version, "asyncio_tasks.py", &[]));
        recording
            .assert_share("deep", 20.0)
            .assert_share("burn_in_thread", 15.0)
            .assert_one_root();
        let tasks: Vec<String> = (recording.profile.tasks.iter())
            .map(|(_, task)| recording.profile.strings.get(task.name).to_owned())
            .collect();
        for name in ["red", "green", "blue"] {
            let wanted = format!("{name} (work)");
            assert!(tasks.contains(&wanted), "{wanted}: {tasks:?}");
        }
    }
}

fn processes(kind: &str) {
    for version in pythons_for(kind) {
        let recording =
            run_both_ways(&python(&version, "multiprocessing_kinds.py", &[kind]).slack(5.0));
        recording.assert_one_root().assert_processes("python", 10);
        // Each process is short, and its first samples in a library just loaded may be cut short.
        recording
            .assert_share("burn_in_child", 30.0)
            .assert_whole(98.0);
    }
}

#[test]
fn processes_by_fork() {
    processes("fork");
}

#[test]
fn processes_by_spawn() {
    processes("spawn");
}

#[test]
fn processes_by_a_server() {
    processes("forkserver");
}

#[test]
fn children_by_subprocess() {
    for version in pythons_for("subprocess_kinds") {
        let recording = run_both_ways(&python(&version, "subprocess_kinds.py", &[]).slack(5.0));
        recording
            .assert_one_root()
            .assert_processes("burn_in_subprocess", 8);
        recording.assert_share("burn_in_subprocess", 30.0);
    }
}

#[test]
fn interpreters_beside_the_main_one() {
    for version in pythons_for("subinterpreters-") {
        let recording = run_both_ways(&python(&version, "subinterpreters.py", &[]));
        recording
            .assert_share("burn_in_subinterpreter", 40.0)
            .assert_whole(99.0);
    }
}

#[test]
fn fault_handlers_and_faults() {
    for version in pythons_for("faults") {
        for how in [
            "dumps",
            "segv",
            "abort",
            "kill",
            "thread",
            "exception",
            "disabled",
        ] {
            let recording = run_both_ways(&python(&version, "faults.py", &[how]));
            recording.assert_share("burn", 40.0);
        }
    }
}

#[test]
fn recursion_of_fifty_thousand() {
    for version in pythons_for("recursion") {
        let recording = run_both_ways(&python(&version, "recursion.py", &[]));
        // Without optimisation a walk of this depth takes longer than a period.
        let full = if cfg!(debug_assertions) { 50.0 } else { 90.0 };
        recording.assert_share("burn", 60.0).assert_sampled(full);
        // In a stack that was cut, the reason is outermost.
        for sample in &recording.profile.samples {
            let names = recording.names(sample);
            if let Some(at) = names.iter().position(|name| name.starts_with("[truncated")) {
                assert_eq!(at + 1, names.len(), "{:?}", &names[at..]);
            }
        }
        assert!(recording.share("[truncated Python stack]") > 30.0);
    }
}

#[test]
fn many_new_functions_on_one_stack() {
    const MODULES: &str = "90";
    for version in pythons_for("chain") {
        let name = format!("chain-{}.{}", version.version.0, version.version.1);
        let folder = scratch().join(name).display().to_string();
        let write = python(&version, "chain.py", &[&folder, MODULES, "write"]);
        assert_eq!(write.plain().code, Some(0));
        // At the first sample all modules are on the stack, and none has been seen before.
        let program = python(&version, "chain.py", &[&folder, MODULES]);
        let recording = run_both_ways(&program.options(&["--rate", "10"]));
        let whole = |sample: &&Sample| {
            let names = recording.names(sample);
            names.iter().filter(|name| **name == "<module>").count() > 90
        };
        let samples = &recording.profile.samples;
        assert!(samples.iter().filter(whole).count() >= 2);
        assert_eq!(recording.share("[truncated]"), 0.0);
    }
}

#[test]
fn threads_and_the_lock() {
    for version in pythons_for("threads") {
        let recording = run_both_ways(&python(&version, "threads.py", &[]).slack(4.0));
        recording
            .assert_share("alpha", 8.0)
            .assert_share("beta", 8.0)
            .assert_share("hashes", 8.0)
            .assert_whole(99.5);
    }
}

#[test]
fn signals_of_the_program() {
    for version in pythons_for("signals") {
        run_both_ways(&python(&version, "signals.py", &[])).assert_share("burn", 60.0);
    }
}

#[test]
fn ends_of_all_kinds() {
    for version in pythons_for("ends") {
        let ends = [
            "return",
            "exit",
            "text",
            "_exit",
            "exception",
            "kill",
            "interrupt",
            "thread",
            "pipe",
            "exec",
            "fork",
        ];
        for how in ends {
            run_both_ways(&python(&version, "ends.py", &[how])).assert_share("burn", 40.0);
        }
    }
}

#[test]
fn native_code_below_and_between() {
    for version in pythons_for("native_calls") {
        let recording = run_both_ways(&python(&version, "native_calls.py", &[]));
        recording
            .assert_share("compresses", 15.0)
            .assert_share("key_of", 5.0)
            .assert_share("compare_by_ctypes", 5.0);
        recording.assert_share("pure_loop", 15.0).assert_whole(99.5);
        let calls = |inner: &str, outer: &str| {
            let inside = |names: &[&str]| {
                let inner = names.iter().position(|name| *name == inner);
                inner.is_some_and(|at| names[at..].contains(&outer))
            };
            recording.seconds_where(|sample| inside(&recording.names(sample)))
        };
        assert!(
            calls("key_of", "sorts_with_key") > 0.02,
            "{}",
            recording.outline()
        );
        assert!(
            calls("compare_by_ctypes", "qsorts") > 0.02,
            "{}",
            recording.outline()
        );
    }
}

#[test]
fn numpy_in_threads() {
    if let Some(version) = python_with("numpy") {
        let recording = run_both_ways(&python(&version, "numpy_threads.py", &[]));
        recording
            .assert_share("multiplies", 20.0)
            .assert_share("sorts", 0.5);
    }
}

#[test]
fn green_threads() {
    for (module, function) in [("greenlet", "burn_left"), ("gevent", "burn_in_pool")] {
        if let Some(version) = python_with(module) {
            let recording = run_both_ways(&python(&version, "greenlets.py", &[module]));
            let found = |sample: &_| {
                recording
                    .names(sample)
                    .iter()
                    .any(|name| name.contains(function))
            };
            assert!(
                recording.seconds_where(found) > 0.1,
                "{}",
                recording.outline()
            );
            recording.assert_whole(95.0);
        }
    }
}

#[test]
fn started_in_other_ways() {
    for version in pythons_for("started") {
        let target = source("shares.py");
        let text = fs::read_to_string(&target).unwrap();
        let new = || Program::new(&version.path).slack(2.0);
        run_both_ways(&new().with(&["-c", text.as_str()])).assert_share("half", 35.0);
        run_both_ways(&new().with(&["-"]).input(text.as_str())).assert_share("half", 35.0);
        let folder = scratch().join("package");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("__main__.py"), &text).unwrap();
        run_both_ways(&new().with(&[&folder])).assert_share("half", 35.0);
        let folder_name = folder.parent().unwrap().as_os_str();
        run_both_ways(
            &new()
                .with(&["-m", "package"])
                .env("PYTHONPATH", folder_name),
        )
        .assert_share("half", 35.0);
        run_both_ways(&new().with(&[&target]).env("PYTHONMALLOC", "debug"))
            .assert_share("half", 35.0);
        run_both_ways(&new().with(&["-X", "tracemalloc=5"]).with(&[&target]))
            .assert_share("half", 25.0);
        run_both_ways(
            &new()
                .with(&["-m", "cProfile", "-o", "stats"])
                .with(&[&target]),
        )
        .assert_share("half", 35.0);
        // Builds of one version have different names.
        let name = version.path.file_name().unwrap_or_default();
        let (major, minor) = version.version;
        let venv = format!("venv-{major}.{minor}-{}", name.to_string_lossy());
        let venv = scratch().join(venv);
        let mut make = Command::new(&version.path);
        make.args(["-m", "venv", "--without-pip"]).arg(&venv);
        if make.output().is_ok_and(|output| output.status.success()) {
            run_both_ways(&Program::new(venv.join("bin/python")).with(&[&target]))
                .assert_share("half", 35.0);
        } else {
            skip("no venv for this Python");
        }
        if let Some(shell) = tool("sh") {
            let wrapper = scratch().join("wrapper.sh");
            fs::write(
                &wrapper,
                "# A wrapper, as tools install them.\nexec \"$@\"\n",
            )
            .unwrap();
            let program = Program::new(shell).with(&[&wrapper, &version.path, &target]);
            run_both_ways(&program).assert_share("half", 35.0);
        }
    }
}

#[test]
fn embedded_in_a_program() {
    for version in pythons_for("embedded-") {
        let mut config = version.path.clone().into_os_string();
        config.push("-config");
        let Ok(output) = Command::new(&config)
            .args(["--embed", "--cflags", "--ldflags"])
            .output()
        else {
            skip("no python3-config for this Python");
            continue;
        };
        let flags = String::from_utf8(output.stdout).unwrap();
        let library = version.path.parent().unwrap().join("../lib");
        let path = format!("-Wl,-rpath,{}", library.display());
        let mut flags: Vec<&str> = flags.split_whitespace().collect();
        // Without a shared library of Python's, its modules find its functions in the program.
        flags.extend([&*path, "-rdynamic"]);
        if let Some(target) = cpp("embeds.cpp", &flags) {
            let program = Program::new(target).with(&[source("shares.py")]);
            run_both_ways(&program.slack(2.0)).assert_share("half", 35.0);
        }
    }
}

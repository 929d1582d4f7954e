//! The counters that compilers put into programs: calls are as many as the program makes, lines are
//! those of the compilers' own tools, and the program still writes its own files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use profundo_testing::{profundo, skip};
use serde_json::Value;

use crate::calls::{calls_of, report, run, text};
use crate::targets::{by, scratch};

const GCC: &[&str] = &["-g", "-O0", "--coverage"];
const CLANG: &[&str] = &["-g", "-fprofile-instr-generate", "-fcoverage-mapping"];
const RUST: &[&str] = &["--edition=2021", "-Cinstrument-coverage"];

/// The clang of this machine, if it has any.
pub fn clang() -> &'static str {
    let names = ["clang", "clang-19", "clang-17", "clang-16", "clang-15"];
    let works = |name: &&&str| Command::new(name).arg("--version").output().is_ok();
    names.iter().find(works).copied().unwrap_or("clang-14")
}

/// An empty folder to run a program in.
fn folder(name: &str) -> PathBuf {
    let folder = scratch().join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The names of a folder's entries.
fn names_in(folder: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(folder).unwrap();
    let names = files.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

/// A program traced in a folder, with the recording outside of that.
struct Traced {
    recording: PathBuf,
    output: Output,
}

fn traced(folder: &Path, options: &[&str], program: &Path, words: &[&str]) -> Traced {
    let recording = folder.with_extension("profundo");
    let mut command = Command::new(profundo());
    command.arg("trace").args(options).arg("-o").arg(&recording);
    command
        .arg("--")
        .arg(program)
        .args(words)
        .current_dir(folder);
    command.env("LLVM_PROFILE_FILE", "own-%p.profraw");
    let output = run(&mut command);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    Traced { recording, output }
}

#[track_caller]
fn check(traced: &Traced, expected: &[(&str, u64)]) {
    let table = report(&traced.recording, "trace");
    let said = text(&traced.output.stderr);
    for &(name, calls) in expected {
        assert_eq!(calls_of(&table, name), calls, "{name}: {said}");
    }
    assert_eq!(table["clock"], "none", "{said}");
    assert!(!said.contains("tottime"), "{said}");
    assert!(said.contains("without callers and times"), "{said}");
}

/// The calls of the C program without arguments.
const PLAIN: &[(&str, u64)] = &[
    ("fib", 1974),
    ("in_one_line", 1),
    ("branches", 1),
    ("jumps", 20),
    ("caught", 1),
    ("after_main", 1),
    ("main", 1),
];

/// The calls of the C program with the argument `ends`, without those of the child that is aborted.
const ENDS: &[(&str, u64)] = &[
    ("fib", 1973 + 42 + 3),
    ("in_child", 42),
    ("child", 5),
    ("jumps", 20),
    ("after_main", 3),
    ("main", 2),
];

/// Hits by line, of lines that are in one function only, and not in the function `but`.
fn lines(recording: &Path, but: &str) -> BTreeMap<u64, u64> {
    let table = report(recording, "lines");
    let mut lines = BTreeMap::new();
    let mut several = BTreeSet::new();
    for function in table["functions"].as_array().unwrap() {
        assert_eq!(function["seconds"], Value::Null);
        if function["function"] == but {
            continue;
        }
        for line in function["lines"].as_array().unwrap() {
            let number = line["line"].as_u64().unwrap();
            let before = lines.insert(number, line["hits"].as_u64().unwrap());
            if before.is_some() {
                several.insert(number);
            }
        }
    }
    lines.retain(|line, _| !several.contains(line));
    lines
}

/// Hits by line, as gcov reads the file that a program has written.
fn lines_by_gcov(file: &Path) -> Option<BTreeMap<u64, u64>> {
    let mut command = Command::new("gcov");
    command.args(["--json-format", "--stdout"]).arg(file);
    let output = command.current_dir(file.parent()?).output().ok()?;
    let report: Value = serde_json::from_slice(&output.stdout).ok()?;
    let mut lines = BTreeMap::new();
    for line in report["files"][0]["lines"].as_array()? {
        let number = line["line_number"].as_u64()?;
        *lines.entry(number).or_insert(0) += line["count"].as_u64()?;
    }
    lines.retain(|_, hits| *hits > 0);
    Some(lines)
}

/// Hits by line, as LLVM's own tools read the files that a program has written into a folder.
fn lines_by_llvm(tools: &Path, program: &Path, folder: &Path) -> Option<BTreeMap<u64, u64>> {
    let merged = folder.with_extension("profdata");
    let files = names_in(folder).into_iter();
    let files = files.filter(|name| name.ends_with(".profraw"));
    let files: Vec<PathBuf> = files.map(|name| folder.join(name)).collect();
    let mut command = Command::new(tools.join("llvm-profdata"));
    command.args(["merge", "-o"]).arg(&merged).args(files);
    let output = command.output().ok()?;
    assert!(output.status.success(), "{output:?}");
    let mut command = Command::new(tools.join("llvm-cov"));
    command.args(["export", "--format=lcov", "--instr-profile"]);
    let output = run(command.arg(&merged).arg(program));
    let said = text(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    let rows = said.lines().filter_map(|line| line.strip_prefix("DA:"));
    let rows = rows.map(|row| row.split_once(',').unwrap());
    let rows = rows.map(|(line, hits)| (line.parse().unwrap(), hits.parse().unwrap()));
    Some(rows.filter(|(_, hits)| *hits > 0).collect())
}

/// Asserts that our lines are equal to theirs, and that there are at least so many.
#[track_caller]
fn assert_equal_lines(ours: &BTreeMap<u64, u64>, theirs: &BTreeMap<u64, u64>, least: usize) {
    assert!(ours.len() >= least, "{ours:?}");
    for (line, hits) in ours {
        assert_eq!(theirs.get(line), Some(hits), "line {line}: {theirs:?}");
    }
}

#[test]
fn counters_of_gcc_are_read() {
    let Some(program) = by("gcc", "known_counts.c", GCC) else {
        return;
    };
    let written = program.with_file_name("known_counts.gcda");
    let folder = folder("counters_gcc");
    let _ = fs::remove_file(&written);
    let plain = run(&mut Command::new(&program));
    let plain_file = fs::read(&written).unwrap();
    // At its second end the program adds its counts to those of the first in the file.
    let _ = fs::remove_file(&written);
    for turn in 0..2 {
        let traced = traced(&folder, &[], &program, &[]);
        assert_eq!(traced.output.stdout, plain.stdout);
        check(&traced, PLAIN);
        assert_eq!(plain_file == fs::read(&written).unwrap(), turn == 0);
    }
    check(&traced(&folder, &[], &program, &["ends"]), ENDS);
    let _ = fs::remove_file(&written);
    let by_lines = traced(&folder, &["--lines"], &program, &[]);
    assert_eq!(fs::read(&written).unwrap(), plain_file);
    assert!(names_in(&folder).is_empty());
    let said = text(&by_lines.output.stderr);
    assert!(said.contains("Hits  Line Contents"), "{said}");
    let Some(theirs) = lines_by_gcov(&written) else {
        return skip("no gcov that prints lines as JSON");
    };
    let ours = lines(&by_lines.recording, "");
    assert_equal_lines(&ours, &theirs, 40);
    assert_eq!(ours.len(), theirs.len());
}

#[test]
fn counters_of_clang_are_read() {
    let Some(program) = by(clang(), "known_counts.c", CLANG) else {
        return;
    };
    let folder = folder("counters_clang");
    check(&traced(&folder, &[], &program, &[]), PLAIN);
    check(&traced(&folder, &[], &program, &["ends"]), ENDS);
    let names = names_in(&folder);
    // One file of the first run; of the second those of three children that end well, and of the
    // program that one of them became.
    assert!(names.len() >= 3, "{names:?}");
    assert!(
        names.iter().all(|name| name.starts_with("own-")),
        "{names:?}"
    );
    let folder = self::folder("counters_clang_lines");
    let by_lines = traced(&folder, &["--lines"], &program, &["quiet"]);
    let found = Command::new(clang())
        .arg("-print-prog-name=llvm-cov")
        .output();
    let found = text(&found.unwrap().stdout);
    let tools = Path::new(found.trim()).parent().unwrap();
    if !tools.join("llvm-profdata").exists() {
        return skip("clang has no llvm-cov and llvm-profdata beside it");
    }
    let theirs = lines_by_llvm(tools, &program, &folder).unwrap();
    // LLVM's own file is written before destructors run.
    assert_equal_lines(&lines(&by_lines.recording, "after_main"), &theirs, 50);
}

#[test]
fn counters_of_rustc_are_read() {
    let Some(program) = by("rustc", "known_counts.rs", RUST) else {
        return;
    };
    let folder = folder("counters_rust");
    let calls = traced(&folder, &[], &program, &[]);
    let expected = [
        ("known_counts::fib", 1973 + 15),
        ("known_counts::biggest", 20),
        ("known_counts::kind", 44),
        ("known_counts::fails", 30),
        ("known_counts::panics", 5),
        ("known_counts::in_child", 2),
        ("known_counts::main", 3),
        ("known_counts::main::{closure#2}", 99),
        ("<known_counts::Dropped as core::ops::drop::Drop>::drop", 30),
        ("<u32 as known_counts::Speaks>::speak", 20),
    ];
    check(&calls, &expected);
    let said = text(&calls.output.stderr);
    assert!(said.contains("known_counts::biggest (2)"), "{said}");
    assert!(said.contains("are gone with it: it was killed"), "{said}");
    // The program and the two children that were not aborted.
    assert_eq!(names_in(&folder).len(), 3);
    let folder = self::folder("counters_rust_lines");
    let by_lines = traced(&folder, &["--lines=known_counts.rs"], &program, &["alone"]);
    let sysroot = Command::new("rustc")
        .args(["--print", "target-libdir"])
        .output();
    let sysroot = PathBuf::from(text(&sysroot.unwrap().stdout).trim());
    let tools = sysroot.with_file_name("bin");
    if !tools.join("llvm-profdata").exists() {
        return skip("rustc has no llvm-tools (a component of rustup)");
    }
    let theirs = lines_by_llvm(&tools, &program, &folder).unwrap();
    assert_equal_lines(&lines(&by_lines.recording, ""), &theirs, 50);
}

#[test]
fn children_that_all_begin_at_once_are_counted() {
    for (compiler, flags) in [("gcc", GCC), (clang(), CLANG)] {
        let Some(program) = by(compiler, "known_counts.c", flags) else {
            continue;
        };
        let traced = traced(&folder("counters_storm"), &[], &program, &["storm"]);
        check(
            &traced,
            &[("in_child", 60), ("in_one_line", 61), ("fib", 1974 + 60)],
        );
    }
}

#[test]
fn functions_are_chosen_by_name_or_file() {
    let Some(program) = by("rustc", "known_counts.rs", RUST) else {
        return;
    };
    let folder = folder("counters_some_lines");
    for (option, count) in [
        ("--lines=fib", 1),
        ("--lines=known_counts::fib", 1),
        ("--lines=f*", 2),
        ("--lines=known_counts.rs:fib", 1),
        ("--lines=biggest", 1),
        ("--lines=known_counts::biggest", 1),
        ("--lines=other.rs", 0),
    ] {
        let traced = traced(&folder, &[option], &program, &[]);
        let table = report(&traced.recording, "lines");
        let functions = table["functions"].as_array().map_or(0, Vec::len);
        assert_eq!(functions, count, "{option}: {table}");
    }
}

#[test]
fn libraries_that_were_loaded_later_are_counted() {
    for (compiler, flags) in [("gcc", GCC), (clang(), CLANG)] {
        let Some(program) = by(compiler, "known_counts.c", flags) else {
            continue;
        };
        let flags = [flags, &["-shared", "-fPIC"]].concat();
        let Some(library) = by(compiler, "counted_library.c", &flags) else {
            continue;
        };
        let folder = folder("counters_library");
        let words = ["library", library.to_str().unwrap()];
        let all = [PLAIN, &[("twice", 21)]].concat();
        check(&traced(&folder, &[], &program, &words), &all);
        if compiler == "gcc" {
            // It writes its counters when it is unloaded.
            let words = [&words[..], &["close"]].concat();
            check(&traced(&folder, &[], &program, &words), &all);
        }
    }
}

#[test]
fn notes_of_counters_that_cannot_be_used_are_named() {
    let Some(program) = by("gcc", "known_counts.c", &["-O1", "--coverage"]) else {
        return;
    };
    let notes = program.with_file_name("known_counts.gcno");
    let folder = folder("counters_no_notes");
    let kept = fs::read(&notes).unwrap();
    for (bytes, expected) in [
        (None, "cannot be read"),
        (Some(&kept[..kept.len() - 3]), "is damaged"),
        (
            Some(&[&kept[..8], b"xxxx", &kept[12..]].concat()),
            "another build",
        ),
        (Some(&[&kept[..4], b"*07@", &kept[8..]].concat()), "version"),
    ] {
        match bytes {
            None => fs::remove_file(&notes).unwrap(),
            Some(bytes) => fs::write(&notes, bytes).unwrap(),
        }
        let said = text(&traced(&folder, &[], &program, &[]).output.stderr);
        assert!(said.contains(expected), "{expected}: {said}");
    }
    fs::write(&notes, kept).unwrap();
}

/// The agent reads the paths of files that are opened. A pointer that is no path is left to the
/// kernel, which refuses it.
#[test]
fn a_pointer_that_is_no_path_is_refused_by_the_kernel() {
    let Some(target) = by("gcc", "bad_path.c", &["-O0"]) else {
        return;
    };
    let plain = run(&mut Command::new(&target));
    let mut command = Command::new(profundo());
    command
        .args(["trace", "-o"])
        .arg(scratch().join("path.profundo"));
    let traced = run(command.arg("--").arg(&target));
    assert_eq!(traced.status, plain.status, "{traced:?}");
    assert_eq!(text(&traced.stdout), text(&plain.stdout));
    assert_eq!(text(&plain.stdout), "-1 1\n".repeat(3));
}

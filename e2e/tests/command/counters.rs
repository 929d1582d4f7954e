//! What compilers have put into programs that counts: the calls are as many as is known beforehand, lines as the compilers' own tools
//! say, and the program's own files are there as ever.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use profundo_e2e::sys::skip;
use serde_json::Value;

use crate::calls::{calls_of, report, run, text};
use crate::command::profundo;
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

/// An empty folder to be in.
fn folder(name: &str) -> PathBuf {
    let folder = scratch().join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The names of what is in a folder.
fn names_in(folder: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(folder).unwrap();
    let names = files.map(|it| it.unwrap().file_name().into_string().unwrap());
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

/// Calls in the C program, told nothing.
const PLAIN: &[(&str, u64)] = &[
    ("fib", 1974),
    ("in_one_line", 1),
    ("branches", 1),
    ("jumps", 20),
    ("caught", 1),
    ("after_main", 1),
    ("main", 1),
];

/// What it does when it is told of ends: of the child that is aborted nothing is known.
const ENDS: &[(&str, u64)] = &[
    ("fib", 1973 + 42 + 3),
    ("in_child", 42),
    ("child", 5),
    ("jumps", 20),
    ("after_main", 3),
    ("main", 2),
];

/// Hits by line, of lines that were run and are in one function alone, and not in this one.
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

/// What gcov says of the file that a program has written.
fn lines_by_gcov(file: &Path) -> Option<BTreeMap<u64, u64>> {
    let mut command = Command::new("gcov");
    command.args(["--json-format", "--stdout"]).arg(file);
    let output = command.current_dir(file.parent()?).output().ok()?;
    let told: Value = serde_json::from_slice(&output.stdout).ok()?;
    let mut lines = BTreeMap::new();
    for line in told["files"][0]["lines"].as_array()? {
        let number = line["line_number"].as_u64()?;
        *lines.entry(number).or_insert(0) += line["count"].as_u64()?;
    }
    lines.retain(|_, hits| *hits > 0);
    Some(lines)
}

/// What LLVM's own tools say of the files that a program has written into a folder.
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
    let rows = said.lines().filter_map(|it| it.strip_prefix("DA:"));
    let rows = rows.map(|it| it.split_once(',').unwrap());
    let rows = rows.map(|(line, hits)| (line.parse().unwrap(), hits.parse().unwrap()));
    Some(rows.filter(|(_, hits)| *hits > 0).collect())
}

/// Whether ours are the same, but for those that they do not have.
#[track_caller]
fn are_equal(ours: &BTreeMap<u64, u64>, theirs: &BTreeMap<u64, u64>, least: usize) {
    assert!(ours.len() >= least, "{ours:?}");
    for (line, hits) in ours {
        assert_eq!(theirs.get(line), Some(hits), "line {line}: {theirs:?}");
    }
}

#[test]
fn what_gcc_counts_is_counted() {
    let Some(program) = by("gcc", "known_counts.c", GCC) else {
        return;
    };
    let written = program.with_file_name("known_counts.gcda");
    let folder = folder("counters_gcc");
    let _ = fs::remove_file(&written);
    let plain = run(&mut Command::new(&program));
    let own = fs::read(&written).unwrap();
    // The second time the program's functions add to the file what was counted the first time.
    let _ = fs::remove_file(&written);
    for turn in 0..2 {
        let traced = traced(&folder, &[], &program, &[]);
        assert_eq!(traced.output.stdout, plain.stdout);
        check(&traced, PLAIN);
        assert_eq!(own == fs::read(&written).unwrap(), turn == 0);
    }
    check(&traced(&folder, &[], &program, &["ends"]), ENDS);
    let _ = fs::remove_file(&written);
    let by_lines = traced(&folder, &["--lines"], &program, &[]);
    assert_eq!(fs::read(&written).unwrap(), own);
    assert!(names_in(&folder).is_empty());
    let said = text(&by_lines.output.stderr);
    assert!(said.contains("Hits  Line Contents"), "{said}");
    let Some(theirs) = lines_by_gcov(&written) else {
        return skip("no gcov that tells its lines as JSON");
    };
    let ours = lines(&by_lines.recording, "");
    are_equal(&ours, &theirs, 40);
    assert_eq!(ours.len(), theirs.len());
}

#[test]
fn what_clang_counts_is_counted() {
    let Some(program) = by(clang(), "known_counts.c", CLANG) else {
        return;
    };
    let folder = folder("counters_clang");
    check(&traced(&folder, &[], &program, &[]), PLAIN);
    check(&traced(&folder, &[], &program, &["ends"]), ENDS);
    let names = names_in(&folder);
    // The first; of the second three children that end well, and the program that one of them became.
    assert!(names.len() >= 3, "{names:?}");
    assert!(names.iter().all(|it| it.starts_with("own-")), "{names:?}");
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
    // LLVM's functions have written their file before destructors.
    are_equal(&lines(&by_lines.recording, "after_main"), &theirs, 50);
}

#[test]
fn what_rustc_counts_is_counted() {
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
    are_equal(&lines(&by_lines.recording, ""), &theirs, 50);
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
fn lines_of_some_functions_are_asked_for_by_name_or_file() {
    let Some(program) = by("rustc", "known_counts.rs", RUST) else {
        return;
    };
    let folder = folder("counters_some_lines");
    for (asked, count) in [
        ("--lines=fib", 1),
        ("--lines=known_counts::fib", 1),
        ("--lines=f*", 2),
        ("--lines=known_counts.rs:fib", 1),
        ("--lines=biggest", 1),
        ("--lines=known_counts::biggest", 1),
        ("--lines=other.rs", 0),
    ] {
        let traced = traced(&folder, &[asked], &program, &[]);
        let table = report(&traced.recording, "lines");
        let functions = table["functions"].as_array().map_or(0, Vec::len);
        assert_eq!(functions, count, "{asked}: {table}");
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
fn a_program_without_what_its_counters_mean_says_so() {
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

/// We look at the paths of what is opened: what is none is the kernel's to refuse.
#[test]
fn a_path_that_is_none_is_refused_as_ever() {
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

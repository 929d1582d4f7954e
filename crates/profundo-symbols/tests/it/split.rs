//! Split debug information: the program keeps a skeleton, the rest is in `.dwo` files or in one
//! `.dwp` package.

use profundo_model::Language;
use profundo_symbols::{Problem, Symbolizer};

use crate::build::{C, RUST, Scratch, function};
use crate::own_process::profile_of;

fn check_rust(kind: &str) {
    let scratch = Scratch::new();
    let split = format!("-Csplit-debuginfo={kind}");
    let options = ["-g", "-O", "-Ccodegen-units=4", split.as_str()];
    let Some(program) = scratch.compile("app.rs", RUST, &options) else {
        return;
    };
    let addresses: Vec<u64> = function(&program, "outer").collect();
    let path = program.to_str().unwrap();
    let found = Symbolizer::new().resolve(path, &[], &addresses);
    let frames = found
        .iter()
        .find(|frames| frames.iter().any(|frame| &*frame.function == "app::leaf"))
        .unwrap_or_else(|| panic!("no inlined frames: {:?}", found[0]));
    let named: Vec<(&str, u32)> = frames
        .iter()
        .filter(|frame| frame.file.ends_with("app.rs"))
        .map(|frame| (&*frame.function, frame.line))
        .collect();
    assert!(named.contains(&("app::deep::outer", 19)), "{named:?}");
    assert!(frames.iter().all(|frame| frame.language == Language::Rust));
    // Not mangled, and compiled from Rust all the same.
    let main = function(&program, "3app4main").start;
    let found = Symbolizer::new().resolve(path, &[], &[main]);
    assert_eq!(found[0].last().unwrap().language, Language::Rust);
}

#[test]
fn rust_unpacked() {
    check_rust("unpacked");
}

#[test]
fn rust_packed() {
    check_rust("packed");
}

fn check_c(options: &[&str]) {
    let scratch = Scratch::new();
    let Some(program) = scratch.compile("app.c", C, options) else {
        return;
    };
    let addresses: Vec<u64> = function(&program, "outer").collect();
    let path = program.to_str().unwrap();
    let found = Symbolizer::new().resolve(path, &[], &addresses);
    let frames = found
        .iter()
        .find(|frames| frames.len() == 3)
        .expect("inlined frames");
    let named: Vec<(&str, u32)> = frames
        .iter()
        .map(|frame| (&*frame.function, frame.line))
        .collect();
    assert_eq!(named, [("leaf", 5), ("middle", 8), ("outer", 13)]);

    // Without the split files the skeleton has lines, and the symbol table the function.
    for entry in std::fs::read_dir(scratch.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "dwo") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let mut profile = profile_of(path, &[], &addresses);
    let summary = Symbolizer::new().name_profile(&mut profile);
    assert_eq!(summary.unnamed(), 0);
    let missing = |problem: &Problem| matches!(problem, Problem::SplitFilesMissing { .. });
    assert!(summary.modules[0].problems.iter().any(missing), "{summary}");
}

#[test]
fn c_with_dwarf_4() {
    check_c(&["-O2", "-gdwarf-4", "-gsplit-dwarf"]);
}

#[test]
fn c_with_dwarf_5() {
    check_c(&["-O2", "-gdwarf-5", "-gsplit-dwarf"]);
}

#[test]
fn a_package_of_c_files() {
    let scratch = Scratch::new();
    let options = ["-O2", "-gdwarf-4", "-gsplit-dwarf"];
    let Some(program) = scratch.compile("app.c", C, &options) else {
        return;
    };
    if scratch
        .run("dwp", &["-e", "program", "-o", "program.dwp"])
        .is_none()
    {
        return;
    }
    for entry in std::fs::read_dir(scratch.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "dwo") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let addresses: Vec<u64> = function(&program, "outer").collect();
    let found = Symbolizer::new().resolve(program.to_str().unwrap(), &[], &addresses);
    assert!(
        found.iter().any(|frames| frames.len() == 3),
        "{:?}",
        found[0]
    );
}

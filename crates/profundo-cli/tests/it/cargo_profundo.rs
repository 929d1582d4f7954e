//! `cargo profundo`, on a small package.

use std::fs;
use std::process::{Command, Stdio};

use crate::machine::{Folder, Outcome};

const MANIFEST: &str = "\
[package]
name = \"tiny\"
version = \"0.1.0\"
edition = \"2021\"

[workspace]
";

const MAIN: &str = "\
#[inline(never)]
fn spin() -> u64 {
    let began = std::time::Instant::now();
    let mut sum = 0_u64;
    while began.elapsed().as_millis() < 300 {
        for number in 0..1000 {
            sum = sum.wrapping_mul(31).wrapping_add(std::hint::black_box(number));
        }
    }
    sum
}

fn main() {
    std::hint::black_box(spin());
    println!(\"{:?}\", std::env::args().skip(1).collect::<Vec<_>>());
    std::process::exit(7);
}

#[test]
fn it_spins() {
    assert!(std::path::Path::new(\"Cargo.toml\").exists());
    assert_ne!(spin(), 1);
}
";

fn package() -> Folder {
    let folder = Folder::new();
    fs::write(folder.path().join("Cargo.toml"), MANIFEST).unwrap();
    fs::create_dir_all(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("src/main.rs"), MAIN).unwrap();
    folder
}

/// `cargo profundo` as cargo starts it.
fn run(folder: &Folder, words: &[&str]) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-profundo"));
    command
        .arg("profundo")
        .args(words)
        .current_dir(folder.path())
        .env("CARGO_TARGET_DIR", folder.path().join("target"))
        .env_remove("PROFUNDO_DIR")
        .stdin(Stdio::null());
    // Those of the cargo that runs this test are about another package.
    for name in ["CARGO_MANIFEST_DIR", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"] {
        command.env_remove(name);
    }
    Outcome::of(command.output().unwrap())
}

#[test]
fn a_program_is_built_and_profiled() {
    let folder = package();
    let run = run(
        &folder,
        &["run", "--quiet", "--limit", "3", "--", "one", "--wall"],
    );
    assert_eq!(run.code, Some(7), "{run:#?}");
    assert_eq!(run.out, "[\"one\", \"--wall\"]\n");
    // It was built with line tables.
    assert!(
        run.err.contains("src/main.rs:") || run.err.contains("main.rs:"),
        "{run:#?}"
    );
    let [recording] = &folder.recordings()[..] else {
        panic!("one recording: {run:#?}");
    };
    // Its own crates are its own code.
    let (profile, _) = profundo_formats::read_file(recording).unwrap();
    let root = folder.path().canonicalize().unwrap();
    assert_eq!(profile.meta.mine, [root.display().to_string()]);
    let report = folder.run(&["report", "lines"]);
    assert!(
        report.succeeded().out.contains("wrapping_mul(31)"),
        "{report:#?}"
    );
}

#[test]
fn tests_run_in_their_folder_and_are_profiled() {
    let folder = package();
    let test = run(&folder, &["test", "--quiet"]);
    assert_eq!(test.code, Some(0), "{test:#?}");
    assert!(test.out.contains("1 passed"), "{test:#?}");
    assert_eq!(folder.recordings().len(), 1, "{test:#?}");
    let report = folder.run(&["report", "functions"]);
    assert!(report.succeeded().out.contains("spin"), "{report:#?}");
}

#[test]
fn what_is_typed_wrong_is_said() {
    let folder = Folder::new();
    let wrong = run(&folder, &["build"]);
    assert_eq!(wrong.code, Some(2), "{wrong:#?}");
    assert!(
        wrong.err.contains("none of run, test and bench"),
        "{wrong:#?}"
    );
    let help = run(&folder, &["--help"]);
    assert!(
        help.succeeded().out.contains("cargo profundo test"),
        "{help:#?}"
    );
}

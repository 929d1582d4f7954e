//! `report annotate`: the hot instruction of a program, and what cannot be shown.

use profundo_testing::{compile_text, run_compiler};
use serde_json::Value;

use crate::machine::Folder;

/// All the time is at the one division, or right behind it.
const DIVIDES: &str = "
#include <stdlib.h>
__attribute__((noinline)) unsigned long divide(unsigned long count, volatile unsigned long by) {
    unsigned long left = ~0ul;
    for (unsigned long at = 0; at < count; at++)
        left = (~0ul - (left & 7)) / by;
    return left;
}
int main(int argc, char **argv) {
    return divide(20000000ul, argc + 2) == 7;
}
";

/// A folder with a recording of a program of this name.
fn recorded(compiler: &str, file: &str, source: &str, flags: &[&str]) -> Option<Folder> {
    if !cfg!(target_arch = "x86_64") {
        profundo_testing::skip("only x86-64 code is disassembled");
        return None;
    }
    let folder = Folder::new();
    let program = compile_text(compiler, &folder, file, source, flags)?;
    let program = program.to_str().unwrap();
    folder
        .run(&["record", "-o", "a.profundo", "--", program])
        .succeeded();
    Some(folder)
}

fn annotated(folder: &Folder, name: &str) -> Value {
    let outcome = folder.run(&["report", "a.profundo", "annotate", name, "--json"]);
    serde_json::from_str(&outcome.succeeded().out).unwrap()
}

/// The share of the function's time within two instructions behind one that has this word.
fn share_behind(function: &Value, word: &str) -> f64 {
    let instructions = function["instructions"].as_array().unwrap();
    let text = |row: &Value| row["text"].as_str().unwrap().to_owned();
    let mut near = vec![false; instructions.len()];
    for at in 0..instructions.len() {
        if text(&instructions[at]).starts_with(word) {
            let end = (at + 3).min(instructions.len());
            near[at..end].fill(true);
        }
    }
    assert!(near.contains(&true), "no {word}: {instructions:#?}");
    let rows = instructions.iter().zip(near);
    rows.filter(|(_, near)| *near)
        .map(|(row, _)| row["self_share_of_function"].as_f64().unwrap())
        .sum()
}

#[test]
fn the_time_is_at_the_division() {
    let flags = ["-O1", "-g", "-Wl,--build-id"];
    let Some(folder) = recorded("gcc", "divides.c", DIVIDES, &flags) else {
        return;
    };
    let document = annotated(&folder, "divide");
    let function = &document["functions"][0];
    assert_eq!(function["function"], "divide");
    assert_eq!(function["addresses_misplaced"], 0);
    let share = share_behind(function, "div");
    assert!(share > 0.5, "{share}: {function:#}");
    // The call has the time of what it calls.
    let main = &annotated(&folder, "main")["functions"][0];
    let calls = main["instructions"].as_array().unwrap().iter();
    let called: f64 = calls
        .filter(|row| row["text"].as_str().unwrap().ends_with(" divide"))
        .map(|row| row["total_share_of_function"].as_f64().unwrap())
        .sum();
    assert!(called > 0.9, "{main:#}");
    let text = folder.run(&["report", "a.profundo", "annotate", "divide"]);
    let text = &text.succeeded().out;
    assert!(
        text.contains("divides.c:6") && text.contains("div"),
        "{text}"
    );
    assert!(text.contains("%r"), "{text}");
    let intel = folder.run(&["report", "a.profundo", "annotate", "divide", "--intel"]);
    assert!(!intel.succeeded().out.contains("%r"), "{}", intel.out);

    // A program that is built anew is another one.
    let mut again = std::process::Command::new("gcc");
    again
        .args(["-O0", "-g", "-Wl,--build-id", "-o"])
        .arg(folder.join("divides"))
        .arg(folder.join("divides.c"));
    run_compiler(again).unwrap();
    folder
        .run(&["report", "a.profundo", "annotate", "divide"])
        .refused(1, "was built anew since the recording");
    std::fs::remove_file(folder.join("divides")).unwrap();
    folder
        .run(&["report", "a.profundo", "annotate", "divide"])
        .refused(1, "is not on this machine");
}

#[test]
fn a_generic_function_of_rust_is_several() {
    const SOURCE: &str = "
use std::hint::black_box;
#[inline(never)]
fn spin<T: Into<u64> + Copy>(seed: T, rounds: u64) -> u64 {
    let by: u64 = seed.into() | 3;
    (0..rounds).fold(0, |sum, at| sum ^ (u64::MAX - black_box(at)) / black_box(by))
}
fn main() {
    black_box(spin(black_box(1_u32), 12_000_000) + spin(black_box(1_u8), 6_000_000));
}
";
    let flags = ["-O", "-g", "--crate-name", "spins"];
    let Some(folder) = recorded("rustc", "spins.rs", SOURCE, &flags) else {
        return;
    };
    let document = annotated(&folder, "spin");
    let functions = document["functions"].as_array().unwrap();
    assert_eq!(functions.len(), 2, "{functions:#?}");
    assert!(functions[1]["instructions"].as_array().unwrap().is_empty());
    let share = share_behind(&functions[0], "div");
    assert!(share > 0.5, "{share}: {:#}", functions[0]);
    let text = folder.run(&["report", "a.profundo", "annotate", "spin", "--limit", "2"]);
    let text = &text.succeeded().out;
    assert!(!text.contains("also means"), "{text}");
}

#[test]
fn what_has_no_instructions_says_so() {
    let folder = Folder::new();
    let app = folder.file("app.py", &"line()\n".repeat(60));
    let profile = crate::options::profile(&app);
    profundo_formats::write_file(folder.join("made.profundo"), &profile).unwrap();
    let report = |words: &[&str]| {
        let all = ["report", "made.profundo"].iter().chain(words);
        folder.run(&all.collect::<Vec<_>>())
    };
    report(&["annotate"]).refused_with_usage("wants the name of a function");
    report(&["annotate", "render", "--of", "allocated"]).refused_with_usage("has no `--of`");
    report(&["lines", "--intel"]).refused_with_usage("has no `--intel`");
    report(&["annotate", "render"]).refused(1, "is a Python function");
    let none = report(&["annotate", "nothing_like_it"]);
    assert_eq!(none.code, Some(4), "{none:#?}");
    assert!(none.out.contains("no function that was sampled"));
}

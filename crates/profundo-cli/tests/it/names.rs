//! Names as users know them: of programs, of command lines.

use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::Value;

use crate::machine::{Folder, SPIN_C, c_program};

fn json(folder: &Folder, words: &[&str]) -> Value {
    serde_json::from_str(&folder.said(words).succeeded().out).unwrap()
}

#[test]
fn a_program_has_the_name_by_which_it_was_started() {
    let folder = Folder::new();
    let Some(program) = c_program(&folder, "spin", SPIN_C) else {
        return;
    };
    // Without lines, functions are told by their module.
    let stripped = Command::new("strip").arg("-g").arg(&program).status();
    assert!(stripped.unwrap().success());
    let link = folder.path().join("whirl");
    symlink(&program, &link).unwrap();
    let words = [
        "record",
        "-o",
        "x.profundo",
        "./whirl",
        "0.3",
        "a b",
        "c\nd",
    ];
    folder.said(&words);
    let told = json(&folder, &["report", "x.profundo", "--json"]);
    let command = &told["recording"]["command"];
    assert_eq!(command, "./whirl 0.3 'a b' $'c\\nd'");
    let functions = folder.said(&["report", "x.profundo", "functions"]).out;
    let hot = functions.lines().find(|line| line.contains("  hot  "));
    assert!(
        hot.is_some_and(|line| line.ends_with("  whirl")),
        "{functions}"
    );
}

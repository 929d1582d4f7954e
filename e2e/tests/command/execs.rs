//! One process that becomes several programs: it is one in every number and table.

use std::fs;
use std::process::Command;

use profundo_e2e::sys::skip;
use serde_json::Value;

use crate::command::profundo;
use crate::program::{Program, alone};
use crate::targets::{pythons, scratch};

const BUSY: &str = "s = 0\nfor i in range(1500000): s += i\n";

#[test]
fn a_process_that_executes_others_is_one_row() {
    let Some(version) = pythons().first() else {
        return skip("there is no CPython from 3.8 to 3.14");
    };
    let python = version.path.display();
    // sh becomes env, that becomes Python, and that becomes Python once more; beside it a child of sh.
    let again =
        format!("{BUSY}import os\nos.execv('{python}', ['python3', '-c', '''{BUSY}''', 'last'])");
    let script = "true & exec env \"$0\" -c \"$1\" first".to_owned();
    let program =
        Program::new("/bin/sh").with(&["-c".to_owned(), script, python.to_string(), again]);
    let file = scratch().join("execs.profundo");
    let recorded = {
        let _alone = alone();
        program.command(Some(&file)).output().unwrap()
    };
    assert!(recorded.status.success(), "{recorded:?}");
    let output = Command::new(profundo())
        .arg("report")
        .arg(&file)
        .arg("--json")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    fs::remove_file(&file).unwrap();
    let rows = |table: &str| told[table].as_array().unwrap().clone();
    let counted = |table: &str| told["recording"][table].as_u64().unwrap() as usize;
    let processes = rows("processes");
    assert_eq!((processes.len(), counted("processes")), (2, 2), "{told}");
    assert_eq!(rows("threads").len(), counted("threads"), "{told}");
    let of_commands: u64 = rows("commands")
        .iter()
        .map(|row| row["processes"].as_u64().unwrap())
        .sum();
    assert_eq!(of_commands, 2, "{told}");
    // Named after the last program, with the time of all of them.
    let first = &processes[0];
    assert!(
        first["command"].as_str().unwrap().ends_with(" last"),
        "{first}"
    );
    let before = first["former_programs"].as_array().unwrap();
    let names: Vec<&str> = before
        .iter()
        .map(|it| it["command"].as_str().unwrap())
        .collect();
    assert!(
        names.iter().any(|name| name.ends_with(" first")),
        "{names:?}"
    );
    let seconds =
        |rows: &[Value]| -> f64 { rows.iter().map(|it| it["seconds"].as_f64().unwrap()).sum() };
    let python_before = before
        .iter()
        .rfind(|it| it["command"].as_str().unwrap().ends_with(" first"));
    assert!(
        python_before.unwrap()["seconds"].as_f64().unwrap() > 0.01,
        "{first}"
    );
    assert!(
        seconds(before) < first["seconds"].as_f64().unwrap(),
        "{first}"
    );
    let (by_process, by_command) = (seconds(&processes), seconds(&rows("commands")));
    assert!(
        (by_process - by_command).abs() < 1e-6,
        "{by_process} {by_command}"
    );
}

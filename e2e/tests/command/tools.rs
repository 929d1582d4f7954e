//! Programs with hardly any code of their own: installed tools still have hot lines, and pools of
//! threads have an owner.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use profundo_testing::{Python, profundo, pythons, skip};
use serde_json::Value;

use crate::program::{Program, alone};
use crate::targets::{python_with, scratch, source};

/// A tool as pip installs it: a package, and a script that imports it and calls.
const PACKAGE: &str = "import multiprocessing, sys

def work(count):
    total = 0
    for i in range(count):
        total += i * i
    return total

def main():
    if sys.argv[1:] == ['spawn']:
        multiprocessing.set_start_method('spawn')
        with multiprocessing.Pool(1) as pool:
            pool.map(work, [9000000])
    else:
        work(6000000)
    return 0
";
const SCRIPT: &str = "# -*- coding: utf-8 -*-
import re
import sys
from slowtool import main
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit(main())
";

/// Installs the tool; returns the folder of packages, and the script.
fn install(version: &Python) -> (PathBuf, PathBuf) {
    let folder = scratch().join(format!("tool-3.{}", version.version.1));
    let packages = folder.join(format!("lib/python3.{}/site-packages", version.version.1));
    let package = packages.join("slowtool");
    let script = folder.join("bin/slowtool");
    fs::create_dir_all(&package).unwrap();
    fs::create_dir_all(script.parent().unwrap()).unwrap();
    fs::write(package.join("__init__.py"), PACKAGE).unwrap();
    let main = "from . import main\nmain()\n";
    fs::write(package.join("__main__.py"), main).unwrap();
    fs::write(&script, SCRIPT).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    (packages, script)
}

fn recorded(program: &Program, file: &Path) -> (Value, String) {
    let _alone = alone();
    let output = program.command(Some(file)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let report = |options: &[&str]| {
        let mut command = Command::new(profundo());
        let output = command.arg("report").arg(file).args(options).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let json = serde_json::from_str(&report(&["--json"])).unwrap();
    let text = report(&[]);
    fs::remove_file(file).unwrap();
    (json, text)
}

/// The share of the lines of files whose path ends in this.
fn share(report: &Value, file: &str) -> f64 {
    let lines = report["lines"].as_array().unwrap().iter();
    let lines = lines.filter(|line| line["file"].as_str().unwrap().ends_with(file));
    lines.map(|line| line["self_share"].as_f64().unwrap()).sum()
}

#[test]
fn an_installed_tool_has_hot_lines() {
    if pythons().is_empty() {
        skip("there is no CPython from 3.8 to 3.15");
    }
    for version in pythons() {
        let (packages, script) = install(version);
        let script = script.as_os_str();
        let module = ["-m".as_ref(), "slowtool".as_ref()];
        let spawn = [script, "spawn".as_ref()];
        for (arguments, starts) in [
            (&[script][..], "Note: slowtool"),
            (&module, "Note: python -m"),
            (&spawn, "Note: "),
        ] {
            let program = Program::new(&version.path).with(arguments);
            let program = program.env("PYTHONPATH", &packages);
            let file = scratch().join(format!("tool-3.{}.profundo", version.version.1));
            let (report, text) = recorded(&program, &file);
            let of_package = share(&report, "slowtool/__init__.py");
            assert!(of_package > 0.6, "{of_package}\n{text}");
            for wrapper in ["bin/slowtool", "<string>", "runpy.py", "<frozen runpy>"] {
                let share = share(&report, wrapper);
                assert!(share < 0.05, "{wrapper}: {share}\n{text}");
            }
            // Code of `.pth` files is named too, where it takes long.
            assert!(
                text.contains(starts) && text.contains(" only start"),
                "{text}"
            );
            // The tree goes on below the function that the script calls.
            let tree = text.split("Self  Calls").nth(1).unwrap_or_default();
            assert!(tree.contains("work"), "{text}");
        }
    }
}

#[test]
fn a_line_has_the_pool_that_it_waits_for() {
    let Some(version) = python_with("numpy") else {
        return skip("there is no CPython with numpy");
    };
    let program = Program::new(&version.path).with(&[source("pool.py")]);
    let program = program.with(&["1.0"]).env("OPENBLAS_NUM_THREADS", "2");
    let (report, text) = recorded(&program, &scratch().join("pool.profundo"));
    // The table is complete: its shares add up to one.
    let lines = report["lines"].as_array().unwrap().iter();
    let lines: f64 = lines.map(|line| line["self_share"].as_f64().unwrap()).sum();
    let lineless = report["lineless"].as_array().unwrap();
    let share = |row: &Value| row["share"].as_f64().unwrap();
    let rest: f64 = lineless.iter().map(share).sum();
    let all = lines + share(&report["other_lines"]) + rest;
    assert!((all - 1.0).abs() < 0.001, "{all}\n{text}");
    let pool = &lineless[0];
    if share(pool) < 0.1 {
        return skip("numpy multiplies on one thread here");
    }
    let waiting = &pool["waited_for_at"][0];
    assert_eq!(waiting["at"]["line"], 7, "{text}");
    let part = share(waiting) / share(pool);
    assert!(part > 0.7, "{part}\n{text}");
    assert!(text.contains("in 1 thread of "), "{text}");
}

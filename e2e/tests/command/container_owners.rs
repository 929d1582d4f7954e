//! The owners of the containers of a Python process, in tables and on paths to them.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use profundo_testing::{Python, profundo};
use serde_json::Value;

use crate::program::{alone, wait};
use crate::targets::{pythons_for, scratch, source};

fn output_of(arguments: &[&str]) -> String {
    let output = Command::new(profundo()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn owner<'a>(of_type: &'a Value, owner: &str) -> &'a Value {
    let mut owners = of_type["owners"].as_array().unwrap().iter();
    let found = owners.find(|row| row["owner"] == owner);
    found.unwrap_or_else(|| panic!("no {owner} in {of_type:#}"))
}

/// Starts the program, and waits until it has made its containers.
fn begin(version: &Python) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(&version.path)
        .arg(source("owned_containers.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready 1000\n");
    (child, output)
}

#[test]
fn containers_are_counted_by_their_owners() {
    for version in pythons_for("owned_containers.py by owner") {
        let _alone = alone();
        let (mut child, _output) = begin(&version);
        let pid = child.id().to_string();
        let file = scratch().join("owned.heapsnapshot");
        let file = file.to_str().unwrap();
        output_of(&["snapshot", &pid, "-o", file]);
        drop(child.stdin.take());
        assert!(wait(&mut child, "owned_containers.py").success());

        let heap = output_of(&["heap", file, "--types", "--json"]);
        let heap: Value = serde_json::from_str(&heap).unwrap();
        let types = heap["types"].as_array().unwrap();
        // The owners' parts add up to the type.
        for row in types
            .iter()
            .filter(|row| row["owners"] != Value::Array(Vec::new()))
        {
            for figure in ["objects", "bytes"] {
                let parts = row["owners"].as_array().unwrap().iter();
                let sum: u64 = parts.map(|part| part[figure].as_u64().unwrap()).sum();
                assert_eq!(row[figure], sum, "{figure} of {}", row["type"]);
            }
        }
        let of = |name: &str| types.iter().find(|row| row["type"] == name).unwrap();
        for (name, whose, objects) in [
            ("dict", "app.cache.Session", 120),
            ("dict", "module app.cache", 1),
            ("dict", "app.cache.table[…]", 50),
            ("dict", "app.cache.Settings.registry", 1),
            ("dict", "serve.<locals>.kwargs", 1),
            ("dict", "serve.<locals>.local", 1),
            ("list", "<app.cache.Session>.items", 120),
            ("list", "<app.cache.Slots>.rows", 1),
            ("list", "app.cache.sessions", 1),
            (
                "set",
                "serve.<locals>.inner.__closure__[…].cell_contents",
                1,
            ),
        ] {
            let row = owner(of(name), whose);
            assert_eq!(row["objects"], objects, "{whose} on {version:?}");
        }
        let text = output_of(&["heap", file, "--types", "--limit", "5000"]);
        assert!(text.contains("dict of app.cache.Session\n"), "{text}");

        let ways = output_of(&["heap", file, "--path", "list", "--limit", "5000"]);
        let ways: Vec<&str> = ways.lines().map(str::trim).collect();
        assert!(ways.contains(&"app.cache.slots['first'].rows"), "{ways:#?}");
        let items = |way: &&str| way.starts_with("app.cache.sessions[") && way.ends_with("].items");
        assert!(ways.iter().any(items), "{ways:#?}");
        let ways = output_of(&["heap", file, "--path", "dict of app.cache.Session"]);
        assert!(ways.contains("119 objects held like this"), "{ways}");
        std::fs::remove_file(file).unwrap();
    }
}

#[test]
fn growth_is_counted_by_owners() {
    for version in pythons_for("owned_containers.py growing") {
        let _alone = alone();
        let (mut child, mut output) = begin(&version);
        let pid = child.id().to_string();
        let files = ["before", "after"].map(|name| scratch().join(format!("{name}.heapsnapshot")));
        let [before, after] = files.each_ref().map(|file| file.to_str().unwrap());
        output_of(&["snapshot", &pid, "-o", before]);
        child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "grown\n");
        output_of(&["snapshot", &pid, "-o", after]);
        drop(child.stdin.take());
        assert!(wait(&mut child, "owned_containers.py").success());

        let growth = output_of(&["heap", before, after, "--json", "--limit", "1000"]);
        let growth: Value = serde_json::from_str(&growth).unwrap();
        let types = growth["types"].as_array().unwrap();
        let of = |name: &str| types.iter().find(|row| row["type"] == name).unwrap();
        let table = owner(of("dict"), "app.cache.table[…]");
        assert_eq!(table["objects_before"], 50, "{version:?}");
        assert_eq!(table["objects_now"], 550, "{version:?}");
        // A new dictionary may lie where one of a module was freed meanwhile, and is the same
        // object then.
        let new = table["new_objects"].as_u64().unwrap();
        assert!((490..=500).contains(&new), "{version:?}: {new}");
        let rows = owner(of("list"), "<app.cache.Slots>.rows");
        let bytes = |when: &str| rows[when].as_u64().unwrap();
        assert!(
            bytes("bytes_now") > bytes("bytes_before") + 160_000,
            "{rows:#}"
        );
        // The list has grown, and is no new object.
        assert_eq!(rows["new_objects"], 0, "{version:?}");
        // The growth of a type is that of its owners.
        for name in ["dict", "list"] {
            let grown = |row: &Value| {
                let bytes = |when: &str| row[when].as_i64().unwrap();
                bytes("bytes_now") - bytes("bytes_before")
            };
            let parts = of(name)["owners"].as_array().unwrap().iter();
            assert_eq!(parts.map(grown).sum::<i64>(), grown(of(name)), "{name}");
        }
        let text = output_of(&["heap", before, after]);
        // A name that is longer than the page is wide is cut.
        for row in ["dict at app.cache.table[…]\n", "list at <app.cache.Slots>."] {
            assert!(text.contains(row), "{row} in {text}");
        }
        for file in files {
            std::fs::remove_file(file).unwrap();
        }
    }
}

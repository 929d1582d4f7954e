//! What the blocks hold that programs allocate: counted by type, where it is known how many there are.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::command::profundo;
use crate::program::number;
use crate::targets::{c, cpp, pythons_for, rust, scratch, source};

/// What is said of a type.
#[derive(Debug, Clone, Copy, Default)]
struct Of {
    bytes: u64,
    blocks: u64,
    /// Of these, bytes of what was growing.
    growing: u64,
}

/// What the report says of each type, and the bytes that debug information would tell more of.
fn types(program: &[&Path]) -> (BTreeMap<String, Of>, u64) {
    let file = scratch().join(format!("held-{}.profundo", number()));
    let mut record = Command::new(profundo());
    record.args(["record", "--memory=exact", "-o"]);
    record.arg(&file).arg("--").args(program);
    let recorded = record.stdout(Stdio::null()).output().unwrap();
    assert!(recorded.status.success(), "{recorded:?}");
    let report = |options: &[&str]| {
        let mut report = Command::new(profundo());
        report.arg("report").arg(&file).arg("allocs").args(options);
        let output = report.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let text = report(&["--width", "100"]);
    let report: Value = serde_json::from_str(&report(&["--json"])).unwrap();
    let _ = std::fs::remove_file(&file);
    let rows = report["allocations"]["types"].as_array().unwrap();
    assert_eq!(text.contains("What the blocks hold"), !rows.is_empty());
    let mut types: BTreeMap<String, Of> = BTreeMap::new();
    for row in rows {
        let name = row["type"].as_str().unwrap_or("unknown").to_owned();
        let of = types.entry(name).or_default();
        let bytes = row["allocated_bytes"].as_u64().unwrap();
        of.bytes += bytes;
        of.blocks += row["allocated_blocks"].as_u64().unwrap();
        if row["is_growing_buffer"].as_bool().unwrap() {
            of.growing += bytes;
        }
    }
    let untold = report["allocations"]["types_untold"]["bytes"].as_u64();
    (types, untold.unwrap())
}

#[test]
fn rusts_containers_are_named() {
    let Some(target) = rust("holds.rs") else {
        return;
    };
    let (types, _) = types(&[&target]);
    let of = |name: &str| types.get(name).copied().unwrap_or_default();
    // Twice as many each time, from four to 131072.
    let grown = of("Vec<u64>");
    assert_eq!(
        (grown.bytes, grown.growing),
        (2_097_120, 2_097_120),
        "{types:#?}"
    );
    let boxed = of("Box<holds::Node>");
    assert_eq!((boxed.blocks, boxed.bytes), (1000, 800_000), "{types:#?}");
    let counted = of("Arc<holds::Node>");
    assert_eq!(
        (counted.blocks, counted.bytes),
        (1000, 816_000),
        "{types:#?}"
    );
    assert_eq!(of("Vec<Box<holds::Node>>").bytes, 8000, "{types:#?}");
    assert!(of("HashMap<u64, String>").bytes >= 32_000, "{types:#?}");
    assert!(of("BTreeMap<u32, [u8; 64]>").bytes >= 68_000, "{types:#?}");
    // What the standard library has of its own may lack types.
    assert!(of("unknown").bytes < 100_000, "{types:#?}");
}

#[test]
fn cpps_containers_are_named() {
    for optimization in ["-O0", "-O2"] {
        let Some(target) = cpp("holds.cpp", &[optimization]) else {
            return;
        };
        let (types, _) = types(&[&target]);
        let of = |name: &str| types.get(name).copied().unwrap_or_default();
        let blocks = |name: &str| (of(name).blocks, of(name).bytes);
        let grown = of("std::vector<long>");
        assert_eq!(
            (grown.bytes, grown.growing),
            (2_097_144, 2_097_144),
            "{types:#?}"
        );
        assert_eq!(
            blocks("std::unique_ptr<Node>"),
            (1000, 800_000),
            "{types:#?}"
        );
        assert_eq!(of("std::shared_ptr<Node>").blocks, 1000, "{types:#?}");
        assert_eq!(blocks("std::string"), (1000, 501_000), "{types:#?}");
        assert_eq!(of("std::map<int, Node>").blocks, 1000, "{types:#?}");
        assert_eq!(of("std::multiset<int>").blocks, 1000, "{types:#?}");
        let named = of("std::unordered_map<long, std::string>");
        assert!(named.blocks >= 1000 && named.growing > 0, "{types:#?}");
        // What `new` alone was asked for.
        assert!(of("unknown").bytes >= 80_000, "{types:#?}");
    }
}

#[test]
fn without_debug_information_it_is_said_that_there_could_be_more() {
    let Some(target) = cpp("holds.cpp", &["-O2", "-g0"]) else {
        return;
    };
    let (types, untold) = types(&[&target]);
    // What was not made a part of `main` has its types in its name.
    assert!(types["std::vector<long>"].bytes >= 2_097_144, "{types:#?}");
    // What was made a part of it has not.
    assert!(untold >= 800_000, "{untold} {types:#?}");
}

#[test]
fn of_c_no_types_are_known() {
    let Some(target) = c("known_heap.c", &["-fno-builtin"]) else {
        return;
    };
    let (types, untold) = types(&[&target]);
    assert!(types.is_empty() && untold == 0, "{types:#?}, {untold}");
}

#[test]
fn what_cpython_makes_is_named_by_who_makes_it() {
    for python in pythons_for("holds.py") {
        let (types, _) = types(&[&python.path, &source("holds.py")]);
        let of = |name: &str| types.get(name).copied().unwrap_or_default();
        // A Python whose own functions have no names tells less.
        if of("list").bytes < 1_000_000 {
            assert!(of("unknown").bytes > 1_000_000, "{types:#?}");
            continue;
        }
        let header = 33;
        let texts = 500 * 1000 + (0..500).sum::<u64>() + 500 * header;
        assert!(of("bytes").bytes >= texts, "{types:#?}");
        assert!(of("float").blocks >= 20_000, "{types:#?}");
        assert!(of("dict").growing >= 20_000 * 24, "{types:#?}");
        assert!(of("set").growing >= 20_000 * 16, "{types:#?}");
        assert!(of("bytearray").growing >= 50_000, "{types:#?}");
        assert!(of("int").blocks >= 20_000, "{types:#?}");
    }
}

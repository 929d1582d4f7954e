//! The blocks that programs allocate, by the type that they hold: as many as the program is known
//! to make.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use profundo_testing::profundo;
use serde_json::Value;

use crate::program::number;
use crate::targets::{c, cpp, pythons_for, rust, scratch, source};

/// The figures of one type.
#[derive(Debug, Clone, Copy, Default)]
struct TypeSums {
    bytes: u64,
    blocks: u64,
    /// Bytes of growing containers among them.
    growing: u64,
}

/// The report's figures of each type, and the bytes whose type debug information would give.
fn types(program: &[&Path]) -> (BTreeMap<String, TypeSums>, u64) {
    let file = scratch().join(format!("block-types-{}.profundo", number()));
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
    let mut types: BTreeMap<String, TypeSums> = BTreeMap::new();
    for row in rows {
        let name = row["type"].as_str().unwrap_or("unknown").to_owned();
        let sums = types.entry(name).or_default();
        let bytes = row["allocated_bytes"].as_u64().unwrap();
        sums.bytes += bytes;
        sums.blocks += row["allocated_blocks"].as_u64().unwrap();
        if row["is_growing_buffer"].as_bool().unwrap() {
            sums.growing += bytes;
        }
    }
    let without_type = report["allocations"]["types_untold"]["bytes"].as_u64();
    (types, without_type.unwrap())
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
    // Blocks of the standard library's own may lack types.
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
        // Blocks of `new` alone.
        assert!(of("unknown").bytes >= 80_000, "{types:#?}");
    }
}

#[test]
fn bytes_that_lack_debug_information_are_counted() {
    let Some(target) = cpp("holds.cpp", &["-O2", "-g0"]) else {
        return;
    };
    let (types, without_type) = types(&[&target]);
    // Functions that were not inlined into `main` have the types in their names.
    assert!(types["std::vector<long>"].bytes >= 2_097_144, "{types:#?}");
    // Inlined functions have none.
    assert!(without_type >= 800_000, "{without_type} {types:#?}");
}

#[test]
fn blocks_of_c_have_no_types() {
    let Some(target) = c("known_heap.c", &["-fno-builtin"]) else {
        return;
    };
    let (types, without_type) = types(&[&target]);
    assert!(
        types.is_empty() && without_type == 0,
        "{types:#?}, {without_type}"
    );
}

#[test]
fn blocks_of_cpython_are_named_after_the_objects() {
    for python in pythons_for("holds.py") {
        let (types, _) = types(&[&python.path, &source("holds.py")]);
        let of = |name: &str| types.get(name).copied().unwrap_or_default();
        // A Python whose own functions have no names gives no types.
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

//! The contents of the allocator's pages, and log lines on allocations.

use std::hint::black_box;
use std::time::Duration;

use profundo::{allocs, heap};
use serde_json::Value;

use crate::graph::Hidden;
use crate::{folder, turn};

#[test]
fn each_page_says_what_begins_in_it() {
    let _turn = turn();
    let folder = folder();
    let boxes: Vec<Box<[u64; 5]>> = black_box((0..2000).map(|at| Box::new([at; 5])).collect());
    let path = heap::take_page_profile(folder.join("pages.json")).unwrap();
    assert_eq!(folder.names(), ["pages.json"]);
    let value: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let pages = value["pages"].as_array().unwrap();
    let address = |page: &Value| {
        let text = page["address"]
            .as_str()
            .unwrap()
            .strip_prefix("0x")
            .unwrap();
        u64::from_str_radix(text, 16).unwrap()
    };
    let mut found = 0;
    let ours: std::collections::HashSet<u64> = boxes
        .iter()
        .map(|value| Hidden::of(&raw const **value).address() / 4096 * 4096)
        .collect();
    for page in pages.iter().filter(|page| ours.contains(&address(page))) {
        let objects = page["objects"].as_array().unwrap();
        let boxes = objects
            .iter()
            .filter(|object| *object == "Box<[u64; 5]>")
            .count();
        // Forty bytes and a header, rounded up to 16.
        if boxes == objects.len() {
            assert_eq!(page["object_size"], 48);
        }
        found += boxes;
    }
    // While other threads allocate, the listing of their arenas may be incomplete; ours is
    // complete.
    assert!(found >= 1990, "{found}");
    let error = heap::take_page_profile("/proc/nothing/x.json").unwrap_err();
    assert!(error.to_string().contains("No such file"), "{error}");
    drop(boxes);
}

#[test]
fn lines_come_until_they_are_not_wanted() {
    let _turn = turn();
    allocs::enable_logging_every(Some(Duration::from_millis(1))).unwrap();
    allocs::enable_logging(true).unwrap();
    allocs::enable_logging(false).unwrap();
    allocs::enable_logging(false).unwrap();
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let names =
        threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    assert!(!names.into_iter().any(|name| name.trim() == "profundo-log"));
}

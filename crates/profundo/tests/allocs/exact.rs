//! At a rate of 1 the recording equals the oracle's, to the byte.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hint::black_box;

use profundo::allocs::{self, Rate};

use crate::oracle::{asked, asked_since, set_failing};
use crate::{alone, my_number};

/// Allocates and frees a mixture of blocks.
fn churn() -> usize {
    let mut map = HashMap::new();
    let mut tree = BTreeMap::new();
    let mut queue = VecDeque::new();
    for number in 0..500_u32 {
        map.insert(number, number.to_string());
        tree.insert(format!("{number:>8}"), number);
        queue.push_back(vec![number; number as usize % 17]);
        if queue.len() > 20 {
            queue.pop_front();
        }
    }
    map.retain(|number, _| number % 3 == 0);
    map.shrink_to_fit();
    black_box(map.len() + tree.len() + queue.len())
}

#[test]
fn counts_and_bytes_are_the_oracles() {
    for rate in [Rate::Events(1.0), Rate::Bytes(0)] {
        let _alone = alone();
        let me = my_number();
        allocs::start(rate).unwrap();
        let before = asked();
        churn();
        let expected = asked_since(before);
        allocs::stop();
        let results = allocs::fetch().unwrap();
        let mine: Vec<_> = results
            .iter()
            .filter(|alloc| alloc.thread() == me)
            .collect();
        let bytes: u64 = mine.iter().map(|alloc| alloc.size()).sum();
        assert_eq!((mine.len() as u64, bytes), (expected.count, expected.bytes));
        assert!(mine.iter().all(|alloc| alloc.weight() == 1.0));
        let freed: Vec<_> = mine
            .iter()
            .filter(|alloc| alloc.freed().is_some())
            .collect();
        let freed_bytes: u64 = freed.iter().map(|alloc| alloc.size()).sum();
        // All of them were temporary, since none was kept.
        assert_eq!(
            (freed.len() as u64, freed_bytes),
            (expected.freed, expected.freed_bytes)
        );
        assert_eq!(freed.len(), mine.len());
        for alloc in mine {
            assert!(alloc.freed() >= Some(alloc.time()));
        }
    }
}

#[test]
fn every_way_to_a_block() {
    let _alone = alone();
    let me = my_number();
    let layout = Layout::from_size_align(1000, 4096).unwrap();
    allocs::start(1.0).unwrap();
    // SAFETY: blocks are used and freed by the layouts that they have.
    let end = unsafe {
        let aligned = black_box(alloc(layout));
        assert!((aligned as usize).is_multiple_of(4096));
        let zeroed = black_box(alloc_zeroed(layout));
        assert_eq!(*zeroed.add(999), 0);
        let larger = black_box(realloc(black_box(aligned), layout, 5000));
        assert!((larger as usize).is_multiple_of(4096));
        // A failed resize keeps the block, and its end is still seen.
        set_failing(true);
        let failed = black_box(realloc(zeroed, layout, 7000));
        let none = black_box(alloc(layout));
        set_failing(false);
        assert!(failed.is_null() && none.is_null());
        dealloc(zeroed, layout);
        larger
    };
    allocs::stop();
    let results = allocs::fetch().unwrap();
    let found: Vec<_> = (results.iter())
        .filter(|alloc| alloc.thread() == me)
        .map(|alloc| (alloc.size(), alloc.freed().is_some()))
        .collect();
    assert_eq!(found, [(1000, true), (1000, true), (5000, false)]);
    // SAFETY: it was resized to this.
    unsafe { dealloc(end, Layout::from_size_align(5000, 4096).unwrap()) };
}

#[test]
fn stacks_begin_with_the_library_and_end_with_the_program() {
    let _alone = alone();
    let me = my_number();
    allocs::profile!(sample_rate = 1.0, churn()).unwrap();
    let results = allocs::fetch().unwrap();
    for alloc in results.iter().filter(|alloc| alloc.thread() == me) {
        let stack = alloc.stacktrace();
        let ours = |it: &profundo::StackFrame| {
            it.func.contains("profundo_capture")
                || it.func.contains("profundo::alloc::")
                || it.func.contains("__rust_alloc")
        };
        assert!(!stack.iter().any(ours), "{stack:#?}");
        assert!(
            stack
                .iter()
                .any(|frame| frame.func.ends_with("exact::churn")),
            "{stack:#?}"
        );
        let last = &stack[stack.len() - 1];
        assert!(!last.func.starts_with('['), "{last:?}");
    }
}

#[test]
fn types_are_recorded() {
    let _alone = alone();
    let me = my_number();
    allocs::profile!(sample_rate = 1.0, churn()).unwrap();
    let results = allocs::fetch().unwrap();
    let mut types: Vec<String> = (results.iter())
        .filter(|alloc| alloc.thread() == me)
        .map(|alloc| alloc.type_of().to_string())
        .collect();
    types.sort();
    types.dedup();
    let expected = [
        "BTreeMap<String, u32>",
        "HashMap<u32, String>",
        "String",
        "Vec<u32>",
        "VecDeque<Vec<u32>>",
    ];
    assert_eq!(types, expected);
}

#[test]
fn types_add_up() {
    let _alone = alone();
    allocs::profile!(sample_rate = 1.0, churn()).unwrap();
    let results = allocs::fetch().unwrap();
    let totals = results.by_type();
    let bytes: f64 = totals.iter().map(|total| total.bytes).sum();
    let count: f64 = totals.iter().map(|total| total.count).sum();
    assert_eq!(
        (bytes, count),
        (results.bytes() as f64, results.len() as f64)
    );
    assert!(totals.is_sorted_by(|a, b| a.bytes >= b.bytes));
    let text = totals
        .iter()
        .find(|total| total.type_of.to_string() == "String")
        .unwrap();
    // 500 of eight bytes, and the others of one to three digits; libtest may print meanwhile.
    let bytes = 4000.0 + (10 + 90 * 2 + 400 * 3) as f64;
    assert!((1000.0..1200.0).contains(&text.count), "{text:?}");
    assert!((bytes..2.0 * bytes).contains(&text.bytes), "{text:?}");
}

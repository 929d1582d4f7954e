//! Reports on allocations: a tree and a table, in bytes and in counts.

use std::hint::black_box;

use profundo::allocs::{self, Measure};
use profundo::{Format, Recur, SortBy};
use profundo_testing::Folder;

use crate::alone;

#[inline(never)]
fn large(keep: &mut Vec<Vec<u8>>) {
    keep.push(Vec::with_capacity(black_box(1_000_000)));
}

#[inline(never)]
fn small(keep: &mut Vec<Vec<u8>>) {
    for _ in 0..10 {
        keep.push(Vec::with_capacity(black_box(100)));
    }
}

#[inline(never)]
fn recursive(keep: &mut Vec<Vec<u8>>, depth: u32) {
    if depth > 0 {
        keep.push(Vec::with_capacity(black_box(depth as usize)));
        black_box(recursive as fn(&mut Vec<Vec<u8>>, u32))(keep, depth - 1);
        black_box(());
    }
}

/// Records a million bytes in one block, a thousand in ten, fifteen in five.
fn record() {
    let mut keep = Vec::with_capacity(100);
    allocs::profile!(sample_rate = 1.0, {
        large(&mut keep);
        small(&mut keep);
        recursive(&mut keep, 5);
    })
    .unwrap();
}

/// The rows whose function ends with this.
fn rows<'a>(text: &'a str, function: &str) -> Vec<&'a str> {
    text.lines()
        .filter(|line| line.trim_end().ends_with(function))
        .collect()
}

fn report() -> allocs::Report {
    allocs::report().width(1000)
}

#[test]
fn bytes_and_counts() {
    let _alone = alone();
    record();
    let text = report().to_text().unwrap();
    let tree = rows(&text, "reports::large");
    assert!(tree.len() == 1 && tree[0].contains(" 1000000 "), "{text}");
    assert!(
        rows(&text, "reports::small")[0].contains(" 1000 "),
        "{text}"
    );
    let total: u64 = allocs::fetch().unwrap().bytes();
    let snapshots = allocs::len();
    let footer = format!("Total snapshots: {snapshots}\nTotal bytes: {total}\n");
    assert!(text.ends_with(&footer), "{text}");
    let text = report().measure(Measure::Count).to_text().unwrap();
    assert!(rows(&text, "reports::small")[0].contains(" 10 "), "{text}");
    assert!(rows(&text, "reports::large")[0].contains(" 1 "), "{text}");
    let footer = format!("Total snapshots: {snapshots}\nTotal allocations: {snapshots}\n");
    assert!(text.ends_with(&footer), "{text}");

    let flat = report()
        .format(Format::Flat)
        .sorted_by(SortBy::Count)
        .to_text()
        .unwrap();
    assert!(
        flat.trim_start().starts_with("Count  Overhead File"),
        "{flat}"
    );
    assert!(
        rows(&flat, "reports::large")[0]
            .trim_start()
            .starts_with("1000000 "),
        "{flat}"
    );
}

#[test]
fn every_keyword() {
    let _alone = alone();
    record();
    let all = report().to_text().unwrap();
    let lines = |report: allocs::Report| report.to_text().unwrap().lines().count();
    // The standard library's way to a block is hidden together with C frames.
    let c = report().c(true).to_text().unwrap();
    assert!(c.contains("raw_vec") && !all.contains("raw_vec"), "{c}");
    assert!(lines(report().maxdepth(0)) < all.lines().count());
    let few = report().mincount(500).to_text().unwrap();
    assert!(rows(&few, "reports::recursive").is_empty(), "{few}");
    assert!(!rows(&few, "reports::small").is_empty(), "{few}");
    assert!(
        rows(
            &report().noisefloor(2.0).to_text().unwrap(),
            "reports::small"
        )
        .is_empty()
    );
    let order = report()
        .sorted_by(SortBy::Count)
        .hot_first(true)
        .to_text()
        .unwrap();
    let place = |name| order.find(name).unwrap();
    assert!(place("reports::large") < place("reports::small"));
    assert!(place("reports::small") < place("reports::recursive"));
    // Five levels, or one that was entered five times.
    assert_eq!(rows(&all, "reports::recursive").len(), 5 + 4, "{all}");
    let flattened = report().recur(Recur::Flat).to_text().unwrap();
    assert_eq!(
        rows(&flattened, "reports::recursive").len(),
        3,
        "{flattened}"
    );

    let refused = report().combine(false).to_text().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "reports on allocations always combine the addresses of a line"
    );
    let shown = report().combine(true).to_text().unwrap();
    assert!(shown.contains("reports::large"), "{shown}");
    let refused = report().format(Format::Functions).to_text().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "allocations are shown as a tree or as a flat table"
    );
    assert!(
        report()
            .format(Format::Flat)
            .recur(Recur::Flat)
            .to_text()
            .is_err()
    );
}

#[test]
fn nothing_was_recorded() {
    let _alone = alone();
    let text = report().to_text().unwrap();
    assert!(
        text.ends_with("or record every allocation with a sample rate of 1.0.\n"),
        "{text}"
    );
    assert!(!text.contains("Total"));
    let results = allocs::fetch().unwrap();
    assert_eq!(results.to_string(), "AllocResults(Alloc[])");
}

#[test]
fn to_a_file_and_of_what_was_fetched() {
    let _alone = alone();
    record();
    let results = allocs::fetch().unwrap();
    allocs::clear();
    let folder = Folder::new("allocs");
    let path = folder.join("allocs.txt");
    results.report().write_path(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("reports::large"), "{text}");
    let mut out = Vec::new();
    allocs::print_to(&mut out, &results).unwrap();
    assert!(String::from_utf8(out).unwrap().contains("Total bytes: "));
}

#[test]
fn saved_and_loaded() {
    let _alone = alone();
    record();
    let results = allocs::fetch().unwrap();
    let folder = Folder::new("allocs");
    let path = folder.join("allocs.profundo");
    results.save(&path).unwrap();
    let (data, _) = profundo::load(&path).unwrap();
    let (saved, loaded) = (&results.profile().heap, &data.profile().heap);
    assert_eq!(saved.sampling, loaded.sampling);
    let blocks_of = |profile: &profundo::model::Profile| -> Vec<(u64, String, bool, usize)> {
        (profile.heap.blocks.iter())
            .map(|block| {
                let name = profile.strings.get(block.type_name).to_owned();
                let depth = profile.stacks.locations(block.stack).count();
                (block.size, name, block.freed.is_some(), depth)
            })
            .collect()
    };
    assert!(!saved.blocks.is_empty());
    assert_eq!(blocks_of(results.profile()), blocks_of(data.profile()));
}

//! Allocations by caller, size and type: a tree in bytes, a table, and single allocations.
//!
//! xtask: run
#![expect(clippy::print_stdout, reason = "an example prints what it finds")]

use std::collections::HashMap;

use profundo::{Format, SortBy, allocs};

#[global_allocator]
static ALLOC: profundo::Alloc = profundo::Alloc::system();

/// Counts the words of a text in a map that owns them.
fn count_words(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word.to_lowercase()).or_insert(0) += 1;
    }
    counts
}

/// The same count in a map that borrows the words.
fn count_borrowed(text: &str) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word).or_insert(0) += 1;
    }
    counts
}

fn main() -> profundo::Result<()> {
    let text = "the quick brown fox jumps over the lazy dog and the other dog ".repeat(100);

    // Every allocation is recorded. Without a rate, about one per 512 KiB is.
    let counts = allocs::profile!(sample_rate = 1.0, count_words(&text))?;
    println!("{} words\n", counts.len());

    // In bytes, as a tree and as a table; then in counts.
    allocs::print()?;
    println!();
    let table = allocs::report()
        .format(Format::Flat)
        .sorted_by(SortBy::Overhead);
    table.measure(allocs::Measure::Count).print()?;

    // By type, and the largest of them.
    let results = allocs::fetch()?;
    println!();
    for total in results.by_type() {
        let (count, bytes, name) = (total.count, total.bytes, total.type_of);
        println!("{count:6} {bytes:8} bytes of {name}");
    }
    if let Some(largest) = results.iter().max_by_key(|alloc| alloc.size()) {
        println!("\nthe largest: {largest}");
    }

    // For tests: the allocations of a piece of code on its own thread.
    let owned = allocs::here(|| count_words(&text))?;
    let borrowed = allocs::here(|| count_borrowed(&text))?;
    println!(
        "\nowned: {} allocations, borrowed: {}",
        owned.count, borrowed.count
    );
    assert!(borrowed.count < owned.count);
    Ok(())
}

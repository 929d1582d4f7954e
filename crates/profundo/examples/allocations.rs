//! Who allocates, how much, and of what: a tree in bytes, a table, and single allocations.
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

/// The same in a map that borrows them.
fn count_borrowed(text: &str) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word).or_insert(0) += 1;
    }
    counts
}

fn main() -> profundo::Result<()> {
    let text = "the quick brown fox jumps over the lazy dog and the other dog ".repeat(100);

    // Every allocation is recorded. Without a rate, one about each 512 KiB would be.
    let counts = allocs::profile!(sample_rate = 1.0, count_words(&text))?;
    println!("{} words\n", counts.len());

    // In bytes, as a tree and as a table; in counts as well.
    allocs::print()?;
    println!();
    let table = allocs::report()
        .format(Format::Flat)
        .sorted_by(SortBy::Overhead);
    table.measure(allocs::Measure::Count).print()?;

    // One by one, with what they hold.
    let results = allocs::fetch()?;
    let mut types: HashMap<String, (u64, u64)> = HashMap::new();
    for alloc in &results {
        let (count, bytes) = types.entry(alloc.type_of().to_string()).or_default();
        *count += 1;
        *bytes += alloc.size();
    }
    let mut types: Vec<_> = types.into_iter().collect();
    types.sort_by_key(|(_, (_, bytes))| std::cmp::Reverse(*bytes));
    println!();
    for (name, (count, bytes)) in types {
        println!("{count:6} {bytes:8} bytes of {name}");
    }

    // And for tests: how much a piece of code allocates on its own thread.
    let owned = allocs::here(|| count_words(&text))?;
    let borrowed = allocs::here(|| count_borrowed(&text))?;
    println!(
        "\nowned: {} allocations, borrowed: {}",
        owned.count, borrowed.count
    );
    assert!(borrowed.count < owned.count);
    Ok(())
}

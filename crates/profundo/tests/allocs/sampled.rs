//! Random sampling: the sums are unbiased whatever the sizes. Gaps are drawn anew each time, so the
//! bounds are wide: one run in some hundred thousand fails.

use std::alloc::{Layout, alloc, dealloc};
use std::hint::black_box;

use profundo::allocs::{self, Rate};

use crate::{alone, my_number};

/// Allocates and frees this many blocks of a size.
fn allocate(size: usize, count: u64) {
    let layout = Layout::from_size_align(size, 8).unwrap();
    for _ in 0..count {
        // SAFETY: the layout is not empty, and the block is freed by it.
        unsafe {
            let block = black_box(alloc(layout));
            assert!(!block.is_null());
            dealloc(block, layout);
        }
    }
}

#[test]
fn no_size_is_seen_too_often_or_too_seldom() {
    const MEAN: u64 = 16 << 10;
    /// Bound in standard deviations.
    const WIDE: f64 = 5.0;
    /// If nearly all are recorded, the few others are not normally distributed.
    const FEW: f64 = 3.5;
    let _alone = alone();
    let me = my_number();
    for size in [
        8,
        24,
        100,
        1000,
        10 << 10,
        16 << 10,
        100 << 10,
        1 << 20,
        64 << 20,
    ] {
        let size = size as u64;
        let chance = -(-(size as f64) / MEAN as f64).exp_m1();
        // About 900 of the small ones are recorded.
        let count = ((900.0 / chance) as u64).clamp(20, 2_000_000);
        allocs::profile!(sample_bytes = MEAN, allocate(size as usize, count)).unwrap();
        let results = allocs::fetch().unwrap();
        allocs::clear();
        let mine = results
            .iter()
            .filter(|alloc| alloc.thread() == me && alloc.size() == size);
        let (mut seen, mut bytes) = (0_u64, 0.0);
        for alloc in mine {
            seen += 1;
            bytes += alloc.weight() * alloc.size() as f64;
        }
        let expected = count as f64 * chance;
        let deviation = (expected * (1.0 - chance)).sqrt();
        let off = (seen as f64 - expected).abs();
        assert!(
            off <= WIDE * deviation + FEW,
            "{size}: {seen} of {expected:.0}"
        );
        let true_bytes = (size * count) as f64;
        let wide = (WIDE * deviation + FEW) / expected;
        assert!(
            (bytes / true_bytes - 1.0).abs() <= wide + 1e-9,
            "{size}: {bytes} of {true_bytes}"
        );
    }
}

#[test]
fn events_are_all_alike() {
    let _alone = alone();
    let me = my_number();
    for rate in [0.01, 0.25, 0.9] {
        let count = 20_000;
        allocs::profile!(sample_rate = rate, {
            for size in [8, 1 << 20] {
                allocate(size, count);
            }
        })
        .unwrap();
        let results = allocs::fetch().unwrap();
        allocs::clear();
        for size in [8, 1 << 20] {
            let mine = results
                .iter()
                .filter(|alloc| alloc.thread() == me && alloc.size() == size);
            let seen = mine.count() as f64;
            let expected = count as f64 * rate;
            let deviation = (expected * (1.0 - rate)).sqrt();
            assert!(
                (seen - expected).abs() < 5.0 * deviation,
                "{rate}, {size}: {seen}"
            );
        }
        assert!(
            results
                .iter()
                .all(|alloc| (alloc.weight() - 1.0 / rate).abs() < 1e-9)
        );
    }
}

#[test]
fn intervals_hold_the_true_value() {
    // 95 % of the intervals hold the true value, or a little less where there are few blocks.
    const RUNS: usize = 100;
    const TRUE: f64 = (64 * 5000 + 5000 * 100) as f64;
    let _alone = alone();
    let mut held = 0;
    for _ in 0..RUNS {
        allocs::profile!(sample_bytes = 4096, {
            allocate(64, 5000);
            allocate(5000, 100);
        })
        .unwrap();
        let text = allocs::report().to_text().unwrap();
        allocs::clear();
        let (_, numbers) = text.split_once("confidence there were ").unwrap();
        let mut numbers = numbers
            .split_whitespace()
            .filter_map(|word| word.parse::<f64>().ok());
        let (low, high) = (numbers.next().unwrap(), numbers.next().unwrap());
        // The little that other threads may have allocated does not count.
        held += usize::from((low..=high).contains(&TRUE));
        assert!(low < high && high - low < TRUE / 2.0, "{text}");
    }
    assert!(held >= 80, "{held} of {RUNS}");
}

#[test]
fn several_rates_add_up() {
    let _alone = alone();
    let me = my_number();
    let count = 5000;
    for rate in [Rate::Events(0.5), Rate::Bytes(1000), Rate::Events(1.0)] {
        allocs::start(rate).unwrap();
        allocate(333, count);
    }
    allocs::stop();
    let results = allocs::fetch().unwrap();
    let mine = results
        .iter()
        .filter(|alloc| alloc.thread() == me && alloc.size() == 333);
    let (mut sum, mut variance) = (0.0, 0.0);
    for alloc in mine {
        let weight = alloc.weight();
        sum += weight;
        variance += weight * (weight - 1.0);
    }
    let off = (sum - 3.0 * count as f64).abs();
    assert!(
        off < 5.0 * f64::sqrt(variance),
        "{sum} ± {}",
        variance.sqrt()
    );
    let text = results.report().to_text().unwrap();
    assert!(text.contains("at several rates"), "{text}");
}

#[test]
fn by_default_it_is_by_bytes() {
    assert_eq!(Rate::default(), Rate::Bytes(512 << 10));
    let _alone = alone();
    let me = my_number();
    // Each is recorded but for one in e^16.
    allocs::profile!(allocate(8 << 20, 40)).unwrap();
    let results = allocs::fetch().unwrap();
    let large = results
        .iter()
        .filter(|alloc| alloc.thread() == me && alloc.size() == 8 << 20);
    assert!((39..=40).contains(&large.count()));
}

//! Whether ranges hold the truth at their rate: blocks are drawn a thousand times over.

use profundo_model::{Amount, Sampling};

use super::Dice;
use crate::heap::figure::Sum;

const MEAN: u64 = 512 << 10;
const DRAWS: u64 = 1000;

/// The number of sampled blocks, of `blocks` with this probability each.
fn seen(dice: &mut Dice, blocks: u64, chance: f64) -> u64 {
    if blocks <= 64 {
        return (0..blocks).filter(|_| dice.part() < chance).count() as u64;
    }
    // From one sampled block to the next.
    let (mut at, mut count) = (0.0, 0);
    if chance >= 1.0 {
        return blocks;
    }
    loop {
        at += (dice.part().max(1e-300).ln() / (-chance).ln_1p()).floor() + 1.0;
        if at > blocks as f64 {
            return count;
        }
        count += 1;
    }
}

/// The rates at which the ranges of bytes and of counts hold the truth, and the bias of the mean.
fn trial(sizes: &[(u64, u64)], seed: u64) -> (f64, f64, f64) {
    let sampling = Sampling::Bytes(MEAN);
    let mut dice = Dice::new(seed);
    let truth = sizes
        .iter()
        .map(|(size, blocks)| size * blocks)
        .sum::<u64>();
    let number = sizes.iter().map(|(_, blocks)| blocks).sum::<u64>();
    let (mut bytes, mut counts, mut shown, mut all) = (0, 0, 0, 0.0);
    for _ in 0..DRAWS {
        let mut sum = Sum::default();
        for &(size, blocks) in sizes {
            for _ in 0..seen(&mut dice, blocks, sampling.probability(size)) {
                sum.add_block(size, sampling);
            }
        }
        all += sum.weight();
        // A sum without sampled blocks is not shown.
        if sum.seen() > 0 {
            shown += 1;
            let holds = |figure: crate::Figure, truth| (figure.low..=figure.high).contains(&truth);
            bytes += u64::from(holds(sum.bytes(), truth));
            counts += u64::from(holds(sum.count(), number));
        }
    }
    let shown = shown as f64;
    (
        bytes as f64 / shown,
        counts as f64 / shown,
        all / DRAWS as f64 / truth as f64,
    )
}

#[test]
fn ranges_hold_the_truth_whatever_the_size() {
    // Lines of a hundredth of some gigabyte, and of a few megabytes.
    for total in [10 << 20, 64 << 20, 2 << 20] {
        for shift in 3..=26 {
            let size = 1_u64 << shift;
            let blocks = (total / size).max(1);
            let (bytes, counts, mean) = trial(&[(size, blocks)], shift);
            assert!(bytes >= 0.93, "{size} B of {total}: {bytes}");
            assert!(
                counts >= 0.93,
                "{size} B of {total}: {counts} of the counts"
            );
            // Four standard errors, for sums of this many samples.
            let expected = (total as f64 / MEAN as f64).max(1.0);
            let error = 4.0 / (expected * DRAWS as f64).sqrt();
            assert!((mean - 1.0).abs() < error, "{size} B of {total}: {mean}");
        }
    }
}

#[test]
fn ranges_hold_the_truth_of_lines_of_many_sizes() {
    let lines: [&[(u64, u64)]; 4] = [
        &[(16, 300_000), (1 << 20, 5)],
        &[(64, 20_000), (4096, 500), (300_000, 20), (8 << 20, 3)],
        &[(100, 10_000), (64 << 20, 1)],
        &[(700_000, 15), (8, 100_000)],
    ];
    for (seed, line) in lines.into_iter().enumerate() {
        let (bytes, _, mean) = trial(line, seed as u64 + 100);
        assert!(bytes >= 0.93, "{line:?}: {bytes}");
        assert!((mean - 1.0).abs() < 0.08, "{line:?}: {mean}");
    }
}

#[test]
fn what_was_all_seen_has_no_range() {
    let mut sum = Sum::default();
    sum.add_block(64 << 20, Sampling::All);
    sum.add_block(8, Sampling::All);
    assert!(sum.bytes().is_exact() && sum.count().is_exact());
    assert_eq!(sum.bytes().value, (64 << 20) + 8);
    // A block that is certain to be sampled says nothing about small ones.
    let mut sum = Sum::default();
    sum.add_block(64 << 20, Sampling::Bytes(MEAN));
    let bytes = sum.bytes();
    assert_eq!((bytes.low, bytes.value), (64 << 20, 64 << 20));
    assert!(bytes.high < (64 << 20) + 4 * MEAN, "{bytes:?}");
    assert!(sum.count().is_exact());
    sum.add_block(8, Sampling::Bytes(MEAN));
    let bytes = sum.bytes();
    // It is not less than the sampled blocks.
    assert!(bytes.low >= (64 << 20) + 8 && bytes.low < bytes.value && bytes.value < bytes.high);
}

#[test]
fn the_estimate_of_another_tool_has_the_range_of_its_blocks() {
    let (size, blocks, sampling) = (4096, 20, Sampling::Bytes(MEAN));
    let (mut each, mut site) = (Sum::default(), Sum::default());
    (0..blocks).for_each(|_| each.add_block(size, sampling));
    let count = (blocks as f64 * sampling.weight(size)).round() as u64;
    let bytes = count * size;
    site.add_all(Amount { count, bytes }, sampling);
    assert_eq!(site.seen(), each.seen());
    assert!(!site.bytes().is_exact());
    let near = |one: u64, other: u64| one.abs_diff(other) as f64 <= 1e-3 * other as f64;
    for (one, other) in [(site.bytes(), each.bytes()), (site.count(), each.count())] {
        let is_near = near(one.low, other.low) && near(one.high, other.high);
        assert!(is_near, "{one:?} {other:?}");
    }
    // Exact sums stay exact.
    let mut exact = Sum::default();
    exact.add_all(Amount { count, bytes }, Sampling::All);
    assert!(exact.bytes().is_exact() && exact.seen() == count);
}

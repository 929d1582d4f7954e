//! Where the file fills, fewer of the recorded blocks are kept: as if allocations had been recorded
//! half as often, a quarter as often, and so on. Each that stays stands for as many more, so that
//! sums stay right. The end of a block that was not kept is not kept either.
//!
//! The second half of the file has steps of equal size, each with half the chances of the one
//! before: so each step lasts twice as long, and a recording may be thousands of times as long as
//! the one that fills the first half, while no few blocks outweigh all others. In the last step
//! chances are halved with the room.

use profundo_model::{Block, Heap, Nanos, Sampling};
use rustc_hash::FxHashMap;

/// The number of steps in the whole file.
const STEPS: u64 = 32;

/// The number of halvings of probabilities in a file of `size` bytes, of at most `limit`.
pub(super) fn halvings(size: u64, limit: u64) -> u8 {
    let Some(over) = size.checked_sub(limit / 2) else {
        return 0;
    };
    let step = (limit / STEPS).max(1);
    let room = limit.saturating_sub(size).max(1);
    let last = (step / room).checked_ilog2().unwrap_or(0);
    (1 + (over / step).min(STEPS / 2) as u32 + last).min(63) as u8
}

/// The state of blocks since the first one was left out.
#[derive(Debug, Default)]
pub(super) struct Thinned {
    /// The first row that may have another number in the file, and its time.
    first: Option<(u64, Nanos)>,
    /// The number of rows of the file.
    rows: u64,
    /// The rows in the file of the live blocks.
    live: FxHashMap<u64, u64>,
    /// The number of blocks left out.
    left_out: u64,
}

impl Thinned {
    /// The block of this row, if it is kept.
    pub(super) fn block(
        &mut self,
        row: u64,
        mut block: Block,
        sampling: Sampling,
        halvings: u8,
    ) -> Option<Block> {
        if halvings == 0 && self.first.is_none() {
            self.rows = row + 1;
            return Some(block);
        }
        self.first.get_or_insert((row, block.time));
        if !stays(row, block.size, sampling.of(&block), halvings) {
            self.left_out += 1;
            return None;
        }
        block.doublings = block.doublings.saturating_add(halvings);
        if block.freed.is_none() {
            self.live.insert(row, self.rows);
        }
        self.rows += 1;
        Some(block)
    }

    /// Keeps the ends of kept blocks, by their rows in the file.
    pub(super) fn ends(&mut self, heap: &mut Heap) {
        let Some((first, _)) = self.first else { return };
        heap.ends.retain_mut(|end| match end.row < first {
            true => true,
            false => match self.live.remove(&end.row) {
                Some(row) => {
                    end.row = row;
                    true
                }
                None => false,
            },
        });
    }

    /// The time since which blocks were left out, if any were.
    pub(super) fn since(&self) -> Option<Nanos> {
        let (_, since) = self.first?;
        (self.left_out > 0).then_some(since)
    }
}

/// Whether an allocation recorded by one rule is also recorded by the same rule with its
/// probability halved so many times.
pub(super) fn stays(row: u64, size: u64, sampling: Sampling, halvings: u8) -> bool {
    let was = sampling.probability(size);
    let is = sampling.rarer(halvings).probability(size);
    was <= 0.0 || part(row) * was < is
}

/// A pseudo-random number between 0 and 1, after splitmix64.
fn part(row: u64) -> f64 {
    let mut bits = row.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_halves() {
        let of = |size| halvings(size, 3200);
        assert_eq!(
            [0, 1599, 1600, 1699, 1700, 3099].map(of),
            [0, 0, 1, 1, 2, 15]
        );
        assert_eq!([3100, 3151, 3180, 3199].map(of), [16, 17, 18, 22]);
        assert!(of(9999) < 64 && halvings(u64::MAX, 1) < 64);
        assert_eq!(halvings(1 << 40, u64::MAX), 0);
    }

    #[test]
    fn what_stays_stands_for_what_does_not() {
        let sampling = Sampling::Bytes(1000);
        for (size, halvings) in [(1, 1), (1, 4), (700, 2), (5_000, 3), (100_000, 5)] {
            let sampled = sampling.rarer(halvings);
            let rows = 100_000;
            let stay = (0..rows).filter(|&row| stays(row, size, sampling, halvings));
            let found = stay.count() as f64 * sampled.weight(size);
            let expected = rows as f64 * sampling.weight(size);
            let off = found / expected - 1.0;
            assert!(off.abs() < 0.05, "{size} {halvings}: {off}");
        }
        assert!((0..1000).all(|row| stays(row, 5, sampling, 0)));
    }

    #[test]
    fn ends_go_with_their_blocks() {
        let mut thinned = Thinned::default();
        let block = |time| Block {
            time: Nanos(time),
            size: 1,
            ..Block::default()
        };
        let sampling = Sampling::Bytes(1000);
        let first = thinned.block(0, block(0), sampling, 0);
        first.expect("there is room for the first block");
        let mut kept = vec![0];
        for row in 1..100 {
            if thinned.block(row, block(row), sampling, 2).is_some() {
                kept.push(row);
            }
        }
        assert!(kept.len() > 10 && kept.len() < 50, "{}", kept.len());
        let end = |row| profundo_model::BlockEnd {
            row,
            ..Default::default()
        };
        let mut heap = Heap {
            ends: (0..100).map(end).collect(),
            ..Heap::default()
        };
        thinned.ends(&mut heap);
        let rows: Vec<u64> = heap.ends.iter().map(|end| end.row).collect();
        assert_eq!(rows, (0..kept.len() as u64).collect::<Vec<_>>());
        assert!(thinned.live.is_empty());
        assert_eq!(thinned.since(), Some(Nanos(1)));
    }
}

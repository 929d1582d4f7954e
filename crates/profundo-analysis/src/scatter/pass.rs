//! One pass over the samples that are read, with a state for each row.

use super::{BLOCK, JUMP, Members, Reading, Series};
use crate::amount::Amount;
use crate::interval::Mass;

/// A pass over the samples.
pub(super) struct Pass<'a> {
    members: &'a Members,
    pub tracks: Vec<Track>,
    touched: Vec<u32>,
    runs: u32,
    /// The sums over all samples: squares, products of neighbours, of next neighbours, the number
    /// of each, the squared differences of blocks, and the number of blocks.
    own: f64,
    near: [f64; 2],
    pairs: [f64; 2],
    differences: f64,
    blocks: f64,
    /// The number of samples read, and how many there are.
    pub read: f64,
    pub samples: f64,
}

impl<'a> Pass<'a> {
    pub(super) fn new(members: &'a Members, rows: usize) -> Self {
        Self {
            members,
            tracks: vec![Track::default(); rows],
            touched: Vec::new(),
            runs: 0,
            own: 0.0,
            near: [0.0; 2],
            pairs: [0.0; 2],
            differences: 0.0,
            blocks: 0.0,
            read: 0.0,
            samples: 0.0,
        }
    }

    /// Reads the samples whose stacks are within a part of the selection.
    pub(super) fn read(&mut self, reading: &Reading, is_within: impl Fn(usize) -> bool) {
        self.samples = reading.samples;
        self.read = reading.len() as f64;
        let mut sizes = Vec::new();
        for (stacks, all) in reading.runs() {
            sizes.clear();
            let within = stacks.iter().zip(all);
            sizes.extend(
                within.map(|(&stack, &size)| match is_within(stack as usize) {
                    true => size,
                    false => 0.0,
                }),
            );
            self.run(stacks, &sizes);
        }
    }

    /// Reads samples of one thread that follow one another.
    fn run(&mut self, stacks: &[u32], sizes: &[f64]) {
        let at = |index: usize| sizes.get(index).copied().unwrap_or(0.0);
        self.runs += 1;
        self.own += sizes.iter().map(|size| size * size).sum::<f64>();
        for lag in [1, 2] {
            let products = sizes.iter().zip(sizes.iter().skip(lag));
            self.near[lag - 1] += products.map(|(one, other)| one * other).sum::<f64>();
            self.pairs[lag - 1] += sizes.len().saturating_sub(lag) as f64;
        }
        let blocks = Blocks::new(sizes);
        self.differences += blocks.differences;
        self.blocks += blocks.sums.len() as f64;
        for (index, (&size, &stack)) in sizes.iter().zip(stacks).enumerate() {
            if size <= 0.0 {
                continue;
            }
            let around = [1, 2].map(|lag| at(index.wrapping_sub(lag)) + at(index + lag));
            for &row in self.members.of(stack as usize) {
                let track = &mut self.tracks[row as usize];
                let block = blocks.of(index) as u32;
                if track.run != self.runs {
                    track.begin(self.runs, index as u32, block);
                    self.touched.push(row);
                }
                track.seen = (track.seen)
                    .checked_shl(index as u32 - track.last)
                    .unwrap_or(0);
                for lag in [1, 2] {
                    if track.seen & (1 << lag) != 0 {
                        track.near[lag - 1] += size * sizes[index - lag];
                    }
                    track.with_all[lag - 1] += size * around[lag - 1];
                }
                track.seen |= 1;
                track.last = index as u32;
                if track.block != block {
                    track.end_block(&blocks);
                    if block != track.block + 1 {
                        track.before = 0.0;
                    }
                    track.block = block;
                }
                track.sum += size;
                track.count += 1;
                track.own += size * size;
            }
        }
        for row in self.touched.drain(..) {
            self.tracks[row as usize].end_block(&blocks);
        }
    }

    /// The deviations of a row from its share.
    pub(super) fn series(&self, track: &Track, amount: &Amount, share: f64, whole: Mass) -> Series {
        let rest = (whole.squares - amount.squares).max(0.0);
        let own = amount.squares * (1.0 - share).powi(2) + rest * share * share;
        // Of a long recording, only a part was read.
        let read = track.own * (1.0 - 2.0 * share) + share * share * self.own;
        let all = own / read.max(f64::MIN_POSITIVE);
        let covariance = |at: usize| {
            let sum = track.near[at] - share * track.with_all[at] + share * share * self.near[at];
            sum * all * self.read / self.pairs[at].max(1.0)
        };
        let blocks = track.squares - 2.0 * track.block_near - 2.0 * share * track.block_with_all
            + share * share * self.differences;
        Series {
            covariance: [own, covariance(0), covariance(1)],
            blocks: blocks.max(0.0) / 2.0 * all,
            count: self.blocks,
            samples: self.samples,
            least: JUMP * whole.squares / self.samples.max(1.0),
        }
    }
}

/// The state of a row while samples are read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Track {
    /// The run of the next four fields.
    run: u32,
    last: u32,
    /// The last samples that it was in; the lowest bit is `last`.
    seen: u8,
    /// The present block, the row's part in it, and in the one before it.
    block: u32,
    sum: f64,
    before: f64,
    /// The number of its samples read, and the sum of their squares.
    pub count: u64,
    own: f64,
    /// Products of neighbours and next neighbours that are both in the row, and of the row and all.
    near: [f64; 2],
    with_all: [f64; 2],
    /// The sum of squares of blocks.
    squares: f64,
    block_near: f64,
    block_with_all: f64,
}

/// The blocks of a run. The last one has the rest, too, and beyond the ends nothing deviates.
struct Blocks {
    sums: Vec<f64>,
    /// The squared differences of neighbours.
    differences: f64,
}

impl Blocks {
    fn new(sizes: &[f64]) -> Self {
        let mut sums = vec![0.0; (sizes.len() / BLOCK).max(1)];
        let last = sums.len() - 1;
        for (index, size) in sizes.iter().enumerate() {
            sums[(index / BLOCK).min(last)] += size;
        }
        let inner = sums.windows(2).map(|pair| (pair[1] - pair[0]).powi(2));
        let differences = inner.sum::<f64>() + sums[0].powi(2) + sums[last].powi(2);
        Self { sums, differences }
    }

    /// The block that a sample is in.
    fn of(&self, index: usize) -> usize {
        (index / BLOCK).min(self.sums.len() - 1)
    }

    /// The excess of a block over its neighbours.
    fn more(&self, block: usize) -> f64 {
        let at = |block: usize| self.sums.get(block).copied().unwrap_or(0.0);
        2.0 * self.sums[block] - at(block.wrapping_sub(1)) - at(block + 1)
    }
}

impl Track {
    fn begin(&mut self, run: u32, index: u32, block: u32) {
        (self.run, self.last, self.seen) = (run, index, 0);
        (self.block, self.sum, self.before) = (block, 0.0, 0.0);
    }

    fn end_block(&mut self, blocks: &Blocks) {
        self.squares += 2.0 * self.sum * self.sum;
        self.block_with_all += self.sum * blocks.more(self.block as usize);
        self.block_near += self.sum * self.before;
        (self.before, self.sum) = (self.sum, 0.0);
    }
}

//! The scatter of shares, estimated from the order of the samples.
//!
//! Independent samples would scatter as a lottery does. Samples of one thread are not independent:
//! in a phase that is longer than the time between two samples, neighbours are in the same
//! functions, and only the ends of the phase are in doubt. In a loop that is about as long as that
//! time, neighbours avoid or seek one another. So each row (a function, a line) is a series of
//! deviations from its share, and the series gives the scatter of their sum:
//!
//! - Where neighbours differ as much as distant samples, blocks of [`BLOCK`] samples are compared
//!   with the next block. Changes slower than a block cancel, and the correlation of neighbours is
//!   in the blocks' sums.
//! - Where neighbours agree, the changes are divided into noise and jumps. A straight line through
//!   the covariances of neighbours and of next neighbours ends in the variance without noise. A
//!   jump between two samples is in doubt by a twelfth of their distance, squared.
//!
//! Each thread is a series of its own. The whole is one pass over the samples, with a state for
//! each row. Of a long recording stretches are read that lie evenly in it.

use profundo_model::{Profile, Sample, SampleKind};

use crate::amount::Amount;
use crate::interval::{Estimate, Few, Mass, Z};
use crate::run_spread::RunSpread;
use crate::weights::Squares;
use crate::{Selection, StackWeight};

/// The number of samples compared with the next ones.
const BLOCK: usize = 16;

/// The limit of samples that are read.
const MOST: usize = 1 << 20;

/// The number of stretches that they are read in.
const STRETCHES: usize = 64;

/// The variance of a jump, in parts of its squared difference between neighbours. A point anywhere
/// in a distance has a variance of a twelfth of its square, neighbours differ by half of the
/// square, so it is a sixth; a little more, because few jumps are not normal.
const JUMP: f64 = 0.19;

/// The prior weight of the assumption that neighbours are enough, as a number of blocks.
const BEFORE: f64 = 8.0;

/// A loop in step with the sampler scatters by at most this factor more than independent samples.
const MOST_OF_OWN: f64 = 1.7;

/// The rows of each stack of a selection.
#[derive(Debug, Default)]
pub(crate) struct Members {
    ends: Vec<u32>,
    rows: Vec<u32>,
}

impl Members {
    /// Adds a row to the present stack. A stack names a row once.
    pub(crate) fn add(&mut self, row: usize) {
        self.rows.push(number(row));
    }

    /// Goes to the next stack.
    pub(crate) fn end_stack(&mut self) {
        self.ends.push(number(self.rows.len()));
    }

    /// The rows of a stack, by its number.
    pub(crate) fn of(&self, stack: usize) -> &[u32] {
        let start = stack.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.rows[start as usize..self.ends[stack] as usize]
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than 2^32 rows")
}

/// The shares of `amounts` in a selection, with their uncertainty. `members` has the rows of each
/// of the selection's stacks.
pub(crate) fn estimates(
    profile: &Profile,
    selection: &Selection,
    members: &Members,
    amounts: &[Amount],
) -> Vec<Estimate> {
    let whole = selection.mass(profile);
    estimates_within(profile, selection, members, amounts, whole, |_| true)
}

/// The shares in a part of a selection, which consists of these stacks, by number, and adds up to
/// `whole`.
pub(crate) fn estimates_within(
    profile: &Profile,
    selection: &Selection,
    members: &Members,
    amounts: &[Amount],
    whole: Mass,
    is_within: impl Fn(usize) -> bool,
) -> Vec<Estimate> {
    let mut estimates = of_samples(profile, selection, members, amounts, whole, &is_within);
    if let Some(runs) = RunSpread::new(profile, selection) {
        let rows = (members, amounts);
        runs.widen(profile, selection, rows, whole, is_within, &mut estimates);
    }
    estimates
}

/// The estimates from the samples alone.
fn of_samples(
    profile: &Profile,
    selection: &Selection,
    members: &Members,
    amounts: &[Amount],
    whole: Mass,
    is_within: impl Fn(usize) -> bool,
) -> Vec<Estimate> {
    let is_sampled = matches!(profile.meta.kind, SampleKind::Cpu | SampleKind::Wall);
    if !is_sampled || !selection.sums(profile).is_in_order() || whole.squares <= 0.0 {
        return amounts.iter().map(|amount| amount.share(whole)).collect();
    }
    let mut pass = Pass::new(members, amounts.len());
    pass.read(profile, selection, is_within);
    let rows = amounts.iter().zip(&pass.tracks);
    rows.map(|(amount, track)| {
        let share = amount.weight as f64 / whole.weight.max(f64::MIN_POSITIVE);
        let is_read = pass.read >= pass.samples || track.count >= Few::LIMIT;
        if amount.squares <= 0.0 || share <= 0.0 || share >= 1.0 || !is_read {
            return amount.share(whole);
        }
        let series = pass.series(track, amount, share, whole);
        let (variance, freedom) = series.variance();
        let samples = share * (1.0 - share) * whole.weight * whole.weight / variance;
        // A variance from few numbers is uncertain: this is close to Student's quantiles.
        Estimate::after_wilson(share, samples, Z * (1.0 + 1.2 / freedom))
            .unless_few(amount.mass(), whole)
    })
    .collect()
}

/// The statistics of a row's deviations from its share.
#[derive(Debug, Clone, Copy)]
struct Series {
    /// The sum of their squares, of the products of neighbours, and of next neighbours.
    covariance: [f64; 3],
    /// The sum of squares, from the blocks.
    blocks: f64,
    /// The number of blocks.
    count: f64,
    /// The number of samples.
    samples: f64,
    /// The least variance of a jump.
    least: f64,
}

impl Series {
    /// The variance of the sum of the deviations, and the number of values that it is from.
    fn variance(self) -> (f64, f64) {
        let [own, near, far] = self.covariance;
        let (near_part, far_part) = (near / own, far / own);
        // Random deviations of independent samples are smaller.
        let certain = 4.0 / self.samples.sqrt();
        // Neighbours agree much; or a little, and blocks show that it evens out; or next neighbours
        // agree nearly as well.
        let is_slow = near_part > certain
            && (near_part > 0.65
                || (near_part > 0.3 && self.blocks < 0.8 * own)
                || far_part > 0.6 * near_part);
        let (variance, freedom) = match is_slow {
            true => {
                let noise = (own - 2.0 * near + far).max(0.0);
                let jumps = (near - far).max(0.0);
                (noise + JUMP * jumps, self.samples / 4.0)
            }
            false => {
                let before = match near_part.abs() > certain {
                    true => (own + 2.0 * (near + far)).clamp(0.1 * own, 2.0 * own),
                    false => own,
                };
                // Differences of neighbours share their members: three have the information of two.
                let known = self.count * 2.0 / 3.0;
                let variance = (known * self.blocks + BEFORE * before) / (known + BEFORE);
                // Beyond that, blocks see phases.
                (variance.min(MOST_OF_OWN * own), known + BEFORE)
            }
        };
        (variance.max(self.least), freedom.max(BEFORE))
    }
}

/// The state of a row while samples are read.
#[derive(Debug, Clone, Copy, Default)]
struct Track {
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
    count: u64,
    own: f64,
    /// Products of neighbours and next neighbours that are both in the row, and of the row and all.
    near: [f64; 2],
    with_all: [f64; 2],
    /// The sum of squares of blocks.
    squares: f64,
    block_near: f64,
    block_with_all: f64,
}

/// A pass over the samples.
struct Pass<'a> {
    members: &'a Members,
    tracks: Vec<Track>,
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
    read: f64,
    samples: f64,
}

impl<'a> Pass<'a> {
    fn new(members: &'a Members, rows: usize) -> Self {
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

    fn read(
        &mut self,
        profile: &Profile,
        selection: &Selection,
        is_within: impl Fn(usize) -> bool,
    ) {
        let mut stacks = vec![0_u32; profile.stacks.len()];
        for (at, StackWeight { stack, .. }) in selection.stacks(profile).iter().enumerate() {
            stacks[stack.index()] = number(at);
        }
        // By thread, the runs of the present stretch.
        let mut runs = Runs::new(profile.threads.len());
        let squares = Squares::new(profile);
        let run = |sample: &Sample| {
            let stack = stacks[sample.stack.index()];
            let size = match is_within(stack as usize) {
                true => squares.of(profile, sample).sqrt(),
                false => 0.0,
            };
            (sample.thread.index(), stack, size)
        };
        if profile.gathered.is_any() {
            self.samples = selection.taken(profile) as f64;
            let by_row = selection.by_row(profile);
            for stretch in profile.gathered.stretches() {
                for taken in stretch.iter().filter(|taken| by_row[taken.row as usize]) {
                    runs.add(run(&profile.sample_of(taken)));
                }
                runs.end(|run| self.run(run));
            }
            return;
        }
        let length = selection.len();
        self.samples = length as f64;
        let (stretch, step) = match length > MOST {
            true => (MOST / STRETCHES, length / STRETCHES),
            false => (length, length.max(1)),
        };
        let (mut at, mut end) = (0_usize, stretch);
        selection.each(profile, |_, sample| {
            if at + stretch >= end && at < end {
                runs.add(run(sample));
            }
            at += 1;
            if at == end {
                runs.end(|run| self.run(run));
                end += step;
            }
        });
    }

    /// Reads samples of one thread that follow one another.
    fn run(&mut self, run: &Run) {
        let sizes = &run.sizes[..];
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
        self.read += sizes.len() as f64;
        for (index, (&size, &stack)) in sizes.iter().zip(&run.stacks).enumerate() {
            if size <= 0.0 {
                continue;
            }
            let around = [1, 2].map(|lag| at(index.wrapping_sub(lag)) + at(index + lag));
            for &row in self.members.of(stack as usize) {
                let track = &mut self.tracks[row as usize];
                let block = number(blocks.of(index));
                if track.run != self.runs {
                    track.begin(self.runs, number(index), block);
                    self.touched.push(row);
                }
                track.seen = (track.seen)
                    .checked_shl(number(index) - track.last)
                    .unwrap_or(0);
                for lag in [1, 2] {
                    if track.seen & (1 << lag) != 0 {
                        track.near[lag - 1] += size * sizes[index - lag];
                    }
                    track.with_all[lag - 1] += size * around[lag - 1];
                }
                track.seen |= 1;
                track.last = number(index);
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
    fn series(&self, track: &Track, amount: &Amount, share: f64, whole: Mass) -> Series {
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

/// Samples of one thread: their stacks, by number, and their weights.
#[derive(Debug, Default)]
struct Run {
    stacks: Vec<u32>,
    sizes: Vec<f64>,
}

/// The runs of a stretch.
struct Runs {
    by_thread: Vec<Run>,
    /// The threads that have one.
    present: Vec<usize>,
}

impl Runs {
    fn new(threads: usize) -> Self {
        Self {
            by_thread: std::iter::repeat_with(Run::default).take(threads).collect(),
            present: Vec::new(),
        }
    }

    fn add(&mut self, (thread, stack, size): (usize, u32, f64)) {
        let run = &mut self.by_thread[thread];
        if run.stacks.is_empty() {
            self.present.push(thread);
        }
        run.stacks.push(stack);
        run.sizes.push(size);
    }

    /// Ends the stretch.
    fn end(&mut self, mut each: impl FnMut(&Run)) {
        for thread in self.present.drain(..) {
            let run = &mut self.by_thread[thread];
            each(run);
            run.stacks.clear();
            run.sizes.clear();
        }
    }
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

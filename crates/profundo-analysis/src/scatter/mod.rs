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

mod members;
mod pass;
mod reading;

use profundo_model::Profile;

use crate::Selection;
use crate::amount::Amount;
use crate::interval::{Estimate, Few, Mass, Z};
use crate::run_spread::RunSpread;

pub(crate) use members::Members;
use pass::Pass;
pub(crate) use reading::Reading;

/// The number of samples compared with the next ones.
const BLOCK: usize = 16;

/// The variance of a jump, in parts of its squared difference between neighbours. A point anywhere
/// in a distance has a variance of a twelfth of its square, neighbours differ by half of the
/// square, so it is a sixth; a little more, because few jumps are not normal.
const JUMP: f64 = 0.19;

/// The prior weight of the assumption that neighbours are enough, as a number of blocks.
const BEFORE: f64 = 8.0;

/// A loop in step with the sampler scatters by at most this factor more than independent samples.
const MOST_OF_OWN: f64 = 1.7;

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
    if !reading::is_in_order(profile, selection) || whole.squares <= 0.0 {
        return amounts.iter().map(|amount| amount.share(whole)).collect();
    }
    let mut pass = Pass::new(members, amounts.len());
    pass.read(selection.reading(profile), is_within);
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

//! Adding samples up to rows, for recordings with too many of them, with the same answers to
//! questions.

use profundo_model::{Many, Meta, Nanos, Profile, Sample, State};

use crate::weights::square;

/// From this number of periods on, a sample is the sum of several.
const MERGED: u64 = 4;

/// The contribution of a clock's sample to its row, besides its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    /// Its count: see [`Meta::count_of`].
    pub count: u64,
    /// The square of its weight, unless the weight is measured.
    pub square: f64,
    /// True if the sample certainly stands for several.
    pub is_merged: bool,
}

impl Worth {
    /// The contribution of a sample of this weight.
    #[inline]
    pub fn of(meta: &Meta, state: State, weight: Nanos) -> Self {
        Self {
            count: meta.count_of(weight),
            square: square(meta, state, weight.0),
            is_merged: is_merged(meta, state, weight.0),
        }
    }

    /// Adds the contribution to a row.
    pub fn add_to(self, many: &mut Many, time: Nanos, weight: Nanos) {
        many.samples += 1;
        many.count = many.count.saturating_add(self.count);
        many.squares += self.square;
        if self.is_merged {
            many.merged = many.merged.saturating_add(weight.0);
        }
        many.last = many.last.max(time);
    }
}

fn is_merged(meta: &Meta, state: State, weight: u64) -> bool {
    state == State::Running && weight >= meta.period.0.max(1).saturating_mul(MERGED)
}

/// The part of a row's weight in samples that certainly stand for several.
pub(crate) fn merged_of_row(profile: &Profile, row: usize, sample: &Sample, weight: u64) -> u64 {
    match profile.gathered.get(row) {
        Some(many) => many.merged,
        None if is_merged(&profile.meta, sample.state, weight) => weight,
        None => 0,
    }
}

/// The time of a row's last sample.
pub(crate) fn last_of_row(profile: &Profile, row: usize, sample: &Sample) -> Nanos {
    let many = profile.gathered.get(row);
    many.map_or(sample.time, |many| many.last)
}

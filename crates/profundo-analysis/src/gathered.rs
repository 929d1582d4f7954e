//! Adding samples up to rows, for recordings that have too many of them, so that questions get the answers that
//! the samples would have given.

use profundo_model::{Engine, Many, Meta, Nanos, Profile, Sample, State};

use crate::selection::square_of;

/// A sample of so many periods is the sum of several.
const MERGED: u64 = 4;

/// What a sample that a clock has taken adds to the row that it belongs to, besides its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worth {
    /// Its count: see [`Meta::count_of`].
    pub count: u64,
    /// The square of its weight, as far as that is no measured one.
    pub square: f64,
    /// Whether it must be several in one.
    pub is_merged: bool,
}

impl Worth {
    /// Of a sample of this weight.
    #[inline]
    pub fn of(meta: &Meta, state: State, weight: Nanos) -> Self {
        Self {
            count: meta.count_of(weight),
            square: square(meta, state, weight.0),
            is_merged: is_merged(meta, state, weight.0),
        }
    }

    /// Adds it.
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

/// The square of a weight, by which it is known how sure a share is. How long a thread waited is measured and not
/// sampled, if it was long: such a sample is as good as many.
pub(crate) fn square(meta: &Meta, state: State, weight: u64) -> f64 {
    /// Waits that are shorter are sampled themselves.
    const LONG: u64 = 10_000_000;
    let is_measured = state == State::WallWaiting && meta.engine != Engine::Wall;
    let each = match is_measured {
        true => weight.min(LONG),
        false => weight,
    };
    weight as f64 * each as f64
}

fn is_merged(meta: &Meta, state: State, weight: u64) -> bool {
    state == State::Running && weight >= meta.period.0.max(1).saturating_mul(MERGED)
}

/// The squares of a row's weights.
pub(crate) fn squares_of_row(profile: &Profile, row: usize, sample: &Sample) -> f64 {
    match profile.gathered.get(row) {
        Some(_) if profile.is_counted(sample.stack) => 0.0,
        Some(many) => many.squares,
        None => square_of(profile, sample),
    }
}

/// The part of a row's weight that is of samples which must be several in one.
pub(crate) fn merged_of_row(profile: &Profile, row: usize, sample: &Sample, weight: u64) -> u64 {
    match profile.gathered.get(row) {
        Some(many) => many.merged,
        None if is_merged(&profile.meta, sample.state, weight) => weight,
        None => 0,
    }
}

/// When the last sample of a row was taken.
pub(crate) fn last_of_row(profile: &Profile, row: usize, sample: &Sample) -> Nanos {
    let many = profile.gathered.get(row);
    many.map_or(sample.time, |many| many.last)
}

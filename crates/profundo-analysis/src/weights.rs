//! The weight of a sample in shares, and what it adds to their variance.

use profundo_model::{Engine, Meta, Profile, Sample, SampleKind, State};

/// The square of a weight, for the variance of a share. A long wait is measured and not sampled:
/// such a sample is as good as many.
pub(crate) fn square(meta: &Meta, state: State, weight: u64) -> f64 {
    /// Shorter waits are sampled.
    const LONG: u64 = 10_000_000;
    let is_measured = state == State::WallWaiting && meta.engine != Engine::Wall;
    let each = match is_measured {
        true => weight.min(LONG),
        false => weight,
    };
    weight as f64 * each as f64
}

/// Whether weights were counted or measured one by one, so that shares are no estimates.
pub fn is_exact(profile: &Profile) -> bool {
    match profile.meta.kind {
        // A unit of one byte or block: none was left out.
        SampleKind::Heap(measure) => crate::heap::unit(&profile.heap, measure) <= 1,
        SampleKind::Traced => true,
        SampleKind::Events => profile.counts_each_event(),
        SampleKind::Cpu | SampleKind::Wall => false,
    }
}

/// The squares of weights, for the variance of a share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Squares {
    /// The weight of a single sample of bytes or blocks.
    unit: u64,
}

impl Squares {
    /// Looks at all blocks, so it is made once for all samples.
    pub(crate) fn new(profile: &Profile) -> Self {
        let unit = match profile.meta.kind {
            SampleKind::Heap(measure) => crate::heap::unit(&profile.heap, measure),
            _ => 0,
        };
        Self { unit }
    }

    /// The contribution of a sample.
    pub(crate) fn of(self, profile: &Profile, sample: &Sample) -> f64 {
        let weight = weight_of(profile, sample);
        match profile.meta.kind {
            SampleKind::Heap(_) => return weight as f64 * weight.min(self.unit) as f64,
            // It was measured.
            SampleKind::Traced => return 0.0,
            SampleKind::Events if profile.counts_each_event() => return 0.0,
            // The period is in events here.
            SampleKind::Events => {
                return weight as f64 * weight.min(profile.meta.period.0.max(1)) as f64;
            }
            SampleKind::Cpu | SampleKind::Wall => {}
        }
        if profile.is_counted(sample.stack) {
            return 0.0;
        }
        square(&profile.meta, sample.state, weight)
    }

    /// The contribution of a row, which may stand for many samples.
    pub(crate) fn of_row(self, profile: &Profile, row: usize, sample: &Sample) -> f64 {
        match profile.gathered.get(row) {
            Some(_) if profile.is_counted(sample.stack) || profile.counts_each_event() => 0.0,
            Some(many) => many.squares,
            None => self.of(profile, sample),
        }
    }
}

/// The weight of a sample in shares. Hand-made samples may have no weight; they still have to
/// count. Traced calls may have taken no time.
pub(crate) fn weight_of(profile: &Profile, sample: &Sample) -> u64 {
    match profile.meta.kind {
        SampleKind::Traced => sample.weight.0,
        _ => sample.weight.0.max(1),
    }
}

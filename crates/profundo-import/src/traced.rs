//! Counted calls: a call of the tree is a row of samples as well, with its own time.

use profundo_model::{Call, Clock, SampleKind, Tracing};

use crate::Builder;

/// Says that the profile has calls by this clock.
pub(crate) fn begin(builder: &mut Builder, clock: Clock) {
    builder.weighs(SampleKind::Traced, "");
    builder.profile.traced.tracing = Tracing::Calls;
    builder.profile.traced.clock = clock;
    builder.profile.meta.lacks_times = true;
}

/// Adds the calls of a function in one place of the tree.
pub(crate) fn add(builder: &mut Builder, call: Call) {
    // One without own time has its row, too: calls and rows go in step.
    builder.call(call);
}

//! The threads' time, where each thread is sampled on the wall clock: running and waiting.

use profundo_model::{Profile, SampleKind};

use super::{Missing, Whole, add_unsampled, unread};
use crate::{Selection, totals};

/// The missing part of the time that threads were alive. `None` where waits were not recorded.
pub(super) fn missing(profile: &Profile, all: &Selection) -> Option<Missing> {
    let meta = &profile.meta;
    if meta.kind != SampleKind::Wall {
        return None;
    }
    let found = unread(profile, all);
    let mut causes = found.causes;
    let mut unsampled = 0_u64;
    // Samples that a ring gave up for newer ones are not missing: older time was not requested.
    if meta.loss.overwritten == 0 {
        for total in totals(profile, all).threads {
            let alive = profile
                .threads
                .get(total.thread)
                .alive
                .unwrap_or_default()
                .0;
            unsampled = unsampled.saturating_add(alive.saturating_sub(total.amount.weight));
        }
    }
    let used = found.used.saturating_add(unsampled);
    add_unsampled(&mut causes, meta, unsampled);
    Some(Missing {
        of: Whole::Threads,
        used,
        causes,
    })
}

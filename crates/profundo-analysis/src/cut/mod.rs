//! A part of a recording as a recording of its own: what passes a filter, with its threads, its
//! processes and its totals. Each table of it says what the same filter shows of the whole.
//!
//! - Samples keep the weights that they have in the whole, where each process has its CPU time
//!   ([`crate::settle()`]). [`Weighed`] says so in the file.
//! - What the kernel has counted of a whole process or thread becomes the sum of what is kept.
//! - Figures that no sample has (losses, our own cost, energy) are divided by CPU time.
//! - Time begins with the part, if the filter names a beginning.

mod owners;
mod sums;
mod times;

use profundo_model::{Profile, Weighed};

use crate::heap::{Gauged, keep_uses};
use crate::io::{Admits, traffic_of};
use crate::{Filter, Selection, keep_only, transform};

pub use times::begin_at;

use sums::Sums;

/// Reduces a settled profile to what passes `filter`, and transforms its stacks. Each of its
/// samples has a row. Returns the filter for the profile as it was before.
pub fn cut(profile: &mut Profile, filter: &Filter) -> Filter {
    if filter.is_nothing() {
        profile.meta.weighed = weighed(profile);
        return filter.clone();
    }
    let before = Sums::new(profile);
    let filter = transform(profile, filter);
    let selection = Selection::new(profile, &filter);
    profile.traffic = traffic_of(profile, &selection, &filter);
    let admits = Admits::new(&selection, &filter);
    (profile.syscalls).retain(|row| admits.count(row.thread, row.to));
    keep_uses(profile, &selection, &filter);
    let gauged = Gauged::new(profile, &selection, &filter);
    profile.heap.gauges.retain(|gauge| gauged.passes(gauge));
    keep_only(profile, &filter);
    let after = Sums::new(profile);
    sums::complete(profile, &before, &after);
    profile.meta.weighed = weighed(profile);
    owners::keep(profile, selection.threads(), &filter);
    times::begin(profile, &filter);
    filter
}

/// The totals before the weights were made to add up to the CPU time, where they were.
fn weighed(profile: &Profile) -> Option<Weighed> {
    profile.meta.settled.map(|settled| Weighed {
        sampled: settled.sampled,
        sampled_in_kernel: settled.sampled_in_kernel,
    })
}

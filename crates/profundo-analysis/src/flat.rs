//! The flat profile: how often each function was on a stack, and how often it was the running one.

use profundo_model::{LocationId, Profile};

use crate::shown::{Shown, Sieve};
use crate::tally::{Keep, Places, place_slot, tally};
use crate::{Place, Selection};

/// The options of a flat profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlatOptions {
    /// The shown frames. The time of hidden ones is their caller's.
    pub shown: Shown,
    /// Whether several addresses of one line are one row.
    pub combine: bool,
}

impl Default for FlatOptions {
    fn default() -> Self {
        Self {
            shown: Shown::default(),
            combine: true,
        }
    }
}

/// A function at a line; without combining, one for each address and each function inlined there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlatRow {
    /// The place of the row.
    pub place: Place,
    /// The address, where addresses are not combined.
    pub location: Option<LocationId>,
    /// The count of samples that contain it.
    pub count: u64,
    /// The count of samples that end in it.
    pub overhead: u64,
}

/// The flat profile of a selection, in the order of first appearance.
pub fn flat(profile: &Profile, selection: &Selection, options: &FlatOptions) -> Vec<FlatRow> {
    let sieve = &Sieve::new(profile, options.shown);
    let tallies = if options.combine {
        let mut lines = Places::new(profile, sieve, |place, _, _| place_slot(profile, place));
        tally(profile, selection, &mut lines, Keep::Sums)
    } else {
        // Each location has a run of numbers, one for each of its frames.
        let mut slots = 0;
        let starts: Vec<u32> = (profile.locations.iter())
            .map(|(_, location)| {
                let start = slots;
                slots += location.frames.len().max(1);
                u32::try_from(start).expect("fewer than 2^32 frames at all addresses")
            })
            .collect();
        let mut addresses = Places::new(
            profile,
            sieve,
            |_: Place, location: LocationId, depth: u32| starts[location.index()] + depth,
        );
        tally(profile, selection, &mut addresses, Keep::Sums)
    };
    (tallies.list.into_iter())
        .map(|tally| FlatRow {
            place: tally.place,
            location: (!options.combine).then_some(tally.location),
            count: tally.total.count,
            overhead: tally.own.count,
        })
        .collect()
}

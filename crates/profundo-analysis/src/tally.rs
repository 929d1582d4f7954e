//! Adding up the contents of stacks, each thing once: a function that recurses is in its sample
//! once, however often it is on the stack.

use profundo_model::{LocationId, Profile};

use crate::amount::Amount;
use crate::scatter::Members;
use crate::shown::Sieve;
use crate::{Place, StackWeight};

/// The sums of one thing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tally {
    /// The first place of the thing.
    pub place: Place,
    pub location: LocationId,
    /// The samples that contain it.
    pub total: Amount,
    /// The samples that end in it.
    pub own: Amount,
    /// The last stack that contained it.
    stamp: u32,
}

/// Adds up everything that is shown in `stacks`. `slot` identifies things by numbers below `slots`;
/// it gets the place, its location, and its depth of inlining there.
pub(crate) fn tally(
    profile: &Profile,
    stacks: &[StackWeight],
    sieve: &Sieve<'_>,
    slots: usize,
    mut slot: impl FnMut(Place, LocationId, u32) -> u32,
) -> Tallies {
    let mut tallies = Tallies {
        rows: vec![0_u32; slots],
        list: Vec::new(),
        own: Members::default(),
        total: Members::default(),
    };
    if sieve.folds() {
        let mut path = Vec::new();
        for (stamp, stack) in (1..).zip(stacks) {
            sieve.path(stack.stack, &mut path);
            let mut is_leaf = true;
            for &(place, location) in path.iter().rev() {
                let slot = slot(place, location, 0);
                tallies.add(slot, place, location, stack, stamp, is_leaf);
                is_leaf = false;
            }
            tallies.end_stack();
        }
        return tallies;
    }
    for (stamp, stack) in (1..).zip(stacks) {
        let mut is_leaf = true;
        for location in profile.stacks.locations(stack.stack) {
            for (depth, place) in (0..).zip(sieve.places(location).rev()) {
                let slot = slot(place, location, depth);
                tallies.add(slot, place, location, stack, stamp, is_leaf);
                is_leaf = false;
            }
        }
        tallies.end_stack();
    }
    tallies
}

/// The sums of all things.
pub(crate) struct Tallies {
    /// By slot: the row in the list plus one.
    rows: Vec<u32>,
    pub list: Vec<Tally>,
    /// By stack, the row that it ends in, and all of its rows.
    pub own: Members,
    pub total: Members,
}

impl Tallies {
    fn end_stack(&mut self) {
        self.own.end_stack();
        self.total.end_stack();
    }

    fn add(
        &mut self,
        slot: u32,
        place: Place,
        location: LocationId,
        stack: &StackWeight,
        stamp: u32,
        is_leaf: bool,
    ) {
        let row = &mut self.rows[slot as usize];
        if *row == 0 {
            self.list.push(Tally {
                place,
                location,
                total: Amount::default(),
                own: Amount::default(),
                stamp: 0,
            });
            *row = u32::try_from(self.list.len()).expect("fewer than 2^32 rows");
        }
        let row = *row as usize - 1;
        let tally = &mut self.list[row];
        if tally.stamp != stamp {
            tally.stamp = stamp;
            tally.total.add(stack);
            self.total.add(row);
        }
        if is_leaf {
            tally.own.add(stack);
            self.own.add(row);
        }
    }
}

/// A dense number for each place: frames first, then the reasons, then the unknown.
pub(crate) fn place_slot(profile: &Profile, place: Place) -> u32 {
    let key = place.key();
    let frames = profile.frames.len() as u32;
    if key < frames {
        key
    } else {
        frames + (u32::MAX - key)
    }
}

/// The number of values of [`place_slot`].
pub(crate) fn place_slots(profile: &Profile) -> usize {
    profile.frames.len() + 1 + profundo_model::Reason::ALL.len()
}

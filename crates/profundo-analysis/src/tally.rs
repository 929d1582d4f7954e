//! Adding up what is in a stack, each thing once: a function that recurses is in its sample
//! once, however often it is on the stack.

use profundo_model::{LocationId, Profile};

use crate::interval::{Estimate, Mass};
use crate::kind::Split;
use crate::scatter::Members;
use crate::shown::Sieve;
use crate::{Place, StackWeight};

/// What some samples add up to.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Amount {
    /// How many samples.
    pub samples: u64,
    /// The sum of their counts.
    pub count: u64,
    /// The sum of their weights in nanoseconds.
    pub weight: u64,
    /// The sum of the squares of the weights.
    pub squares: f64,
    /// The weight by kind.
    pub split: Split,
}

impl Amount {
    /// The share of this in a whole, and how sure it is.
    pub fn share(&self, whole: Mass) -> Estimate {
        Estimate::of(self.mass(), whole)
    }

    /// The weights, for estimates of a part of this.
    pub fn mass(&self) -> Mass {
        Mass {
            weight: self.weight as f64,
            squares: self.squares,
            samples: self.samples,
            is_few: false,
        }
    }

    /// What as many of the same are as have so many times the weight.
    pub(crate) fn times(self, factor: f64) -> Self {
        let scaled = |it: u64| (it as f64 * factor).round() as u64;
        let Split {
            python,
            native,
            system,
            waiting,
            unreadable,
        } = self.split;
        Self {
            samples: scaled(self.samples),
            count: scaled(self.count),
            weight: scaled(self.weight),
            squares: self.squares * factor,
            split: Split {
                python: scaled(python),
                native: scaled(native),
                system: scaled(system),
                waiting: scaled(waiting),
                unreadable: scaled(unreadable),
            },
        }
    }

    pub(crate) fn add(&mut self, stack: &StackWeight) {
        self.samples = self.samples.saturating_add(stack.samples);
        self.count = self.count.saturating_add(stack.count);
        self.weight = self.weight.saturating_add(stack.weight);
        self.squares += stack.squares;
        self.split += stack.split;
    }
}

impl std::ops::AddAssign for Amount {
    fn add_assign(&mut self, other: Self) {
        self.samples = self.samples.saturating_add(other.samples);
        self.count = self.count.saturating_add(other.count);
        self.weight = self.weight.saturating_add(other.weight);
        self.squares += other.squares;
        self.split += other.split;
    }
}

/// What one thing adds up to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tally {
    /// Where the thing was first met.
    pub place: Place,
    pub location: LocationId,
    /// Of the samples that contain it.
    pub total: Amount,
    /// Of the samples that end in it.
    pub own: Amount,
    /// The last stack that contained it.
    stamp: u32,
}

/// Adds up everything that is shown in `stacks`. `slot` says which things are one and the same,
/// by numbers below `slots`; it gets the place, its location, and its depth of inlining there.
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

/// What all things add up to.
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

/// How many numbers [`place_slot`] gives.
pub(crate) fn place_slots(profile: &Profile) -> usize {
    profile.frames.len() + 1 + profundo_model::Reason::ALL.len()
}

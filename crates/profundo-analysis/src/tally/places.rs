//! The shown places as the contents of stacks.

use profundo_model::{LocationId, Profile};

use super::{Rule, Thing};
use crate::Place;
use crate::shown::Sieve;

/// Numbers for places, small ones.
pub(crate) trait Slots {
    /// The number of a place, by its location and its depth of inlining there.
    fn slot(&mut self, place: Place, location: LocationId, depth: u32) -> u32;
}

impl<F: FnMut(Place, LocationId, u32) -> u32> Slots for F {
    fn slot(&mut self, place: Place, location: LocationId, depth: u32) -> u32 {
        self(place, location, depth)
    }
}

/// The shown places.
pub(crate) struct Places<'a, S> {
    sieve: &'a Sieve<'a>,
    pub slots: S,
    /// By location, the range of its things in `known`, where they do not depend on the callers.
    ranges: Vec<Option<(u32, u32)>>,
    known: Vec<Thing>,
}

impl<'a, S: Slots> Places<'a, S> {
    pub(crate) fn new(profile: &Profile, sieve: &'a Sieve<'a>, slots: S) -> Self {
        Self {
            sieve,
            slots,
            ranges: vec![None; profile.locations.len()],
            known: Vec::new(),
        }
    }

    /// The things of a location, where libraries are not folded.
    fn known(&mut self, location: LocationId) -> &[Thing] {
        let (start, end) = match self.ranges[location.index()] {
            Some(range) => range,
            None => {
                let start = self.known.len();
                let thing = |place| Thing {
                    slot: 0,
                    place,
                    location,
                };
                self.known.extend(self.sieve.places(location).map(thing));
                for (depth, thing) in (0..).zip(self.known[start..].iter_mut().rev()) {
                    thing.slot = self.slots.slot(thing.place, location, depth);
                }
                // There are fewer than 2^32 frames at all locations.
                let range = (start as u32, self.known.len() as u32);
                self.ranges[location.index()] = Some(range);
                range
            }
        };
        &self.known[start as usize..end as usize]
    }

    /// The things of a location, where libraries are folded: the first library function stands for
    /// all that it calls in libraries.
    fn folded(&mut self, state: &Reached, location: LocationId, things: &mut Vec<Thing>) -> bool {
        let mut is_in_library = state.is_in_library;
        for place in self.sieve.places(location) {
            let was_in_library = is_in_library;
            is_in_library = self.sieve.is_library(place, location);
            if !(was_in_library && is_in_library) {
                things.push(Thing {
                    slot: self.slots.slot(place, location, 0),
                    place,
                    location,
                });
            }
        }
        is_in_library
    }
}

/// What is known of the places up to a level.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reached {
    /// The slot of the innermost place.
    innermost: Option<u32>,
    /// Whether the innermost function is of a library, where libraries are folded.
    is_in_library: bool,
}

impl<S: Slots> Rule for Places<'_, S> {
    type State = Reached;

    fn root(&self) -> Reached {
        Reached {
            innermost: None,
            is_in_library: false,
        }
    }

    fn enter(&mut self, state: &Reached, location: LocationId, things: &mut Vec<Thing>) -> Reached {
        let start = things.len();
        let is_in_library = match self.sieve.folds() {
            true => self.folded(state, location, things),
            false => {
                things.extend_from_slice(self.known(location));
                false
            }
        };
        let innermost = things[start..].last().map(|thing| thing.slot);
        Reached {
            innermost: innermost.or(state.innermost),
            is_in_library,
        }
    }

    fn own(&self, state: &Reached) -> Option<u32> {
        state.innermost
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

//! The shown places as the contents of stacks.

use profundo_model::{LocationId, Profile};

use super::{Rule, Thing};
use crate::Place;
use crate::shown::Sieve;

/// The shown places. `slot` identifies them by numbers below `slots`; it gets the place, its
/// location, and its depth of inlining there.
pub(crate) struct Places<'a, F> {
    pub sieve: &'a Sieve<'a>,
    pub slots: usize,
    pub slot: F,
}

/// What is known of the places up to a level.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reached {
    /// The slot of the innermost place.
    innermost: Option<u32>,
    /// Whether that was of a library.
    is_in_library: bool,
}

impl<F: FnMut(Place, LocationId, u32) -> u32> Rule for Places<'_, F> {
    type State = Reached;

    fn slots(&self) -> usize {
        self.slots
    }

    fn root(&self) -> Reached {
        Reached {
            innermost: None,
            is_in_library: false,
        }
    }

    fn enter(&mut self, state: &Reached, location: LocationId, things: &mut Vec<Thing>) -> Reached {
        let start = things.len();
        let folds = self.sieve.folds();
        let mut is_in_library = state.is_in_library;
        for place in self.sieve.places(location) {
            if folds {
                let was_in_library = is_in_library;
                is_in_library = self.sieve.is_library(place, location);
                // The first library function stands for all that it calls in libraries.
                if was_in_library && is_in_library {
                    continue;
                }
            }
            things.push(Thing {
                slot: 0,
                place,
                location,
            });
        }
        let things = &mut things[start..];
        for (depth, thing) in (0..).zip(things.iter_mut().rev()) {
            thing.slot = (self.slot)(thing.place, location, if folds { 0 } else { depth });
        }
        Reached {
            innermost: things.last().map(|thing| thing.slot).or(state.innermost),
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

//! The stacks that have numbers.

use core::sync::atomic::{AtomicU64, Ordering};

use super::spin::Spin;
use crate::shared::SITES;

const PLACES: usize = 2 * SITES;

/// Numbers by what is all but certain to tell two stacks apart. All zero is an empty one.
#[derive(Debug)]
#[repr(C)]
pub struct Sites {
    /// The list of modules that did not get what a walk had missed, plus one.
    settled: AtomicU64,
    places: Spin<[Place; PLACES]>,
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Place {
    hash: u64,
    /// Plus one; 0: unused.
    number: u64,
}

impl Sites {
    /// Whether it is no use to wait until code is listed that is not on this list.
    pub(crate) fn is_settled(&self, generation: u64) -> bool {
        self.settled.load(Ordering::Relaxed) == generation.wrapping_add(1)
    }

    /// Notes that it was none.
    pub(crate) fn settle(&self, generation: u64) {
        self.settled
            .store(generation.wrapping_add(1), Ordering::Relaxed);
    }

    /// The number of a stack that has one.
    pub fn find(&self, hash: u64) -> Option<u32> {
        self.places.with(|places| {
            let (place, found) = search(places, hash)?;
            found.then(|| places.get(place).map(|it| it.number as u32 - 1))?
        })?
    }

    /// Gives a stack a number; returns the one that it has, if another thread was faster.
    pub fn insert(&self, hash: u64, number: u32) -> u32 {
        let inserted = self.places.with(|places| {
            let Some((place, found)) = search(places, hash) else {
                return number;
            };
            let Some(place) = places.get_mut(place) else {
                return number;
            };
            if !found {
                *place = Place {
                    hash,
                    number: u64::from(number) + 1,
                };
            }
            place.number as u32 - 1
        });
        inserted.unwrap_or(number)
    }
}

/// Where a stack is, or where it may be put.
fn search(places: &[Place; PLACES], hash: u64) -> Option<(usize, bool)> {
    (0..PLACES).find_map(|step| {
        let at = (hash as usize).wrapping_add(step) % PLACES;
        let place = places.get(at)?;
        match place.number {
            0 => Some((at, false)),
            _ if place.hash == hash => Some((at, true)),
            _ => None,
        }
    })
}

/// What tells words from others, all but certainly.
#[derive(Debug, Clone, Copy)]
pub struct Hash(u64);

impl Hash {
    /// Of nothing, with a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// With more words.
    pub fn with(self, words: &[u64]) -> Self {
        const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
        let hash = words.iter().fold(self.0, |hash, word| {
            let product = u128::from(hash ^ word ^ MIX) * u128::from(MIX);
            (product as u64) ^ (product >> 64) as u64 ^ hash.rotate_left(23)
        });
        Self(hash)
    }

    /// In the end.
    pub fn finish(self) -> u64 {
        self.0 ^ self.0 >> 29
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::boxed::Box;

    #[test]
    fn a_stack_keeps_its_number() {
        // SAFETY: all zero is a valid one.
        let sites = unsafe { Box::<Sites>::new_zeroed().assume_init() };
        for number in 0..1000_u32 {
            let hash = Hash::new(1).with(&[7, u64::from(number)]).finish();
            assert_eq!(sites.find(hash), None);
            assert_eq!(sites.insert(hash, number), number);
            assert_eq!(sites.insert(hash, 5000), number);
        }
        for number in 0..1000_u32 {
            let hash = Hash::new(1).with(&[7, u64::from(number)]).finish();
            assert_eq!(sites.find(hash), Some(number));
        }
    }
}

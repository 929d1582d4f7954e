//! The order of runs. In each round all candidates run once, in a random order; for each order
//! there is a round with the opposite one, so that each candidate comes before each other one as
//! often as after.
//!
//! Randomness makes the comparison valid. Whatever the correlation of noise between runs: of two
//! equal candidates, each is the slower one with probability ½.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// Orders of rounds, without end.
#[derive(Debug, Clone)]
pub struct Order {
    candidates: usize,
    state: u64,
    /// Rounds that were drawn and not used yet.
    drawn: Vec<Vec<usize>>,
}

/// The number of orders that are drawn in one go, each with its opposite.
const TOGETHER: usize = 5;

/// A different number each time.
pub fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

impl Order {
    /// Orders of `candidates` candidates. The same seed gives the same orders.
    pub fn new(candidates: usize, seed: u64) -> Self {
        Self {
            candidates,
            state: seed,
            drawn: Vec::new(),
        }
    }

    /// A number below `bound`, after Vigna's splitmix64.
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((u128::from(mixed) * bound as u128) >> 64) as usize
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            let other = self.below(end + 1);
            items.swap(end, other);
        }
    }
}

impl Iterator for Order {
    type Item = Vec<usize>;

    fn next(&mut self) -> Option<Vec<usize>> {
        if self.drawn.is_empty() {
            let mut drawn = Vec::new();
            for _ in 0..TOGETHER {
                let mut order: Vec<usize> = (0..self.candidates).collect();
                self.shuffle(&mut order);
                drawn.push(order.iter().rev().copied().collect());
                drawn.push(order);
            }
            self.shuffle(&mut drawn);
            self.drawn = drawn;
        }
        self.drawn.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_comes_before_each_other_one_as_often_as_after() {
        for candidates in 1..5 {
            let rounds: Vec<Vec<usize>> = Order::new(candidates, 7).take(2 * TOGETHER).collect();
            for one in 0..candidates {
                for other in 0..one {
                    let before = |round: &&Vec<usize>| {
                        let place = |who| {
                            round
                                .iter()
                                .position(|candidate| *candidate == who)
                                .unwrap()
                        };
                        place(one) < place(other)
                    };
                    assert_eq!(rounds.iter().filter(before).count(), TOGETHER);
                }
            }
        }
    }

    #[test]
    fn the_order_is_drawn() {
        let first = |seed| Order::new(2, seed).next().unwrap()[0];
        let zeros = (0..1000).filter(|seed| first(*seed) == 0).count();
        assert!((440..=560).contains(&zeros), "{zeros} of 1000");
        // Both may begin, whichever began the round before.
        let mut begins = [[0; 2]; 2];
        for seed in 0..1000 {
            let two: Vec<Vec<usize>> = Order::new(2, seed).take(2).collect();
            begins[two[0][0]][two[1][0]] += 1;
        }
        assert!(
            begins.iter().flatten().all(|count| *count > 150),
            "{begins:?}"
        );
        assert_ne!(seed(), seed());
    }
}

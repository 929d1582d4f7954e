//! Distinct stacks, in memory reserved beforehand.
//!
//! Programs allocate in few places: a million blocks have some hundred stacks. A stack in the table
//! never changes and never moves, so it needs no lock: a thread looks for its own, and puts a new
//! one in front of its chain.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The number of chains.
pub const CHAINS: usize = 1 << 14;

/// Words before the addresses: the next of the chain, with length and end; the hash; the number of
/// the list of modules used by its walk; and its first time, on the cycle counter.
const HEAD: usize = 4;

/// The longest search in a chain; a stack behind it is kept a second time.
const LONGEST: usize = 1 << 12;

/// A stack to be looked up.
#[derive(Debug, Clone, Copy)]
pub struct Trace<'a> {
    /// The addresses, leaf first.
    pub addresses: &'a [u64],
    /// The reason why the walk ended: [`profundo_wire::End`] as a number.
    pub end: u8,
    /// The list of modules: addresses keep their meaning under one list, and may have another under
    /// the next.
    pub generation: u64,
}

/// The table. All zero memory is an empty one.
#[derive(Debug)]
pub struct Traces {
    first: &'static [AtomicU32],
    words: &'static [AtomicU64],
    used: AtomicU64,
}

impl Traces {
    /// An empty table over zeroed memory: [`CHAINS`] chains, and room for words.
    pub const fn new(first: &'static [AtomicU32], words: &'static [AtomicU64]) -> Self {
        Self {
            first,
            words,
            // Number 0 is no stack.
            used: AtomicU64::new(1),
        }
    }

    /// The number of a stack, which is kept if it is new. `None`: there is no room.
    pub fn intern(&self, trace: Trace<'_>, clock: u64) -> Option<u32> {
        let hash = hash_of(trace);
        let chain = self.first.get(hash as usize % CHAINS)?;
        // Acquire pairs with the release below: a chained stack is written.
        let mut first = chain.load(Ordering::Acquire);
        if let Some(known) = self.find(trace, hash, first, 0) {
            return Some(known);
        }
        let number = self.reserve(HEAD + trace.addresses.len())?;
        self.store(number as usize + 1, hash);
        self.store(number as usize + 2, trace.generation);
        self.store(number as usize + 3, clock);
        for (at, address) in (number as usize + HEAD..).zip(trace.addresses) {
            self.store(at, *address);
        }
        loop {
            let depth = trace.addresses.len() as u64 & 0xFFFF;
            let head = u64::from(first) << 32 | depth << 8 | u64::from(trace.end);
            self.store(number as usize, head);
            // In each turn but the last, another thread has added a stack.
            match chain.compare_exchange(first, number, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return Some(number),
                Err(now) => {
                    if let Some(known) = self.find(trace, hash, now, first) {
                        // The reserved words stay unused.
                        return Some(known);
                    }
                    first = now;
                }
            }
        }
    }

    /// Looks for a stack in the chain from `at` to `until`.
    fn find(&self, trace: Trace<'_>, hash: u64, mut at: u32, until: u32) -> Option<u32> {
        for _ in 0..LONGEST {
            if at == until || at == 0 {
                return None;
            }
            let head = self.load(at as usize)?;
            if self.load(at as usize + 1)? == hash && self.is(at as usize, head, trace) {
                return Some(at);
            }
            at = (head >> 32) as u32;
        }
        None
    }

    fn is(&self, at: usize, head: u64, trace: Trace<'_>) -> bool {
        let depth = trace.addresses.len();
        let same_head = head & 0xFF == u64::from(trace.end)
            && (head >> 8 & 0xFFFF) as usize == depth
            && self.load(at + 2) == Some(trace.generation);
        let words = self.words.get(at + HEAD..at + HEAD + depth);
        same_head
            && words.is_some_and(|words| {
                let words = words.iter().map(|word| word.load(Ordering::Relaxed));
                words.eq(trace.addresses.iter().copied())
            })
    }

    fn reserve(&self, count: usize) -> Option<u32> {
        let at = self.used.fetch_add(count as u64, Ordering::Relaxed);
        let end = usize::try_from(at).ok()?.checked_add(count)?;
        if end > self.words.len() {
            return None;
        }
        u32::try_from(at).ok()
    }

    fn store(&self, at: usize, word: u64) {
        if let Some(place) = self.words.get(at) {
            place.store(word, Ordering::Relaxed);
        }
    }

    fn load(&self, at: usize) -> Option<u64> {
        Some(self.words.get(at)?.load(Ordering::Relaxed))
    }

    /// Passes a stack to `read`: its addresses, leaf first, the reason why it ends, and its first
    /// time. The addresses are gathered in `room`.
    pub fn read<'a>(&self, number: u32, room: &'a mut [u64]) -> Option<(&'a [u64], u8, u64)> {
        let at = number as usize;
        let head = self.load(at)?;
        let depth = (head >> 8 & 0xFFFF) as usize;
        let words = self.words.get(at + HEAD..at + HEAD + depth)?;
        for (place, word) in room.iter_mut().zip(words) {
            *place = word.load(Ordering::Relaxed);
        }
        Some((room.get(..depth)?, head as u8, self.load(at + 3)?))
    }

    /// Forgets all stacks; the caller may zero the memory of the words. There are no lookups
    /// meanwhile.
    pub fn reset(&self) {
        for chain in self.first {
            chain.store(0, Ordering::Relaxed);
        }
        self.used.store(1, Ordering::Relaxed);
    }
}

fn hash_of(trace: Trace<'_>) -> u64 {
    const FACTOR: u64 = 0x517C_C1B7_2722_0A95;
    let turn = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    let start = turn(trace.generation, u64::from(trace.end));
    let hash = trace
        .addresses
        .iter()
        .fold(start, |hash, &word| turn(hash, word));
    // The low bits choose the chain, and a product has its best ones on top.
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::Gaps;
    use std::collections::HashMap;
    use std::vec::Vec;
    use std::{boxed::Box, vec};

    fn table(words: usize) -> Traces {
        let first: Vec<_> = (0..CHAINS).map(|_| AtomicU32::new(0)).collect();
        let words: Vec<_> = (0..words).map(|_| AtomicU64::new(0)).collect();
        Traces::new(
            Box::leak(first.into_boxed_slice()),
            Box::leak(words.into_boxed_slice()),
        )
    }

    fn trace(addresses: &[u64]) -> Trace<'_> {
        Trace {
            addresses,
            end: 0,
            generation: 1,
        }
    }

    #[test]
    fn equal_stacks_have_one_number_and_others_another() {
        let table = table(1 << 20);
        let mut draws = Gaps::new(3);
        let mut known: HashMap<(Vec<u64>, u8, u64), u32> = HashMap::new();
        for _ in 0..20_000 {
            let depth = draws.draw() % 4;
            let addresses: Vec<u64> = (0..depth).map(|_| draws.draw() % 5).collect();
            let (end, generation) = (draws.draw() as u8 % 2, draws.draw() % 2);
            let number = table
                .intern(
                    Trace {
                        addresses: &addresses,
                        end,
                        generation,
                    },
                    0,
                )
                .unwrap();
            let key = (addresses, end, generation);
            assert_eq!(number, *known.entry(key).or_insert(number));
        }
        let mut numbers: Vec<_> = known.values().collect();
        numbers.sort();
        numbers.dedup();
        assert_eq!(numbers.len(), known.len());
    }

    #[test]
    fn a_stack_is_read_as_it_was_written() {
        let table = table(100);
        let deep: Vec<u64> = (100..120).collect();
        let number = table.intern(trace(&deep), 42).unwrap();
        let mut room = vec![0; 64];
        let (addresses, end, clock) = table.read(number, &mut room).unwrap();
        assert_eq!((addresses, end, clock), (&deep[..], 0, 42));
    }

    #[test]
    fn a_full_table_still_finds_what_it_has() {
        let table = table(20);
        let first = table.intern(trace(&[1, 2, 3]), 0).unwrap();
        let many: Vec<u64> = (0..100).collect();
        assert_eq!(table.intern(trace(&many), 0), None);
        assert_eq!(table.intern(trace(&[1, 2, 3]), 0), Some(first));
        table.reset();
        table.intern(trace(&[4]), 0).expect("there is room again");
    }

    #[test]
    fn threads_that_meet_the_same_stacks_agree() {
        let table = table(1 << 16);
        let numbers = |table: &Traces| -> Vec<u32> {
            (0..500_u64)
                .map(|at| table.intern(trace(&[at, at / 2]), 0).unwrap())
                .collect()
        };
        let all: Vec<Vec<u32>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| numbers(&table))).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(all.iter().all(|one| *one == all[0]));
    }
}

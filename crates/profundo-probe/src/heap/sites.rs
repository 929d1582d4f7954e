//! The numbers of stacks, shared by all threads of the process.
//!
//! A stack gets its number from the first thread that has it, which writes it to the file
//! ([`Pens`]) before others know the number. Nothing in here waits: two threads with a new stack at
//! the same moment give it two numbers, which the report adds up.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use profundo_wire::{SampleHead, Source};

use super::pens::{NotWritten, Pens};
use super::shadow::Memory;
use crate::shared::{SITES, STACK_WORDS, SumsHeader};

/// The number of places of the first table. Each further one has four times as many as the one
/// before.
const FIRST: usize = 1 << 12;
const TABLES: usize = 6;

/// The number of places looked at for one stack.
const STEPS: usize = 64;

/// The last number.
const LAST: u32 = SITES as u32 - 2;

/// The stacks that the process knows. All zero is none.
#[derive(Debug)]
#[repr(C)]
pub struct Sites {
    tables: [Table; TABLES],
    pens: Pens,
}

/// Numbers by hashes that almost certainly distinguish two stacks.
#[derive(Debug)]
#[repr(C)]
struct Table {
    places: AtomicPtr<Place>,
    used: AtomicU32,
}

#[derive(Debug)]
#[repr(C)]
struct Place {
    /// 0: unused.
    hash: AtomicU64,
    /// 0: not known yet.
    number: AtomicU64,
}

/// The source of numbers and files.
#[derive(Debug, Clone, Copy)]
pub struct Means<'a> {
    /// Zeroed memory that stays, for tables.
    pub memory: Memory,
    /// The pen that the thread tries first.
    pub pen: usize,
    /// The last number, and the free windows.
    pub header: &'a SumsHeader,
    /// The mapping of the file of stacks: [`crate::shared::STACKS_BYTES`].
    pub stacks: *mut u64,
}

/// A walked stack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Walked<'a> {
    pub(crate) head: &'a SampleHead,
    pub(crate) source: Source,
    /// Native frames and Python's words, as in a record.
    pub(crate) words: &'a [u64],
    /// For a stack that could not be walked to its end: a hash that distinguishes it from others
    /// with the same beginning. The whole record is written, and the number is published when that
    /// is done.
    pub(crate) rest: Option<u64>,
}

impl Walked<'_> {
    fn hash(&self) -> u64 {
        let SampleHead {
            frames,
            end,
            python_end,
            ..
        } = *self.head;
        let first = u64::from(frames) << 32 | (end as u64) << 16 | (python_end as u64) << 8;
        let hash = Hash::new(first | self.source as u64);
        let hash = hash.with(self.words).with(self.rest.as_slice());
        hash.finish().max(1)
    }
}

/// The number of a stack, and for a number that is new and unpublished, the hash to publish it
/// under.
pub(crate) type Number = (u32, Option<u64>);

impl Sites {
    /// The number of a stack. A new stack gets one and is written.
    pub(crate) fn number(
        &self,
        means: Means<'_>,
        walked: &Walked<'_>,
    ) -> Result<Number, NotWritten> {
        let hash = walked.hash();
        if let Some(number) = self.find(hash) {
            return Ok((number, None));
        }
        let number = || {
            let count = &means.header.sites;
            let before = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
                (count < LAST).then(|| count + 1)
            });
            before
                .map(|number| number + 1)
                .map_err(|_| NotWritten::Never)
        };
        if walked.rest.is_some() {
            return Ok((number()?, Some(hash)));
        }
        let mut pen = self.pens.take(means, STACK_WORDS + walked.words.len())?;
        let number = number()?;
        pen.write_stack(walked, number).ok_or(NotWritten::Full)?;
        drop(pen);
        self.insert(hash, number, means.memory);
        Ok((number, None))
    }

    /// Writes records unchanged.
    pub(crate) fn write_records(
        &self,
        means: Means<'_>,
        records: &[u64],
    ) -> Result<(), NotWritten> {
        let mut pen = self.pens.take(means, records.len() + 1)?;
        match pen.write_records(records) {
            true => Ok(()),
            false => Err(NotWritten::Full),
        }
    }

    fn find(&self, hash: u64) -> Option<u32> {
        let tables = self.tables.iter().enumerate();
        let mut found = tables.filter_map(|(size, table)| table.find(size, hash));
        found.next()
    }

    /// Publishes the number of a stack. Without memory for that, the stack gets another number the
    /// next time.
    pub(crate) fn insert(&self, hash: u64, number: u32, memory: Memory) {
        for (size, table) in self.tables.iter().enumerate() {
            let is_full = table.used.load(Ordering::Relaxed) as usize >= places_of(size) / 4 * 3;
            if !is_full && table.insert(size, hash, number, memory) {
                return;
            }
        }
    }
}

const fn places_of(size: usize) -> usize {
    FIRST << (2 * size)
}

impl Table {
    /// The places where a stack may be, in order.
    fn places(&self, size: usize, hash: u64) -> impl Iterator<Item = &Place> {
        // Acquire pairs with the exchange in `insert`.
        let first = self.places.load(Ordering::Acquire);
        let steps = if first.is_null() { 0 } else { STEPS };
        (0..steps).filter_map(move |step| {
            let at = (hash as usize).wrapping_add(step) % places_of(size);
            // SAFETY: the table has so many places, all zero at first, made of atomics, and stays.
            unsafe { first.wrapping_add(at).as_ref() }
        })
    }

    fn find(&self, size: usize, hash: u64) -> Option<u32> {
        for place in self.places(size, hash) {
            match place.hash.load(Ordering::Acquire) {
                0 => return None,
                there if there == hash => {
                    // Acquire pairs with the release in `insert`: the stack is written.
                    let number = place.number.load(Ordering::Acquire);
                    return (number != 0).then_some(number as u32);
                }
                _ => {}
            }
        }
        None
    }

    /// False: there is no place here.
    fn insert(&self, size: usize, hash: u64, number: u32, memory: Memory) -> bool {
        if self.places.load(Ordering::Acquire).is_null() {
            let new = memory(places_of(size) * size_of::<Place>()).cast::<Place>();
            // If another thread was faster, ours is never used, and takes no memory.
            let none = core::ptr::null_mut();
            let (made, found) = (Ordering::AcqRel, Ordering::Acquire);
            let _ = self.places.compare_exchange(none, new, made, found);
        }
        for place in self.places(size, hash) {
            let (taken, found) = (Ordering::AcqRel, Ordering::Acquire);
            match place.hash.compare_exchange(0, hash, taken, found) {
                Ok(_) => {
                    self.used.fetch_add(1, Ordering::Relaxed);
                    place.number.store(number.into(), Ordering::Release);
                    return true;
                }
                // Another thread has added it at the same moment.
                Err(there) if there == hash => return true,
                Err(_) => {}
            }
        }
        false
    }
}

/// A hash with one more word.
#[inline]
fn mixed(hash: u64, word: u64) -> u64 {
    const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
    let product = u128::from(hash ^ word ^ MIX) * u128::from(MIX);
    (product as u64) ^ (product >> 64) as u64 ^ hash.rotate_left(23)
}

/// A hash of words that almost certainly distinguishes them.
#[derive(Debug, Clone, Copy)]
pub struct Hash(u64);

impl Hash {
    /// The hash of nothing, with a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The hash with more words.
    pub fn with(self, words: &[u64]) -> Self {
        // Each step waits for the one before it, so the words go in turn to hashes that do not wait
        // for each other.
        const LANES: usize = 4;
        let (rows, rest) = words.as_chunks::<LANES>();
        let mut hash = self.0;
        if !rows.is_empty() {
            let mut lanes = [0, 1, 2, 3].map(|lane| hash.wrapping_add(lane));
            for row in rows {
                for (lane, word) in lanes.iter_mut().zip(row) {
                    *lane = mixed(*lane, *word);
                }
            }
            hash = lanes.into_iter().fold(hash, mixed);
        }
        Self(rest.iter().fold(hash, |hash, word| mixed(hash, *word)))
    }

    /// The final value.
    pub fn finish(self) -> u64 {
        self.0 ^ self.0 >> 29
    }
}

#[cfg(test)]
mod tests;

//! The stacks that have numbers, and the file in which the command reads which stack each number is.
//!
//! A stack gets its number and is written to the file in one go, under a lock for a few microseconds: so a number
//! never means a stack that nobody can know. The lock is taken for new stacks only.

use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};

use profundo_wire::{SampleHead, Source};

use super::shadow::Memory;
use super::spin::Spin;
use crate::buffer::CHUNK_WORDS;
use crate::shared::{
    NewStack, SITES, STREAMS, SumsHeader, WINDOW_WORDS, entry_kind, from_root, kept_of,
};

/// How many places the first table has. Each further one has four times as many as the one before.
const FIRST: usize = 1 << 12;
const TABLES: usize = 7;

/// From so many words on that the command has not read, stacks are cut: 256 MiB. From twice as many on there is no room
/// for more.
pub(crate) const UNREAD: u64 = 1 << 25;

/// The last number that is given out: one less than the word of a block has room for.
const LAST: u32 = SITES as u32 - 2;

/// What the process knows of its stacks. All zero knows none.
#[derive(Debug)]
#[repr(C)]
pub struct Sites {
    /// The list of modules that did not get what a walk had missed, plus one.
    settled: AtomicU64,
    inside: Spin<Inside>,
}

#[derive(Debug)]
#[repr(C)]
struct Inside {
    tables: [Table; TABLES],
    file: File,
    /// The last stack of each stream.
    streams: *mut [Stream; STREAMS],
}

/// Numbers by what is all but certain to tell two stacks apart.
#[derive(Debug)]
#[repr(C)]
struct Table {
    places: *mut Place,
    used: usize,
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Place {
    hash: u64,
    /// 0: unused.
    number: u64,
}

/// Where the next entry goes.
#[derive(Debug)]
#[repr(C)]
struct File {
    window: *mut u64,
    /// Which window is mapped, plus one.
    number: u64,
}

#[derive(Debug)]
#[repr(C)]
struct Stream {
    frames: usize,
    python: usize,
    /// Native frames, then Python's words with places from the root.
    words: [u64; CHUNK_WORDS],
}

// SAFETY: what the pointers lead to belongs to whoever holds the lock.
unsafe impl Send for Inside {}

/// Where numbers and files come from.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// Zeroed memory that stays.
    pub memory: Memory,
    /// A window of the file, with its memory taken, in place of the one before. Null: there is none.
    pub window: fn(u64, *mut u64) -> *mut u64,
    /// Which stream stacks are told in.
    pub stream: usize,
    /// Where the last number is, and how long the file is.
    pub header: &'a SumsHeader,
}

impl core::fmt::Debug for Means<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Means")
            .field("stream", &self.stream)
            .finish()
    }
}

/// A stack, as it was walked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Walked<'a> {
    pub(crate) head: &'a SampleHead,
    pub(crate) source: Source,
    /// Native frames and Python's words, as in a record.
    pub(crate) words: &'a [u64],
    /// Whether the whole record is told otherwise.
    pub(crate) is_told: bool,
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
        hash.with(self.words).finish()
    }
}

/// The number of a stack, and whether it was given just now.
pub(crate) type Number = (u32, bool);

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

    /// The number of a stack, which gets one if it has none. `None`: there is no room for it.
    pub(crate) fn number(&self, means: Means<'_>, walked: &Walked<'_>) -> Option<Number> {
        let hash = walked.hash();
        self.inside.with(|inside| {
            if let Some(number) = inside.find(hash) {
                return Some((number, false));
            }
            let count = &means.header.sites;
            let number = count.load(Ordering::Relaxed) + 1;
            if number > LAST || unread(means.header) > 2 * UNREAD {
                return None;
            }
            if !walked.is_told {
                inside.tell(means, walked, number)?;
            }
            // Release pairs with the acquire of the command.
            count.store(number, Ordering::Release);
            // Without memory for it, the stack gets another number the next time.
            let _ = inside.insert(hash, number, means.memory);
            Some((number, true))
        })?
    }

    /// Writes records to the file.
    pub(crate) fn tell_records(&self, means: Means<'_>, records: &[u64]) -> bool {
        let told = self.inside.with(|inside| {
            let words = records.len() + 1;
            let (room, is_first) = inside.file.room(means, words)?;
            let (first, rest) = room.split_first_mut()?;
            *first = entry_kind::RECORDS << 56 | words as u64;
            rest.copy_from_slice(records);
            publish(means.header, words);
            // SAFETY: null, or zeroed memory of that size, which only the holder of the lock uses.
            if let (true, Some(streams)) = (is_first, unsafe { inside.streams.as_mut() }) {
                forget(streams);
            }
            Some(())
        });
        told.flatten().is_some()
    }
}

impl Inside {
    fn find(&self, hash: u64) -> Option<u32> {
        let tables = self.tables.iter().enumerate().rev();
        let mut found = tables.filter_map(|(size, table)| table.search(size, hash));
        found.find_map(|place| {
            // SAFETY: it lies in a table, which only the holder of the lock uses.
            let number = unsafe { (*place).number };
            (number != 0).then_some(number as u32)
        })
    }

    fn insert(&mut self, hash: u64, number: u32, memory: Memory) -> Option<()> {
        let mut tables = self.tables.iter_mut().enumerate();
        let (size, table) = tables.find(|(size, it)| it.used < places_of(*size) / 4 * 3)?;
        if table.places.is_null() {
            table.places = memory(places_of(size) * size_of::<Place>()).cast();
        }
        let place = table.search(size, hash)?;
        let number = u64::from(number);
        // SAFETY: as above.
        unsafe { *place = Place { hash, number } };
        table.used += 1;
        Some(())
    }

    /// Writes a stack to the file.
    fn tell(&mut self, means: Means<'_>, walked: &Walked<'_>, number: u32) -> Option<()> {
        if self.streams.is_null() {
            self.streams = (means.memory)(size_of::<[Stream; STREAMS]>()).cast();
        }
        // SAFETY: null, or zeroed memory of that size, which only the holder of the lock uses.
        let streams = unsafe { self.streams.as_mut() }?;
        let stream = streams.get(means.stream)?;
        let (frames, python) = walked.words.split_at_checked(walked.head.frames.into())?;
        let turned = |word: &u64| from_root(*word, frames.len());
        let mut kept = stream.kept(frames, python.iter().map(turned))?;
        let new = |kept| NewStack {
            number,
            source: walked.source,
            stream: means.stream as u8,
            kept,
            head: *walked.head,
        };
        if self.file.is_at_end(means.header, new(kept).words()) {
            kept = [0; 2];
        }
        let new = new(kept);
        let (room, is_first) = self.file.room(means, new.words())?;
        let (head, rest) = room.split_first_chunk_mut()?;
        *head = new.to_words();
        let [new_frames, new_python] = new.added();
        let (native, rest) = rest.split_at_mut_checked(new_frames)?;
        native.copy_from_slice(frames.get(..new_frames)?);
        for (place, word) in rest.iter_mut().zip(python.get(..new_python)?) {
            *place = turned(word);
        }
        publish(means.header, new.words());
        if is_first {
            forget(streams);
        }
        let stream = streams.get_mut(means.stream)?;
        let all = frames.iter().copied().chain(python.iter().map(turned));
        for (place, word) in stream.words.iter_mut().zip(all) {
            *place = word;
        }
        (stream.frames, stream.python) = (frames.len(), python.len());
        Some(())
    }
}

impl Stream {
    /// How many native frames and words of Python's a stack has in common with it.
    fn kept(
        &self,
        frames: &[u64],
        python: impl DoubleEndedIterator<Item = u64>,
    ) -> Option<[u16; 2]> {
        let (old_frames, rest) = self.words.split_at_checked(self.frames)?;
        let old_python = rest.get(..self.python)?;
        let pairs = python.rev().zip(old_python.iter().rev());
        let python = pairs.take_while(|(new, old)| new == *old).count();
        Some([kept_of(frames, old_frames) as u16, python as u16])
    }
}

/// The stacks of a window are whole without those of the one before: somebody else may go on reading there.
fn forget(streams: &mut [Stream; STREAMS]) {
    for stream in streams {
        (stream.frames, stream.python) = (0, 0);
    }
}

const fn places_of(size: usize) -> usize {
    FIRST << (2 * size)
}

impl Table {
    /// Where a stack is, or where it may be put.
    fn search(&self, size: usize, hash: u64) -> Option<*mut Place> {
        if self.places.is_null() {
            return None;
        }
        let most = places_of(size);
        (0..most).find_map(|step| {
            let at = (hash as usize).wrapping_add(step) % most;
            let place = self.places.wrapping_add(at);
            // SAFETY: the table has so many places, and only the holder of the lock uses it.
            let there = unsafe { *place };
            (there.number == 0 || there.hash == hash).then_some(place)
        })
    }
}

impl File {
    /// Whether an entry of so many words is the first one of a window.
    fn is_at_end(&self, header: &SumsHeader, words: usize) -> bool {
        let [written, _] = &header.stacks;
        let used = (written.load(Ordering::Relaxed) % WINDOW_WORDS as u64) as usize;
        used == 0 || words > WINDOW_WORDS - used
    }

    /// Room for an entry, behind the last one, and whether that is the first one of a window. It is not published.
    fn room(&mut self, means: Means<'_>, words: usize) -> Option<(&mut [u64], bool)> {
        let [written, _] = &means.header.stacks;
        let mut at = written.load(Ordering::Relaxed);
        let window = WINDOW_WORDS as u64;
        if words > WINDOW_WORDS {
            return None;
        }
        let is_first = self.is_at_end(means.header, words);
        if is_first {
            // The window has zeros there: the rest of it is not used.
            at = at.next_multiple_of(window);
        }
        let number = at / window;
        if self.number != number + 1 {
            let former = core::mem::replace(&mut self.window, ptr::null_mut());
            self.number = 0;
            self.window = (means.window)(number, former);
            if self.window.is_null() {
                return None;
            }
            self.number = number + 1;
        }
        written.store(at, Ordering::Release);
        let first = self.window.wrapping_add((at % window) as usize);
        // SAFETY: it lies in the window, which is mapped with its memory; what was not published only the holder of the
        // lock uses.
        let room = unsafe { core::slice::from_raw_parts_mut(first, words) };
        Some((room, is_first))
    }
}

/// So many words more may be read.
fn publish(header: &SumsHeader, words: usize) {
    let [written, _] = &header.stacks;
    // Release pairs with the acquire of the command.
    let now = written.load(Ordering::Relaxed) + words as u64;
    written.store(now, Ordering::Release);
}

/// How many words of the file the command has not read.
pub(crate) fn unread(header: &SumsHeader) -> u64 {
    let [written, read] = header.stacks.each_ref();
    let written = written.load(Ordering::Relaxed);
    written.saturating_sub(read.load(Ordering::Relaxed))
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
mod tests;

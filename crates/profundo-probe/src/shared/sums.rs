//! The counts of all allocations: a file for each process, `heap.N` beside its ring.
//!
//! Each stack that allocates has a number (a site), and each thread a share of the file with one
//! row for each number, which no other thread writes: so counting never locks or waits, and the
//! sums of all shares are right whenever no thread is in the middle of a count. Threads that find
//! no share of their own use the first one together, by atomic additions.
//!
//! The file begins with a head. Rows follow in pieces, each of which is for one share and one run
//! of sites. The process maps the whole file when it begins. The recorder allocates pieces before
//! they are needed and publishes their number; the process takes the next one and writes down its
//! purpose. So nothing is opened, mapped or allocated where the program allocates, and no write can
//! fail.
//!
//! The amount of a site at the process's peak is found without a look at all sites at that moment:
//! the peaks have numbers, and a row whose last change came before the present peak keeps, at its
//! next change, its amount at that peak.

use core::mem::size_of;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::stacks::StackWindows;

/// The largest number of sites. The first is that of all stacks for which there was no room.
pub const SITES: usize = 1 << 21;

/// The number of shares.
pub const SHARES: usize = 16;

/// The share of all threads without one of their own.
pub const COMMON: usize = 0;

/// The number of rows in a piece.
pub const PIECE: usize = 1024;

/// The largest number of pieces of a share.
pub const PIECES: usize = SITES / PIECE;

/// The largest number of pieces of all shares: 160 MiB.
pub const SLOTS: usize = 2048;

/// The size of the file. Only the head and the given pieces are allocated.
pub const SUMS_BYTES: usize = size_of::<SumsHeader>() + SLOTS * size_of::<Piece>();

/// The prefix of the number of a process's file.
pub const SUMS_FILE: &str = "heap.";

/// The cycles in a unit of lifetimes: with fewer, many long-lived blocks would soon overflow it.
pub const LIVES: u64 = 256;

/// The counts of one thread at one site.
#[derive(Debug)]
#[repr(C)]
pub struct Row {
    /// Allocated blocks and their bytes.
    pub allocated: [AtomicU64; 2],
    /// Blocks freed by this thread, whichever thread allocated them.
    pub freed: [AtomicU64; 2],
    /// Blocks freed before their thread allocated anything else.
    pub temporary: [AtomicU64; 2],
    /// The times of frees minus the times of allocations, added up: in [`LIVES`] cycles.
    pub lives: AtomicU64,
    /// The amount at the last peak, if the row has changed since.
    pub at_peak: [AtomicU64; 2],
    /// The number of the last peak that it was settled for.
    pub peak: AtomicU64,
}

const _: () = assert!(size_of::<Row>() == 80 && (PIECE * size_of::<Row>()).is_multiple_of(4096));

/// A number in a cache line of its own: its writer writes all the time.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Net(pub AtomicU64);

/// The head of a file.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct SumsHeader {
    /// [`super::MAGIC`].
    pub magic: AtomicU64,
    /// The number of sites.
    pub sites: AtomicU32,
    /// The shares with an owner: bit n for share n.
    pub owned: AtomicU32,
    /// The peak of the live bytes, as far as noticed.
    pub peak_bytes: AtomicU64,
    /// The number of that peak.
    pub peak: AtomicU64,
    /// When that peak was, on the cycle counter.
    pub peak_clock: AtomicU64,
    /// For each share, allocated bytes minus freed bytes.
    pub nets: [Net; SHARES],
    /// The number of allocated pieces.
    pub pieces_given: AtomicU32,
    /// The number of pieces taken by the process.
    pub pieces_taken: AtomicU32,
    /// The purpose of each piece: see [`SumsHeader::purpose`]. 0: none so far.
    pub purposes: [AtomicU32; SLOTS],
    /// Allocations counted without their stack, for want of room, and their bytes.
    pub uncounted: [AtomicU64; 2],
    /// The writable windows of the file of new stacks.
    pub stacks: StackWindows,
    /// Bytes that the program has mapped itself and not yet unmapped: they are in `nets`, too.
    pub mapped: AtomicU64,
}

/// The mapped rows of a share for a run of sites.
pub type Piece = [Row; PIECE];

impl SumsHeader {
    /// The offset of a piece in the file.
    pub const fn piece_at(slot: usize) -> usize {
        size_of::<Self>() + slot * size_of::<Piece>()
    }

    /// The word for a piece of this share and this run of sites.
    pub const fn purpose(share: usize, run: usize) -> u32 {
        1 << 31 | (share as u32) << 16 | run as u32
    }

    /// The share and the run of sites of a piece. `None`: none so far.
    pub fn purpose_of(&self, slot: usize) -> Option<(usize, usize)> {
        // Acquire pairs with the release in `take_piece`.
        let word = self.purposes.get(slot)?.load(Ordering::Acquire);
        (word != 0).then_some(((word >> 16 & 0x7FFF) as usize, (word & 0xFFFF) as usize))
    }

    /// Takes an allocated piece. `None`: there is none.
    pub fn take_piece(&self, share: usize, run: usize) -> Option<usize> {
        // Acquire pairs with the release of the recorder: the memory is there.
        let given = self.pieces_given.load(Ordering::Acquire);
        let taken = &self.pieces_taken;
        let taken = taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
            (taken < given).then(|| taken + 1)
        });
        let slot = taken.ok()? as usize;
        (self.purposes.get(slot)?).store(Self::purpose(share, run), Ordering::Release);
        Some(slot)
    }
}

/// A row, or several added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum {
    /// See [`Row::allocated`].
    pub allocated: [u64; 2],
    /// See [`Row::freed`].
    pub freed: [u64; 2],
    /// See [`Row::temporary`].
    pub temporary: [u64; 2],
    /// See [`Row::lives`].
    pub lives: u64,
    /// The amount at the peak.
    pub at_peak: [u64; 2],
}

impl Sum {
    /// Adds a row, with its amount at the peak of this number.
    pub fn add(&mut self, row: &Row, peak: u64) {
        let read = |pair: &[AtomicU64; 2]| pair.each_ref().map(|word| word.load(Ordering::Relaxed));
        let (allocated, freed) = (read(&row.allocated), read(&row.freed));
        // Until it changes, a row still has its amount at the peak.
        let at_peak = match row.peak.load(Ordering::Relaxed) == peak {
            true => read(&row.at_peak),
            false => less(allocated, freed),
        };
        add(&mut self.allocated, allocated);
        add(&mut self.freed, freed);
        add(&mut self.temporary, read(&row.temporary));
        add(&mut self.at_peak, at_peak);
        self.lives = self.lives.wrapping_add(row.lives.load(Ordering::Relaxed));
    }
}

fn add(to: &mut [u64; 2], more: [u64; 2]) {
    for (to, more) in to.iter_mut().zip(more) {
        *to = to.wrapping_add(more);
    }
}

/// Frees of another thread's blocks make this less than nothing, until all is added up.
fn less(one: [u64; 2], other: [u64; 2]) -> [u64; 2] {
    let [a, b] = one;
    let [c, d] = other;
    [a.wrapping_sub(c), b.wrapping_sub(d)]
}

/// Adds to a number that only the calling thread writes.
#[inline]
pub fn grow(number: &AtomicU64, by: u64) {
    Writers::One.add(number, by);
}

/// The writers of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writers {
    /// One thread, the owner of its share.
    One,
    /// Any thread at any time.
    Many,
}

impl Writers {
    #[inline]
    fn add(self, number: &AtomicU64, by: u64) {
        match self {
            Self::One => number.store(
                number.load(Ordering::Relaxed).wrapping_add(by),
                Ordering::Relaxed,
            ),
            Self::Many => drop(number.fetch_add(by, Ordering::Relaxed)),
        }
    }
}

/// Freed blocks of one site.
#[derive(Debug, Clone, Copy)]
pub struct FreedBlocks {
    /// Their number; 0 for a part of one.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When they were freed, on the cycle counter.
    pub clock: u64,
    /// True if their thread has allocated nothing else before.
    pub at_once: bool,
}

impl Row {
    /// Keeps the row's amount at the last peak, before it changes. Of many threads, the first one
    /// does it.
    #[inline]
    fn settle(&self, peak: u64, writers: Writers) {
        let before = self.peak.load(Ordering::Relaxed);
        if before == peak {
            return;
        }
        let first =
            || (self.peak).compare_exchange(before, peak, Ordering::Relaxed, Ordering::Relaxed);
        match writers {
            Writers::Many if first().is_err() => return,
            Writers::Many => {}
            Writers::One => self.peak.store(peak, Ordering::Relaxed),
        }
        let read = |pair: &[AtomicU64; 2]| pair.each_ref().map(|word| word.load(Ordering::Relaxed));
        let now = less(read(&self.allocated), read(&self.freed));
        for (kept, now) in self.at_peak.iter().zip(now) {
            kept.store(now, Ordering::Relaxed);
        }
    }

    /// Counts an allocation.
    #[inline]
    pub fn allocated(&self, peak: u64, bytes: u64, clock: u64, writers: Writers) {
        self.settle(peak, writers);
        let [count, sum] = &self.allocated;
        writers.add(count, 1);
        writers.add(sum, bytes);
        writers.add(&self.lives, (clock / LIVES).wrapping_neg());
    }

    /// Counts freed blocks.
    #[inline]
    pub fn freed(&self, peak: u64, freed: FreedBlocks, writers: Writers) {
        let FreedBlocks {
            count,
            bytes,
            clock,
            at_once,
        } = freed;
        self.settle(peak, writers);
        let [blocks, sum] = &self.freed;
        writers.add(blocks, count);
        writers.add(sum, bytes);
        if count > 0 {
            writers.add(&self.lives, clock / LIVES);
        }
        if at_once {
            let [blocks, sum] = &self.temporary;
            writers.add(blocks, count);
            writers.add(sum, bytes);
        }
    }
}

//! Where everything that is allocated is counted: a file for each process, `heap.N` beside its ring.
//!
//! Each stack that allocates has a number (a site), and each thread a share of the file with one row for each
//! number, which nobody else writes to: so counting needs no lock and waits for nobody, and the sums of all
//! shares are right whenever no thread is in the middle of a count. Threads that find no share of their own
//! use the first one together, by atomic additions.
//!
//! The file begins with a head. Rows follow in pieces, each of which is for one share and one run of sites. The process
//! maps the whole file when it begins. The recorder gives pieces their memory before they are needed and says how
//! many have it; the process takes the next one and says what it is for. So nothing is opened, mapped or allocated
//! where the program allocates, and no write can fail.
//!
//! What a site had when the process had most is found without looking at all sites at that moment: the moments
//! have numbers, and a row whose last change came before the present one keeps, at its next change, what it
//! had had then.

use core::mem::size_of;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::stacks::StackWindows;

/// How many sites there can be. The first is that of all stacks for which there was no room.
pub const SITES: usize = 1 << 21;

/// How many shares there are.
pub const SHARES: usize = 16;

/// The share of all threads that have none of their own.
pub const COMMON: usize = 0;

/// Rows that lie together.
pub const PIECE: usize = 1024;

/// How many pieces a share has at most.
pub const PIECES: usize = SITES / PIECE;

/// How many pieces all shares have at most: 160 MiB.
pub const SLOTS: usize = 2048;

/// How long the file is. Only the head and the pieces that were given have memory.
pub const SUMS_BYTES: usize = size_of::<SumsHeader>() + SLOTS * size_of::<Piece>();

/// What stands before the number of a process's file.
pub const SUMS_FILE: &str = "heap.";

/// How many cycles are one of the units that lives are counted in: fewer would overflow soon where many blocks
/// live long.
pub const LIVES: u64 = 256;

/// What one thread has counted at one site.
#[derive(Debug)]
#[repr(C)]
pub struct Row {
    /// Blocks that were allocated, and their bytes.
    pub allocated: [AtomicU64; 2],
    /// Those that this thread has freed, wherever they came from.
    pub freed: [AtomicU64; 2],
    /// Those that were freed before their thread had allocated anything else.
    pub temporary: [AtomicU64; 2],
    /// When each block was freed, less when each was allocated, all added up: in [`LIVES`] cycles.
    pub lives: AtomicU64,
    /// What of it there was at the last peak, if the row has changed since.
    pub at_peak: [AtomicU64; 2],
    /// The number of the peak that it was looked at for.
    pub peak: AtomicU64,
}

const _: () = assert!(size_of::<Row>() == 80 && (PIECE * size_of::<Row>()).is_multiple_of(4096));

/// A number in a cache line of its own: whoever writes to it does so all the time.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Net(pub AtomicU64);

/// The head of a file.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct SumsHeader {
    /// [`super::MAGIC`].
    pub magic: AtomicU64,
    /// How many sites there are.
    pub sites: AtomicU32,
    /// Which shares have an owner: bit n for share n.
    pub owned: AtomicU32,
    /// The most bytes that there were, as far as it was looked.
    pub peak_bytes: AtomicU64,
    /// The number of that peak, and when it was on the cycle counter.
    pub peak: AtomicU64,
    /// See above.
    pub peak_clock: AtomicU64,
    /// Bytes that each share has allocated less those that it has freed.
    pub nets: [Net; SHARES],
    /// How many pieces have their memory, and how many of them were taken.
    pub pieces_given: AtomicU32,
    /// See above.
    pub pieces_taken: AtomicU32,
    /// What each piece is for: see [`SumsHeader::purpose`]. 0: for nothing so far.
    pub purposes: [AtomicU32; SLOTS],
    /// Allocations that were counted without their stack, for want of room, and their bytes.
    pub uncounted: [AtomicU64; 2],
    /// Which windows of the file of new stacks may be written to.
    pub stacks: StackWindows,
    /// Bytes that the program has asked the kernel for itself, and not given back: they are in `nets` too.
    pub mapped: AtomicU64,
}

/// The rows of a share for a run of sites, as they are mapped.
pub type Piece = [Row; PIECE];

impl SumsHeader {
    /// Where a piece lies in the file.
    pub const fn piece_at(slot: usize) -> usize {
        size_of::<Self>() + slot * size_of::<Piece>()
    }

    /// The word that says that a piece is for this share and this run of sites.
    pub const fn purpose(share: usize, run: usize) -> u32 {
        1 << 31 | (share as u32) << 16 | run as u32
    }

    /// Which share and which run of sites a piece is for. `None`: for nothing so far.
    pub fn purpose_of(&self, slot: usize) -> Option<(usize, usize)> {
        // Acquire pairs with the release in `take_piece`.
        let word = self.purposes.get(slot)?.load(Ordering::Acquire);
        (word != 0).then_some(((word >> 16 & 0x7FFF) as usize, (word & 0xFFFF) as usize))
    }

    /// Takes a piece that has its memory. `None`: there is none.
    pub fn take_piece(&self, share: usize, run: usize) -> Option<usize> {
        // Acquire pairs with the release of the recorder: the memory is there.
        let given = self.pieces_given.load(Ordering::Acquire);
        let taken = &self.pieces_taken;
        let taken = taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
            (taken < given).then_some(taken + 1)
        });
        let slot = taken.ok()? as usize;
        (self.purposes.get(slot)?).store(Self::purpose(share, run), Ordering::Release);
        Some(slot)
    }
}

/// A row, or several added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum {
    /// See [`Row`].
    pub allocated: [u64; 2],
    /// See [`Row`].
    pub freed: [u64; 2],
    /// See [`Row`].
    pub temporary: [u64; 2],
    /// See [`Row`].
    pub lives: u64,
    /// What there was at the peak.
    pub at_peak: [u64; 2],
}

impl Sum {
    /// Adds a row, as it was at the peak with this number too.
    pub fn add(&mut self, row: &Row, peak: u64) {
        let read = |pair: &[AtomicU64; 2]| pair.each_ref().map(|it| it.load(Ordering::Relaxed));
        let (allocated, freed) = (read(&row.allocated), read(&row.freed));
        // Until it changes, a row has what it had at the peak.
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

/// What one thread has freed of another one's makes this less than nothing, until all is added up.
fn less(one: [u64; 2], other: [u64; 2]) -> [u64; 2] {
    let [a, b] = one;
    let [c, d] = other;
    [a.wrapping_sub(c), b.wrapping_sub(d)]
}

/// Adds to a number that only the calling thread writes to.
#[inline]
pub fn grow(number: &AtomicU64, by: u64) {
    Writers::One.add(number, by);
}

/// Who writes to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writers {
    /// One thread, whose share it is.
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

impl Row {
    /// Keeps what the row has at the last peak, before it changes. Of many threads, the first one does it.
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
        let read = |pair: &[AtomicU64; 2]| pair.each_ref().map(|it| it.load(Ordering::Relaxed));
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

    /// Counts blocks that were freed, or the bytes of a part of one. `at_once`: before their thread had allocated
    /// anything else.
    #[inline]
    pub fn freed(
        &self,
        peak: u64,
        (count, bytes): (u64, u64),
        (clock, at_once): (u64, bool),
        writers: Writers,
    ) {
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

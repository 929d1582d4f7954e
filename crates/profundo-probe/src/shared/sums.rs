//! Where everything that is allocated is counted: a file for each process, `heap.N` beside its ring.
//!
//! Each stack that allocates has a number (a site), and each thread a share of the file with one row for each
//! number, which nobody else writes to: so counting needs no lock and waits for nobody, and the sums of all
//! shares are right whenever no thread is in the middle of a count. Threads that find no share of their own
//! use the first one, under a lock.
//!
//! The file begins with a head. Rows follow in pieces: one for each share and run of sites that has rows. A piece has
//! memory, and is mapped by those who use it, from the first time on that one of its rows is needed.
//!
//! What a site had when the process had most is found without looking at all sites at that moment: the moments
//! have numbers, and a row whose last change came before the present one keeps, at its next change, what it
//! had had then.

use core::mem::size_of;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How many sites there can be: as many numbers as the word of a block has room for. The first is that of all stacks for
/// which there was no room.
pub const SITES: usize = 1 << 22;

/// How many shares there are.
pub const SHARES: usize = 16;

/// Rows whose memory is taken at one time.
pub const PIECE: usize = 4096;

/// How many pieces a share has at most.
pub const PIECES: usize = SITES / PIECE;

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
    /// For each run of sites, which shares' pieces have their memory: bit n for share n.
    pub pieces: [AtomicU32; PIECES],
    /// Allocations that were counted at no site, for want of memory for rows, and their bytes.
    pub uncounted: [AtomicU64; 2],
    /// How many words there are in the file of new stacks, and how many of them the command has read.
    pub stacks: [AtomicU64; 2],
    /// Bytes that the program has asked the kernel for itself, and not given back: they are in `nets` too.
    pub mapped: AtomicU64,
}

/// The rows of a share for a run of sites, as they are mapped.
pub type Piece = [Row; PIECE];

impl SumsHeader {
    /// Where a piece lies in the file.
    pub const fn piece_at(share: usize, piece: usize) -> usize {
        size_of::<Self>() + (piece * SHARES + share) * size_of::<Piece>()
    }

    /// Which shares have a piece of a run of sites: bit n for share n.
    #[inline]
    pub fn shares_with(&self, piece: usize) -> u32 {
        let bits = self.pieces.get(piece);
        // Acquire pairs with the release of who has taken the memory.
        bits.map_or(0, |bits| bits.load(Ordering::Acquire))
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
    number.store(
        number.load(Ordering::Relaxed).wrapping_add(by),
        Ordering::Relaxed,
    );
}

impl Row {
    /// Keeps what the row has at the last peak, before it changes.
    #[inline]
    fn settle(&self, peak: u64) {
        if self.peak.load(Ordering::Relaxed) != peak {
            let read = |pair: &[AtomicU64; 2]| pair.each_ref().map(|it| it.load(Ordering::Relaxed));
            let now = less(read(&self.allocated), read(&self.freed));
            for (kept, now) in self.at_peak.iter().zip(now) {
                kept.store(now, Ordering::Relaxed);
            }
            self.peak.store(peak, Ordering::Relaxed);
        }
    }

    /// Counts an allocation.
    #[inline]
    pub fn allocated(&self, peak: u64, bytes: u64, clock: u64) {
        self.settle(peak);
        let [count, sum] = &self.allocated;
        grow(count, 1);
        grow(sum, bytes);
        grow(&self.lives, (clock / LIVES).wrapping_neg());
    }

    /// Takes back that a block was freed.
    pub fn not_freed(&self, peak: u64, bytes: u64, clock: u64) {
        self.settle(peak);
        let [blocks, sum] = &self.freed;
        grow(blocks, 0_u64.wrapping_sub(1));
        grow(sum, bytes.wrapping_neg());
        grow(&self.lives, (clock / LIVES).wrapping_neg());
    }

    /// Counts blocks that were freed, or the bytes of a part of one.
    #[inline]
    pub fn freed(&self, peak: u64, (count, bytes): (u64, u64), clock: u64, at_once: bool) {
        self.settle(peak);
        let [blocks, sum] = &self.freed;
        grow(blocks, count);
        grow(sum, bytes);
        if count > 0 {
            grow(&self.lives, clock / LIVES);
        }
        if at_once {
            let [blocks, sum] = &self.temporary;
            grow(blocks, count);
            grow(sum, bytes);
        }
    }
}

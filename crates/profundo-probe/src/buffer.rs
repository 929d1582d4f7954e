//! The words of all samples, in chunks, and the used part of the budget.
//!
//! The budget is counted as Julia counts: a sample of depth d costs d + 6 words, whatever its
//! record needs. The memory behind it is reserved and touched chunk by chunk, so a budget of ten
//! million words costs nothing until samples arrive.

use core::slice;
use core::sync::atomic::{AtomicU64, Ordering};

use profundo_wire::SAMPLE_HEAD_WORDS;

use crate::claims::{ChunkState, Claim, Claims};

/// Words in a chunk: room for the deepest record, and small enough that a thread that samples
/// once wastes little address space.
pub const CHUNK_WORDS: usize = 8192;

/// The deepest stack that is kept; a deeper one ends in `[truncated]`.
pub const MAX_DEPTH: usize = 4096;

/// Julia's addition to the depth of a sample: four words of metadata and two zeros.
pub const JULIA_EXTRA: u64 = 6;

/// A buffer is full when not even the largest single entry fits: 16 words and its end, with
/// metadata.
const JULIA_HEADROOM: u64 = 16 + 1 + JULIA_EXTRA;

/// The capacity of a buffer that is emptied all the time.
pub const ENDLESS: u64 = u64::MAX;

/// A chunk with less room than this is exchanged for a new one.
const LEAST_ROOM: usize = SAMPLE_HEAD_WORDS + 64;

/// The sample buffer.
#[derive(Debug)]
pub struct Buffer {
    words: *mut u64,
    claims: Claims<'static>,
    capacity: u64,
    used: AtomicU64,
    /// Distinguishes this buffer from earlier ones, so that a claim kept in a slot is not used on a
    /// new one.
    pub(crate) identity: u64,
}

// SAFETY: the words are only reached through claims, which give each chunk to one thread at a time.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

/// Room in a chunk for one record.
#[derive(Debug)]
pub struct Room<'a> {
    /// The free words of the chunk.
    pub words: &'a mut [u64],
    claim: Claim,
    used: u32,
}

impl Buffer {
    /// A buffer over memory that stays mapped as long as the buffer is used.
    ///
    /// # Safety
    /// `words` points to `chunks.len() * CHUNK_WORDS` writable words that nothing else uses.
    pub unsafe fn new(
        words: *mut u64,
        chunks: &'static [ChunkState],
        capacity: u64,
        ring: bool,
        identity: u64,
    ) -> Self {
        Self {
            words,
            claims: Claims::new(chunks, ring),
            capacity,
            used: AtomicU64::new(0),
            identity,
        }
    }

    /// The budget in Julia's words.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The used part of the budget, in Julia's words. In ring mode never more than the budget.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed).min(self.capacity)
    }

    /// Whether the newest samples are kept rather than the oldest.
    pub fn is_ring(&self) -> bool {
        self.claims.is_ring()
    }

    /// The number of samples overwritten.
    pub fn overwritten(&self) -> u64 {
        self.claims.overwritten()
    }

    /// Whether sampling has to stop: not one more entry would fit. A ring is never full.
    pub fn is_full(&self) -> bool {
        let used = self.used.load(Ordering::Relaxed);
        !self.is_ring() && used.saturating_add(JULIA_HEADROOM) > self.capacity
    }

    /// The chunks, for a reader.
    pub fn claims(&self) -> &Claims<'static> {
        &self.claims
    }

    fn chunk(&self, index: u32) -> *mut u64 {
        self.words.wrapping_add(index as usize * CHUNK_WORDS)
    }

    fn room(&self, claim: Claim, used: u32) -> Room<'_> {
        let used = (used as usize).min(CHUNK_WORDS);
        // SAFETY: the claim makes this chunk ours alone until `commit` or `abandon`; `used` is
        // within it.
        let words = unsafe {
            slice::from_raw_parts_mut(self.chunk(claim.chunk).add(used), CHUNK_WORDS - used)
        };
        Room {
            words,
            claim,
            used: used as u32,
        }
    }

    /// Room in the chunk that the thread used last, or in another one. `None`: there is none.
    #[inline]
    pub fn open(&self, last: Option<Claim>) -> Option<Room<'_>> {
        if let Some(claim) = last
            && let Some(used) = self.claims.resume(claim)
        {
            if (used as usize) + LEAST_ROOM <= CHUNK_WORDS {
                return Some(self.room(claim, used));
            }
            self.claims.release(claim, used, 0);
        }
        // A ring is shared before anything in it is overwritten; otherwise each thread first gets a
        // chunk of its own, while there are any.
        if self.is_ring() {
            self.adopt(LEAST_ROOM).or_else(|| self.acquire())
        } else {
            self.acquire().or_else(|| self.adopt(LEAST_ROOM))
        }
    }

    /// Room for `words` words; `None`: there is none.
    pub fn open_for(&self, words: usize) -> Option<Room<'_>> {
        self.acquire().or_else(|| self.adopt(words))
    }

    /// Room for `words` words that are no sample, while the caller writes to another room.
    pub fn open_beside(&self, words: usize) -> Option<Room<'_>> {
        self.adopt(words).or_else(|| self.acquire())
    }

    /// A room with `more` words behind the `used` ones of this room, which are copied; this room,
    /// if there is none.
    pub fn roomier<'a>(&'a self, room: Room<'a>, used: usize, more: usize) -> Room<'a> {
        let wanted = used.saturating_add(more);
        if room.words.len() >= wanted {
            return room;
        }
        let Some(other) = self.open_for(wanted) else {
            return room;
        };
        let is_enough = other.words.len() >= wanted;
        match (other.words.get_mut(..used), room.words.get(..used)) {
            (Some(to), Some(from)) if is_enough => {
                to.copy_from_slice(from);
                self.abandon(room);
                other
            }
            _ => {
                self.abandon(other);
                room
            }
        }
    }

    fn acquire(&self) -> Option<Room<'_>> {
        self.claims.acquire().map(|claim| self.room(claim, 0))
    }

    fn adopt(&self, room: usize) -> Option<Room<'_>> {
        let limit = CHUNK_WORDS.checked_sub(room)? + 1;
        let (claim, used) = self.claims.adopt(limit as u32)?;
        Some(self.room(claim, used))
    }

    /// Takes `depth + 6` words of the budget, or as much depth as is left. Returns the depth
    /// that may be kept; `None` when not one frame fits.
    #[inline]
    pub fn reserve(&self, depth: usize) -> Option<usize> {
        let wanted = depth as u64 + JULIA_EXTRA;
        if self.capacity == ENDLESS {
            return Some(depth);
        }
        if self.is_ring() {
            self.used.fetch_add(wanted, Ordering::Relaxed);
            return Some(depth);
        }
        let mut kept = depth;
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                let free = self.capacity.saturating_sub(used);
                let depth = wanted.min(free).checked_sub(JULIA_EXTRA)?;
                kept = depth as usize;
                Some(used + depth + JULIA_EXTRA)
            })
            .ok()?;
        Some(kept)
    }

    /// Publishes the first `words` words of the room as one record.
    #[inline]
    pub fn commit(&self, room: Room<'_>, words: usize) -> Claim {
        self.claims.release(room.claim, room.used + words as u32, 1);
        room.claim
    }

    /// Publishes the first `words` words of the room, which are no sample.
    pub fn commit_others(&self, room: Room<'_>, words: usize) -> Claim {
        self.claims.release(room.claim, room.used + words as u32, 0);
        room.claim
    }

    /// Gives the room back unused.
    pub fn abandon(&self, room: Room<'_>) -> Claim {
        self.claims.release(room.claim, room.used, 0);
        room.claim
    }

    /// Copies the words of one chunk out. `None`: a thread is writing to it at this instant.
    ///
    /// `f` gets the words while the chunk is held; a writer meanwhile takes another chunk.
    pub fn read_chunk<T>(&self, index: usize, f: impl FnOnce(&[u64]) -> T) -> Option<T> {
        let used = self.claims.begin_read(index)? as usize;
        // SAFETY: the chunk is held for reading, and its first `used` words were published.
        let words =
            unsafe { slice::from_raw_parts(self.chunk(index as u32), used.min(CHUNK_WORDS)) };
        let result = f(words);
        self.claims.end_read(index);
        Some(result)
    }

    /// Copies the words of one chunk out and empties it; its thread goes on in it. `None`: a thread
    /// is writing to it at this instant.
    pub fn drain_chunk<T>(&self, index: usize, f: impl FnOnce(&[u64]) -> T) -> Option<T> {
        let used = self.claims.begin_read(index)? as usize;
        // SAFETY: as in `read_chunk`.
        let words =
            unsafe { slice::from_raw_parts(self.chunk(index as u32), used.min(CHUNK_WORDS)) };
        let result = f(words);
        self.claims.end_read_and_keep(index);
        Some(result)
    }

    /// Empties the buffer. Returns false if a chunk stayed with a writer, or writers took new
    /// chunks faster than they were cleared; then it is to be called again.
    pub fn clear(&self) -> bool {
        /// A pass takes microseconds, and a thread takes a new chunk after hundreds of samples.
        const PASSES: usize = 100;
        for _ in 0..PASSES {
            let asked = self.claims.asked();
            if !(0..self.claims.touched()).all(|index| self.clear_chunk(index)) {
                return false;
            }
            if self.claims.rewind(asked) {
                self.used.store(0, Ordering::Relaxed);
                return true;
            }
        }
        false
    }

    fn clear_chunk(&self, index: usize) -> bool {
        let held = (0..10_000).any(|_| {
            core::hint::spin_loop();
            self.claims.begin_read(index).is_some()
        });
        if held {
            self.claims.end_read_and_clear(index);
        }
        held
    }
}

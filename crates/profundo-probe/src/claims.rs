//! The right to write to a chunk of the buffer.
//!
//! The buffer is cut into chunks. A thread takes one and appends its samples to it, so threads
//! never contend for a word. Each chunk has a state, which one compare-and-swap moves along:
//!
//! ```text
//!            acquire (generation + 1)
//!        ┌────────────────────────────────┐
//!        ▼                                │
//!     WRITING ──release──▶ IDLE ──begin_read──▶ READING
//!        ▲                  │ ▲                    │
//!        └──────resume──────┘ └──────end_read──────┘
//! ```
//!
//! Between two samples a chunk is IDLE, and any thread may take it away: the oldest one of a ring,
//! to begin it anew (`acquire`), or one with room, to go on in it (`adopt`). Its former owner
//! notices by the generation when it tries to resume. A reader holds a
//! chunk only while it copies it, and a writer that meets a reader simply takes another chunk.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

const IDLE: u64 = 0;
const WRITING: u64 = 1;
const READING: u64 = 2;
const MODE: u64 = 3;
const GENERATION: u64 = 4;

/// The number of chunks that `acquire` looks at before it gives up: each one passed over is in use
/// by another thread at this very instant.
const TRIES: u64 = 64;

/// The state of one chunk. All zero is a chunk that was never used.
#[derive(Debug)]
#[repr(C)]
#[cfg_attr(not(loom), derive(Default))]
pub struct ChunkState {
    state: AtomicU64,
    words: AtomicU32,
    samples: AtomicU32,
}

#[cfg(loom)]
impl Default for ChunkState {
    fn default() -> Self {
        Self {
            state: AtomicU64::new(0),
            words: AtomicU32::new(0),
            samples: AtomicU32::new(0),
        }
    }
}

/// A chunk as its owner remembers it between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// The chunk's number.
    pub chunk: u32,
    /// The state word while it is idle and still the owner's.
    idle: u64,
}

impl Claim {
    /// The claim as two words, to be kept in a thread's slot.
    pub fn to_words(self) -> (u32, u64) {
        (self.chunk, self.idle)
    }

    /// The claim from the words in a thread's slot. `resume` notices a wrong one.
    pub fn from_words(chunk: u32, idle: u64) -> Self {
        Self { chunk, idle }
    }
}

/// The states of all chunks, and the next chunk.
#[derive(Debug)]
pub struct Claims<'a> {
    chunks: &'a [ChunkState],
    ring: bool,
    next: AtomicU64,
    /// The number of chunks ever asked for before the last `rewind`: a thread that asked just
    /// before it may have taken a chunk just after.
    asked_before: AtomicU64,
    overwritten: AtomicU64,
    /// The next chunk that `adopt` looks at.
    adopted: AtomicU64,
}

impl<'a> Claims<'a> {
    /// Claims on unused chunks. With `ring` the oldest chunk is reused when all are taken.
    pub fn new(chunks: &'a [ChunkState], ring: bool) -> Self {
        Self {
            chunks,
            ring,
            next: AtomicU64::new(0),
            asked_before: AtomicU64::new(0),
            overwritten: AtomicU64::new(0),
            adopted: AtomicU64::new(0),
        }
    }

    /// The number of chunks.
    pub fn len(&self) -> usize {
        self.chunks.len()
    }

    /// True if there are no chunks.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// True if old chunks are reused.
    pub fn is_ring(&self) -> bool {
        self.ring
    }

    /// The number of samples overwritten in ring mode.
    pub fn overwritten(&self) -> u64 {
        self.overwritten.load(Ordering::Relaxed)
    }

    /// Takes the next chunk for writing, empty. `None`: all have been taken, and it is no ring.
    pub fn acquire(&self) -> Option<Claim> {
        let count = self.chunks.len() as u64;
        for _ in 0..TRIES {
            if !self.ring && self.next.load(Ordering::Relaxed) >= count {
                return None;
            }
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if !self.ring && number >= count {
                return None;
            }
            let index = number.checked_rem(count)?;
            let chunk = self.chunks.get(index as usize)?;
            let old = chunk.state.load(Ordering::Relaxed);
            if old & MODE != IDLE {
                continue;
            }
            let idle = old.wrapping_add(GENERATION);
            // Acquire pairs with the release in `release` and `end_read`: what the former owner
            // wrote and the reader read comes before what we write.
            if chunk
                .state
                .compare_exchange(old, idle | WRITING, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
            {
                if !self.ring && chunk.words.load(Ordering::Relaxed) != 0 {
                    // It was taken around a `rewind`, and its samples are to stay.
                    // Release pairs with the acquire in `begin_read`.
                    chunk.state.store(idle, Ordering::Release);
                    continue;
                }
                let samples = u64::from(chunk.samples.load(Ordering::Relaxed));
                self.overwritten.fetch_add(samples, Ordering::Relaxed);
                chunk.samples.store(0, Ordering::Relaxed);
                chunk.words.store(0, Ordering::Relaxed);
                return Some(Claim {
                    chunk: index as u32,
                    idle,
                });
            }
        }
        None
    }

    /// Takes a chunk that holds fewer than `limit` words away from its owner, together with its
    /// contents, and goes on writing there; returns how many words it holds. The owner, if it still
    /// lives, notices and does the same.
    ///
    /// Without this, threads that come and go would each leave an almost empty chunk behind, and
    /// in a ring each new thread would throw away a chunk of the others' samples.
    pub fn adopt(&self, limit: u32) -> Option<(Claim, u32)> {
        let count = self.touched() as u64;
        let newest = self.next.load(Ordering::Relaxed);
        for step in 1..=TRIES.min(count) {
            // In a ring the newest chunks have room; otherwise any chunk may have room, so all get
            // their turn.
            let number = if self.ring {
                newest.checked_sub(step)?
            } else {
                self.adopted.fetch_add(1, Ordering::Relaxed)
            };
            let index = number.checked_rem(count)?;
            let chunk = self.chunks.get(index as usize)?;
            let old = chunk.state.load(Ordering::Relaxed);
            if old & MODE != IDLE || chunk.words.load(Ordering::Relaxed) >= limit {
                continue;
            }
            let idle = old.wrapping_add(GENERATION);
            // Acquire pairs with the release in `release` and `end_read`, as in `acquire`.
            if chunk
                .state
                .compare_exchange(old, idle | WRITING, Ordering::Acquire, Ordering::Relaxed)
                .is_err()
            {
                continue;
            }
            let claim = Claim {
                chunk: index as u32,
                idle,
            };
            let words = chunk.words.load(Ordering::Relaxed);
            if words < limit {
                return Some((claim, words));
            }
            self.release(claim, words, 0);
        }
        None
    }

    /// Goes on writing to a chunk; returns how many words it holds already. `None`: the chunk was
    /// taken away, or is being read.
    pub fn resume(&self, claim: Claim) -> Option<u32> {
        let chunk = self.chunks.get(claim.chunk as usize)?;
        // Acquire pairs with the release in `end_read`: the reader is done before we write.
        chunk
            .state
            .compare_exchange(
                claim.idle,
                claim.idle | WRITING,
                Ordering::Acquire,
                Ordering::Relaxed,
            )
            .ok()?;
        Some(chunk.words.load(Ordering::Relaxed))
    }

    /// Whether the claim's chunk is so full that a reader should come.
    #[inline]
    pub fn is_filling(&self, claim: Claim) -> bool {
        /// For a chunk of 8192: a thread of usual depth writes the rest in some thirty samples.
        const MANY: u32 = 6144;
        let chunk = self.chunks.get(claim.chunk as usize);
        chunk.is_some_and(|chunk| chunk.words.load(Ordering::Relaxed) >= MANY)
    }

    /// Releases a chunk from `acquire` or `resume`, publishing its contents.
    pub fn release(&self, claim: Claim, words: u32, new_samples: u32) {
        let Some(chunk) = self.chunks.get(claim.chunk as usize) else {
            return;
        };
        chunk.words.store(words, Ordering::Relaxed);
        let samples = chunk
            .samples
            .load(Ordering::Relaxed)
            .wrapping_add(new_samples);
        chunk.samples.store(samples, Ordering::Relaxed);
        // Release pairs with the acquire in `begin_read`, `acquire` and `resume`.
        chunk.state.store(claim.idle, Ordering::Release);
    }

    /// Holds a chunk for reading; returns how many words it holds. `None`: it is being written
    /// at this instant, so ask again.
    pub fn begin_read(&self, index: usize) -> Option<u32> {
        let chunk = self.chunks.get(index)?;
        let old = chunk.state.load(Ordering::Relaxed);
        if old & MODE != IDLE {
            return None;
        }
        // Acquire pairs with the release in `release`: the words are there before their count.
        chunk
            .state
            .compare_exchange(old, old | READING, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        Some(chunk.words.load(Ordering::Relaxed))
    }

    /// Ends `begin_read`.
    pub fn end_read(&self, index: usize) {
        let Some(chunk) = self.chunks.get(index) else {
            return;
        };
        let state = chunk.state.load(Ordering::Relaxed);
        // Release pairs with the acquire in `acquire` and `resume`.
        chunk.state.store(state & !MODE, Ordering::Release);
    }

    /// Empties a chunk held for reading and takes it away from its owner.
    pub fn end_read_and_clear(&self, index: usize) {
        let Some(chunk) = self.chunks.get(index) else {
            return;
        };
        chunk.words.store(0, Ordering::Relaxed);
        chunk.samples.store(0, Ordering::Relaxed);
        let state = chunk.state.load(Ordering::Relaxed);
        let fresh = (state & !MODE).wrapping_add(GENERATION);
        // Release pairs with the acquire in `acquire`.
        chunk.state.store(fresh, Ordering::Release);
    }

    /// Empties a chunk held for reading, and leaves it to its owner, which goes on in it.
    ///
    /// A buffer that never fills up is read in this way: each thread keeps a chunk of its own, and
    /// one that met the reader goes on in a chunk that it adopts.
    pub fn end_read_and_keep(&self, index: usize) {
        let Some(chunk) = self.chunks.get(index) else {
            return;
        };
        chunk.words.store(0, Ordering::Relaxed);
        chunk.samples.store(0, Ordering::Relaxed);
        let state = chunk.state.load(Ordering::Relaxed);
        // Release pairs with the acquire in `resume`, `acquire` and `adopt`.
        chunk.state.store(state & !MODE, Ordering::Release);
    }

    /// The number of chunks that have ever been asked for, at most all of them.
    pub fn touched(&self) -> usize {
        let asked = self.asked().max(self.asked_before.load(Ordering::Relaxed));
        (asked as usize).min(self.chunks.len())
    }

    /// The number of chunks asked for, missing ones included: for `rewind`.
    pub fn asked(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Starts over from the first chunk, if none was asked for since `asked` was read. Before that,
    /// the caller has cleared all of them, so no thread has a claim left.
    pub fn rewind(&self, asked: u64) -> bool {
        self.asked_before.fetch_max(asked, Ordering::Relaxed);
        let same = self
            .next
            .compare_exchange(asked, 0, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok();
        if same {
            self.overwritten.store(0, Ordering::Relaxed);
        }
        same
    }
}

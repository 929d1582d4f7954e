//! The memory behind the probe's buffer.

use std::sync::atomic::{AtomicU64, Ordering};

use profundo_probe::Buffer;
use profundo_probe::buffer::CHUNK_WORDS;
use profundo_probe::claims::ChunkState;

use crate::error::Error;
use crate::mapping::Mapping;

/// The chunks beyond the budget: each thread holds one that is not full yet.
const SPARE_CHUNKS: usize = 1024;

static NEXT_IDENTITY: AtomicU64 = AtomicU64::new(1);

/// A buffer together with its memory.
#[derive(Debug)]
pub(crate) struct OwnedBuffer {
    /// Boxed, so that its address stays what was published.
    buffer: Box<Buffer>,
    /// The mappings of the buffer's words and of its chunks' states.
    _memory: (Mapping, Mapping),
}

impl OwnedBuffer {
    /// Reserves a buffer of `capacity` words as Julia counts them.
    pub(crate) fn new(capacity: u64, ring: bool) -> Result<Self, Error> {
        if capacity == 0 || capacity > 1 << 40 {
            return Err(Error::Words(capacity));
        }
        let wanted = (capacity as usize).div_ceil(CHUNK_WORDS);
        // A ring keeps as many words as asked for; two chunks are the least that can wrap around.
        let count = if ring {
            wanted.max(2)
        } else {
            wanted + SPARE_CHUNKS
        };
        let words = Mapping::reserve(count * CHUNK_WORDS * size_of::<u64>())?;
        let states = Mapping::reserve(count * size_of::<ChunkState>())?;
        let identity = NEXT_IDENTITY.fetch_add(1, Ordering::Relaxed);
        // SAFETY: both mappings hold `count` of theirs and live as long as `self`; the owner drops
        // us only when no handler uses the buffer. All zero is an unused chunk.
        let buffer = unsafe {
            let states: &'static [ChunkState] =
                std::slice::from_raw_parts(states.as_ptr().cast(), count);
            Buffer::new(words.as_ptr().cast(), states, capacity, ring, identity)
        };
        Ok(Self {
            buffer: Box::new(buffer),
            _memory: (words, states),
        })
    }

    pub(crate) fn get(&self) -> &Buffer {
        &self.buffer
    }

    /// The buffer's address, to be published to handlers.
    pub(crate) fn as_ptr(&self) -> *mut Buffer {
        (&raw const *self.buffer).cast_mut()
    }

    /// Copies out the words of all chunks. A chunk that a handler holds for longer than a
    /// moment (its thread was descheduled in the middle) is asked for again, then left out.
    pub(crate) fn copy_chunks(&self) -> Vec<Vec<u64>> {
        let mut chunks = Vec::new();
        for index in 0..self.buffer.claims().touched() {
            for attempt in 0..1000 {
                match self.buffer.read_chunk(index, <[u64]>::to_vec) {
                    Some(words) if words.is_empty() => break,
                    Some(words) => {
                        chunks.push(words);
                        break;
                    }
                    None if attempt < 100 => std::hint::spin_loop(),
                    None => std::thread::sleep(std::time::Duration::from_micros(50)),
                }
            }
        }
        chunks
    }
}

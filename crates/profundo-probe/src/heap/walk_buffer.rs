//! The buffer that a thread walks a new stack into, before it is known whether that stack has a
//! number.
//!
//! The thread owns it, so it is never full, whatever the command does.

use core::cell::UnsafeCell;

use crate::buffer::{Buffer, CHUNK_WORDS, ENDLESS};
use crate::claims::ChunkState;

/// One chunk for the stack, and one for a code object that is too large for the rest of the first.
const CHUNKS: usize = 2;

/// The chunks. All zero is empty ones.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct WalkBuffer {
    chunks: [ChunkState; CHUNKS],
    words: UnsafeCell<[[u64; CHUNK_WORDS]; CHUNKS]>,
}

// SAFETY: it is a part of one thread's data.
unsafe impl Sync for WalkBuffer {}

impl WalkBuffer {
    /// Runs `work` with an empty buffer, then `take` on the written chunks.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&Buffer) -> T,
        mut take: impl FnMut(&[u64]),
    ) -> T {
        // SAFETY: the buffer does not outlive this call, in which `self` is borrowed; the words are
        // reached through it alone, and are as many as the chunks need.
        let buffer = unsafe {
            let chunks = core::mem::transmute::<&[ChunkState], &'static [ChunkState]>(&self.chunks);
            Buffer::new(self.words.get().cast(), chunks, ENDLESS, false, 0)
        };
        let result = work(&buffer);
        for chunk in 0..CHUNKS {
            buffer.drain_chunk(chunk, |words| {
                if !words.is_empty() {
                    take(words);
                }
            });
        }
        result
    }
}

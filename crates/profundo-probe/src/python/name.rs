//! The interpreter's name of a thread, read at one of its first samples.
//!
//! The name hangs on objects that another thread may change while this one has released the
//! interpreter's lock. So their memory is copied by the kernel, which refuses unmapped addresses:
//! expensive, but done once or twice in a thread's life. A half changed name is mostly no text; the
//! name is then read at a later sample, or never.

use profundo_cpython::{Frame, Layout, Memory, thread_name};
use profundo_wire::{SampleHead, THREAD_NAME_HEAD_WORDS, ThreadNameHead};

use super::pages::CheckedMemory;
use super::text::{as_bytes, kind_of};

/// Names are cut here, at their ends.
const LONGEST: u32 = 1024;

/// Writes a thread's name to the end of `free`; returns the number of words used. `first` is the
/// thread's outermost frame. `None`: it has no name, or there is too little room now.
#[cold]
pub(super) fn write_own_name(
    layout: &Layout,
    head: &SampleHead,
    first: &Frame,
    free: &mut [u64],
) -> Option<usize> {
    write_thread_name(&mut CheckedMemory, layout, head, first, free)
}

/// As [`write_own_name`], from any memory.
pub fn write_thread_name(
    memory: &mut impl Memory,
    layout: &Layout,
    head: &SampleHead,
    first: &Frame,
    free: &mut [u64],
) -> Option<usize> {
    let text = thread_name(layout, memory, first.address, first.code)?;
    let head = ThreadNameHead {
        thread: head.thread,
        tid: head.tid,
        name: (kind_of(text), text.bytes.min(LONGEST)),
    };
    let words = head.words();
    if words > free.len() / 4 {
        return None;
    }
    let from = free.len() - words;
    let (head_words, name) = free
        .get_mut(from..)?
        .split_first_chunk_mut::<THREAD_NAME_HEAD_WORDS>()?;
    *head_words = head.to_words();
    if let Some(last) = name.last_mut() {
        *last = 0;
    }
    memory
        .bytes(text.address, as_bytes(name, head.name.1))
        .then_some(words)
}

//! What the interpreter calls a thread, read at one of its first samples.
//!
//! The name hangs on objects that another thread may change while this one has let go of the
//! interpreter's lock. So their memory is copied by the kernel, which refuses what is not mapped:
//! dear, but done once or twice in a thread's life. What is half changed is no text, or nearly so;
//! the name is then read at a later sample, or never.

use profundo_cpython::{Frame, Layout, Memory, thread_name};
use profundo_wire::{SampleHead, THREAD_NAME_HEAD_WORDS, ThreadNameHead};

use super::chain::{as_bytes, kind_of};
use super::pages::CheckedMemory;

/// Names are cut here, at their ends.
const LONGEST: u32 = 1024;

/// Writes a thread's name to the end of `free`; returns how many words it took. `first` is the
/// thread's outermost frame. `None`: it has no name, or there is too little room now.
#[cold]
pub(super) fn tell(
    layout: &Layout,
    head: &SampleHead,
    first: &Frame,
    free: &mut [u64],
) -> Option<usize> {
    tell_from(&mut CheckedMemory, layout, head, first, free)
}

/// The same, from any memory.
pub fn tell_from(
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

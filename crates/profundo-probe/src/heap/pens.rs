//! The writers of new stacks to the file that the recorder reads.
//!
//! A thread that has walked a new stack takes a pen for as long as it writes, which is a
//! microsecond. A pen has a window of the file to itself, and knows the last stack in it, so that
//! only the difference is written. There are more pens than threads that write at one time. A
//! thread that finds none does not wait for the others; a pen whose thread never returns (a handler
//! that has jumped out) is lost with the rest of its window.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::sites::{Means, Walked};
use crate::buffer::CHUNK_WORDS;
use crate::shared::{NewStack, WINDOW_WORDS, WINDOWS, entry_kind, from_root};

const PENS: usize = 64;

/// All pens. All zero is no pen in use.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Pens([Pen; PENS]);

#[derive(Debug)]
#[repr(C)]
struct Pen {
    is_taken: AtomicBool,
    hand: UnsafeCell<Hand>,
}

// SAFETY: the hand is reached only by the holder of the pen.
unsafe impl Sync for Pen {}

/// The place of the next entry.
#[derive(Debug)]
#[repr(C)]
struct Hand {
    /// The window, plus one, and the number of its used words.
    window: usize,
    used: usize,
    /// The last stack of the window, both from the root on: native frames from the front, and from
    /// the back Python's words with places from the root. The part in common with the next one
    /// stays in place.
    frames: usize,
    python: usize,
    words: [u64; CHUNK_WORDS],
}

/// A taken pen. Dropping it puts it back.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    pen: &'a Pen,
    means: Means<'a>,
}

/// The reason why nothing could be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotWritten {
    /// All pens are taken.
    Busy,
    /// No window is free.
    Full,
    /// All numbers are used up.
    Never,
}

impl Pens {
    /// A pen with room for `words` words.
    pub(super) fn take<'a>(
        &'a self,
        means: Means<'a>,
        words: usize,
    ) -> Result<Held<'a>, NotWritten> {
        let first = means.pen % PENS;
        let (before, after) = self.0.split_at(first);
        let mut why = NotWritten::Busy;
        for pen in after.iter().chain(before) {
            // Acquire pairs with the release of the previous holder.
            if pen.is_taken.swap(true, Ordering::Acquire) {
                continue;
            }
            let mut held = Held { pen, means };
            if held.has_room(words) {
                return Ok(held);
            }
            why = NotWritten::Full;
        }
        Err(why)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Release pairs with the acquire in `take`.
        self.pen.is_taken.store(false, Ordering::Release);
    }
}

impl Held<'_> {
    fn hand(&mut self) -> &mut Hand {
        // SAFETY: the holder of the pen is alone with its hand, and this borrows the holder.
        unsafe { &mut *self.pen.hand.get() }
    }

    /// Whether there is room for `words` words, in a new window if needed.
    fn has_room(&mut self, words: usize) -> bool {
        let hand = self.hand();
        if hand.window != 0 && WINDOW_WORDS - hand.used >= words {
            return true;
        }
        if words > WINDOW_WORDS {
            return false;
        }
        let Some(next) = self.means.header.stacks.take() else {
            return false;
        };
        if self.hand().window != 0 && self.hand().used < WINDOW_WORDS {
            self.publish(entry_kind::END << 56, 1);
        }
        let hand = self.hand();
        (hand.window, hand.used) = (next + 1, 0);
        (hand.frames, hand.python) = (0, 0);
        true
    }

    /// The words behind the first one of the next entry.
    fn behind(&mut self, words: usize) -> Option<&mut [u64]> {
        let Hand { window, used, .. } = *self.hand();
        let window = window.checked_sub(1).filter(|window| *window < WINDOWS)?;
        let count = words.checked_sub(1)?;
        if words > WINDOW_WORDS - used {
            return None;
        }
        let first = self
            .means
            .stacks
            .wrapping_add(window * WINDOW_WORDS + used + 1);
        // SAFETY: the file is mapped there, the window has its memory, and its words behind the
        // published ones are this pen's alone.
        Some(unsafe { core::slice::from_raw_parts_mut(first, count) })
    }

    /// Publishes an entry whose other words are written, by its first word.
    fn publish(&mut self, first: u64, words: usize) {
        let Hand { window, used, .. } = *self.hand();
        let at = (window - 1) * WINDOW_WORDS + used;
        let place = self.means.stacks.wrapping_add(at).cast::<AtomicU64>();
        // SAFETY: as in `behind`.
        let place = unsafe { &*place };
        // Release pairs with the acquire of the recorder.
        place.store(first, Ordering::Release);
        self.hand().used += words;
    }

    /// Writes a stack, for which there is room even if it has nothing in common with another one.
    pub(super) fn write_stack(&mut self, walked: &Walked<'_>, number: u32) -> Option<()> {
        let (frames, python) = walked.words.split_at_checked(walked.head.frames.into())?;
        let turned = |word: &u64| from_root(*word, frames.len());
        let kept = self.hand().kept(frames, python.iter().map(turned))?;
        let new_stack = NewStack {
            number,
            source: walked.source,
            kept,
            head: *walked.head,
        };
        let words = new_stack.words();
        let (first, head) = new_stack.to_words();
        let room = self.behind(words)?;
        let (place, rest) = room.split_at_mut_checked(head.len())?;
        place.copy_from_slice(&head);
        let [new_frames, new_python] = new_stack.added();
        let (native, rest) = rest.split_at_mut_checked(new_frames)?;
        native.copy_from_slice(frames.get(..new_frames)?);
        for (place, word) in rest.iter_mut().zip(python.get(..new_python)?) {
            *place = turned(word);
        }
        self.publish(first, words);
        self.hand()
            .remember(kept, frames, python.iter().map(turned));
        Some(())
    }

    /// Writes records unchanged. False: there is no room.
    pub(super) fn write_records(&mut self, records: &[u64]) -> bool {
        let words = records.len() + 1;
        match self.behind(words) {
            Some(room) => room.copy_from_slice(records),
            None => return false,
        }
        self.publish(entry_kind::RECORDS << 56 | words as u64, words);
        true
    }
}

impl Hand {
    /// The number of native frames and of Python's words that a stack has in common with the last
    /// one, at their ends.
    fn kept(
        &self,
        frames: &[u64],
        python: impl DoubleEndedIterator<Item = u64>,
    ) -> Option<[u16; 2]> {
        let old_frames = self.words.get(..self.frames)?;
        let old_python = self.words.get(CHUNK_WORDS - self.python..)?;
        let pairs = frames.iter().rev().zip(old_frames);
        let native = pairs.take_while(|(new, old)| new == old).count();
        let pairs = python.rev().zip(old_python.iter().rev());
        let python = pairs.take_while(|(new, old)| new == *old).count();
        Some([native as u16, python as u16])
    }

    /// Keeps a stack as the last one, given the number of common words.
    fn remember(
        &mut self,
        kept: [u16; 2],
        frames: &[u64],
        python: impl ExactSizeIterator<Item = u64>,
    ) {
        let [kept_frames, kept_python] = kept.map(usize::from);
        (self.frames, self.python) = (frames.len(), python.len());
        if self.frames + self.python > CHUNK_WORDS {
            (self.frames, self.python) = (0, 0);
            return;
        }
        let (native, python_places) = self.words.split_at_mut(CHUNK_WORDS - self.python);
        let new = frames.len().saturating_sub(kept_frames);
        let places = native
            .get_mut(kept_frames..frames.len())
            .unwrap_or_default();
        for (place, frame) in places
            .iter_mut()
            .rev()
            .zip(frames.get(..new).unwrap_or_default())
        {
            *place = *frame;
        }
        let new = python.len().saturating_sub(kept_python);
        for (place, word) in python_places.iter_mut().take(new).zip(python) {
            *place = word;
        }
    }
}

//! The last stacks of a thread's sampled blocks, as they were written.
//!
//! A stack that is recognised by its registers and by the words that its walk would read
//! ([`Known`]) is copied instead of walked, which takes a third of the time (`BENCHMARKS.md`). Each
//! block still has its whole stack before it in the buffer, so readers see no difference.

use core::cell::Cell;

use profundo_wire::{SAMPLE_HEAD_WORDS, SampleHead};

use super::known::{Beginning, Besides, Known, KnownRoom};

/// The number of kept words.
const WORDS: usize = 1 << 15;

/// All stacks have the first room, and no more.
static NO_MORE: KnownRoom = KnownRoom::none();

/// The stacks that one thread remembers. All zero is empty.
#[derive(Debug)]
#[repr(C)]
pub struct Recall {
    known: Known,
    stacks: Stacks,
}

/// Stacks, one behind another: each has the number of its words, the head of its record, and these
/// words.
#[derive(Debug)]
#[repr(C)]
struct Stacks {
    used: usize,
    words: [u64; WORDS],
}

/// A stack that was written before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept<'a> {
    pub(crate) head: SampleHead,
    /// Native frames and Python's words, as in a record.
    pub(crate) words: &'a [u64],
}

impl Stacks {
    /// The stack with this number.
    fn get(&self, number: u32) -> Option<Kept<'_>> {
        let at = (number as usize).checked_sub(1)?;
        let (count, rest) = self.words.get(at..self.used)?.split_first()?;
        let (head, rest) = rest.split_first_chunk()?;
        let head = SampleHead::from_words(*head)?;
        let words = rest.get(..*count as usize)?;
        Some(Kept { head, words })
    }

    /// Keeps a stack, unless it is this one already. Returns its number; `None`: there is no room.
    fn keep(&mut self, head: &SampleHead, words: &[u64], old: Option<u32>) -> Option<u32> {
        let is_same = |kept: Kept<'_>| {
            // Both are set anew for each block.
            let SampleHead { clock, span, .. } = kept.head;
            let head = SampleHead {
                clock,
                span,
                ..*head
            };
            kept.words == words && kept.head == head
        };
        if let Some(old) = old
            && self.get(old).is_some_and(is_same)
        {
            return Some(old);
        }
        let at = self.used;
        let end = at + 1 + SAMPLE_HEAD_WORDS + words.len();
        let (count, rest) = self.words.get_mut(at..end)?.split_first_mut()?;
        let (place, rest) = rest.split_first_chunk_mut()?;
        *count = words.len() as u64;
        *place = head.to_words();
        rest.copy_from_slice(words);
        self.used = end;
        Some(at as u32 + 1)
    }
}

impl Recall {
    /// The calling thread's stack at this time by the cycle counter, if it is known.
    ///
    /// # Safety
    /// As for [`Known::find`].
    #[inline]
    pub(crate) unsafe fn find(
        &mut self,
        beginning: &Beginning,
        besides: &Besides,
        now: u64,
    ) -> Option<Kept<'_>> {
        // SAFETY: passed on.
        let number = unsafe { self.known.find(beginning, besides, now, || 0) }?;
        self.stacks.get(number)
    }

    /// Has `walk` walk a stack with a log of its reads, and remembers the stack that it passes to
    /// the given function.
    pub(crate) fn walk<T>(
        &mut self,
        beginning: Beginning,
        besides: Besides,
        now: u64,
        walk: impl FnOnce(&super::ReadLog, &dyn Fn(&SampleHead, &[u64])) -> T,
    ) -> T {
        let Self { known, stacks } = self;
        known.log.clear(now);
        let old = known.old();
        let number = Cell::new(None);
        let lent = Cell::new(Some(stacks));
        let result = walk(&known.log, &|head, words| {
            // The name of a task is read in other ways.
            if let Some(stacks) = lent.take() {
                if head.task == 0 && known.log.is_whole() {
                    number.set(stacks.keep(head, words, old));
                }
                lent.set(Some(stacks));
            }
        });
        match (number.take(), lent.take()) {
            (Some(number), _) => known.remember(beginning, besides, number, &NO_MORE),
            (None, Some(stacks)) if known.log.is_whole() => {
                // There is no room: start anew.
                known.forget();
                stacks.used = 0;
            }
            (None, _) => {}
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_wire::{End, Gil, PythonEnd, State};
    use std::boxed::Box;
    use std::vec;

    fn nothing() -> Box<Recall> {
        // SAFETY: all zero is a valid one.
        unsafe { Box::<Recall>::new_zeroed().assume_init() }
    }

    fn head(clock: u64, frames: u16) -> SampleHead {
        SampleHead {
            state: State::Allocating,
            end: End::Root,
            frames,
            python: 0,
            python_end: PythonEnd::Whole,
            gil: Gil::None,
            clock,
            weight: 0,
            task: 0,
            thread: 1,
            tid: 2,
            span: 0,
        }
    }

    fn beginning(ip: u64) -> Beginning {
        Beginning {
            registers: [ip, 2],
            ..Beginning::default()
        }
    }

    /// Walks a stack that depends on one word.
    fn walk(recall: &mut Recall, ip: u64, word: &u64, head: SampleHead, words: &[u64]) {
        recall.walk(beginning(ip), Besides::default(), 0, |log, keep| {
            log.note(&raw const *word as u64, *word);
            keep(&head, words);
        });
    }

    fn found(recall: &mut Recall, ip: u64) -> Option<(u64, vec::Vec<u64>)> {
        // SAFETY: the words that were noted are there.
        let kept = unsafe { recall.find(&beginning(ip), &Besides::default(), 0) }?;
        Some((kept.head.clock, kept.words.to_vec()))
    }

    #[test]
    fn a_stack_is_found_as_it_was_while_its_words_are_the_same() {
        let mut recall = nothing();
        let mut word = std::hint::black_box(Box::new(7_u64));
        walk(&mut recall, 1, &word, head(5, 2), &[10, 11]);
        walk(&mut recall, 2, &word, head(6, 1), &[12]);
        assert_eq!(found(&mut recall, 1), Some((5, vec![10, 11])));
        assert_eq!(found(&mut recall, 2), Some((6, vec![12])));
        assert_eq!(found(&mut recall, 3), None);
        *word = std::hint::black_box(8);
        std::hint::black_box(&word);
        assert_eq!(found(&mut recall, 1), None);
    }

    #[test]
    fn a_stack_of_a_task_is_not_kept_nor_one_that_depends_on_more() {
        let mut recall = nothing();
        let word = Box::new(7_u64);
        let of_task = SampleHead {
            task: 9,
            ..head(5, 1)
        };
        walk(&mut recall, 1, &word, of_task, &[10]);
        assert_eq!(found(&mut recall, 1), None);
        recall.walk(beginning(1), Besides::default(), 0, |log, keep| {
            log.lose();
            keep(&head(5, 1), &[10]);
        });
        assert_eq!(found(&mut recall, 1), None);
        assert_eq!(recall.stacks.used, 0);
    }

    #[test]
    fn a_full_one_begins_anew() {
        let mut recall = nothing();
        let word = Box::new(7_u64);
        let words = [3; 1000];
        for ip in 0..100 {
            walk(&mut recall, ip, &word, head(ip, 1000), &words);
            let expected = recall.stacks.used > 0;
            assert_eq!(found(&mut recall, ip).is_some(), expected, "{ip}");
            assert!(recall.stacks.used <= WORDS);
        }
        assert!(found(&mut recall, 0).is_none());
        assert_eq!(found(&mut recall, 99), Some((99, words.to_vec())));
    }
}

//! The words of a ring, and the counts of allocations beside it.

use std::sync::atomic::Ordering;

use profundo_probe::shared::CHUNKS;
use profundo_session::{Directory, SumsMap};
use profundo_wire::{Reader, Record, State};

use super::{Agent, Words};

impl Agent {
    /// Whether handlers have run since the last call.
    pub(crate) fn is_busy(&mut self) -> bool {
        let handled = self.header().counters.handled.load(Ordering::Relaxed)
            ^ self.header().counters.taken.load(Ordering::Relaxed) << 32;
        std::mem::replace(&mut self.handled, handled) != handled
    }

    /// Takes the words of all chunks: those of each chunk ordered by time, and the chunks by their
    /// first samples. With `last`, also chunks that ended threads had not released.
    pub(crate) fn drain(&mut self, last: bool, words: &mut Words) {
        words.clear();
        for chunk in 0..CHUNKS {
            let start = words.len();
            let taken = if last {
                self.map.take_last(chunk, words.end())
            } else {
                self.map.take(chunk, words.end())
            };
            if taken {
                let (first, is_unfinished) = self.count(words.since(start));
                words.close_chunk(first, start, is_unfinished);
            }
        }
        words.sort();
    }

    /// Opens the process's counts of allocations, once the file exists.
    pub(crate) fn open_sums(&mut self, directory: &Directory) {
        if self.sums.is_none() {
            self.sums = SumsMap::open(directory.path(), self.index);
        }
    }

    /// Appends newly numbered stacks of allocations. Returns whether there are more.
    pub(crate) fn drain_stacks(&mut self, words: &mut Words) -> bool {
        let Some(sums) = &mut self.sums else {
            return false;
        };
        let start = words.len();
        let are_more = sums.new_stacks(words.end());
        sums.provide();
        let new = words.since(start);
        if !new.is_empty() {
            let is_unfinished =
                Reader::new(new).any(|record| matches!(record, Ok(Record::Rewalk(_))));
            words.close_chunk(u64::MAX, start, is_unfinished);
        }
        are_more
    }

    /// Counts each thread's samples. Returns the time of the first one, and whether any must be
    /// walked again.
    fn count(&mut self, words: &[u64]) -> (u64, bool) {
        let mut first = u64::MAX;
        let mut is_unfinished = false;
        let mut last: Option<usize> = None;
        for record in Reader::new(words) {
            let head = match record {
                Ok(Record::Sample { head, .. }) => head,
                Ok(Record::Rewalk(_)) => {
                    is_unfinished = true;
                    continue;
                }
                _ => continue,
            };
            first = first.min(head.clock);
            // It stands for calls, not for time.
            if head.state == State::Returning {
                continue;
            }
            let index = (head.thread as usize).wrapping_sub(1);
            let at = match last.filter(|&at| self.is_thread(at, index)) {
                Some(at) => Some(at),
                None => self
                    .threads
                    .binary_search_by_key(&index, |thread| thread.index)
                    .ok(),
            };
            if let Some(thread) = at.and_then(|at| self.threads.get_mut(at)) {
                thread.samples += 1;
                // The words are the program's, which may have written any.
                thread.accounted = thread.accounted.saturating_add(head.weight);
                if thread.clock.is_none() {
                    self.by_ticks = self.by_ticks.saturating_add(head.weight);
                }
            }
            self.sampled = self.sampled.saturating_add(head.weight);
            last = at;
        }
        (first, is_unfinished)
    }
}

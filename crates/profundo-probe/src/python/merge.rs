//! The native frame of each run of the evaluation loop.
//!
//! From 3.11 on each run has a place on the C stack: it belongs to the native frame that this place
//! lies in. Before, each of the interpreter's frames has a run of its own, so the native frames of
//! the loop and the frames of the interpreter go together one by one.

use profundo_unwind::Observer;
use profundo_wire::PythonWord;

use super::interpreter::Ranges;

/// An entry whose native frame is unknown yet, with a place on the C stack, or 0.
pub fn entry_at(stack: u64) -> u64 {
    ENTRY | stack & !ENTRY
}

const ENTRY: u64 = 1 << 63;

pub(super) fn is_entry(word: u64) -> bool {
    word & ENTRY != 0
}

fn entry(native: Option<usize>) -> u64 {
    let native = native.and_then(|index| u16::try_from(index).ok());
    PythonWord::Entry { native }.to_word()
}

/// Fills in entries while the native stack is walked.
#[derive(Debug)]
pub struct Merge<'a> {
    words: &'a mut [u64],
    /// The next entry to be filled in, if it is not `words.len()`.
    next: usize,
    /// Whether a frame's code was in no module.
    pub(crate) is_unlisted: bool,
}

impl<'a> Merge<'a> {
    /// Merges the interpreter's words, whose entries came from [`entry_at`].
    pub fn new(words: &'a mut [u64]) -> Self {
        let mut merge = Self {
            words,
            next: 0,
            is_unlisted: false,
        };
        merge.next = merge.entry_from(0);
        merge
    }

    /// Merges a sample's words, whose entries have these places; more entries than places have
    /// none.
    pub(crate) fn with_places(words: &'a mut [u64], places: &[u64]) -> Self {
        let entries = words.iter_mut().filter(|word| is_entry(**word));
        let places = places.iter().copied().chain(core::iter::repeat(0));
        for (word, place) in entries.zip(places) {
            *word = entry_at(place);
        }
        Self::new(words)
    }

    /// The index of the first entry from here on.
    fn entry_from(&self, from: usize) -> usize {
        let rest = self.words.get(from..).unwrap_or(&[]);
        let after = rest.iter().position(|&word| is_entry(word));
        after.map_or(self.words.len(), |after| from + after)
    }

    fn stack_of(&self, index: usize) -> Option<u64> {
        self.words.get(index).map(|word| word & !ENTRY)
    }

    /// Fills in one entry and turns to the next.
    fn fill(&mut self, native: Option<usize>) {
        if let Some(word) = self.words.get_mut(self.next) {
            *word = entry(native);
        }
        self.next = self.entry_from(self.next + 1);
    }

    /// The native walk is over: the remaining entries have no native frame.
    pub fn finish(mut self) {
        while self.next < self.words.len() {
            self.fill(None);
        }
    }
}

impl Observer for Merge<'_> {
    fn unlisted(&mut self) {
        self.is_unlisted = true;
    }

    #[inline]
    fn frame(&mut self, index: usize, _: u64, sp: u64, cfa: u64) {
        let lies_here = |stack: u64| sp <= stack && stack < cfa;
        let Some(stack) = self.stack_of(self.next) else {
            return;
        };
        if lies_here(stack) {
            self.fill(Some(index));
            return;
        }
        // An entry that lies in no frame must not keep the others from being found.
        if stack < cfa {
            let after = self.entry_from(self.next + 1);
            if self.stack_of(after).is_some_and(lies_here) {
                self.fill(None);
                self.fill(Some(index));
            }
        }
    }
}

/// Pairs the entries of an interpreter before 3.11 with the native frames in the loop's ranges.
/// `is_whole`: both stacks reach their roots.
///
/// Where the thread was stopped while it entered or left the loop, there is one native frame more
/// than the interpreter has, at the leaf. So whole stacks are paired from the root. Further native
/// frames belong to another stack: that of a greenlet's starter, which has no frames of the
/// interpreter on this one.
pub fn pair(words: &mut [u64], native: &[u64], ranges: &Ranges, is_whole: bool) {
    let count = words.iter().filter(|word| is_entry(**word)).count();
    let most = loops(native, ranges).count();
    let entries = words.iter_mut().filter(|word| is_entry(**word));
    if is_whole && most <= count + 1 {
        let mut loops = loops(native, ranges).rev();
        for word in entries.rev() {
            *word = entry(loops.next());
        }
    } else {
        let mut loops = loops(native, ranges);
        for word in entries {
            *word = entry(loops.next());
        }
    }
}

/// Whether the last run has no entry: the walk was cut within it.
pub fn is_open(words: &[u64]) -> bool {
    words.last().is_some_and(|&word| !is_entry(word))
}

/// Finds the native frame of the outermost run, whose walk was cut before its end, so that its
/// place on the C stack is unknown: it is the first frame of the loop further out than those of the
/// other runs.
pub fn close(words: &mut [u64], native: &[u64], ranges: &Ranges) {
    let Some((last, others)) = words.split_last_mut() else {
        return;
    };
    let found = |word: &u64| match PythonWord::from_word(*word) {
        PythonWord::Entry { native } => native.map(|index| usize::from(index) + 1),
        PythonWord::Frame { .. } => None,
    };
    if !is_entry(*last) || found(last).is_some() {
        return;
    }
    let is_known = |word: &&u64| is_entry(**word);
    let from = match others.iter().rev().find(is_known) {
        // If the run before has none, the start of this one is unknown.
        Some(before) => found(before),
        None => Some(0),
    };
    let Some(from) = from else { return };
    let mut loops = loops(native, ranges).skip_while(|&index| index < from);
    *last = entry(loops.next());
}

/// The native frames of the loop.
fn loops<'a>(native: &'a [u64], ranges: &'a Ranges) -> impl DoubleEndedIterator<Item = usize> + 'a {
    let is_loop = |(index, address): (usize, &u64)| {
        // All but the first are return addresses.
        let address = address.wrapping_sub(u64::from(index > 0));
        ranges.hold(address).then_some(index)
    };
    native.iter().enumerate().filter_map(is_loop)
}

/// As [`pair`], with the ranges as pairs of start and end.
#[cold]
pub(crate) fn pair_again(
    words: &mut [u64],
    native: &[u64],
    evaluation: &[(u64, u64)],
    is_whole: bool,
) {
    pair(words, native, &Ranges::of(evaluation), is_whole);
}

/// As [`close`], with the ranges as pairs of start and end.
#[cold]
pub(crate) fn close_again(words: &mut [u64], native: &[u64], evaluation: &[(u64, u64)]) {
    close(words, native, &Ranges::of(evaluation));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const FRAME: u64 = 1 << 32;

    /// Native frames of 0x10 bytes from 0x1000 on, and the places of entries.
    fn merged(stacks: &[u64], native: usize) -> Vec<Option<u16>> {
        let mut words: Vec<u64> = stacks
            .iter()
            .flat_map(|&stack| [FRAME, entry_at(stack)])
            .collect();
        let mut merge = Merge::new(&mut words);
        for index in 0..native {
            let sp = 0x1000 + index as u64 * 0x10;
            merge.frame(index, 0, sp, sp + 0x10);
        }
        merge.finish();
        let entries = words.iter().map(|&word| PythonWord::from_word(word));
        entries
            .filter_map(|word| match word {
                PythonWord::Entry { native } => Some(native),
                PythonWord::Frame { .. } => None,
            })
            .collect()
    }

    #[test]
    fn an_entry_belongs_to_the_frame_that_it_lies_in() {
        assert_eq!(merged(&[0x1000, 0x103F], 5), [Some(0), Some(3)]);
        assert_eq!(merged(&[0x1018], 5), [Some(1)]);
        assert_eq!(merged(&[], 5), []);
    }

    #[test]
    fn one_that_lies_nowhere_hides_no_other() {
        assert_eq!(
            merged(&[0x500, 0x1018, 0x1028], 5),
            [None, Some(1), Some(2)]
        );
        assert_eq!(merged(&[0x1018, 0x9000], 5), [Some(1), None]);
        assert_eq!(merged(&[0, 0x1018], 5), [None, Some(1)]);
    }

    fn paired(entries: usize, native: &[u64], is_whole: bool) -> Vec<Option<u16>> {
        let ranges = Ranges::of(&[(100, 200), (300, 310)]);
        let mut words: Vec<u64> = (0..entries).flat_map(|_| [FRAME, entry_at(0)]).collect();
        pair(&mut words, native, &ranges, is_whole);
        let entries = words.iter().filter(|&&word| is_entry(word));
        entries
            .map(|&word| match PythonWord::from_word(word) {
                PythonWord::Entry { native } => native,
                PythonWord::Frame { .. } => None,
            })
            .collect()
    }

    #[test]
    fn frames_before_3_11_go_one_by_one() {
        let native = [5, 150, 6, 305, 7, 110, 8];
        assert_eq!(paired(3, &native, true), [Some(1), Some(3), Some(5)]);
        // The leaf's loop is being entered: it has no frame yet.
        assert_eq!(paired(2, &native, true), [Some(3), Some(5)]);
        assert_eq!(paired(2, &native, false), [Some(1), Some(3)]);
        assert_eq!(paired(4, &native, true), [None, Some(1), Some(3), Some(5)]);
        // Loops of another stack below this one.
        assert_eq!(paired(1, &native, true), [Some(1)]);
    }

    #[test]
    fn a_run_that_was_cut_is_the_next_loop() {
        let ranges = Ranges::of(&[(100, 200)]);
        let native = [5, 150, 6, 110, 7];
        let closed = |words: &[u64]| {
            let mut words = words.to_vec();
            close(&mut words, &native, &ranges);
            words
        };
        assert_eq!(
            closed(&[FRAME, entry_at(0)]),
            [FRAME, entry(Some(1))],
            "the innermost"
        );
        let before = [FRAME, entry(Some(1)), FRAME, entry(None)];
        assert_eq!(closed(&before)[3], entry(Some(3)));
        // There is no other one, the one before has none, or it is known.
        let before = [FRAME, entry(Some(3)), FRAME, entry(None)];
        assert_eq!(closed(&before), before);
        let before = [FRAME, entry(None), FRAME, entry(None)];
        assert_eq!(closed(&before), before);
        assert_eq!(closed(&[FRAME, entry(Some(3))]), [FRAME, entry(Some(3))]);
        assert_eq!(closed(&[FRAME]), [FRAME]);
        assert_eq!(closed(&[]), []);
    }

    #[test]
    fn a_return_address_behind_the_range_is_in_it() {
        assert_eq!(paired(1, &[5, 200], true), [Some(1)]);
        assert_eq!(paired(1, &[200, 5], true), [None]);
    }
}

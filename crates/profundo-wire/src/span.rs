//! Spans and marks: stretches of work that the program has named, and instants.
//!
//! A *path* is the name of a span below those of the spans around it. It has a number in its
//! process, from 1, which samples carry ([`crate::SampleHead::span`]). Its record may come after
//! them, within two events of the clock; it may come more than once.
//!
//! ```text
//!          63      56 55                32 31                                              0
//!         ┌──────────┬────────────────────┬─────────────────────────────────────────────────┐
//! word 0  │ kind     │ 0                  │ words of the whole record                       │
//!         ├──────────┴────────────────────┼─────────────────────────────────────────────────┤
//! path    │ number of the path around it  │ its number                                      │
//! (16)    │ 0                             │ bytes of the text                               │
//!         │ the text: name, and after each of its attributes a key and a value, all         │
//!         │ separated by U+001F                                                             │
//!         ├───────────────────────────────┬─────────────────────────────────────────────────┤
//! span    │ number of the thread          │ number of the path                              │
//! (17)    │ 0                             │ kernel thread id                                │
//!         │ task; then: its own number, that of the span around it (0: none), cycle         │
//!         │ counters of its start and its end (0: still open)                               │
//!         ├───────────────────────────────┬─────────────────────────────────────────────────┤
//! sum     │ number of the thread          │ number of the path                              │
//! (18)    │ pairs                         │ kernel thread id                                │
//!         │ number of spans, sum of their lengths, the least, the most, in cycles           │
//!         │ pairs: a length in cycles, and the number of spans that were about as long      │
//!         ├───────────────────────────────┬─────────────────────────────────────────────────┤
//! mark    │ number of the thread          │ number of the path                              │
//! (19)    │ bytes of the text             │ kernel thread id                                │
//!         │ task; then: cycle counter; then the text                                        │
//!         ├─────────────────────────────────────────────────────────────────────────────────┤
//! loss    │ marks, spans whose attributes were not kept, spans whose names were not kept    │
//! (20)    │                                                                                 │
//!         └─────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! Each span is in one record: its own, or a sum. Sums add up. A loss is all of it so far.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::sample::SampleHead;

pub(crate) const KIND_SPAN_PATH: u64 = 16;
pub(crate) const KIND_SPAN: u64 = 17;
pub(crate) const KIND_SPAN_SUM: u64 = 18;
pub(crate) const KIND_MARK: u64 = 19;
pub(crate) const KIND_SPAN_LOSS: u64 = 20;

/// The separator between a span's name, its keys and its values.
pub const SPAN_SEPARATOR: char = '\u{1f}';

/// Words of [`Span`].
pub const SPAN_WORDS: usize = 8;
const PATH_HEAD: usize = 3;
const SUM_HEAD: usize = 7;
const MARK_HEAD: usize = 5;
const LOSS_WORDS: usize = 4;

/// The name of a span below those around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanPath<'a> {
    /// Its number, from 1.
    pub number: u32,
    /// The number of the path around it; 0 if there is none.
    pub parent: u32,
    text: Bytes<'a>,
}

/// The thread of a span or a mark, and its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpanOwner {
    /// The number of the path; 0 outside of spans.
    pub path: u32,
    /// The thread's number; 0 stands for several threads.
    pub thread: u32,
    /// The kernel's thread id.
    pub tid: u32,
}

/// One span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Its path, and the thread that entered it.
    pub owner: SpanOwner,
    /// The task that entered it; 0 for the thread's own.
    pub task: u64,
    /// Its own number in the process, from 1.
    pub number: u64,
    /// The number of the span around it; 0 if there is none.
    pub parent: u64,
    /// The cycle counter at its start.
    pub began: u64,
    /// The cycle counter at its end; 0 while it is open.
    pub ended: u64,
}

/// Spans of one path on one thread that have no records of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanSum<'a> {
    /// Their path and their thread.
    pub owner: SpanOwner,
    /// Their number.
    pub count: u64,
    /// The sum of their lengths in cycles.
    pub total: u64,
    /// The shortest.
    pub least: u64,
    /// The longest.
    pub most: u64,
    pairs: &'a [u64],
}

/// A named instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark<'a> {
    /// The path around it, and its thread.
    pub owner: SpanOwner,
    /// The task; 0 for the thread's own.
    pub task: u64,
    /// The cycle counter.
    pub clock: u64,
    text: Bytes<'a>,
}

/// What was not kept of the spans and marks of a process, so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpanLoss {
    /// Marks that were not kept.
    pub marks: u64,
    /// Spans whose attributes were not kept, because there were too many distinct ones.
    pub attributes: u64,
    /// Spans that were not distinguished at all: too many names, or too deep.
    pub names: u64,
}

/// A text as bytes in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bytes<'a> {
    words: &'a [u64],
    length: u32,
}

impl<'a> Bytes<'a> {
    fn new(words: &'a [u64], length: u32) -> Option<Self> {
        (words.len() == (length as usize).div_ceil(8)).then_some(Self { words, length })
    }

    fn text(self) -> String {
        let bytes = self.words.iter().flat_map(|word| word.to_le_bytes());
        let bytes: Vec<u8> = bytes.take(self.length as usize).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Writes a text, eight bytes a word. `None`: there is no room.
fn write_text(out: &mut [u64], text: &str) -> Option<()> {
    let mut out = out.iter_mut();
    for part in text.as_bytes().chunks(8) {
        let mut bytes = [0; 8];
        bytes.get_mut(..part.len())?.copy_from_slice(part);
        *out.next()? = u64::from_le_bytes(bytes);
    }
    Some(())
}

fn both(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn halves(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

/// The words of a path's record.
pub const fn span_path_words(text: &str) -> usize {
    PATH_HEAD + text.len().div_ceil(8)
}

impl<'a> SpanPath<'a> {
    /// Writes the record of a path; returns its words. `None`: there is no room. It allocates
    /// nothing.
    pub fn write(out: &mut [u64], number: u32, parent: u32, text: &str) -> Option<usize> {
        let words = span_path_words(text);
        let (head, body) = out.get_mut(..words)?.split_first_chunk_mut()?;
        *head = [
            KIND_SPAN_PATH << 56 | words as u64,
            both(parent, number),
            text.len() as u64,
        ];
        write_text(body, text)?;
        Some(words)
    }

    pub(crate) fn from_words(words: &'a [u64]) -> Option<Self> {
        let (&[_, ids, length], body) = words.split_first_chunk::<PATH_HEAD>()?;
        let (parent, number) = halves(ids);
        let text = Bytes::new(body, u32::try_from(length).ok()?)?;
        (number > 0).then_some(Self {
            number,
            parent,
            text,
        })
    }

    /// Its name, and the keys and values of its attributes, separated by [`SPAN_SEPARATOR`].
    pub fn text(&self) -> String {
        self.text.text()
    }
}

impl Span {
    /// The words of the record.
    pub fn to_words(&self) -> [u64; SPAN_WORDS] {
        [
            KIND_SPAN << 56 | SPAN_WORDS as u64,
            both(self.owner.thread, self.owner.path),
            u64::from(self.owner.tid),
            self.task,
            self.number,
            self.parent,
            self.began,
            self.ended,
        ]
    }

    pub(crate) fn from_words(words: &[u64]) -> Option<Self> {
        let &[_, ids, tid, task, number, parent, began, ended] = words else {
            return None;
        };
        Some(Self {
            owner: SpanOwner::of(ids, tid as u32),
            task,
            number,
            parent,
            began,
            ended,
        })
    }
}

impl SpanOwner {
    fn of(ids: u64, tid: u32) -> Self {
        let (thread, path) = halves(ids);
        Self { path, thread, tid }
    }

    /// The thread and the path of a sample.
    pub fn of_sample(head: &SampleHead) -> Self {
        Self {
            path: head.span,
            thread: head.thread,
            tid: head.tid,
        }
    }
}

/// The words of a sum with this number of pairs.
pub const fn span_sum_words(pairs: usize) -> usize {
    SUM_HEAD + 2 * pairs
}

/// The words of a mark.
pub const fn mark_words(text: &str) -> usize {
    MARK_HEAD + text.len().div_ceil(8)
}

impl<'a> SpanSum<'a> {
    /// The words of a sum; `pairs` are lengths in cycles with numbers of spans.
    pub fn words(
        owner: SpanOwner,
        figures: [u64; 4],
        pairs: impl ExactSizeIterator<Item = (u64, u64)>,
    ) -> Vec<u64> {
        let mut out = vec![0; span_sum_words(pairs.len())];
        Self::write(&mut out, owner, figures, pairs.len(), pairs);
        out
    }

    /// Writes a sum; returns its words. `count` is the number of pairs. `None`: there is no room.
    /// It allocates nothing.
    pub fn write(
        out: &mut [u64],
        owner: SpanOwner,
        [spans, total, least, most]: [u64; 4],
        count: usize,
        pairs: impl Iterator<Item = (u64, u64)>,
    ) -> Option<usize> {
        let words = span_sum_words(count);
        let (head, body) = out.get_mut(..words)?.split_first_chunk_mut()?;
        *head = [
            KIND_SPAN_SUM << 56 | words as u64,
            both(owner.thread, owner.path),
            both(count as u32, owner.tid),
            spans,
            total,
            least,
            most,
        ];
        let (places, _) = body.as_chunks_mut::<2>();
        for (place, (length, spans)) in places.iter_mut().zip(pairs) {
            *place = [length, spans];
        }
        Some(words)
    }

    pub(crate) fn from_words(words: &'a [u64]) -> Option<Self> {
        let (&[_, ids, sizes, count, total, least, most], pairs) =
            words.split_first_chunk::<SUM_HEAD>()?;
        let (length, tid) = halves(sizes);
        (pairs.len() == 2 * length as usize).then_some(Self {
            owner: SpanOwner::of(ids, tid),
            count,
            total,
            least,
            most,
            pairs,
        })
    }

    /// Lengths in cycles, with the numbers of spans that were about as long.
    pub fn lengths(&self) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        let (pairs, _) = self.pairs.as_chunks::<2>();
        pairs.iter().map(|&[length, count]| (length, count))
    }
}

impl<'a> Mark<'a> {
    /// The words of a mark.
    pub fn words(owner: SpanOwner, task: u64, clock: u64, text: &str) -> Vec<u64> {
        let mut out = vec![0; mark_words(text)];
        Self::write(&mut out, owner, task, clock, text);
        out
    }

    /// Writes a mark; returns its words. `None`: there is no room. It allocates nothing.
    pub fn write(
        out: &mut [u64],
        owner: SpanOwner,
        task: u64,
        clock: u64,
        text: &str,
    ) -> Option<usize> {
        let words = mark_words(text);
        let (head, body) = out.get_mut(..words)?.split_first_chunk_mut()?;
        *head = [
            KIND_MARK << 56 | words as u64,
            both(owner.thread, owner.path),
            both(text.len() as u32, owner.tid),
            task,
            clock,
        ];
        write_text(body, text)?;
        Some(words)
    }

    pub(crate) fn from_words(words: &'a [u64]) -> Option<Self> {
        let (&[_, ids, sizes, task, clock], body) = words.split_first_chunk::<MARK_HEAD>()?;
        let (length, tid) = halves(sizes);
        Some(Self {
            owner: SpanOwner::of(ids, tid),
            task,
            clock,
            text: Bytes::new(body, length)?,
        })
    }

    /// Its name.
    pub fn text(&self) -> String {
        self.text.text()
    }
}

impl SpanLoss {
    /// The words of the record.
    pub fn to_words(&self) -> [u64; LOSS_WORDS] {
        [
            KIND_SPAN_LOSS << 56 | LOSS_WORDS as u64,
            self.marks,
            self.attributes,
            self.names,
        ]
    }

    pub(crate) fn from_words(words: &[u64]) -> Option<Self> {
        let &[_, marks, attributes, names] = words else {
            return None;
        };
        Some(Self {
            marks,
            attributes,
            names,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: SpanOwner = SpanOwner {
        path: 7,
        thread: 3,
        tid: 4711,
    };

    #[test]
    fn paths_and_marks_keep_their_texts() {
        for text in ["", "a", "request\u{1f}route\u{1f}/p/ä", "12345678", "🦀"] {
            let mut words = vec![0; span_path_words(text)];
            let length = SpanPath::write(&mut words, 2, 1, text);
            assert_eq!(length, Some(words.len()));
            let path = SpanPath::from_words(&words).unwrap();
            assert_eq!((path.number, path.parent), (2, 1));
            assert_eq!(path.text(), text);
            let mut short = vec![0; span_path_words(text) - 1];
            assert_eq!(SpanPath::write(&mut short, 2, 1, text), None);
            let words = Mark::words(OWNER, 5, 99, text);
            let mark = Mark::from_words(&words).unwrap();
            assert_eq!((mark.owner, mark.task, mark.clock), (OWNER, 5, 99));
            assert_eq!(mark.text(), text);
        }
    }

    #[test]
    fn spans_sums_and_losses_survive() {
        let span = Span {
            owner: OWNER,
            task: 9,
            number: 1,
            parent: 2,
            began: 10,
            ended: u64::MAX,
        };
        assert_eq!(Span::from_words(&span.to_words()), Some(span));
        let words = SpanSum::words(OWNER, [3, 60, 10, 30], [(10, 2), (30, 1)].into_iter());
        let sum = SpanSum::from_words(&words).unwrap();
        assert_eq!(
            (sum.owner, sum.count, sum.total, sum.least, sum.most),
            (OWNER, 3, 60, 10, 30)
        );
        assert_eq!(sum.lengths().collect::<Vec<_>>(), [(10, 2), (30, 1)]);
        let loss = SpanLoss {
            marks: 1,
            attributes: 2,
            names: 3,
        };
        assert_eq!(SpanLoss::from_words(&loss.to_words()), Some(loss));
    }

    #[test]
    fn damage_is_no_record() {
        let words = SpanSum::words(OWNER, [1, 1, 1, 1], [(1, 1)].into_iter());
        assert_eq!(SpanSum::from_words(&words[..8]), None);
        let mut words = Mark::words(OWNER, 0, 0, "abc");
        words[2] = u64::MAX;
        assert_eq!(Mark::from_words(&words), None);
        assert_eq!(Span::from_words(&[0; 7]), None);
        let mut words = vec![0; 8];
        SpanPath::write(&mut words, 0, 0, "a");
        assert_eq!(SpanPath::from_words(&words[..4]), None);
    }
}

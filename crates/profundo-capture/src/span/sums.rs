//! Ended spans: the first ones of a process each for itself, the others as sums by path and thread.
//!
//! A sum has a logarithmic histogram of lengths: 32 buckets for each power of two, so that a
//! percentile is off by less than 2 %.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use profundo_wire::{Span, SpanOwner, SpanSum, length_bucket, middle_of_bucket, span_limit};

use super::names::OTHERS;

/// The number of spans that a thread may keep before it asks for more.
const PORTION: usize = 256;
/// The limit of sums by path and thread. Beyond it, ended threads have their sums together.
const MOST_SUMS: usize = 1 << 16;

static KEPT: AtomicUsize = AtomicUsize::new(0);
static SUMS: AtomicUsize = AtomicUsize::new(0);

/// Spans that are kept each for itself.
#[derive(Debug, Default)]
pub(super) struct Kept {
    spans: Vec<Span>,
    /// The number of further ones that may be kept.
    left: usize,
}

impl Kept {
    /// Keeps a span, if there is room.
    pub(super) fn push(&mut self, span: Span) -> bool {
        if self.left == 0 {
            let more = KEPT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |kept| {
                (kept + PORTION <= span_limit::KEPT).then_some(kept + PORTION)
            });
            if more.is_err() {
                return false;
            }
            self.left = PORTION;
        }
        self.left -= 1;
        self.spans.push(span);
        true
    }

    pub(super) fn clear(&mut self) {
        self.spans = Vec::new();
        self.left = 0;
    }

    /// Makes room for as many as at first: all threads have dropped theirs.
    pub(super) fn release_all() {
        KEPT.store(0, Ordering::Relaxed);
        SUMS.store(0, Ordering::Relaxed);
    }

    fn append(&mut self, other: &mut Self) {
        self.spans.append(&mut other.spans);
        KEPT.fetch_sub(std::mem::take(&mut other.left), Ordering::Relaxed);
    }

    fn write(&self, out: &mut Vec<u64>) {
        out.extend(self.spans.iter().flat_map(Span::to_words));
    }
}

/// Spans of one path on one thread.
#[derive(Debug, Clone, Default)]
struct Sum {
    count: u64,
    total: u64,
    least: u64,
    most: u64,
    /// Numbers of spans by bucket, in the order of the buckets.
    lengths: Vec<(u16, u64)>,
}

impl Sum {
    fn add(&mut self, length: u64) {
        self.least = match self.count {
            0 => length,
            _ => self.least.min(length),
        };
        self.most = self.most.max(length);
        self.count += 1;
        self.total = self.total.saturating_add(length);
        self.add_to(length_bucket(length), 1);
    }

    fn add_to(&mut self, bucket: u16, count: u64) {
        match self.lengths.binary_search_by_key(&bucket, |&(at, _)| at) {
            Ok(at) => self.lengths[at].1 += count,
            Err(at) => self.lengths.insert(at, (bucket, count)),
        }
    }

    fn merge(&mut self, other: &Self) {
        self.least = match self.count {
            0 => other.least,
            _ => self.least.min(other.least),
        };
        self.most = self.most.max(other.most);
        self.count += other.count;
        self.total = self.total.saturating_add(other.total);
        for &(bucket, count) in &other.lengths {
            self.add_to(bucket, count);
        }
    }
}

/// Ended spans of one thread or of several.
#[derive(Debug, Default)]
pub(super) struct Totals {
    kept: Kept,
    sums: HashMap<(u32, u32), (u32, Sum)>,
}

impl Totals {
    /// Adds a span.
    pub(super) fn add(&mut self, span: Span) {
        if self.kept.push(span) {
            return;
        }
        let SpanOwner { path, thread, tid } = span.owner;
        let length = span.ended.saturating_sub(span.began);
        if let Some((_, sum)) = self.sums.get_mut(&(path, thread)) {
            return sum.add(length);
        }
        let path = match SUMS.fetch_add(1, Ordering::Relaxed) < MOST_SUMS {
            true => path,
            false => OTHERS,
        };
        let (_, sum) = self.sums.entry((path, thread)).or_default();
        sum.add(length);
        if let Some((known, _)) = self.sums.get_mut(&(path, thread)) {
            *known = tid;
        }
    }

    /// Takes over the spans of an ended thread. Where there are very many threads, their sums are
    /// put together, as those of thread 0.
    pub(super) fn take_over(&mut self, other: &mut Self) {
        self.kept.append(&mut other.kept);
        for ((path, thread), (tid, sum)) in other.sums.drain() {
            let is_crowded = self.sums.len() >= MOST_SUMS / 4;
            let (thread, tid) = if is_crowded { (0, 0) } else { (thread, tid) };
            if is_crowded && self.sums.contains_key(&(path, thread)) {
                SUMS.fetch_sub(1, Ordering::Relaxed);
            }
            let (known, all) = self.sums.entry((path, thread)).or_default();
            *known = tid;
            all.merge(&sum);
        }
    }

    pub(super) fn clear(&mut self) {
        self.kept.clear();
        self.sums = HashMap::new();
    }

    /// Appends the records.
    pub(super) fn write(&self, out: &mut Vec<u64>) {
        self.kept.write(out);
        for (&(path, thread), (tid, sum)) in &self.sums {
            let tid = *tid;
            let owner = SpanOwner { path, thread, tid };
            let figures = [sum.count, sum.total, sum.least, sum.most];
            let lengths = sum.lengths.iter();
            let pairs = lengths.map(|&(bucket, count)| (middle_of_bucket(bucket), count));
            out.extend(SpanSum::words(owner, figures, pairs));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_threads_add_up() {
        let mut one = Sum::default();
        let mut other = Sum::default();
        [5, 10, 10].into_iter().for_each(|length| one.add(length));
        [3, 100].into_iter().for_each(|length| other.add(length));
        one.merge(&other);
        assert_eq!(
            (one.count, one.total, one.least, one.most),
            (5, 128, 3, 100)
        );
        let counts: u64 = one.lengths.iter().map(|&(_, count)| count).sum();
        assert_eq!(counts, 5);
        let mut empty = Sum::default();
        empty.merge(&one);
        assert_eq!((empty.least, empty.most), (3, 100));
    }
}

//! The words drained from a ring, chunk by chunk, ordered by the chunks' first samples.

/// The drained words.
#[derive(Debug, Default)]
pub(crate) struct Words {
    all: Vec<u64>,
    /// The time of each chunk's first sample, and its range.
    chunks: Vec<(u64, usize, usize)>,
    /// Whether there are samples to be walked again.
    is_unfinished: bool,
}

impl Words {
    pub(crate) fn clear(&mut self) {
        /// The capacity that is kept; memory beyond it is freed after a burst.
        const KEPT: usize = 1 << 17;
        self.all.clear();
        self.all.shrink_to(KEPT);
        self.chunks.clear();
        self.is_unfinished = false;
    }

    pub(crate) fn is_unfinished(&self) -> bool {
        self.is_unfinished
    }

    /// Puts words that have waited before all others.
    pub(crate) fn put_first(&mut self, words: &[u64]) {
        if !words.is_empty() {
            let start = self.all.len();
            self.all.extend(words);
            self.chunks.insert(0, (0, start, self.all.len()));
        }
    }

    /// A copy with each chunk rewritten.
    pub(crate) fn rewritten(&self, mut rewrite: impl FnMut(&[u64], &mut Vec<u64>)) -> Self {
        let mut new = Self::default();
        for &(first, start, end) in &self.chunks {
            let from = new.all.len();
            rewrite(self.all.get(start..end).unwrap_or_default(), &mut new.all);
            new.chunks.push((first, from, new.all.len()));
        }
        new
    }

    /// The words, to which those of a new chunk are appended; [`Words::close_chunk`] follows.
    pub(super) fn end(&mut self) -> &mut Vec<u64> {
        &mut self.all
    }

    /// The words from an index on.
    pub(super) fn since(&self, start: usize) -> &[u64] {
        self.all.get(start..).unwrap_or_default()
    }

    /// Makes a chunk of the words from an index on, whose first sample was taken at `first`.
    pub(super) fn close_chunk(&mut self, first: u64, start: usize, is_unfinished: bool) {
        self.is_unfinished |= is_unfinished;
        self.chunks.push((first, start, self.all.len()));
    }

    /// Sorts the chunks by their first samples.
    pub(super) fn sort(&mut self) {
        self.chunks.sort_unstable();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The words, chunk by chunk.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = &[u64]> {
        self.chunks
            .iter()
            .filter_map(|&(_, start, end)| self.all.get(start..end))
    }
}

//! Ended spans that have no record of their own, added up by path and thread.
//!
//! There is room for a few sums. One that has to make way, and one that was not written for a
//! while, goes to the command: sums add up.

use profundo_wire::{LENGTH_BUCKETS, SpanOwner, length_bucket, middle_of_bucket};

/// The number of sums at one time.
const ROWS: usize = 64;

/// Spans of one path on one thread. All zero is none.
#[repr(C)]
pub struct Row {
    path: u32,
    thread: u32,
    tid: u32,
    count: u64,
    total: u64,
    least: u64,
    most: u64,
    /// The buckets that are not zero lie in this range.
    first: u16,
    last: u16,
    buckets: [u32; LENGTH_BUCKETS],
}

/// Sums by path and thread.
#[repr(C)]
pub struct Sums {
    rows: [Row; ROWS],
    /// The next one to make way.
    next: usize,
    /// The number of spans in them.
    pub spans: u64,
}

impl Sums {
    /// Adds a span. `write` writes the sum that has to make way; false: there is no room for it.
    /// Returns whether the span was added.
    pub fn add(&mut self, owner: SpanOwner, length: u64, write: impl FnOnce(&Row) -> bool) -> bool {
        let is_it = |row: &&mut Row| row.count > 0 && row.is_of(owner);
        if let Some(row) = self.rows.iter_mut().find(is_it) {
            row.add(length);
            self.spans += 1;
            return true;
        }
        let free = self.rows.iter().position(|row| row.count == 0);
        let at = free.unwrap_or(self.next);
        let Some(row) = self.rows.get_mut(at) else {
            return false;
        };
        if row.count > 0 {
            if !write(row) {
                return false;
            }
            self.spans -= row.count;
            row.clear();
            self.next = (self.next + 1) % ROWS;
        }
        (row.path, row.thread, row.tid) = (owner.path, owner.thread, owner.tid);
        row.add(length);
        self.spans += 1;
        true
    }

    /// Has `write` write all sums, and drops those that were written.
    pub fn flush(&mut self, mut write: impl FnMut(&Row) -> bool) {
        if self.spans == 0 {
            return;
        }
        for row in &mut self.rows {
            if row.count > 0 && write(row) {
                self.spans -= row.count;
                row.clear();
            }
        }
    }

    /// Drops all sums.
    pub fn clear(&mut self) {
        self.flush(|_| true);
    }
}

impl Row {
    fn is_of(&self, owner: SpanOwner) -> bool {
        (self.path, self.thread, self.tid) == (owner.path, owner.thread, owner.tid)
    }

    fn add(&mut self, length: u64) {
        let bucket = length_bucket(length);
        match self.count {
            0 => (self.least, self.first, self.last) = (length, bucket, bucket),
            _ => {
                self.least = self.least.min(length);
                self.first = self.first.min(bucket);
                self.last = self.last.max(bucket);
            }
        }
        self.most = self.most.max(length);
        self.count += 1;
        self.total = self.total.saturating_add(length);
        if let Some(count) = self.buckets.get_mut(usize::from(bucket)) {
            *count = count.saturating_add(1);
        }
    }

    fn clear(&mut self) {
        let used = usize::from(self.first)..usize::from(self.last) + 1;
        self.buckets.get_mut(used).unwrap_or_default().fill(0);
        (self.count, self.total, self.least, self.most) = (0, 0, 0, 0);
    }

    /// Their path and their thread.
    pub fn owner(&self) -> SpanOwner {
        SpanOwner {
            path: self.path,
            thread: self.thread,
            tid: self.tid,
        }
    }

    /// Their number, the sum of their lengths, the least and the most.
    pub fn figures(&self) -> [u64; 4] {
        [self.count, self.total, self.least, self.most]
    }

    /// Lengths with the numbers of spans that were about as long.
    pub fn lengths(&self) -> impl Iterator<Item = (u64, u64)> {
        let used = usize::from(self.first)..usize::from(self.last) + 1;
        let buckets = (self.first..).zip(self.buckets.get(used).unwrap_or_default());
        let used = buckets.filter(|&(_, &count)| count > 0);
        used.map(|(bucket, &count)| (middle_of_bucket(bucket), u64::from(count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(path: u32) -> SpanOwner {
        SpanOwner {
            path,
            thread: 1,
            tid: 7,
        }
    }

    #[test]
    fn nothing_is_lost_and_nothing_counts_twice() {
        // SAFETY: all zero is a valid one.
        let mut sums = unsafe { Box::<Sums>::new_zeroed().assume_init() };
        let mut written = [0; 4];
        let mut pairs = 0;
        let mut write = |row: &Row| {
            let [count, total, ..] = row.figures();
            written[row.owner().path as usize % 4] += count;
            pairs += row.lengths().map(|(_, count)| count).sum::<u64>();
            assert!(total >= count * 10);
            true
        };
        for number in 0..1000 {
            let path = 1 + number % 100;
            assert!(sums.add(owner(path), u64::from(10 + number), &mut write));
        }
        assert!(sums.spans > 0);
        sums.flush(&mut write);
        assert_eq!((sums.spans, written, pairs), (0, [250; 4], 1000));
        sums.flush(|_| panic!("all were written"));
    }

    #[test]
    fn a_sum_without_room_stays() {
        // SAFETY: as above.
        let mut sums = unsafe { Box::<Sums>::new_zeroed().assume_init() };
        for path in 1..=ROWS as u32 {
            assert!(sums.add(owner(path), 5, |_| false));
        }
        assert!(!sums.add(owner(1000), 5, |_| false));
        assert!(sums.add(owner(1), 7, |_| false));
        sums.flush(|_| false);
        assert_eq!(sums.spans, ROWS as u64 + 1);
        let mut first = None;
        sums.flush(|row| {
            first.get_or_insert_with(|| (row.figures(), row.lengths().collect::<Vec<_>>()));
            true
        });
        assert_eq!(first, Some(([2, 12, 5, 7], vec![(5, 1), (7, 1)])));
    }
}

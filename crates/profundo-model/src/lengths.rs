//! Lengths of time, added up: their number, sum, least and most are exact, and a histogram gives
//! percentiles.
//!
//! The histogram is logarithmic: 32 buckets for each power of two, so that a percentile is off by
//! less than 2 %.

/// Lengths in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lengths {
    /// Their number.
    pub count: u64,
    /// Their sum.
    pub total: u64,
    /// The shortest; 0 where there is none.
    pub least: u64,
    /// The longest.
    pub most: u64,
    /// Numbers of lengths by bucket, in the order of the buckets.
    pub buckets: Vec<(u16, u64)>,
}

/// The bits of a length below its highest one that count.
const FINE: u32 = 5;

impl Lengths {
    /// The bucket of a length.
    pub fn bucket(length: u64) -> u16 {
        let highest = u64::BITS - 1 - (length | 1).leading_zeros();
        let Some(shift) = highest.checked_sub(FINE) else {
            return length as u16;
        };
        let fine = (length >> shift) as u16 & ((1 << FINE) - 1);
        ((shift + 1) << FINE) as u16 | fine
    }

    /// The middle of a bucket.
    pub fn middle(bucket: u16) -> u64 {
        let (shift, fine) = (
            u32::from(bucket) >> FINE,
            u64::from(bucket) & ((1 << FINE) - 1),
        );
        match shift.checked_sub(1) {
            None => fine,
            // The highest power of two: a damaged file may have others.
            Some(shift) if shift < u64::BITS - FINE => {
                ((fine | 1 << FINE) << shift) + ((1 << shift) >> 1)
            }
            Some(_) => u64::MAX,
        }
    }

    /// Adds a length.
    pub fn add(&mut self, length: u64) {
        self.add_around(length, 1);
        self.total = self.total.saturating_add(length);
        self.note_range(length, length);
        self.count += 1;
    }

    /// Adds lengths of which the sum and the range are known.
    pub fn add_sum(
        &mut self,
        [count, total, least, most]: [u64; 4],
        around: impl Iterator<Item = (u64, u64)>,
    ) {
        if count == 0 {
            return;
        }
        around.for_each(|(length, count)| self.add_around(length, count));
        self.total = self.total.saturating_add(total);
        self.note_range(least, most);
        self.count = self.count.saturating_add(count);
    }

    /// Adds all of the others.
    pub fn merge(&mut self, other: &Self) {
        let figures = [other.count, other.total, other.least, other.most];
        self.add_sum(figures, std::iter::empty());
        for &(bucket, count) in &other.buckets {
            self.add_to(bucket, count);
        }
    }

    fn note_range(&mut self, least: u64, most: u64) {
        self.least = match self.count {
            0 => least,
            _ => self.least.min(least),
        };
        self.most = self.most.max(most);
    }

    fn add_around(&mut self, length: u64, count: u64) {
        self.add_to(Self::bucket(length), count);
    }

    fn add_to(&mut self, bucket: u16, count: u64) {
        match self.buckets.binary_search_by_key(&bucket, |&(at, _)| at) {
            Ok(at) => self.buckets[at].1 = self.buckets[at].1.saturating_add(count),
            Err(at) => self.buckets.insert(at, (bucket, count)),
        }
    }

    /// The mean; 0 where there is none.
    pub fn mean(&self) -> f64 {
        match self.count {
            0 => 0.0,
            count => self.total as f64 / count as f64,
        }
    }

    /// The length that this part of all lengths does not exceed. `None` where there is none.
    pub fn percentile(&self, part: f64) -> Option<u64> {
        let in_buckets = self.buckets.iter().map(|&(_, count)| count);
        let all = in_buckets.fold(0_u64, u64::saturating_add);
        let rank = ((all as f64 * part).ceil() as u64).clamp(1, all.max(1));
        let mut below = 0_u64;
        for &(bucket, count) in &self.buckets {
            below = below.saturating_add(count);
            if below >= rank {
                // The ends are known exactly.
                return Some(Self::middle(bucket).clamp(self.least, self.most.max(self.least)));
            }
        }
        (self.count > 0).then_some(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_two_percent_wide() {
        for length in (0..200).chain((8..63).flat_map(|bit| {
            let low = 1_u64 << bit;
            [low - 1, low, low + 1, low + low / 3, low + low / 2]
        })) {
            let near = Lengths::middle(Lengths::bucket(length));
            let off = near.abs_diff(length) as f64 / length.max(1) as f64;
            assert!(off <= 0.016, "{length} is {near}");
        }
        assert_eq!(Lengths::middle(u16::MAX), u64::MAX);
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_lengths() {
        let mut lengths = Lengths::default();
        assert_eq!(lengths.percentile(0.5), None);
        (1..=1000_u64).for_each(|length| lengths.add(length * 1000));
        for (part, exact) in [
            (0.0, 1000),
            (0.5, 500_000),
            (0.95, 950_000),
            (1.0, 1_000_000),
        ] {
            let found = lengths.percentile(part).unwrap();
            let off = found.abs_diff(exact) as f64 / exact as f64;
            assert!(off < 0.02, "{part}: {found}");
        }
        assert_eq!((lengths.least, lengths.most), (1000, 1_000_000));
        assert_eq!(lengths.mean(), 500_500.0);
    }

    #[test]
    fn one_length_is_every_percentile() {
        let mut lengths = Lengths::default();
        lengths.add(123_456_789);
        for part in [0.0, 0.5, 0.99, 1.0] {
            assert_eq!(lengths.percentile(part), Some(123_456_789));
        }
    }

    #[test]
    fn merged_lengths_are_all_of_both() {
        let (mut one, mut other, mut all) = <(Lengths, Lengths, Lengths)>::default();
        for length in [5, 50, 500] {
            one.add(length);
            all.add(length);
        }
        for length in [3, 5000] {
            other.add(length);
            all.add(length);
        }
        one.merge(&other);
        assert_eq!(one, all);
        one.merge(&Lengths::default());
        assert_eq!(one, all);
    }
}

//! Samples that are alike as one row.
//!
//! A recording may have more samples than the memory holds. Then those of one thread, task, stack
//! and state are one row of [`Profile::samples`], with the sum of their weights and the time of the
//! first. What a sum loses is kept beside it: the number of samples, and the sums of their counts
//! and squares. The order of samples is known for stretches that lie evenly in the recording.

use crate::{Nanos, Profile, Sample};

/// The samples behind merged rows. Empty where each row is one sample.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gathered {
    /// By row of [`Profile::samples`].
    pub rows: Vec<Many>,
    /// Some of the samples, in stretches in which none is missing.
    pub taken: Vec<Taken>,
    /// The end of each stretch in `taken`.
    pub ends: Vec<usize>,
}

/// The samples of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Many {
    /// Their number.
    pub samples: u64,
    /// The sum of their counts.
    pub count: u64,
    /// The sum of the squares of their weights, without those of measured weights.
    pub squares: f64,
    /// The weight of samples that certainly stand for several each.
    pub merged: u64,
    /// The time when the last of them was taken, or a later one of the same thread, task and state.
    pub last: Nanos,
}

/// A sample as it was taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// The row that it is part of.
    pub row: u32,
    /// The time when it was taken.
    pub time: Nanos,
    /// The time that it stands for.
    pub weight: Nanos,
}

impl Gathered {
    /// The samples behind a row, if it is a merged one.
    pub fn get(&self, row: usize) -> Option<&Many> {
        self.rows.get(row)
    }

    /// Whether rows are sums of samples.
    pub fn is_any(&self) -> bool {
        !self.rows.is_empty()
    }

    /// The stretches of which the order is known.
    pub fn stretches(&self) -> impl Iterator<Item = &[Taken]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let stretch = &self.taken[start..end];
            start = end;
            stretch
        })
    }

    /// Keeps only the marked rows, like those of the profile's samples.
    pub fn keep(&mut self, stays: &[bool]) {
        let mut numbers = vec![None; self.rows.len()];
        let mut kept = Vec::new();
        for (row, many) in self.rows.iter().enumerate() {
            if stays.get(row).copied().unwrap_or(false) {
                numbers[row] = u32::try_from(kept.len()).ok();
                kept.push(*many);
            }
        }
        self.rows = kept;
        let before = std::mem::take(self);
        let stretches = before.stretches();
        for stretch in stretches {
            let staying = stretch.iter().filter_map(|taken| {
                let row = numbers.get(taken.row as usize).copied().flatten()?;
                Some(Taken { row, ..*taken })
            });
            self.taken.extend(staying);
            self.ends.push(self.taken.len());
        }
        self.rows = before.rows;
    }
}

impl Profile {
    /// The number of samples behind a row of [`Profile::samples`].
    pub fn samples_of_row(&self, row: usize) -> u64 {
        self.gathered.get(row).map_or(1, |many| many.samples)
    }

    /// The count of a row in reports: see [`Profile::count_of`].
    pub fn count_of_row(&self, row: usize, sample: &Sample) -> u64 {
        match self.gathered.get(row) {
            Some(many) => many.count,
            None => self.count_of(sample),
        }
    }

    /// A number for the time of a row's last sample: it grows in the order of the samples.
    pub fn order_of_row(&self, row: usize) -> u64 {
        match self.gathered.get(row) {
            Some(many) => many.last.0,
            None => row as u64,
        }
    }

    /// The number of samples, merged ones included.
    pub fn sample_count(&self) -> u64 {
        match self.gathered.is_any() {
            true => self.gathered.rows.iter().map(|many| many.samples).sum(),
            false => self.samples.len() as u64,
        }
    }

    /// The sample as it was taken, completed from its row.
    pub fn sample_of(&self, taken: &Taken) -> Sample {
        Sample {
            time: taken.time,
            weight: taken.weight,
            ..self.samples[taken.row as usize]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_has_its_own_stretches() {
        let row = |samples| Many {
            samples,
            ..Many::default()
        };
        let taken = |row, time| Taken {
            row,
            time: Nanos(time),
            weight: Nanos(1),
        };
        let mut gathered = Gathered {
            rows: vec![row(1), row(2), row(3)],
            taken: vec![taken(0, 1), taken(1, 2), taken(2, 3), taken(1, 4)],
            ends: vec![3, 4],
        };
        gathered.keep(&[true, false, true]);
        assert_eq!(gathered.rows, [row(1), row(3)]);
        let stretches: Vec<_> = gathered.stretches().collect();
        assert_eq!(stretches, [&[taken(0, 1), taken(1, 3)][..], &[]]);
    }
}

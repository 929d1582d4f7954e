//! Counts of system calls, added up within stretches of time: of one thread, call, result and
//! stack.

use std::collections::hash_map::Entry;

use profundo_model::{StackId, StringId, SyscallCount, ThreadId};
use rustc_hash::FxHashMap;

/// The counts of the present stretches.
#[derive(Debug, Default)]
pub(super) struct Sums(FxHashMap<Key, SyscallCount>);

type Key = (ThreadId, StringId, u32, Option<StackId>);

impl Sums {
    /// Adds a row; one of an earlier stretch is passed on to `ready`.
    pub(super) fn pass(&mut self, row: SyscallCount, stretch: u64, ready: &mut Vec<SyscallCount>) {
        let number = |row: &SyscallCount| row.to.0 / stretch;
        match self.0.entry((row.thread, row.call, row.error, row.stack)) {
            Entry::Vacant(place) => drop(place.insert(row)),
            Entry::Occupied(mut place) if number(place.get()) == number(&row) => {
                let sum = place.get_mut();
                sum.from = sum.from.min(row.from);
                sum.to = sum.to.max(row.to);
                sum.count = sum.count.saturating_add(row.count);
                sum.samples = sum.samples.saturating_add(row.samples);
            }
            Entry::Occupied(mut place) => ready.push(place.insert(row)),
        }
    }

    /// The rows of unfinished stretches, at the end.
    pub(super) fn end(&mut self) -> Vec<SyscallCount> {
        let mut rows: Vec<SyscallCount> = self.0.drain().map(|(_, row)| row).collect();
        rows.sort_by_key(|row| (row.from, row.thread, row.call, row.error, row.stack));
        rows
    }
}

#[cfg(test)]
mod tests {
    use profundo_model::Nanos;

    use super::*;

    #[test]
    fn counts_of_one_stretch_are_one() {
        let row = |second: u64, error, stack| SyscallCount {
            from: Nanos(second * 10),
            to: Nanos(second * 10 + 9),
            error,
            count: 5,
            stack,
            samples: u64::from(stack.is_some()),
            ..SyscallCount::default()
        };
        let (mut sums, mut ready) = (Sums::default(), Vec::new());
        for second in 0..4 {
            sums.pass(row(second, 0, None), 20, &mut ready);
            sums.pass(row(second, 0, Some(StackId(1))), 20, &mut ready);
        }
        sums.pass(row(3, 2, None), 20, &mut ready);
        let ended = sums.end();
        let counts = |rows: &[SyscallCount]| -> Vec<(u64, u64, u64)> {
            (rows.iter().map(|row| (row.from.0, row.count, row.samples))).collect()
        };
        assert_eq!(counts(&ready), [(0, 10, 0), (0, 10, 2)]);
        assert_eq!(counts(&ended), [(20, 10, 0), (20, 10, 2), (30, 5, 0)]);
    }
}

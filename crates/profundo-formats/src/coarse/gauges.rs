//! The extremes of a process's memory within a stretch of time: a peak stays a peak.

use profundo_model::{Gauge, ProcessId};
use rustc_hash::FxHashMap;

/// The extremes of each process in its present stretch.
#[derive(Debug, Default)]
pub(super) struct Extremes {
    of: FxHashMap<ProcessId, Extreme>,
}

#[derive(Debug)]
struct Extreme {
    stretch: u64,
    smallest: Gauge,
    largest: Gauge,
    /// The last one, whose counts continue.
    last: Gauge,
}

impl Extremes {
    /// Takes a row. Rows before its stretch go to `ready`.
    pub(super) fn pass(&mut self, row: Gauge, length: u64, ready: &mut Vec<Gauge>) {
        let new = Extreme {
            stretch: row.time.0 / length.max(1),
            smallest: row,
            largest: row,
            last: row,
        };
        match self.of.get_mut(&row.process) {
            Some(extreme) if extreme.stretch == new.stretch => extreme.take(row),
            Some(extreme) => std::mem::replace(extreme, new).append_to(false, ready),
            None => drop(self.of.insert(row.process, new)),
        }
    }

    /// The rows of unfinished stretches, and each process's last row.
    pub(super) fn end(&mut self) -> Vec<Gauge> {
        let mut rows = Vec::new();
        for extreme in self.of.drain().map(|(_, extreme)| extreme) {
            extreme.append_to(true, &mut rows);
        }
        rows.sort_by_key(|row| (row.time, row.process));
        rows
    }
}

impl Extreme {
    fn take(&mut self, row: Gauge) {
        if row.resident < self.smallest.resident {
            self.smallest = row;
        }
        if row.resident > self.largest.resident {
            self.largest = row;
        }
        self.last = row;
    }

    fn append_to(self, with_last: bool, ready: &mut Vec<Gauge>) {
        let last = with_last.then_some(self.last);
        let mut rows: Vec<Gauge> = [self.smallest, self.largest].into_iter().collect();
        rows.extend(last);
        rows.sort_by_key(|row| row.time);
        rows.dedup_by_key(|row| row.time);
        ready.append(&mut rows);
    }
}

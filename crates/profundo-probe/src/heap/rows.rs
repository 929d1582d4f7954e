//! The recorded allocations, a row each, in memory reserved beforehand.
//!
//! Any thread may write, none waits for another. A row is valid when its stack is set; the block's
//! end is noted in it later.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// One allocation. All zero is an unused row.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Row {
    size: AtomicU64,
    clock: AtomicU64,
    /// On the cycle counter; 0 while the block is alive.
    freed: AtomicU64,
    task: AtomicU64,
    thread: AtomicU32,
    /// Written last. 0: the row is still being written.
    trace: AtomicU32,
    /// The rule that chose it: see [`Entry::rule`].
    rule: AtomicU32,
    /// Whether the block was freed before its thread allocated anything else.
    is_temporary: AtomicU32,
    span: AtomicU32,
}

/// A recorded allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Entry {
    /// The number of bytes.
    pub size: u64,
    /// When it was allocated, on the cycle counter.
    pub clock: u64,
    /// When it was freed; 0 if it was not.
    pub freed: u64,
    /// The task's number; 0 for the thread's own.
    pub task: u64,
    /// The thread's number.
    pub thread: u32,
    /// Its stack: a number in [`crate::heap::Traces`], never 0.
    pub trace: u32,
    /// The number of the rule that chose it, kept elsewhere.
    pub rule: u32,
    /// Whether it was freed before its thread allocated anything else.
    pub is_temporary: bool,
    /// The path of the innermost span; 0 outside of spans.
    pub span: u32,
}

/// Rows in the order in which they were begun.
#[derive(Debug)]
pub struct Rows {
    rows: &'static [Row],
    next: AtomicU64,
    lost: AtomicU64,
}

impl Rows {
    /// An empty table over zeroed memory.
    pub const fn new(rows: &'static [Row]) -> Self {
        Self {
            rows,
            next: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        }
    }

    /// The number of rows that there is room for.
    pub fn capacity(&self) -> usize {
        self.rows.len()
    }

    /// The number of rows written or being written.
    pub fn len(&self) -> usize {
        let begun = self.next.load(Ordering::Relaxed);
        usize::try_from(begun).map_or(self.rows.len(), |begun| begun.min(self.rows.len()))
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of allocations without room.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Counts an allocation for which there was no room.
    pub fn lose(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes a row, and gives its number. `None`: there is no room; it is counted.
    pub fn write(&self, entry: Entry) -> Option<u64> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let row = usize::try_from(number)
            .ok()
            .and_then(|at| self.rows.get(at));
        let Some(row) = row else {
            self.lose();
            return None;
        };
        row.size.store(entry.size, Ordering::Relaxed);
        row.clock.store(entry.clock, Ordering::Relaxed);
        row.freed.store(entry.freed, Ordering::Relaxed);
        row.task.store(entry.task, Ordering::Relaxed);
        row.thread.store(entry.thread, Ordering::Relaxed);
        row.rule.store(entry.rule, Ordering::Relaxed);
        (row.is_temporary).store(u32::from(entry.is_temporary), Ordering::Relaxed);
        row.span.store(entry.span, Ordering::Relaxed);
        // Release pairs with the acquire in `read`.
        row.trace.store(entry.trace, Ordering::Release);
        Some(number)
    }

    /// Notes that the block of a row was freed, perhaps before its thread allocated anything else.
    pub fn note_freed(&self, number: u64, clock: u64, is_temporary: bool) {
        let row = usize::try_from(number)
            .ok()
            .and_then(|at| self.rows.get(at));
        if let Some(row) = row {
            (row.is_temporary).store(u32::from(is_temporary), Ordering::Relaxed);
            row.freed.store(clock, Ordering::Relaxed);
        }
    }

    /// The complete rows, in the order in which they were begun.
    pub fn read(&self) -> impl Iterator<Item = Entry> {
        let rows = self.rows.get(..self.len()).unwrap_or_default();
        rows.iter().filter_map(|row| {
            // Acquire pairs with the release in `write`.
            let trace = row.trace.load(Ordering::Acquire);
            (trace != 0).then(|| Entry {
                size: row.size.load(Ordering::Relaxed),
                clock: row.clock.load(Ordering::Relaxed),
                freed: row.freed.load(Ordering::Relaxed),
                task: row.task.load(Ordering::Relaxed),
                thread: row.thread.load(Ordering::Relaxed),
                rule: row.rule.load(Ordering::Relaxed),
                is_temporary: row.is_temporary.load(Ordering::Relaxed) != 0,
                span: row.span.load(Ordering::Relaxed),
                trace,
            })
        })
    }

    /// Forgets all rows. The caller zeroes their memory, and there is no writer meanwhile.
    pub fn reset(&self) {
        self.next.store(0, Ordering::Relaxed);
        self.lost.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::boxed::Box;
    use std::vec::Vec;

    fn empty(rows: usize) -> Rows {
        let rows: Vec<Row> = (0..rows).map(|_| Row::default()).collect();
        Rows::new(Box::leak(rows.into_boxed_slice()))
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let log = empty(10);
        let entry = |size| Entry {
            size,
            clock: 7,
            task: 3,
            thread: 2,
            trace: 5,
            rule: 1,
            freed: 0,
            is_temporary: false,
            span: 8,
        };
        assert_eq!(log.write(entry(1)), Some(0));
        assert_eq!(log.write(entry(2)), Some(1));
        log.note_freed(1, 99, true);
        let second = Entry {
            freed: 99,
            is_temporary: true,
            ..entry(2)
        };
        assert_eq!(log.read().collect::<Vec<_>>(), [entry(1), second]);
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let log = empty(2);
        let entry = Entry {
            trace: 1,
            ..Entry::default()
        };
        let written: Vec<_> = (0..5).map(|_| log.write(entry)).collect();
        assert_eq!(written, [Some(0), Some(1), None, None, None]);
        assert_eq!((log.len(), log.lost()), (2, 3));
        // A block that was not recorded is freed, too.
        log.note_freed(4, 1, false);
    }

    #[test]
    fn rows_of_several_threads_are_all_there() {
        let log = empty(4000);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let log = &log;
                scope.spawn(move || {
                    for size in 0..1000 {
                        log.write(Entry {
                            size,
                            thread,
                            trace: 1,
                            ..Entry::default()
                        });
                    }
                });
            }
        });
        for thread in 0..4 {
            let mine = log.read().filter(|entry| entry.thread == thread);
            assert!(mine.map(|entry| entry.size).eq(0..1000));
        }
    }
}

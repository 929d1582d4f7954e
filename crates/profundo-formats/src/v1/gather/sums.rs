//! Rows of equal samples, added up by one thread.
//!
//! Samples of a thread, task, span, stack and state are one row, however far apart they are. Those
//! in system calls and in waits are one only within a stretch of time, because the program's
//! traffic is shared out to them by their times. The stretches become longer as rows become many.

use std::collections::hash_map::Entry;

use profundo_analysis::Worth;
use profundo_model::{Gil, Many, Meta, Nanos, State};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::code::{GILS, STATES, value_of};
use super::super::sample::Row as Read;
use super::table::{self, First, Table};

/// The number of samples in a stretch whose order is kept.
pub(super) const STRETCH: u64 = 16_384;

/// The first stretches of time, in nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// The number of timed rows at which the length of stretches doubles.
const MOST: usize = if cfg!(test) { 1 << 10 } else { 1 << 17 };

/// The most doublings: then a stretch is as long as a year.
const LONGEST: u32 = 25;

/// The stretch of samples without one.
const ANY: u64 = u64::MAX;

/// The common properties of samples besides their stack, in the file's ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Context {
    pub thread: u32,
    pub task: u32,
    pub file: u32,
    pub span: u32,
    /// The part of the recording, the state and the state of the lock.
    how: u32,
}

impl Context {
    pub(super) fn state(self) -> State {
        STATES[(self.how >> 2 & 7) as usize]
    }

    pub(super) fn gil(self) -> Gil {
        GILS[(self.how & 3) as usize]
    }
}

/// Contexts, which have numbers.
#[derive(Debug, Default)]
pub(super) struct Contexts {
    pub list: Vec<Context>,
    numbers: FxHashMap<Context, u32>,
}

impl Contexts {
    /// The number of a context.
    pub(super) fn number(&mut self, context: Context) -> u32 {
        *self.numbers.entry(context).or_insert_with(|| {
            self.list.push(context);
            // There are no more than fit into the memory.
            (self.list.len() - 1) as u32
        })
    }
}

/// The key of a row: the context, by number, the stack, and the stretch of time.
pub(super) type Key = (u32, u32, u64);

#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub key: Key,
    pub first: First,
    pub weight: u64,
    pub many: Many,
}

/// A sample as it was taken, by its number in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    pub number: u64,
    pub key: Key,
    pub time: u64,
    pub weight: u64,
}

/// Sums of samples.
#[derive(Debug)]
pub(super) struct Sums {
    pub contexts: Contexts,
    /// By thread, the number of its last context. Threads take turns, and seldom change theirs.
    recent: Vec<Option<(Context, u32)>>,
    /// By context, the time of its last sample.
    last: Vec<u64>,
    /// The rows without a stretch of time, in shares by their stacks.
    tables: Vec<Table>,
    timed: FxHashMap<Key, Row>,
    /// The length of stretches, as a power of two of seconds.
    pub doublings: u32,
    pub taken: Vec<At>,
    pub(super) samples: u64,
}

/// The share of a stack, of so many shares.
pub(super) fn share_of(stack: u32, shares: usize) -> usize {
    stack as usize % shares
}

/// True if a sample in this state may have been taken in a call that reads or writes.
fn is_timed(state: State) -> bool {
    matches!(state, State::System | State::Sleeping | State::WallWaiting)
}

impl Sums {
    /// Sums whose rows are in so many shares.
    pub(super) fn new(shares: usize) -> Self {
        Self {
            contexts: Contexts::default(),
            recent: Vec::new(),
            last: Vec::new(),
            tables: (0..shares.max(1)).map(|_| Table::new()).collect(),
            timed: FxHashMap::default(),
            doublings: 0,
            taken: Vec::new(),
            samples: 0,
        }
    }

    /// Adds the sample with this `number` in the file, in a part of the recording (below 8). `None`
    /// where a reader would have to warn about it.
    #[inline]
    pub(super) fn add(
        &mut self,
        meta: &Meta,
        number: u64,
        read: &Read,
        part: u32,
        keeps_order: bool,
    ) -> Option<()> {
        let state = value_of(STATES, read.state)?;
        value_of(GILS, read.gil)?;
        let context = self.context(Context {
            thread: read.thread as u32,
            task: read.task as u32,
            file: read.file as u32,
            span: read.span as u32,
            how: part << 5 | (read.state << 2 | read.gil) as u32,
        });
        let (stack, time) = (read.stack as u32, read.time);
        // The weight must not be 0.
        let weight = read.weight.max(1);
        let first = First {
            number,
            time,
            clock: read.clock,
        };
        let worth = Worth::of(meta, state, Nanos(weight));
        let when = match is_timed(state) {
            true => (time / SECOND) >> self.doublings,
            false => ANY,
        };
        let key = (context, stack, when);
        let last = &mut self.last[context as usize];
        *last = time.max(*last);
        if keeps_order {
            self.taken.push(At {
                number,
                key,
                time,
                weight,
            });
        }
        if when == ANY {
            let worth = table::Worth {
                weight,
                square: worth.square,
                count: worth.count,
                is_merged: worth.is_merged,
            };
            let share = share_of(stack, self.tables.len());
            self.tables[share].add(context, stack, worth, first)?;
        } else {
            let row = self.timed.entry(key).or_insert_with(|| Row {
                key,
                first,
                weight: 0,
                many: Many::default(),
            });
            row.weight = row.weight.saturating_add(weight);
            worth.add_to(&mut row.many, Nanos(time), Nanos(weight));
            // With the longest stretches each row has its stack or its context to itself.
            while self.timed.len() > MOST && self.doublings < LONGEST {
                self.lengthen(self.needed());
            }
        }
        self.samples += 1;
        Some(())
    }

    #[inline]
    fn context(&mut self, context: Context) -> u32 {
        let thread = context.thread as usize;
        match self.recent.get(thread) {
            Some(&Some((recent, number))) if recent == context => number,
            _ => {
                let number = self.contexts.number(context);
                self.last.resize(self.contexts.list.len(), 0);
                let length = self.recent.len().max(thread + 1);
                self.recent.resize(length, None);
                self.recent[thread] = Some((context, number));
                number
            }
        }
    }

    /// The number of doublings that make room. Rows of different stacks never become one.
    fn needed(&self) -> u32 {
        let pairs: FxHashSet<(u32, u32)> = (self.timed.keys())
            .map(|&(context, stack, _)| (context, stack))
            .collect();
        match pairs.len() > MOST / 4 * 3 {
            true => LONGEST - self.doublings,
            false => 1,
        }
    }

    /// Doubles the length of stretches so many times.
    fn lengthen(&mut self, times: u32) {
        self.doublings += times;
        let longer = |(context, stack, when): Key| match when {
            ANY => (context, stack, ANY),
            when => (context, stack, when >> times),
        };
        for (_, mut row) in std::mem::take(&mut self.timed) {
            row.key = longer(row.key);
            match self.timed.entry(row.key) {
                Entry::Occupied(mut sum) => sum.get_mut().merge(&row),
                Entry::Vacant(place) => {
                    place.insert(row);
                }
            }
        }
        for at in &mut self.taken {
            at.key = longer(at.key);
        }
    }

    /// Ends the adding of samples. `None` if one of them cannot be counted.
    pub(super) fn end(&mut self) -> Option<()> {
        self.tables.iter_mut().try_for_each(Table::flush)
    }

    /// The rows without a stretch of time, in shares by their stacks.
    pub(super) fn take_tables(&mut self) -> Vec<Table> {
        std::mem::take(&mut self.tables)
    }

    /// A row of such a table.
    pub(super) fn untimed(&self, row: &table::Whole) -> Row {
        Row {
            key: (row.context, row.stack, ANY),
            first: row.first,
            weight: row.weight,
            many: Many {
                samples: row.samples,
                count: row.count,
                squares: row.squares,
                merged: row.merged,
                last: Nanos(self.last[row.context as usize]),
            },
        }
    }

    /// The rows of a stretch of time, in no order.
    pub(super) fn timed(&self) -> impl Iterator<Item = &Row> {
        self.timed.values()
    }

    /// Makes stretches of time as long as those of other threads.
    pub(super) fn lengthen_to(&mut self, doublings: u32) {
        if self.doublings < doublings {
            self.lengthen(doublings - self.doublings);
        }
    }
}

impl Row {
    /// Adds another row of the same key.
    pub(super) fn merge(&mut self, other: &Self) {
        if other.first.number < self.first.number {
            self.first = other.first;
        }
        self.weight = self.weight.saturating_add(other.weight);
        let (sum, other) = (&mut self.many, &other.many);
        sum.samples += other.samples;
        sum.count = sum.count.saturating_add(other.count);
        sum.squares += other.squares;
        sum.merged = sum.merged.saturating_add(other.merged);
        sum.last = sum.last.max(other.last);
    }
}

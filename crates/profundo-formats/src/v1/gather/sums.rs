//! Rows of equal samples, added up by one thread.
//!
//! Samples of a thread, task, span, stack and state are one row, however far apart they are. Those
//! in system calls and in waits are one only within a stretch of time, because the program's
//! traffic is shared out to them by their times. The stretches become longer as rows become many.

use std::collections::hash_map::Entry;

use profundo_analysis::Worth;
use profundo_model::{Gathered, Many, Meta, Nanos, Sample, State, Taken, TaskId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::code::{GILS, STATES, value_of};
use super::super::read::Decoder;
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
struct Context {
    thread: u32,
    task: u32,
    file: u32,
    span: u32,
    /// The part of the recording, the state and the state of the lock.
    how: u32,
}

impl Context {
    fn state(self) -> State {
        STATES[(self.how >> 2 & 7) as usize]
    }
}

/// The key of a row: the context, by number, the stack, and the stretch of time.
type Key = (u32, u32, u64);

#[derive(Debug, Clone, Copy)]
struct Row {
    key: Key,
    first: First,
    weight: u64,
    many: Many,
}

/// A sample as it was taken, by its number in the file.
#[derive(Debug, Clone, Copy)]
struct At {
    number: u64,
    key: Key,
    time: u64,
    weight: u64,
}

/// Sums of samples.
#[derive(Debug)]
pub(super) struct Sums {
    contexts: Vec<Context>,
    numbers: FxHashMap<Context, u32>,
    /// By thread, the number of its last context. Threads take turns, and seldom change theirs.
    recent: Vec<Option<(Context, u32)>>,
    /// By context, the time of its last sample.
    last: Vec<u64>,
    /// The rows without a stretch of time.
    table: Table,
    timed: FxHashMap<Key, Row>,
    /// The length of stretches, as a power of two of seconds.
    doublings: u32,
    taken: Vec<At>,
    pub(super) samples: u64,
}

/// True if a sample in this state may have been taken in a call that reads or writes.
fn is_timed(state: State) -> bool {
    matches!(state, State::System | State::Sleeping | State::WallWaiting)
}

impl Sums {
    pub(super) fn new() -> Self {
        Self {
            contexts: Vec::new(),
            numbers: FxHashMap::default(),
            recent: Vec::new(),
            last: Vec::new(),
            table: Table::new(),
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
            self.table.add(context, stack, worth, first)?;
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
                let number = self.number(context);
                let length = self.recent.len().max(thread + 1);
                self.recent.resize(length, None);
                self.recent[thread] = Some((context, number));
                number
            }
        }
    }

    fn number(&mut self, context: Context) -> u32 {
        *self.numbers.entry(context).or_insert_with(|| {
            self.contexts.push(context);
            self.last.push(0);
            // There are no more than fit into the memory.
            (self.contexts.len() - 1) as u32
        })
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
        self.table.flush()
    }

    /// Adds all rows, and the samples as they were taken, to those of other threads; contexts have
    /// these numbers.
    fn give(self, numbers: &[u32], rows: &mut Rows, taken: &mut Vec<At>) {
        let Self { table, last, .. } = self;
        rows.reserve(table.len() + self.timed.len());
        let untimed = table.rows().map(|row| Row {
            key: (row.context, row.stack, ANY),
            first: row.first,
            weight: row.weight,
            many: Many {
                samples: row.samples,
                count: row.count,
                squares: row.squares,
                merged: row.merged,
                last: Nanos(last[row.context as usize]),
            },
        });
        let known = |(context, stack, when): Key| (numbers[context as usize], stack, when);
        for mut row in untimed.chain(self.timed.into_values()) {
            row.key = known(row.key);
            rows.add(row);
        }
        taken.extend(self.taken.into_iter().map(|at| At {
            key: known(at.key),
            ..at
        }));
    }

    /// The rows of all threads together, in the order of first appearance, with the profile's ids.
    pub(super) fn rows(mut all: Vec<Self>, decoder: &Decoder) -> (Vec<Sample>, Gathered) {
        let longest = all.iter().map(|sums| sums.doublings).max();
        let (mut rows, mut taken) = (Rows::default(), Vec::new());
        let mut contexts = Self::new();
        for mut sums in all.drain(..) {
            let longest = longest.unwrap_or(sums.doublings);
            if sums.doublings < longest {
                sums.lengthen(longest - sums.doublings);
            }
            let numbers = sums
                .contexts
                .iter()
                .map(|&context| contexts.number(context));
            let numbers: Vec<u32> = numbers.collect();
            sums.give(&numbers, &mut rows, &mut taken);
        }
        let contexts = contexts.contexts;
        let (rows, numbers) = rows.in_order();
        let sample = |row: &Row| {
            let (context, stack, _) = row.key;
            let context = contexts[context as usize];
            Sample {
                time: Nanos(row.first.time),
                weight: Nanos(row.weight),
                clock: row.first.clock,
                thread: ThreadId::from_index(context.thread as usize),
                task: TaskId::from_index(context.task as usize),
                stack: decoder.stacks[stack as usize],
                state: context.state(),
                gil: GILS[(context.how & 3) as usize],
                file: decoder.strings[context.file as usize],
                span: decoder.spans[context.span as usize],
            }
        };
        let samples = rows.iter().map(sample).collect();
        let gathered = Gathered {
            rows: rows.iter().map(|row| row.many).collect(),
            ..in_order(&numbers, taken)
        };
        (samples, gathered)
    }
}

impl Row {
    /// Adds another row of the same key.
    fn merge(&mut self, other: &Self) {
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

/// The rows of several threads.
#[derive(Debug, Default)]
struct Rows {
    list: Vec<Row>,
    /// The rows' places in the list.
    places: FxHashMap<Key, u32>,
}

impl Rows {
    /// Makes room for the rows of one more thread, most of which others have, too.
    fn reserve(&mut self, rows: usize) {
        let more = rows.saturating_sub(self.list.len());
        self.list.reserve(more);
        self.places.reserve(more);
    }

    /// Adds a row to the one of the same key.
    fn add(&mut self, row: Row) {
        match self.places.entry(row.key) {
            Entry::Occupied(place) => self.list[*place.get() as usize].merge(&row),
            Entry::Vacant(place) => {
                place.insert(u32::try_from(self.list.len()).expect("fewer than 2^32 rows"));
                self.list.push(row);
            }
        }
    }

    /// The rows in the order of first appearance, and the number of each.
    fn in_order(self) -> (Vec<Row>, FxHashMap<Key, u32>) {
        let Self { list, mut places } = self;
        let firsts = (0_u32..).zip(&list);
        let mut order: Vec<(u64, u32)> = firsts
            .map(|(place, row)| (row.first.number, place))
            .collect();
        order.sort_unstable();
        let mut numbers = vec![0_u32; list.len()];
        for (number, &(_, place)) in (0..).zip(&order) {
            numbers[place as usize] = number;
        }
        for place in places.values_mut() {
            *place = numbers[*place as usize];
        }
        let rows = order.iter().map(|&(_, place)| list[place as usize]);
        (rows.collect(), places)
    }
}

/// The samples as they were taken, stretch by stretch.
fn in_order(numbers: &FxHashMap<Key, u32>, mut taken: Vec<At>) -> Gathered {
    taken.sort_unstable_by_key(|at| at.number);
    let mut gathered = Gathered {
        taken: Vec::with_capacity(taken.len()),
        ..Gathered::default()
    };
    let mut last = None;
    for at in taken {
        let Some(&row) = numbers.get(&at.key) else {
            continue;
        };
        let stretch = at.number / STRETCH;
        if last.replace(stretch).is_some_and(|last| last != stretch) {
            gathered.ends.push(gathered.taken.len());
        }
        gathered.taken.push(Taken {
            row,
            time: Nanos(at.time),
            weight: Nanos(at.weight),
        });
    }
    gathered.ends.push(gathered.taken.len());
    gathered
}

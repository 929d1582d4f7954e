//! The sums of several threads, joined into the rows of a profile.
//!
//! Rows are in shares by their stacks. For each share, a thread joins the rows of all threads, and
//! puts them in the order of first appearance. Then the shares are merged in that order.

use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, scope};

use profundo_model::{Gathered, Nanos, Sample, Taken, TaskId, ThreadId};
use rustc_hash::FxHashMap;

use super::super::read::Decoder;
use super::sums::{At, Context, Contexts, Key, Row, STRETCH, Sums, share_of};
use super::table::Table;

/// The number of rows below which one thread joins them all.
const FEW: usize = if cfg!(test) { 1 << 6 } else { 1 << 16 };

/// The rows of all threads together, in the order of first appearance, with the profile's ids, and
/// the samples that were kept as they were taken.
pub(super) fn join(mut all: Vec<Sums>, decoder: &Decoder) -> (Vec<Sample>, Gathered) {
    let longest = all.iter().map(|sums| sums.doublings).max().unwrap_or(0);
    for sums in &mut all {
        sums.lengthen_to(longest);
    }
    let mut contexts = Contexts::default();
    // By thread, the numbers of its contexts.
    let numbers: Vec<Vec<u32>> = (all.iter())
        .map(|sums| {
            let own = sums.contexts.list.iter();
            own.map(|&context| contexts.number(context)).collect()
        })
        .collect();
    let mut taken: Vec<At> = Vec::new();
    for (sums, numbers) in all.iter_mut().zip(&numbers) {
        let known = sums.taken.drain(..).map(|at| At {
            key: renumbered(at.key, numbers),
            ..at
        });
        taken.extend(known);
    }
    let shares = shares(&mut all, &numbers);
    drop(all);

    let rows = shares.iter().map(|share| share.rows.len()).sum();
    let mut samples = Vec::with_capacity(rows);
    let mut gathered = Gathered {
        rows: Vec::with_capacity(rows),
        ..Gathered::default()
    };
    let order = merge(&shares, |row| {
        samples.push(sample(row, &contexts.list, decoder));
        gathered.rows.push(row.many);
    });
    taken.sort_unstable_by_key(|at| at.number);
    keep(&mut gathered, &taken, |key| {
        let share = share_of(key.1, shares.len());
        let place = shares[share].places.get(&key)?;
        Some(order[share][*place as usize])
    });
    (samples, gathered)
}

fn renumbered((context, stack, when): Key, numbers: &[u32]) -> Key {
    (numbers[context as usize], stack, when)
}

/// The rows of some stacks, in the order of first appearance.
#[derive(Debug, Default)]
struct Share {
    rows: Vec<Row>,
    /// The rows' places in the list.
    places: FxHashMap<Key, u32>,
}

/// The rows of all stacks, in shares.
fn shares(all: &mut [Sums], numbers: &[Vec<u32>]) -> Vec<Share> {
    // By share, the tables of all threads.
    let mut tables: Vec<Vec<Table>> = Vec::new();
    for sums in all.iter_mut() {
        let own = sums.take_tables();
        tables.resize_with(own.len(), Vec::new);
        for (share, table) in tables.iter_mut().zip(own) {
            share.push(table);
        }
    }
    let rows: usize = tables.iter().flatten().map(Table::len).sum();
    let count = tables.len();
    let waiting = Mutex::new(tables.into_iter().enumerate());
    let ready: Mutex<Vec<(usize, Share)>> = Mutex::default();
    let all = &*all;
    let work = || {
        loop {
            // In a statement of its own, so that the lock is free while the share is joined.
            let next = lock(&waiting).next();
            let Some((number, tables)) = next else { break };
            let mut share = Share::default();
            for ((table, sums), numbers) in tables.into_iter().zip(all).zip(numbers) {
                // Most rows of a thread are those of other threads, too.
                share.reserve(table.len());
                for row in table.rows() {
                    share.add(sums.untimed(&row), numbers);
                }
                let is_own = |row: &&Row| share_of(row.key.1, count) == number;
                for row in sums.timed().filter(is_own) {
                    share.add(*row, numbers);
                }
            }
            lock(&ready).push((number, share.in_order()));
        }
    };
    scope(|scope| {
        let others = if rows < FEW { 0 } else { count - 1 };
        for _ in 0..others {
            let thread = Builder::new().name("profundo gather".into());
            // Without it, the others do its work.
            let _ = thread.spawn_scoped(scope, work);
        }
        work();
    });
    let mut ready = ready.into_inner().unwrap_or_else(PoisonError::into_inner);
    ready.sort_by_key(|(number, _)| *number);
    ready.into_iter().map(|(_, share)| share).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Share {
    /// Makes room for so many rows in all.
    fn reserve(&mut self, rows: usize) {
        let more = rows.saturating_sub(self.rows.len());
        self.rows.reserve(more);
        self.places.reserve(more);
    }

    /// Adds a row of a thread, whose contexts have these numbers, to the one of the same key.
    fn add(&mut self, mut row: Row, numbers: &[u32]) {
        row.key = renumbered(row.key, numbers);
        match self.places.entry(row.key) {
            Entry::Occupied(place) => self.rows[*place.get() as usize].merge(&row),
            Entry::Vacant(place) => {
                place.insert(u32::try_from(self.rows.len()).expect("fewer than 2^32 rows"));
                self.rows.push(row);
            }
        }
    }

    fn in_order(self) -> Self {
        let Self { rows, mut places } = self;
        let firsts = (0_u32..).zip(&rows);
        let mut order: Vec<(u64, u32)> = firsts
            .map(|(place, row)| (row.first.number, place))
            .collect();
        order.sort_unstable();
        let mut numbers = vec![0_u32; rows.len()];
        for (number, &(_, place)) in (0..).zip(&order) {
            numbers[place as usize] = number;
        }
        for place in places.values_mut() {
            *place = numbers[*place as usize];
        }
        let rows = order.iter().map(|&(_, place)| rows[place as usize]);
        Self {
            rows: rows.collect(),
            places,
        }
    }
}

/// Visits the rows of all shares in the order of first appearance. Gives the number of each row in
/// that order, by share.
fn merge(shares: &[Share], mut visit: impl FnMut(&Row)) -> Vec<Vec<u32>> {
    let mut order: Vec<Vec<u32>> = (shares.iter())
        .map(|share| Vec::with_capacity(share.rows.len()))
        .collect();
    for number in 0.. {
        let next = |share: usize| shares[share].rows.get(order[share].len());
        let nexts = (0..shares.len()).filter_map(|share| Some((share, next(share)?)));
        let Some((share, row)) = nexts.min_by_key(|(_, row)| row.first.number) else {
            break;
        };
        visit(row);
        order[share].push(number);
    }
    order
}

fn sample(row: &Row, contexts: &[Context], decoder: &Decoder) -> Sample {
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
        gil: context.gil(),
        file: decoder.strings[context.file as usize],
        span: decoder.spans[context.span as usize],
    }
}

/// Keeps samples as they were taken, stretch by stretch.
fn keep(gathered: &mut Gathered, taken: &[At], row: impl Fn(Key) -> Option<u32>) {
    gathered.taken.reserve(taken.len());
    let mut last = None;
    for at in taken {
        let Some(row) = row(at.key) else {
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
}

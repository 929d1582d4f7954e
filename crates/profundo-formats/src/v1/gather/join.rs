//! The sums of several threads, joined into the rows of a profile.
//!
//! The stacks are shared out to as many threads as there were for reading. Each joins the rows of
//! its stacks, and puts them in the order of first appearance. What they found is merged in that
//! order.

use std::collections::hash_map::Entry;
use std::thread::{Builder, scope};

use profundo_model::{Gathered, Nanos, Sample, Taken, TaskId, ThreadId};
use rustc_hash::FxHashMap;

use super::super::read::Decoder;
use super::sums::{At, Context, Key, Row, STRETCH, Sums};

/// The number of rows below which one thread joins them all.
const FEW: usize = if cfg!(test) { 1 << 6 } else { 1 << 16 };

/// The rows of all threads together, in the order of first appearance, with the profile's ids, and
/// the samples that were kept as they were taken.
pub(super) fn join(mut all: Vec<Sums>, decoder: &Decoder) -> (Vec<Sample>, Gathered) {
    let longest = all.iter().map(|sums| sums.doublings).max().unwrap_or(0);
    for sums in &mut all {
        sums.lengthen_to(longest);
    }
    let (contexts, numbers) = contexts(&all);
    let mut taken: Vec<At> = Vec::new();
    for (sums, numbers) in all.iter_mut().zip(&numbers) {
        let known = sums.taken.drain(..).map(|at| At {
            key: renumbered(at.key, numbers),
            ..at
        });
        taken.extend(known);
    }
    let shares = shares(&all, &numbers);
    drop(all);

    let rows = shares.iter().map(|share| share.rows.len()).sum();
    let mut samples = Vec::with_capacity(rows);
    let mut gathered = Gathered {
        rows: Vec::with_capacity(rows),
        ..Gathered::default()
    };
    let order = merge(&shares, |row| {
        samples.push(sample(row, &contexts, decoder));
        gathered.rows.push(row.many);
    });
    taken.sort_unstable_by_key(|at| at.number);
    keep(&mut gathered, &taken, |key| {
        let share = key.1 as usize % shares.len();
        let place = shares[share].places.get(&key)?;
        Some(order[share][*place as usize])
    });
    (samples, gathered)
}

/// The contexts of all threads, and for each thread the numbers of its own.
fn contexts(all: &[Sums]) -> (Vec<Context>, Vec<Vec<u32>>) {
    let mut known = Sums::new();
    let mut numbers = Vec::new();
    for sums in all {
        let contexts = sums.contexts.iter();
        numbers.push(contexts.map(|&context| known.number(context)).collect());
    }
    (known.contexts, numbers)
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

/// The rows of all stacks, in shares by the stacks' ids.
fn shares(all: &[Sums], numbers: &[Vec<u32>]) -> Vec<Share> {
    let rows: usize = all.iter().map(Sums::len).sum();
    let count = match rows < FEW {
        true => 1,
        false => all.len().max(1),
    };
    let share = |number: usize| {
        let mut share = Share::default();
        for (sums, numbers) in all.iter().zip(numbers) {
            // Most rows of a thread are those of other threads, too.
            share.reserve(sums.len() / count);
            for row in sums.rows(|stack| stack as usize % count == number) {
                let key = renumbered(row.key, numbers);
                share.add(Row { key, ..row });
            }
        }
        share.in_order()
    };
    scope(|scope| {
        let others: Vec<_> = (1..count)
            .map(|number| {
                let thread = Builder::new().name("profundo gather".into());
                (number, thread.spawn_scoped(scope, move || share(number)))
            })
            .collect();
        let mut shares = vec![share(0)];
        // Where there is no thread, this one does the work.
        shares.extend(others.into_iter().map(|(number, thread)| match thread {
            Ok(thread) => match thread.join() {
                Ok(share) => share,
                Err(panic) => std::panic::resume_unwind(panic),
            },
            Err(_) => share(number),
        }));
        shares
    })
}

impl Share {
    /// Makes room for so many rows in all.
    fn reserve(&mut self, rows: usize) {
        let more = rows.saturating_sub(self.rows.len());
        self.rows.reserve(more);
        self.places.reserve(more);
    }

    /// Adds a row to the one of the same key.
    fn add(&mut self, row: Row) {
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

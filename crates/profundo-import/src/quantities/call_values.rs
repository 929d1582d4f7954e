//! Values of the places in a tree of calls, as instrumenting tools sum them up: by thread and
//! stack, of the place alone or with what it calls, often with the number of calls.

use profundo_model::{Call, Clock, Nanos, SampleKind, StackId, State, ThreadId};
use rustc_hash::FxHashMap;

use crate::quantities::sums::Sums;
use crate::{Builder, Row};

/// The values of a file.
#[derive(Debug, Default)]
pub(crate) struct CallValues {
    rows: Vec<Place>,
    index: FxHashMap<(ThreadId, StackId), usize>,
}

/// A place of a thread.
#[derive(Debug, Clone, Copy)]
struct Place {
    thread: ThreadId,
    stack: StackId,
    /// The value of the place alone.
    own: u64,
    /// The value with what it calls.
    total: u64,
    /// The number of calls, or of measurements.
    count: u64,
}

/// The meaning of the numbers beside the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Calls.
    Calls,
    /// Measurements, such as samples.
    Samples,
    /// No numbers.
    Nothing,
}

impl CallValues {
    /// The number of places that have values.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds a value of a place, and a number.
    pub(crate) fn add(&mut self, thread: ThreadId, stack: StackId, value: u64, count: u64) {
        let row = self.row(thread, stack);
        if let Some(place) = self.rows.get_mut(row) {
            place.own = place.own.saturating_add(value);
            place.count = place.count.saturating_add(count);
        }
    }

    fn row(&mut self, thread: ThreadId, stack: StackId) -> usize {
        let rows = &mut self.rows;
        *self.index.entry((thread, stack)).or_insert_with(|| {
            rows.push(Place {
                thread,
                stack,
                own: 0,
                total: 0,
                count: 0,
            });
            rows.len() - 1
        })
    }

    /// Makes own values of values that have those of the callees in them.
    pub(crate) fn subtract_callees(&mut self, builder: &Builder) {
        let totals: Vec<u64> = self.rows.iter().map(|place| place.own).collect();
        for (at, total) in totals.into_iter().enumerate() {
            let caller = self.caller(builder, at);
            if let Some(place) = caller.and_then(|caller| self.rows.get_mut(caller)) {
                place.own = place.own.saturating_sub(total);
            }
        }
    }

    /// The row of the next caller of a row that has values.
    fn caller(&self, builder: &Builder, at: usize) -> Option<usize> {
        /// The most callers without values that one follows another.
        const MOST: usize = 256;
        let place = self.rows.get(at)?;
        let stacks = &builder.profile.stacks;
        let parent = |&stack: &StackId| stacks.get(stack).parent;
        let mut callers = std::iter::successors(parent(&place.stack), parent).take(MOST);
        callers.find_map(|caller| self.index.get(&(place.thread, caller)).copied())
    }

    /// Adds the callers that have no values. False if there are far more of them than values: many
    /// threads whose stacks are thousands deep.
    fn add_callers(&mut self, builder: &Builder) -> bool {
        /// The most rows for each value, and those that any file may have.
        const MOST: (usize, usize) = (16, 1 << 19);
        let stacks = &builder.profile.stacks;
        let values = self.rows.len();
        let most = values.saturating_mul(MOST.0).saturating_add(MOST.1);
        for at in 0..values {
            let mut place = self.rows.get(at).copied();
            while let Some(Place { thread, stack, .. }) = place {
                let caller = stacks.get(stack).parent;
                let caller = caller.filter(|&it| !self.index.contains_key(&(thread, it)));
                let caller = caller.map(|caller| self.row(thread, caller));
                place = caller.and_then(|row| self.rows.get(row).copied());
            }
            if self.rows.len() > most {
                self.rows.truncate(values);
                return false;
            }
        }
        true
    }

    /// Adds the totals of places, all of whose callers have rows.
    fn add_totals(&mut self, builder: &Builder) {
        // A caller's stack is older than those of its callees.
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by_key(|&at| self.rows.get(at).map(|place| place.stack));
        for &at in order.iter().rev() {
            let caller = self.caller(builder, at);
            let Some(place) = self.rows.get_mut(at) else {
                continue;
            };
            place.total = place.total.saturating_add(place.own);
            let total = place.total;
            if let Some(caller) = caller.and_then(|caller| self.rows.get_mut(caller)) {
                caller.total = caller.total.saturating_add(total);
            }
        }
    }

    /// Fills the profile with time in nanoseconds.
    pub(crate) fn finish_time(mut self, builder: &mut Builder, kind: SampleKind, counted: Counted) {
        if counted != Counted::Calls {
            builder.weighs(kind, "");
            return self.finish_samples(builder, counted);
        }
        if !self.add_callers(builder) {
            builder.weighs(kind, "");
            builder.note("the stacks are too deep to show the numbers of calls for each thread");
            return self.finish_samples(builder, Counted::Nothing);
        }
        let clock = match kind {
            SampleKind::Cpu => Clock::Cpu,
            _ => Clock::Wall,
        };
        builder.begin_calls(clock);
        self.add_totals(builder);
        for place in self.rows {
            let call = Call {
                thread: place.thread,
                stack: place.stack,
                calls: place.count,
                total: Nanos(place.total),
                own: Nanos(place.own),
                ..Call::default()
            };
            builder.call(call);
        }
    }

    /// Fills the profile with numbers of events.
    pub(crate) fn finish_events(self, builder: &mut Builder, event: &str, counted: Counted) {
        builder.weighs(SampleKind::Events, event);
        self.finish_samples(builder, counted);
    }

    fn finish_samples(self, builder: &mut Builder, counted: Counted) {
        let state = match builder.profile.meta.kind {
            SampleKind::Wall => State::WallRunning,
            _ => State::Running,
        };
        builder.profile.meta.lacks_times = true;
        if counted == Counted::Nothing {
            let mut sums = Sums::default();
            for place in &self.rows {
                sums.add(place.stack, place.thread, place.own, state);
            }
            return sums.finish(builder);
        }
        for place in &self.rows {
            builder.sample(Row {
                stack: place.stack,
                thread: place.thread,
                weight: place.own,
                samples: place.count,
                time: None,
                state,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Named;

    /// Values at the end of a stack this deep, of so many threads.
    fn deep(depth: u32, threads: u64) -> (Builder, CallValues) {
        let mut builder = Builder::default();
        let location = builder.location(Named::default());
        let locations = (0..depth).map(|_| location);
        let stack = builder.stack_of(locations).unwrap();
        let mut values = CallValues::default();
        for thread in 0..threads {
            let thread = builder.thread(0, thread, "");
            values.add(thread, stack, 5, 1);
        }
        (builder, values)
    }

    #[test]
    fn values_are_subtracted_from_the_next_caller_that_has_some() {
        let (mut builder, mut values) = deep(4, 1);
        let row = values.rows[0];
        let parent = |stack| builder.profile.stacks.get(stack).parent.unwrap();
        let outer = parent(parent(row.stack));
        values.add(row.thread, outer, 7, 1);
        values.add(row.thread, parent(outer), 9, 1);
        values.subtract_callees(&builder);
        values.finish_time(&mut builder, SampleKind::Wall, Counted::Nothing);
        let weights = builder.profile.samples.iter().map(|row| row.weight.0);
        assert_eq!(weights.collect::<Vec<_>>(), [5, 2, 2]);
    }

    #[test]
    fn callers_without_values_have_totals() {
        let (mut builder, values) = deep(3, 2);
        values.finish_time(&mut builder, SampleKind::Wall, Counted::Calls);
        let calls = &builder.profile.traced.calls;
        assert_eq!(calls.len(), 6);
        assert!(calls.iter().all(|call| call.total == Nanos(5)));
        assert_eq!(calls.iter().map(|call| call.own.0).sum::<u64>(), 10);
    }

    #[test]
    fn deep_stacks_of_many_threads_take_little_memory() {
        let (mut builder, values) = deep(5_000, 5_000);
        values.finish_time(&mut builder, SampleKind::Wall, Counted::Calls);
        assert_eq!(builder.profile.meta.kind, SampleKind::Wall);
        assert_eq!(builder.profile.samples.len(), 5_000);
    }
}

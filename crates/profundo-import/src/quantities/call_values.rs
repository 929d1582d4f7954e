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
        for at in 0..self.rows.len() {
            let Some(caller) = self.caller(builder, at) else {
                continue;
            };
            if let (Some(place), Some(total)) = (self.rows.get_mut(caller), totals.get(at)) {
                place.own = place.own.saturating_sub(*total);
            }
        }
    }

    /// The row of the caller of a row.
    fn caller(&self, builder: &Builder, at: usize) -> Option<usize> {
        let place = self.rows.get(at)?;
        let caller = builder.profile.stacks.get(place.stack).parent?;
        self.index.get(&(place.thread, caller)).copied()
    }

    /// Adds the callers that have no values, and the totals.
    fn add_totals(&mut self, builder: &Builder) {
        let stacks = &builder.profile.stacks;
        for at in 0..self.rows.len() {
            let mut place = self.rows.get(at).copied();
            while let Some(Place { thread, stack, .. }) = place {
                let caller = stacks.get(stack).parent;
                let caller = caller.filter(|&it| !self.index.contains_key(&(thread, it)));
                let caller = caller.map(|caller| self.row(thread, caller));
                place = caller.and_then(|row| self.rows.get(row).copied());
            }
        }
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

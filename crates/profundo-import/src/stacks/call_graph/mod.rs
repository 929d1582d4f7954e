//! Call graphs: own costs of functions, and calls between pairs of them, as callgrind, gprof, VTune
//! and OProfile count them. They become stacks.
//!
//! A graph knows each caller of a function, and no caller of that caller. So a stack is estimated:
//! from a function to its callers in proportion to the cost of their calls, on to theirs, and so
//! on, as gprof does. In a graph without recursion that gives every function and every pair its
//! true total: the stacks through a call have the cost of this call. Own costs are always exact.

mod calls;
mod order;
mod pairs;
mod paths;
mod propagate;

use profundo_model::{LocationId, LocationKind, Reason, StackId, State, ThreadId};
use rustc_hash::FxHashMap;

use crate::quantities::sums::samples_of;
use crate::{Builder, Row};
use order::Ordered;
pub(crate) use pairs::Pairs;
use paths::{Path, Walk};

/// A graph of one thread.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub functions: Vec<Function>,
    pub arcs: Vec<Arc>,
    /// The unit that costs were rounded to; 0 where they are exact.
    pub rounding: f64,
}

/// A function.
#[derive(Debug, Clone, Default)]
pub(crate) struct Function {
    /// The function at its first line.
    pub first: LocationId,
    /// Its own cost by line.
    pub own: Vec<(LocationId, u64)>,
    /// The number of calls from outside of the graph, where known.
    pub begun: u64,
    /// The activity of a thread in it.
    pub state: State,
}

/// The calls of a function from one place.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Arc {
    /// The row of the calling function.
    pub caller: u32,
    /// The caller at the calling line.
    pub at: LocationId,
    /// The row of the called function.
    pub callee: u32,
    /// The number of calls.
    pub calls: u64,
    /// Their cost, callees included.
    pub cost: u64,
}

/// The meaning of costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Costs {
    /// Nanoseconds that were measured at every call.
    Traced,
    /// Nanoseconds of samples, so many each.
    Sampled(u64),
    /// Numbers of samples, or of one event each: so many events each.
    Events(u64),
}

impl Graph {
    /// Adds the rows of the graph to a profile: samples, and calls.
    pub(crate) fn fill(&self, builder: &mut Builder, thread: ThreadId, costs: Costs) {
        self.walk(builder, |builder, walk, gap| match costs {
            Costs::Traced => calls::fill(self, builder, thread, walk, gap),
            Costs::Sampled(_) | Costs::Events(_) => {
                self.samples(builder, thread, costs, walk, gap);
                calls::count(self, builder, thread);
            }
        });
    }

    /// Adds samples alone, where the calls are known better than the graph knows them.
    pub(crate) fn sample(&self, builder: &mut Builder, thread: ThreadId, costs: Costs) {
        self.walk(builder, |builder, walk, gap| {
            self.samples(builder, thread, costs, walk, gap);
        });
    }

    /// Has the stacks of the graph added, and says how far they are estimates.
    fn walk(
        &self,
        builder: &mut Builder,
        add: impl FnOnce(&mut Builder, &mut Walk<'_>, LocationId),
    ) {
        let ordered = Ordered::new(self);
        let gap = LocationKind::Reason(Reason::NotKept);
        let gap = builder.profile.locations.intern(gap, None);
        let mut walk = Walk::new(self, &ordered);
        add(builder, &mut walk, gap);
        if walk.was_cut {
            builder.profile.name_reasons();
        }
        if self.arcs.iter().any(|arc| arc.caller != arc.callee) {
            builder.note(
                "the file has direct callers only: longer stacks are estimated from them in \
                 proportion to the cost of calls, so the totals of functions that call each other \
                 in a circle are estimates, too",
            );
        }
    }

    /// Adds a sample for each estimated stack.
    fn samples(
        &self,
        builder: &mut Builder,
        thread: ThreadId,
        costs: Costs,
        walk: &mut Walk<'_>,
        gap: LocationId,
    ) {
        // Equal stacks come from several parts of one walk.
        let mut sums: FxHashMap<(StackId, State), u64> = FxHashMap::default();
        let mut in_order = Vec::new();
        for (row, function) in self.functions.iter().enumerate() {
            for &(leaf, cost) in &function.own {
                walk.from(row, cost, &mut |path: Path<'_>, cost| {
                    let callers = path.arcs().map(|arc| arc.at);
                    let gap = path.is_cut.then_some(gap);
                    let locations = gap.into_iter().chain(callers).chain([leaf]);
                    let Some(stack) = builder.stack_of(locations) else {
                        return;
                    };
                    let key = (stack, function.state);
                    let sum = sums.entry(key).or_insert_with(|| {
                        in_order.push(key);
                        0
                    });
                    *sum = sum.saturating_add(cost);
                });
            }
        }
        for key in in_order {
            let cost = sums.get(&key).copied().unwrap_or_default();
            let (weight, samples) = match costs {
                Costs::Sampled(period) => (cost, samples_of(cost, period)),
                Costs::Events(each) => (cost.saturating_mul(each), cost),
                Costs::Traced => (cost, 1),
            };
            let (stack, state) = key;
            builder.sample(Row {
                stack,
                thread,
                weight,
                samples,
                time: None,
                state,
            });
        }
    }
}

//! From who calls whom to stacks. Some tools keep the weight of each function and of each pair of
//! caller and callee, and no stacks. As in gprof, a function is taken to share out its weight among
//! its callees in the same way for each of its callers. Each function keeps exactly its own weight;
//! what no path reaches stands below `[callers not kept]`.

use profundo_model::{LocationId, LocationKind, Reason, StackId};
use rustc_hash::FxHashMap;

use crate::Builder;

/// The deepest path, the number of places, and the least part of the whole that is followed on.
const DEEPEST: usize = 128;
const MOST_PLACES: usize = 100_000;
const LEAST_SHARE: f64 = 1e-6;

/// Functions and the weights between them.
#[derive(Debug, Default)]
pub(crate) struct CallGraph {
    functions: Vec<Function>,
    arcs: FxHashMap<(usize, usize), f64>,
}

#[derive(Debug)]
struct Function {
    location: LocationId,
    own: f64,
}

/// A function that is on its way, and its weight there.
struct Visit {
    function: usize,
    stack: Option<StackId>,
    weight: f64,
    depth: usize,
}

impl CallGraph {
    /// Adds a function without weight.
    pub(crate) fn function(&mut self, location: LocationId) -> usize {
        self.functions.push(Function { location, own: 0.0 });
        self.functions.len() - 1
    }

    /// Sets the own weight of a function.
    pub(crate) fn set_own(&mut self, function: usize, own: f64) {
        if let Some(row) = self.functions.get_mut(function) {
            row.own = own.max(0.0);
        }
    }

    /// Sets the weight of a callee, with all that it calls, below one caller.
    pub(crate) fn set_arc(&mut self, caller: usize, callee: usize, weight: f64) {
        let both = caller.max(callee);
        if caller != callee && both < self.functions.len() && weight > 0.0 {
            self.arcs.insert((caller, callee), weight);
        }
    }

    /// The smallest own weight.
    pub(crate) fn least(&self) -> u64 {
        let own = self.functions.iter().map(|row| row.own.round() as u64);
        own.filter(|&own| own > 0).min().unwrap_or(1)
    }

    /// Gives the own weight of each stack to `add`, with the function that it ends in.
    pub(crate) fn stacks(self, builder: &mut Builder, mut add: impl FnMut(usize, StackId, u64)) {
        let count = self.functions.len();
        let mut callees: Vec<Vec<(usize, f64)>> = vec![Vec::new(); count];
        let mut totals: Vec<f64> = self.functions.iter().map(|row| row.own).collect();
        let mut from_callers = vec![0.0; count];
        for (&(caller, callee), &weight) in &self.arcs {
            callees[caller].push((callee, weight));
            totals[caller] += weight;
            from_callers[callee] += weight;
        }
        // The order of a hash map is no order.
        callees
            .iter_mut()
            .for_each(|row| row.sort_by_key(|&(callee, _)| callee));
        let all: f64 = self.functions.iter().map(|row| row.own).sum();
        let mut owned = Owned::new(&self.functions);
        let mut places = 0;
        let mut path: Vec<usize> = Vec::new();
        let roots = (0..count).rev().map(|function| Visit {
            function,
            stack: None,
            weight: totals[function] - from_callers[function],
            depth: 0,
        });
        let mut open: Vec<Visit> = roots
            .filter(|visit| visit.weight > all * LEAST_SHARE)
            .collect();
        while let Some(Visit {
            function,
            stack,
            weight,
            depth,
        }) = open.pop()
        {
            path.truncate(depth);
            let is_kept = weight > all * LEAST_SHARE && places < MOST_PLACES && depth < DEEPEST;
            if !is_kept || path.contains(&function) {
                continue;
            }
            places += 1;
            path.push(function);
            let stack = builder.stack(stack, self.functions[function].location);
            let share = (weight / totals[function].max(f64::MIN_POSITIVE)).min(1.0);
            let own = owned.part(function, self.functions[function].own * share);
            if own > 0 {
                add(function, stack, own);
            }
            open.extend(
                callees[function]
                    .iter()
                    .rev()
                    .map(|&(callee, weight)| Visit {
                        function: callee,
                        stack: Some(stack),
                        weight: weight * share,
                        depth: depth + 1,
                    }),
            );
        }
        let mut lost = None;
        for (function, row) in self.functions.iter().enumerate() {
            let rest = owned.rest(function);
            if rest > 0 {
                let lost = *lost.get_or_insert_with(|| {
                    let kind = LocationKind::Reason(Reason::NotKept);
                    let location = builder.profile.locations.intern(kind, None);
                    builder.profile.name_reasons();
                    builder.stack(None, location)
                });
                add(function, builder.stack(Some(lost), row.location), rest);
            }
        }
    }
}

/// The own weights of functions in whole numbers, as far as they are given to stacks.
struct Owned {
    all: Vec<u64>,
    given: Vec<f64>,
    written: Vec<u64>,
}

impl Owned {
    fn new(functions: &[Function]) -> Self {
        Self {
            all: functions.iter().map(|row| row.own.round() as u64).collect(),
            given: vec![0.0; functions.len()],
            written: vec![0; functions.len()],
        }
    }

    /// A part of a function's own weight. Fractions are carried over to the next part.
    fn part(&mut self, function: usize, part: f64) -> u64 {
        self.given[function] += part;
        let until = (self.given[function].round() as u64).min(self.all[function]);
        let part = until.saturating_sub(self.written[function]);
        self.written[function] += part;
        part
    }

    fn rest(&self, function: usize) -> u64 {
        self.all[function] - self.written[function]
    }
}

//! Counted calls of a graph, at the estimated stacks. The sums over a pair of functions are those
//! of the file.

use profundo_model::{Call, Callers, LocationId, Nanos, Sample, StackId, ThreadId, Tracing};
use rustc_hash::FxHashMap;

use super::Graph;
use super::paths::{Path, Walk, share_of};
use crate::Builder;

/// Calls of one function by another.
#[derive(Debug, Default)]
struct Pair {
    caller: u32,
    callee: u32,
    calls: u64,
    cost: u64,
    /// The stacks that it was found at, with their costs.
    stacks: Vec<StackId>,
}

/// The cost of a stack: with all that it calls, and its own.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    total: u64,
    own: u64,
}

/// Adds calls with their times: one for each estimated stack, with a sample of its own time.
pub(super) fn fill(
    graph: &Graph,
    builder: &mut Builder,
    thread: ThreadId,
    walk: &mut Walk<'_>,
    gap: LocationId,
) {
    let (mut pairs, rows) = pairs(graph);
    let mut costs: FxHashMap<StackId, Cost> = FxHashMap::default();
    let mut roots: Vec<(u32, StackId)> = Vec::new();
    // By function, the stack with most cost.
    let mut main: Vec<Option<StackId>> = vec![None; graph.functions.len()];
    for (row, function) in graph.functions.iter().enumerate() {
        let own = function.own.iter().map(|(_, cost)| *cost);
        let own = own.fold(0, u64::saturating_add);
        walk.from(row, own, &mut |path: Path<'_>, cost| {
            let root = path.arcs().next().map_or(row as u32, |arc| arc.caller);
            let parent = path.is_cut.then(|| builder.stack(None, gap));
            let mut stack = builder.stack(parent, first(graph, root));
            let mut add = |stack: StackId| {
                let is_new = !costs.contains_key(&stack);
                let sum = costs.entry(stack).or_default();
                sum.total = sum.total.saturating_add(cost);
                is_new
            };
            if !path.is_cut && add(stack) {
                roots.push((root, stack));
            }
            for arc in path.arcs() {
                stack = builder.stack(Some(stack), first(graph, arc.callee));
                if add(stack)
                    && let Some(&pair) = rows.get(&(arc.caller, arc.callee))
                {
                    pairs[pair].stacks.push(stack);
                }
            }
            if let Some(sum) = costs.get_mut(&stack) {
                sum.own = sum.own.saturating_add(cost);
            }
        });
    }
    let of = |stack: StackId| costs.get(&stack).copied().unwrap_or_default();
    let mut is_called = vec![false; graph.functions.len()];
    let all = pairs.iter().flat_map(|pair| {
        let callee = pair.callee;
        pair.stacks.iter().map(move |&stack| (callee, stack))
    });
    for (function, stack) in roots.iter().copied().chain(all) {
        let main = &mut main[function as usize];
        if main.is_none_or(|main| of(main).total < of(stack).total) {
            *main = Some(stack);
        }
    }
    for pair in &pairs {
        is_called[pair.callee as usize] = true;
        for (stack, calls, total) in pair.parts(&of) {
            push(builder, thread, stack, calls, total, of(stack).own);
        }
        if pair.stacks.is_empty() {
            let caller = main[pair.caller as usize];
            let caller = caller.unwrap_or_else(|| {
                let location = first(graph, pair.caller);
                builder.stack(None, location)
            });
            let stack = builder.stack(Some(caller), first(graph, pair.callee));
            push(builder, thread, stack, pair.calls, pair.cost, 0);
        }
    }
    let mut is_root = vec![false; graph.functions.len()];
    for &(function, stack) in &roots {
        is_root[function as usize] = true;
        let begun = graph.functions[function as usize].begun;
        // A function without a caller has begun at least once.
        let calls = begun.max(u64::from(!is_called[function as usize]));
        push(
            builder,
            thread,
            stack,
            calls,
            of(stack).total,
            of(stack).own,
        );
    }
    for (row, function) in graph.functions.iter().enumerate() {
        let is_root = is_root[row];
        if function.begun > 0 && !is_root {
            let stack = builder.stack(None, function.first);
            push(builder, thread, stack, function.begun, 0, 0);
        }
    }
    builder.profile.traced.tracing = Tracing::Calls;
}

/// Adds only the numbers of calls, beside samples or events.
pub(super) fn count(graph: &Graph, builder: &mut Builder, thread: ThreadId) {
    let (pairs, _) = pairs(graph);
    let roots = graph.functions.iter().enumerate();
    let roots = roots.filter(|(_, function)| function.begun > 0);
    let roots = roots.map(|(row, function)| (None, row as u32, function.begun));
    let pairs = (pairs.iter()).map(|pair| (Some(pair.caller), pair.callee, pair.calls));
    for (caller, callee, calls) in pairs.chain(roots) {
        if calls == 0 {
            continue;
        }
        let above = caller.map(|caller| builder.stack(None, first(graph, caller)));
        let stack = builder.stack(above, first(graph, callee));
        builder.profile.traced.tracing = Tracing::Calls;
        builder.profile.traced.clock = profundo_model::Clock::None;
        builder.profile.traced.calls.push(Call {
            thread,
            stack,
            calls,
            callers: Callers::Last {
                is_recursive: caller == Some(callee),
                is_repeated: false,
            },
            ..Call::default()
        });
    }
}

fn push(builder: &mut Builder, thread: ThreadId, stack: StackId, calls: u64, total: u64, own: u64) {
    builder.profile.traced.calls.push(Call {
        thread,
        stack,
        calls,
        total: Nanos(total),
        own: Nanos(own),
        ..Call::default()
    });
    builder.profile.samples.push(Sample {
        weight: Nanos(own),
        thread,
        stack,
        ..Sample::default()
    });
}

impl Pair {
    /// The numbers of its calls and their costs by stack, which add up to those of the pair.
    fn parts(&self, of: &impl Fn(StackId) -> Cost) -> impl Iterator<Item = (StackId, u64, u64)> {
        let totals = self.stacks.iter().map(|&stack| of(stack).total);
        let all = totals.fold(0, u64::saturating_add);
        let mut sum = 0_u64;
        let (mut calls, mut cost) = (0, 0);
        self.stacks.iter().map(move |&stack| {
            sum = sum.saturating_add(of(stack).total);
            let until = [
                share_of(self.calls, sum, all),
                share_of(self.cost, sum, all),
            ];
            let part = (stack, until[0] - calls, until[1] - cost);
            [calls, cost] = until;
            part
        })
    }
}

/// The calls by caller and callee.
fn pairs(graph: &Graph) -> (Vec<Pair>, FxHashMap<(u32, u32), usize>) {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut rows: FxHashMap<(u32, u32), usize> = FxHashMap::default();
    let count = graph.functions.len();
    for arc in &graph.arcs {
        if (arc.caller as usize) >= count || (arc.callee as usize) >= count {
            continue;
        }
        let row = *rows.entry((arc.caller, arc.callee)).or_insert(pairs.len());
        if row == pairs.len() {
            pairs.push(Pair {
                caller: arc.caller,
                callee: arc.callee,
                ..Pair::default()
            });
        }
        let pair = &mut pairs[row];
        pair.calls = pair.calls.saturating_add(arc.calls);
        pair.cost = pair.cost.saturating_add(arc.cost);
    }
    (pairs, rows)
}

fn first(graph: &Graph, function: u32) -> LocationId {
    graph.functions[function as usize].first
}

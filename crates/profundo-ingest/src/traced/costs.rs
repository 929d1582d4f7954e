//! The overhead of counting calls, which is subtracted from their times.

use profundo_wire::traced::{TracedCalls, TracedKind, TracedNode, TracedPlace};

use super::{Times, row_of};

/// The overhead in a node's times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Added {
    /// In its own time: the overhead inside its own measured interval, and the overhead outside of
    /// the intervals of its callees.
    pub(super) own: u64,
    /// In its total time.
    pub(super) total: u64,
}

/// The overhead of all nodes.
pub(super) struct Costs(Vec<Added>);

/// Costs are given for this many calls.
const CALLS: u128 = 1024;

/// Functions with only their callers known call each other in circles: the overhead is followed to
/// this depth.
const DEPTH: usize = 16;

impl Costs {
    pub(super) fn of(calls: &TracedCalls, times: &Times) -> Self {
        let mut own = vec![0_u64; calls.nodes.len()];
        // For calls below a function anywhere: the overhead outside of them, by caller.
        let mut folded = vec![0_u64; calls.functions.len()];
        for (row, node) in calls.nodes.iter().enumerate() {
            let [inside, outside] = cost(calls, node);
            own[row] = own[row].saturating_add(inside);
            let Some(above) = parent(calls, node) else {
                continue;
            };
            let sum = match calls.nodes[above].place {
                TracedPlace::Anywhere(caller) => folded.get_mut(caller as usize),
                _ => own.get_mut(above),
            };
            if let Some(sum) = sum {
                *sum = sum.saturating_add(outside);
            }
        }
        let possible = possible(calls, times, &own);
        for cost in own.iter_mut().chain(&mut folded) {
            *cost = (*cost as f64 * possible) as u64;
        }
        for (row, node) in calls.nodes.iter().enumerate() {
            let part = times.part(node, row, &folded);
            // No more than there is.
            own[row] = own[row].saturating_add(part).min(times.own(node, row));
        }
        let mut below = vec![0_u64; calls.functions.len()];
        let mut totals = totals(calls, times, &own, &below);
        for _ in 0..DEPTH {
            let next = of_callers(calls, &totals, &own);
            if next == below {
                break;
            }
            below = next;
            totals = self::totals(calls, times, &own, &below);
        }
        let nodes = calls.nodes.iter().zip(own.into_iter().zip(totals));
        let added = nodes.map(|(node, (own, total))| Added {
            own,
            total: total.min(node.total),
        });
        Self(added.collect())
    }

    pub(super) fn of_row(&self, row: usize) -> Added {
        self.0.get(row).copied().unwrap_or_default()
    }
}

/// The possible part of the measured overhead: no function that was called often took less than its
/// counting. A machine that was slow during the measurement gives too much.
fn possible(calls: &TracedCalls, times: &Times, own: &[u64]) -> f64 {
    /// With fewer calls, the time proves little.
    const MANY: u64 = 4096;
    /// A smaller part is doubtful itself.
    const LEAST: f64 = 0.25;
    if calls.unmatched > 0 {
        return 1.0;
    }
    let nodes = calls.nodes.iter().enumerate().zip(own);
    let many = nodes.filter(|((_, node), cost)| node.calls + node.resumes >= MANY && **cost > 0);
    let parts = many.map(|((row, node), &cost)| times.own(node, row) as f64 / cost as f64);
    match parts.fold(1.0, f64::min).max(LEAST) {
        1.0 => 1.0,
        // A function has some time of its own.
        part => part * 0.9,
    }
}

/// The overhead of a node's calls, inside and outside of them.
fn cost(calls: &TracedCalls, node: &TracedNode) -> [u64; 2] {
    let (TracedPlace::Function(function) | TracedPlace::Called { function, .. }) = node.place
    else {
        return [0; 2];
    };
    let function = calls.functions.get(function as usize);
    let is_builtin = function.is_some_and(|function| function.kind == TracedKind::Builtin);
    let count = u128::from(node.calls.saturating_add(node.resumes));
    calls.cost[usize::from(is_builtin)]
        .map(|each| u64::try_from(count * u128::from(each) / CALLS).unwrap_or(u64::MAX))
}

fn parent(calls: &TracedCalls, node: &TracedNode) -> Option<usize> {
    row_of(node.parent).filter(|&row| row < calls.nodes.len())
}

/// The overhead in the total time of nodes, given that of the calls with only the last caller
/// known.
fn totals(calls: &TracedCalls, times: &Times, own: &[u64], below: &[u64]) -> Vec<u64> {
    let mut totals = own.to_vec();
    // Children stand behind their parents.
    for (row, node) in calls.nodes.iter().enumerate().rev() {
        totals[row] = totals[row].saturating_add(times.part(node, row, below));
        if let Some(above) = parent(calls, node)
            && !matches!(calls.nodes[above].place, TracedPlace::Anywhere(_))
        {
            totals[above] = totals[above].saturating_add(totals[row]);
        }
    }
    totals
}

/// The overhead in calls with only the last caller known, by caller.
fn of_callers(calls: &TracedCalls, totals: &[u64], own: &[u64]) -> Vec<u64> {
    let mut sums = vec![0_u64; calls.functions.len()];
    for (row, node) in calls.nodes.iter().enumerate() {
        let TracedPlace::Called { is_recursive, .. } = node.place else {
            continue;
        };
        let above = parent(calls, node).map(|above| calls.nodes[above].place);
        let Some(TracedPlace::Anywhere(caller)) = above else {
            continue;
        };
        // The time of a recursive call is in the outermost one already.
        let added = if is_recursive { own[row] } else { totals[row] };
        if let Some(sum) = sums.get_mut(caller as usize) {
            *sum = sum.saturating_add(added);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use profundo_wire::traced::TracedFunction;

    use super::*;

    fn node(parent: u32, place: TracedPlace, calls: u64, total: u64) -> TracedNode {
        TracedNode {
            parent,
            place,
            calls,
            resumes: 0,
            total,
        }
    }

    fn called(function: u32, is_recursive: bool) -> TracedPlace {
        TracedPlace::Called {
            function,
            is_recursive,
            is_repeated: is_recursive,
        }
    }

    /// Ten units within each call and twenty around it.
    fn added(functions: usize, nodes: Vec<TracedNode>) -> Vec<(u64, u64)> {
        let calls = TracedCalls {
            cost: [[10 * 1024, 20 * 1024], [0, 0]],
            functions: vec![TracedFunction::default(); functions],
            nodes,
            ..TracedCalls::default()
        };
        let costs = Costs::of(&calls, &Times::of(&calls));
        let rows = (0..calls.nodes.len()).map(|row| costs.of_row(row));
        rows.map(|added| (added.own, added.total)).collect()
    }

    const THREAD: TracedPlace = TracedPlace::Thread { tid: 1, name: None };

    #[test]
    fn calls_in_the_tree_cost_those_above_them() {
        let found = added(
            2,
            vec![
                node(0, THREAD, 0, 0),
                node(1, TracedPlace::Function(0), 1, 10_000),
                node(2, TracedPlace::Function(1), 100, 5_000),
            ],
        );
        assert_eq!(found[1..], [(2_010, 3_010), (1_000, 1_000)]);
    }

    #[test]
    fn what_often_took_less_than_counting_should_shows_what_counting_costs() {
        let found = added(
            2,
            vec![
                node(0, THREAD, 0, 0),
                node(1, TracedPlace::Function(0), 1, 1_000_000),
                // Ten units within each call would be 81 920.
                node(2, TracedPlace::Function(1), 8_192, 40_960),
            ],
        );
        assert_eq!(found[2], (36_864, 36_864));
        assert_eq!(found[1].0, (f64::from(8_192 * 20 + 10) * 0.45) as u64);
    }

    #[test]
    fn so_do_calls_of_which_only_the_caller_is_known() {
        let found = added(
            2,
            vec![
                node(0, THREAD, 0, 0),
                node(1, TracedPlace::Function(0), 1, 10_000),
                node(1, TracedPlace::Anywhere(0), 0, 0),
                node(3, called(1, false), 100, 5_000),
            ],
        );
        assert_eq!(found[1], (2_010, 3_010));
        assert_eq!(found[3], (1_000, 1_000));
        // Two places of the caller share it, by their times.
        let found = added(
            2,
            vec![
                node(0, THREAD, 0, 0),
                node(1, TracedPlace::Function(0), 1, 30_000),
                node(1, TracedPlace::Function(0), 1, 10_000),
                node(1, TracedPlace::Anywhere(0), 0, 0),
                node(4, called(1, false), 100, 20_000),
            ],
        );
        assert_eq!(found[1], (1_510, 2_260));
        assert_eq!(found[2], (510, 760));
    }

    #[test]
    fn what_they_call_in_turn_is_in_the_totals_of_all_above() {
        let found = added(
            3,
            vec![
                node(0, THREAD, 0, 0),
                node(1, TracedPlace::Function(0), 1, 100_000),
                node(1, TracedPlace::Anywhere(0), 0, 0),
                node(3, called(1, false), 10, 50_000),
                node(1, TracedPlace::Anywhere(1), 0, 0),
                node(5, called(2, false), 100, 20_000),
            ],
        );
        assert_eq!(found[5], (1_000, 1_000));
        assert_eq!(found[3], (100 + 2_000, 100 + 3_000));
        assert_eq!(found[1], (10 + 200, 10 + 200 + 3_100));
    }

    #[test]
    fn circles_come_to_an_end() {
        let found = added(
            2,
            vec![
                node(0, THREAD, 0, 0),
                node(1, TracedPlace::Function(0), 1, 10_000),
                node(1, TracedPlace::Anywhere(0), 0, 0),
                node(3, called(1, false), 10, 9_000),
                node(1, TracedPlace::Anywhere(1), 0, 0),
                node(5, called(0, true), 10, 8_000),
            ],
        );
        for (row, limit) in [(1, 10_000), (3, 9_000), (5, 8_000)] {
            let (own, total) = found[row];
            assert!(own > 0 && own <= total && total <= limit, "{found:?}");
        }
    }
}

//! The graph without its circles: calls that lead back to a function which is still running are set
//! apart, so that a walk from callee to caller ends.

use super::Graph;

/// The callers of each function.
#[derive(Debug)]
pub(super) struct Ordered {
    /// By function, the start of its callers in `callers`.
    starts: Vec<usize>,
    /// Rows of arcs with a cost, by their callees. The running sum of their costs is beside them.
    callers: Vec<(u32, f64)>,
    /// By function, its cost without a caller.
    pub as_root: Vec<f64>,
}

impl Ordered {
    pub(super) fn new(graph: &Graph) -> Self {
        let count = graph.functions.len();
        let is_inside = |row: u32| (row as usize) < count;
        let arcs = || {
            let arcs = graph.arcs.iter().enumerate();
            arcs.filter(|(_, arc)| is_inside(arc.caller) && is_inside(arc.callee))
        };
        let mut total = vec![0.0; count];
        let mut from_outside = vec![0.0; count];
        let mut slack = vec![0.0; count];
        for (row, function) in graph.functions.iter().enumerate() {
            total[row] = function.own.iter().map(|(_, cost)| *cost as f64).sum();
            slack[row] = graph.rounding * function.own.len() as f64;
        }
        for (_, arc) in arcs().filter(|(_, arc)| arc.caller != arc.callee) {
            total[arc.caller as usize] += arc.cost as f64;
            from_outside[arc.callee as usize] += arc.cost as f64;
            let calls = graph.rounding * arc.calls.max(1) as f64;
            slack[arc.caller as usize] += calls;
            slack[arc.callee as usize] += calls;
        }
        let leads_back = leads_back(graph, &total, &from_outside);
        let is_in_circle = circles(graph, &leads_back);
        let mut has_caller = vec![false; count];
        let mut sorted: Vec<(u32, u32)> = Vec::new();
        for (row, arc) in arcs().filter(|(row, arc)| arc.cost > 0 && !leads_back[*row]) {
            has_caller[arc.callee as usize] = true;
            sorted.push((arc.callee, row as u32));
        }
        sorted.sort_unstable();
        let as_root = (0..count)
            .map(|row| match total[row] - from_outside[row] {
                // Costs of calls in a circle are counted at each of its turns.
                _ if has_caller[row] && is_in_circle[row] => 0.0,
                // The cost of each call may be rounded.
                rest if has_caller[row] && rest <= slack[row] => 0.0,
                rest => rest.max(0.0),
            })
            .collect();
        let mut ordered = Self {
            starts: Vec::with_capacity(count + 1),
            callers: Vec::with_capacity(sorted.len()),
            as_root,
        };
        let mut rest = &sorted[..];
        for function in 0..count as u32 {
            ordered.starts.push(ordered.callers.len());
            let mut sum = 0.0;
            while let Some((&(callee, row), after)) = rest.split_first()
                && callee == function
            {
                sum += graph.arcs[row as usize].cost as f64;
                ordered.callers.push((row, sum));
                rest = after;
            }
        }
        ordered.starts.push(ordered.callers.len());
        ordered
    }

    /// The arcs to a function, with the running sum of their costs.
    pub(super) fn callers(&self, function: u32) -> &[(u32, f64)] {
        let at = function as usize;
        let range = self.starts.get(at).zip(self.starts.get(at + 1));
        range.map_or(&[], |(&start, &end)| {
            self.callers.get(start..end).unwrap_or_default()
        })
    }
}

/// By function, the arcs that it calls by, in two parallel parts.
struct Callees {
    starts: Vec<usize>,
    rows: Vec<u32>,
}

impl Callees {
    /// The arcs that `stays` keeps, of each function the costliest last.
    fn new(graph: &Graph, stays: impl Fn(usize) -> bool) -> Self {
        let count = graph.functions.len();
        let mut rows: Vec<u32> = (0..graph.arcs.len() as u32)
            .filter(|&row| {
                let arc = &graph.arcs[row as usize];
                let is_inside = (arc.caller as usize) < count && (arc.callee as usize) < count;
                is_inside && stays(row as usize)
            })
            .collect();
        rows.sort_by_key(|&row| {
            let arc = &graph.arcs[row as usize];
            (arc.caller, arc.cost)
        });
        let starts = (0..=count)
            .map(|function| {
                rows.partition_point(|&row| (graph.arcs[row as usize].caller as usize) < function)
            })
            .collect();
        Self { starts, rows }
    }

    fn of(&self, function: usize) -> std::ops::Range<usize> {
        self.starts[function]..self.starts[function + 1]
    }
}

/// By arc, whether its callee is running already, in a visit of the graph that begins with the
/// functions which have most cost without a caller.
pub(super) fn leads_back(graph: &Graph, total: &[f64], from_outside: &[f64]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        None,
        Open,
        Done,
    }
    let callees = Callees::new(graph, |_| true);
    let mut leads_back = vec![false; graph.arcs.len()];
    let mut visits = vec![Visit::None; graph.functions.len()];
    let mut roots: Vec<usize> = (0..graph.functions.len()).collect();
    let is_called: Vec<bool> = {
        let mut is_called = vec![false; graph.functions.len()];
        for arc in graph.arcs.iter().filter(|arc| arc.caller != arc.callee) {
            if let Some(is_called) = is_called.get_mut(arc.callee as usize) {
                *is_called = true;
            }
        }
        is_called
    };
    roots.sort_by(|&a, &b| {
        let rest = |row: usize| total[row] - from_outside[row];
        let order = is_called[a].cmp(&is_called[b]);
        order.then(rest(b).total_cmp(&rest(a))).then(a.cmp(&b))
    });
    let mut open: Vec<(usize, std::ops::Range<usize>)> = Vec::new();
    for root in roots {
        if visits[root] != Visit::None {
            continue;
        }
        visits[root] = Visit::Open;
        open.push((root, callees.of(root)));
        while let Some((function, rest)) = open.last_mut() {
            let Some(next) = rest.next_back() else {
                visits[*function] = Visit::Done;
                open.pop();
                continue;
            };
            let row = callees.rows[next] as usize;
            let callee = graph.arcs[row].callee as usize;
            match visits[callee] {
                Visit::Open => leads_back[row] = true,
                Visit::Done => {}
                Visit::None => {
                    visits[callee] = Visit::Open;
                    open.push((callee, callees.of(callee)));
                }
            }
        }
    }
    leads_back
}

/// By function, whether it is in a circle of several functions.
fn circles(graph: &Graph, leads_back: &[bool]) -> Vec<bool> {
    let count = graph.functions.len();
    let mut found = vec![false; count];
    if !(graph.arcs.iter().zip(leads_back)).any(|(arc, back)| *back && arc.caller != arc.callee) {
        return found;
    }
    // Tarjan's numbers, without recursion.
    let callees = Callees::new(graph, |row| {
        graph.arcs[row].caller != graph.arcs[row].callee
    });
    const UNSEEN: u32 = u32::MAX;
    let (mut numbers, mut lowest) = (vec![UNSEEN; count], vec![UNSEEN; count]);
    let mut is_open = vec![false; count];
    let mut component: Vec<usize> = Vec::new();
    let mut path: Vec<(usize, std::ops::Range<usize>)> = Vec::new();
    let mut next_number = 0;
    for root in 0..count {
        if numbers[root] != UNSEEN {
            continue;
        }
        path.push((root, callees.of(root)));
        while let Some((function, rest)) = path.last_mut() {
            let function = *function;
            if numbers[function] == UNSEEN {
                (numbers[function], lowest[function]) = (next_number, next_number);
                next_number += 1;
                is_open[function] = true;
                component.push(function);
            }
            if let Some(next) = rest.next() {
                let callee = graph.arcs[callees.rows[next] as usize].callee as usize;
                if numbers[callee] == UNSEEN {
                    path.push((callee, callees.of(callee)));
                } else if is_open[callee] {
                    lowest[function] = lowest[function].min(numbers[callee]);
                }
                continue;
            }
            path.pop();
            if let Some((caller, _)) = path.last() {
                lowest[*caller] = lowest[*caller].min(lowest[function]);
            }
            if lowest[function] == numbers[function] {
                let start = component.iter().rposition(|&member| member == function);
                let members: Vec<usize> = component.drain(start.unwrap_or(0)..).collect();
                for &member in &members {
                    is_open[member] = false;
                    found[member] = members.len() > 1;
                }
            }
        }
    }
    found
}

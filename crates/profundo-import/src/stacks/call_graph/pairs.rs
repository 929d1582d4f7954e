//! Graphs of reports that show a pair of functions twice: in the block of the caller and in that of
//! the callee.

use profundo_model::{LocationId, State};
use rustc_hash::FxHashMap;

use super::{Arc, Function, Graph};

/// A graph in the making, without numbers of calls.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    graph: Graph,
    /// Rows of arcs by caller and callee.
    rows: FxHashMap<(u32, u32), usize>,
}

impl Pairs {
    /// Adds a function without cost.
    pub(crate) fn function(&mut self, first: LocationId, state: State) -> u32 {
        self.graph.functions.push(Function {
            first,
            state,
            ..Function::default()
        });
        self.graph.functions.len() as u32 - 1
    }

    /// Sets the own cost of a function.
    pub(crate) fn set_own(&mut self, function: u32, cost: u64) {
        if let Some(function) = self.graph.functions.get_mut(function as usize) {
            function.own = vec![(function.first, cost)];
        }
    }

    /// Sets the cost of a callee, with all that it calls, below one caller.
    pub(crate) fn set_arc(&mut self, caller: u32, callee: u32, cost: u64) {
        let Some(function) = self.graph.functions.get(caller as usize) else {
            return;
        };
        let arcs = &mut self.graph.arcs;
        let row = *self.rows.entry((caller, callee)).or_insert(arcs.len());
        if row == arcs.len() {
            arcs.push(Arc {
                caller,
                at: function.first,
                callee,
                ..Arc::default()
            });
        }
        arcs[row].cost = cost;
    }

    /// The smallest own cost.
    pub(crate) fn least(&self) -> u64 {
        let own = self.graph.functions.iter().flat_map(|row| &row.own);
        let costs = own.map(|&(_, cost)| cost);
        costs.filter(|&cost| cost > 0).min().unwrap_or(1)
    }

    /// The graph, whose costs were rounded to a unit.
    pub(crate) fn finish(self, rounding: f64) -> Graph {
        Graph {
            rounding,
            ..self.graph
        }
    }
}

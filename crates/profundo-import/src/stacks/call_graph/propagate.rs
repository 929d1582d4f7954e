//! Costs of calls that were only counted: a function's cost is its callers' in proportion to their
//! numbers of calls, as gprof has it.

use super::Graph;
use super::order::leads_back;
use super::paths::share_of;

impl Graph {
    /// Gives calls their costs. Calls that lead back in a circle have none.
    pub(crate) fn propagate(&mut self) {
        let count = self.functions.len();
        self.arcs
            .retain(|arc| (arc.caller as usize) < count && (arc.callee as usize) < count);
        let none = vec![0.0; count];
        let leads_back = leads_back(self, &none, &none);
        let counts = |row: usize| {
            let arc = &self.arcs[row];
            arc.calls > 0 && arc.caller != arc.callee && !leads_back[row]
        };
        let mut to_callee: Vec<Vec<u32>> = vec![Vec::new(); count];
        // By function, the callees whose costs are not known yet.
        let mut waits = vec![0_u32; count];
        for (row, arc) in self.arcs.iter().enumerate().filter(|(row, _)| counts(*row)) {
            to_callee[arc.callee as usize].push(row as u32);
            waits[arc.caller as usize] += 1;
        }
        let own = |function: &super::Function| {
            let costs = function.own.iter().map(|(_, cost)| *cost);
            costs.fold(0, u64::saturating_add)
        };
        let mut total: Vec<u64> = self.functions.iter().map(own).collect();
        let mut ready: Vec<usize> = (0..count).filter(|&row| waits[row] == 0).collect();
        while let Some(function) = ready.pop() {
            let arcs = std::mem::take(&mut to_callee[function]);
            let calls = arcs.iter().map(|&row| self.arcs[row as usize].calls);
            let all = calls.fold(0, u64::saturating_add);
            let (mut sum, mut given) = (0_u64, 0);
            for row in arcs {
                let arc = &mut self.arcs[row as usize];
                sum = sum.saturating_add(arc.calls);
                let until = share_of(total[function], sum, all);
                arc.cost = until - given;
                given = until;
                let caller = arc.caller as usize;
                total[caller] = total[caller].saturating_add(arc.cost);
                waits[caller] -= 1;
                if waits[caller] == 0 {
                    ready.push(caller);
                }
            }
        }
    }
}

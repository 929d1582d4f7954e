//! The totals of ended programs, for the figures at the end of the recording.

use profundo_linux::account::Account;
use profundo_process::reading::Counts;
use profundo_wire::recording::Engine;

use crate::agent::{Agent, Cost};
use crate::program::Program;

/// The totals.
#[derive(Debug, Default, Clone)]
pub(crate) struct Totals {
    /// The time for which samples were taken.
    pub(crate) ran: Account,
    /// CPU time that could be sampled.
    pub(crate) cpu: u64,
    /// The part sampled by the kernel, in programs without an agent.
    pub(crate) by_kernel: u64,
    /// All CPU time while programs were sampled.
    pub(crate) cpu_of_ended: u64,
    /// The CPU time of samples of threads without task clocks.
    pub(crate) by_ticks: u64,
    /// Cycles and runs of handlers.
    cost: Cost,
    /// The cost of handlers of living programs when the recording was cleared.
    cost_cleared: Cost,
    /// The nanoseconds that the starts of agents have cost.
    pub(crate) cost_of_starts: u64,
    /// The number of times that an agent was loaded into a process.
    pub(crate) loads: u64,
    /// The account of readings from outside.
    pub(crate) readings: Counts,
}

impl Totals {
    /// No totals, but the time since the recording began.
    pub(crate) fn begin(ran: Account) -> Self {
        Self {
            ran,
            ..Self::default()
        }
    }

    /// Adds the CPU time of a program that could be sampled.
    pub(crate) fn add_cpu(&mut self, program: &Program, engine: Engine) {
        // Some of the numbers are the programs', which may have written any.
        self.cpu = self.cpu.saturating_add(program.expected(engine));
        let by_kernel = program.expected_by_kernel(engine);
        self.by_kernel = self.by_kernel.saturating_add(by_kernel);
    }

    /// Adds the cost of sampling a program.
    pub(crate) fn add_agent(&mut self, agent: &Agent) {
        self.cost = self.cost.plus(agent.cost());
        self.by_ticks = self.by_ticks.saturating_add(agent.by_ticks());
        self.cost_of_starts = self.cost_of_starts.saturating_add(agent.start_cost());
        self.loads += u64::from(agent.was_loaded());
    }

    /// Clears the totals. The handlers of living programs have cost this much so far.
    pub(crate) fn clear(&mut self, cost_of_living: Cost) {
        *self = Self {
            cost_cleared: cost_of_living,
            // What was left out of stacks is noted for the whole recording.
            readings: self.readings,
            ..Self::default()
        };
    }

    /// The cost of sampling since the last clear.
    pub(crate) fn cost_since_clear(&self) -> Cost {
        self.cost.minus(self.cost_cleared)
    }
}

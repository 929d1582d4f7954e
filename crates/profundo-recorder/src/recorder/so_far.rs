//! The figures of a recording that goes on, as [`Recorder::finish`] would return them now.

use profundo_linux::sys;
use profundo_wire::recording::Finish;

use super::Recorder;

/// The figures so far.
#[derive(Debug, Clone, Default)]
pub struct SoFar {
    /// Those of the whole.
    pub finish: Finish,
    /// The living processes: the id of each, and its user and system time in nanoseconds.
    pub processes: Vec<(u32, u64, u64)>,
}

impl Recorder {
    /// The figures so far. Allocations and calls that are summed up in the programs are not in a
    /// recording before its end.
    pub fn so_far(&mut self) -> SoFar {
        let last = sys::instant();
        let mut totals = self.core.totals.clone();
        let mut processes = Vec::new();
        for program in self.core.processes.programs.values_mut() {
            program.read_times();
            totals.add_cpu(program, self.core.engine);
            if let Some(agent) = program.agent() {
                totals.add_agent(agent);
            }
            let (user, system) = program.sampled_times();
            processes.push((program.pid, user, system));
        }
        let finish = Finish {
            ended: last,
            duration: totals.ran.at(last.monotonic),
            cpu: totals.cpu,
            own_cost: self.own_cost(&totals),
            recorder_cpu: None,
            by_ticks: totals.by_ticks,
        };
        SoFar { finish, processes }
    }
}

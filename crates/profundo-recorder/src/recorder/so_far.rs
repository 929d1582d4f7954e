//! The figures of a recording that goes on, as [`Recorder::finish`] would return them now.

use profundo_linux::sys;
use profundo_wire::recording::{Event, Finish};

use super::Recorder;

/// The figures so far.
#[derive(Debug, Clone, Default)]
pub struct SoFar {
    /// Those of the whole.
    pub finish: Finish,
    /// The living processes.
    pub processes: Vec<ProcessTimes>,
}

/// The times of a living process, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessTimes {
    /// Its key in the recording.
    pub key: u32,
    /// The kernel's process id.
    pub pid: u32,
    /// User time.
    pub user: u64,
    /// System time.
    pub system: u64,
}

impl Recorder {
    /// The figures so far, of a recording that is divided here: all threads are emitted with
    /// theirs.
    pub fn mark(&mut self, sink: &mut dyn FnMut(Event<'_>)) -> SoFar {
        let Self {
            core,
            parts,
            outside,
            ..
        } = self;
        parts.wall.divide(core, sink);
        let now = profundo_probe::clock::now();
        core.scale.measure();
        for program in core.processes.programs.values_mut() {
            program.emit_threads(now, &core.scale, sink);
            program.emit_loss(sink);
            outside.count(program);
        }
        self.so_far()
    }

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
            processes.push(ProcessTimes {
                key: program.key,
                pid: program.pid,
                user,
                system,
            });
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

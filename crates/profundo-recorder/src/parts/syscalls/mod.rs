//! How often threads have made system calls, and with which errors, by the kernel's tracepoint.
//!
//! The counts are exact. Calls that the agent makes are known by the place of their code, and are
//! no calls of the program's. Threads with an agent also record the stack of some of their calls,
//! for the lines that make them.

mod reader;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use profundo_linux::perf::{Begins, SyscallExits, Uncounted};
use profundo_linux::random::Random;
use profundo_linux::{sys, syscall_name};
use profundo_permits::syscalls_refused;
use profundo_wire::SyscallsHead;

use super::{Part, Sink, emit_words};
use crate::agent::CallRates;
use crate::core::Core;
use crate::program::{Program, Way};

use reader::{Counts, Kind, Reader};

/// Counts system calls, if that is requested and permitted.
#[derive(Debug, Default)]
pub(crate) struct Syscalls(Option<Counting>);

#[derive(Debug)]
struct Counting {
    reader: Reader,
    /// The tracepoint's number.
    tracepoint: u64,
    /// The calls of each thread since the clocks of calls were last varied.
    rates: CallRates,
    random: Random,
    /// The calls that are not emitted yet, by process, with the time since when, on the monotonic
    /// clock.
    pending: HashMap<u32, (u64, Counts)>,
    /// The time when the reader's sums were taken last.
    taken: u64,
    /// The calls that were lost.
    lost: u64,
    /// The ranges of the agent's code in all programs.
    agents: HashSet<(u64, u64)>,
}

impl Syscalls {
    /// Begins to count the calls of these threads, and of all that they start.
    pub(crate) fn watch(&mut self, core: &mut Core, tids: &[u32], begins: Begins) {
        let Some((&first, others)) = tids.split_first().filter(|_| core.options.syscalls) else {
            return;
        };
        let begins = match core.running {
            true => begins,
            false => Begins::Later,
        };
        match begin(first, others, begins) {
            Ok((reader, tracepoint)) => {
                if core.running && begins == Begins::Later {
                    reader.set_running(true);
                }
                self.0 = Some(Counting {
                    reader,
                    tracepoint,
                    rates: CallRates::new(),
                    random: Random::begin(),
                    pending: HashMap::new(),
                    taken: sys::nanoseconds(libc::CLOCK_MONOTONIC),
                    lost: 0,
                    agents: HashSet::new(),
                });
            }
            Err(why) => core.notes.push(format!(
                "system calls are not counted: {}",
                syscalls_refused(&why)
            )),
        }
    }

    fn emit(&mut self, core: &Core, of: impl Fn(u32) -> bool, sink: &mut Sink<'_>) {
        if let Some(counting) = &mut self.0 {
            counting.take();
            counting.find_agents(core);
            counting.emit(core, of, sink);
        }
    }
}

/// The reader, and the number of the tracepoint.
fn begin(first: u32, others: &[u32], begins: Begins) -> Result<(Reader, u64), Uncounted> {
    let mut exits = SyscallExits::open(first, begins)?;
    let tracepoint = exits.tracepoint();
    let added = others.iter().try_for_each(|&tid| exits.add(tid));
    added
        .and_then(|()| Reader::start(exits))
        .map(|reader| (reader, tracepoint))
        .map_err(Uncounted::Event)
}

impl Counting {
    fn take(&mut self) {
        let sums = self.reader.take();
        self.lost += sums.lost;
        for (pid, counts) in sums.by_process {
            let since = self.taken;
            let (_, pending) = (self.pending.entry(pid)).or_insert_with(|| (since, Counts::new()));
            for (kind, count) in counts {
                *self.rates.entry(kind.tid).or_default() += count;
                *pending.entry(kind).or_default() += count;
            }
        }
        self.taken = sys::nanoseconds(libc::CLOCK_MONOTONIC);
    }

    /// Notes where the agent's code lies in the living programs.
    fn find_agents(&mut self, core: &Core) {
        let Some(agent) = core.options.agent.as_deref() else {
            return;
        };
        for program in core.processes.programs.values() {
            self.agents.extend(ranges_of(program, agent));
        }
    }

    fn is_agents(&self, kind: &Kind) -> bool {
        let mut ranges = self.agents.iter();
        ranges.any(|&(start, end)| (start..=end).contains(&kind.next))
    }

    /// Emits the calls of these processes, if their programs are known.
    fn emit(&mut self, core: &Core, of: impl Fn(u32) -> bool, sink: &mut Sink<'_>) {
        let now = core.scale.cycles_at(self.taken);
        let mut by_program: HashMap<u32, Vec<u64>> = HashMap::new();
        let mut pending = std::mem::take(&mut self.pending);
        pending.retain(|pid, (since, counts)| {
            let Some(&key) = core.processes.last_of.get(pid).filter(|_| of(*pid)) else {
                return true;
            };
            let from = core.scale.cycles_at(*since);
            let words = by_program.entry(key).or_default();
            // One place of the code or another: they are the same calls.
            let mut calls = Counts::new();
            for (kind, count) in counts.iter().filter(|(kind, _)| !self.is_agents(kind)) {
                *calls.entry(Kind { next: 0, ..*kind }).or_default() += count;
            }
            for (kind, count) in calls {
                let head = SyscallsHead {
                    thread: core.processes.number_of(key, kind.tid).unwrap_or(0),
                    tid: kind.tid,
                    from,
                    to: now,
                    error: kind.error,
                    count,
                };
                words.extend(head.to_words(&name_of(&kind)));
            }
            false
        });
        self.pending = pending;
        emit_words(by_program, sink);
    }
}

fn name_of(kind: &Kind) -> String {
    match kind.is_of_32_bits {
        true => format!("32-bit call {}", kind.number),
        false => syscall_name(kind.number).into_owned(),
    }
}

/// The ranges of the agent's code in a program.
fn ranges_of(program: &Program, agent: &Path) -> Vec<(u64, u64)> {
    /// The file of an agent that came into a running program.
    const LATE: &str = "/memfd:libprofundo-agent-";
    let is_agent = |path: &str| Path::new(path) == agent || path.starts_with(LATE);
    let modules = program.modules.loaded().iter();
    let modules = modules.filter(|module| is_agent(&module.info.path));
    modules
        .map(|module| (module.info.start, module.info.end))
        .collect()
}

impl Part for Syscalls {
    fn begin(&mut self, core: &mut Core, program: &mut Program) {
        if let (Some(counting), Some(agent)) = (&mut self.0, core.options.agent.as_deref()) {
            counting.agents.extend(ranges_of(program, agent));
        }
    }

    fn paused(&mut self, _core: &mut Core) {
        if let Some(counting) = &mut self.0 {
            counting.reader.set_running(false);
            counting.take();
        }
    }

    fn resume(&mut self, _core: &mut Core) {
        if let Some(counting) = &mut self.0 {
            counting.taken = sys::nanoseconds(libc::CLOCK_MONOTONIC);
            counting.reader.set_running(true);
        }
    }

    fn turn(&mut self, core: &mut Core, _sink: &mut Sink<'_>) {
        let Some(counting) = &self.0 else { return };
        let plan = core.clock_plan();
        for program in core.processes.programs.values_mut() {
            if let Way::Agent(agent) = &mut program.way {
                agent.open_call_clocks(plan, counting.tracepoint);
            }
        }
    }

    fn second(&mut self, core: &mut Core, _now: u64, sink: &mut Sink<'_>) {
        self.emit(core, |_| true, sink);
        let Some(counting) = &mut self.0 else { return };
        let rates = std::mem::take(&mut counting.rates);
        for program in core.processes.programs.values_mut() {
            if let Way::Agent(agent) = &mut program.way {
                agent.vary_call_clocks(&rates, &mut counting.random);
            }
        }
    }

    fn ending(&mut self, core: &mut Core, key: u32, sink: &mut Sink<'_>) {
        let Some(pid) = core.processes.programs.get(&key).map(|program| program.pid) else {
            return;
        };
        self.emit(core, |other| other == pid, sink);
    }

    fn clear(&mut self, _core: &mut Core) {
        if let Some(counting) = &mut self.0 {
            counting.take();
            counting.pending.clear();
            counting.lost = 0;
        }
    }

    fn stop(&mut self, core: &mut Core, sink: &mut Sink<'_>) {
        if let Some(counting) = &self.0 {
            counting.reader.set_running(false);
        }
        self.emit(core, |_| true, sink);
    }

    fn last_notes(&mut self, core: &mut Core, _sink: &mut Sink<'_>) {
        let Some(counting) = self.0.take() else {
            return;
        };
        if counting.lost > 0 {
            core.notes.push(format!(
                "{} system calls were not counted: they came faster than they could be read",
                counting.lost
            ));
        }
        let left = counting.pending.values().map(|(_, counts)| counts);
        let left: u64 = left.flat_map(HashMap::values).sum();
        if left > 0 {
            core.notes.push(format!(
                "{left} system calls are of processes that ended before they could be recorded"
            ));
        }
    }
}

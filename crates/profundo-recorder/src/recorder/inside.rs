//! Running processes that the agent comes into: they are watched first, and their agents say hello
//! like those of any program. Before the agents leave, no clock sends a signal any more.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use profundo_linux::perf::{Begins, SideBand};
use profundo_linux::proc;
use profundo_linux::sys;
use profundo_permits::may_be_read;
use profundo_probe::shared::{Regions, trap_state};
use profundo_process::modules::{MappingHistory, ModuleList};
use profundo_wire::recording::Event;

use super::Recorder;
use crate::agent::Agent;
use crate::engines::Begun;
use crate::error::Error;
use crate::parts::Part;
use crate::parts::naming::{list, name_of};
use crate::program::Way;

impl Recorder {
    /// Begins to watch running processes, the first of which is the main one. Their agents are
    /// about to come.
    pub fn expect_agents(&mut self, pids: &[u32]) -> Result<(), Error> {
        let Some(&first) = pids.first() else {
            return Ok(());
        };
        may_be_read(first).map_err(Error::Refused)?;
        self.core.processes.root = Some(first);
        let tids: Vec<u32> = pids.iter().flat_map(|&pid| proc::threads(pid)).collect();
        match SideBand::open_running(&tids) {
            Ok(side_band) => {
                self.take_side_band(side_band);
            }
            Err(error) => self.core.notes.push(format!(
                "processes are found by looking at /proc every 100 ms: the kernel does not tell of them ({error})"
            )),
        }
        if self.core.running {
            self.parts.energy.resume(&mut self.core);
        }
        self.parts.wall.watch(&mut self.core, first, &tids);
        let begins = Begins::Later;
        self.parts.syscalls.watch(&mut self.core, &tids, begins);
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        for &pid in pids {
            self.core.processes.expect(pid, 0, now);
        }
        Ok(())
    }

    /// Begins to sample a running process from outside if no agent is to come into it, although one
    /// could. Returns whether it does.
    pub fn leave_outside(&mut self, pid: u32, sink: &mut dyn FnMut(Event<'_>)) -> bool {
        let mut modules = ModuleList::default();
        let now = profundo_probe::clock::now();
        let history = MappingHistory::default();
        let store = &mut self.core.transport.store;
        modules.refresh(pid, &proc::read(pid, "maps"), now, &history, store);
        if !self.core.is_left_outside(&modules) {
            return false;
        }
        self.begin_outside(pid, 0, Begun::Before, sink);
        self.core.processes.newcomers.remove(&pid);
        true
    }

    /// The number of regions that a program has open which records itself. `None`: it does not say.
    pub fn open_regions(&self, pid: u32) -> Option<u32> {
        let open = self.regions(pid)?.open.load(Ordering::SeqCst);
        open.checked_sub(1)
    }

    /// Tells such a program whether sampling is paused because no region was open.
    pub fn set_idle(&self, pid: u32, is_idle: bool) {
        if let Some(regions) = self.regions(pid) {
            regions.is_idle.store(is_idle.into(), Ordering::SeqCst);
        }
    }

    fn regions(&self, pid: u32) -> Option<&Regions> {
        let key = self.core.processes.program_of(pid)?;
        let agent = self.core.processes.programs.get(&key)?.agent()?;
        Some(&agent.header().regions)
    }

    /// Notes the descendants of a process that are not recorded, because they began before a time:
    /// in nanoseconds since the machine was started. This looks at all processes of the machine.
    pub fn note_left_alone(&mut self, pid: u32, time: u64) {
        let own = std::process::id();
        let began_before = |stat: &proc::Stat| stat.state != b'Z' && stat.started < time;
        let is_earlier = |&child: &u32| {
            child != own
                && self.core.processes.program_of(child).is_none()
                && proc::stat(child).as_ref().is_some_and(began_before)
        };
        let children = proc::descendants(pid).into_iter().map(|(child, _)| child);
        let left_alone: Vec<u32> = children.filter(is_earlier).collect();
        let mut is_new = |child: &u32| self.left_alone.insert(*child);
        let names: Vec<String> = (left_alone.into_iter().filter(|child| is_new(child)))
            .map(|child| format!("{} ({child})", name_of(&proc::command_line(child))))
            .collect();
        if !names.is_empty() {
            self.core.notes.push(format!(
                "processes that began while nothing was recorded are not in it: {}",
                list(&names)
            ));
        }
    }

    /// Closes all clocks of programs with agents, for good, and waits until none of their signals
    /// is on its way: the agents are about to leave. Returns the living processes with agents.
    pub fn release_agents(&mut self, sink: &mut dyn FnMut(Event<'_>)) -> Vec<u32> {
        if self.core.running {
            self.run(false);
        }
        // The agents' memory goes with them.
        self.core.drain(sink);
        let mut pids = Vec::new();
        for program in self.core.processes.programs.values_mut() {
            if let Way::Agent(agent) = &mut program.way {
                agent.release();
                pids.push(program.pid);
            }
        }
        for &pid in &pids {
            await_switches(pid);
        }
        pids
    }
}

impl Agent {
    /// Closes all clocks, and answers what the agent asks when it leaves.
    fn release(&mut self) {
        self.close_clocks();
        let header = self.header();
        // Release pairs with the acquire of the agent: no clock sends a signal any more.
        header.signal_heard.store(0, Ordering::Release);
        header.trap.store(trap_state::NEVER, Ordering::Release);
    }
}

/// Waits until each thread of a process has been on a CPU since its clock was closed, or waits: a
/// signal that was on its way to a preempted thread has arrived then.
fn await_switches(pid: u32) {
    const LONGEST: Duration = Duration::from_secs(1);
    const PAUSE: Duration = Duration::from_millis(1);
    let runs = |tid: u32| proc::thread_state(pid, tid) == Some(b'R');
    let began = Instant::now();
    let mut left: Vec<(u32, Option<u64>)> = (proc::threads(pid).into_iter())
        .map(|tid| (tid, proc::thread_cpu(pid, tid)))
        .collect();
    loop {
        left.retain(|&(tid, before)| runs(tid) && proc::thread_cpu(pid, tid) == before);
        if left.is_empty() || began.elapsed() > LONGEST {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

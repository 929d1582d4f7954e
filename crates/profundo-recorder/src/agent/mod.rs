//! A process with an agent: its ring is drained, and its threads get clocks.

mod blocking;
mod call_clocks;
mod clocks;
mod drain;
mod signal;
mod threads;
mod words;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use profundo_linux::perf::Signal;
use profundo_probe::shared::{COMMAND_BYTES, Header, Ring, start_kind};
use profundo_session::{RingMap, SumsMap};
use profundo_wire::recording::LossCounts;

pub(crate) use call_clocks::CallRates;
pub(crate) use words::Words;

use threads::Thread;

/// The parameters of a clock that is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClockPlan {
    /// Whether the clocks are opened by us, rather than the agent's timers.
    pub(crate) ours: bool,
    pub(crate) period: u64,
    pub(crate) running: bool,
    /// The mark at the start of the tables.
    pub(crate) mark: u64,
}

/// The cost of sampling to the sampled threads.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    /// Cycles spent in handlers.
    pub(crate) cycles: u64,
    /// The number of runs of handlers.
    pub(crate) handled: u64,
    /// The number of context switches.
    pub(crate) switches: u64,
    /// The number of context switches of threads with task clocks.
    pub(crate) clocked: u64,
}

impl Cost {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            cycles: self.cycles.saturating_add(other.cycles),
            handled: self.handled.saturating_add(other.handled),
            switches: self.switches.saturating_add(other.switches),
            clocked: self.clocked.saturating_add(other.clocked),
        }
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        Self {
            cycles: self.cycles.saturating_sub(other.cycles),
            handled: self.handled.saturating_sub(other.handled),
            switches: self.switches.saturating_sub(other.switches),
            clocked: self.clocked.saturating_sub(other.clocked),
        }
    }
}

/// The agent's side of a process.
#[derive(Debug)]
pub(crate) struct Agent {
    /// The ring's number.
    pub(crate) index: usize,
    pub(crate) map: Arc<RingMap>,
    /// Its counts of allocations, if it counts them.
    pub(crate) sums: Option<SumsMap>,
    /// The process; 0 once it has executed another program.
    pid: u32,
    threads: Vec<Thread>,
    /// Our numbers of its threads, by those that it has for them. `None`: they are the same.
    outside: Option<HashMap<u32, u32>>,
    /// The numbers of living threads in the recording, by the kernel's numbers.
    numbers: HashMap<u32, u32>,
    /// The number of threads seen. Ended ones are not kept.
    met: usize,
    generation: u64,
    /// The signal that the clocks send.
    signal: Signal,
    /// Whether the clocks are stopped because a thread is about to execute another program.
    is_silent: bool,
    /// Whether the list of modules could not be published and must be.
    pub(crate) unpublished: bool,
    handled: u64,
    /// The value of `handled` at the last check for debuggers.
    handled_before: u64,
    /// The time that ended threads have run.
    ran: u64,
    /// The time that all samples stand for, and the samples of threads without clocks.
    sampled: u64,
    by_ticks: u64,
    /// Names of threads that have not been seen yet.
    renamed: Vec<(u32, [u8; 16])>,
    /// The number of threads without a clock, and the kernel's last error.
    pub(crate) without_clock: usize,
    pub(crate) refusal: Option<io::Error>,
    /// Whether the cost of its start is no part of the recording.
    forgets_start: bool,
    /// The losses at the last check for blocking threads.
    lost: LossCounts,
    /// The time added for blocking threads, and the time without samples of all threads at that
    /// check.
    added_for_blocking: u64,
    hidden: u64,
}

impl Agent {
    /// `is_elsewhere`: its pid namespace is another one than ours.
    pub(crate) fn new(index: usize, map: Arc<RingMap>, pid: u32, is_elsewhere: bool) -> Self {
        Self {
            outside: is_elsewhere.then(HashMap::new),
            index,
            map,
            sums: None,
            pid,
            threads: Vec::new(),
            numbers: HashMap::new(),
            met: 0,
            generation: 0,
            signal: Signal::Asked(libc::SIGURG),
            is_silent: false,
            unpublished: false,
            handled: 0,
            handled_before: 0,
            ran: 0,
            sampled: 0,
            by_ticks: 0,
            renamed: Vec::new(),
            without_clock: 0,
            refusal: None,
            forgets_start: false,
            lost: LossCounts::default(),
            added_for_blocking: 0,
            hidden: 0,
        }
    }

    pub(crate) fn ring(&self) -> &Ring {
        self.map.ring()
    }

    pub(crate) fn header(&self) -> &Header {
        &self.map.ring().header
    }

    /// The cost of its start in nanoseconds, unless the recording was cleared since.
    pub(crate) fn start_cost(&self) -> u64 {
        match self.forgets_start {
            true => 0,
            false => self.header().ends.start_cost.load(Ordering::Relaxed),
        }
    }

    /// Whether the loader has loaded the agent into this program during the recording.
    pub(crate) fn was_loaded(&self) -> bool {
        let kind = self.header().kind.load(Ordering::Relaxed);
        kind == start_kind::EXEC && !self.forgets_start
    }

    /// The name of the main thread, which is the program's unless it was changed.
    pub(crate) fn main_name(&self) -> Option<String> {
        let name = self.map.record(0)?.name();
        let end = name.iter().position(|&byte| byte == 0);
        let name = name.get(..end.unwrap_or(name.len()))?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    /// The command line that the agent has written, and whether it is complete; empty after a fork.
    pub(crate) fn command(&self) -> (String, bool) {
        let header = self.header();
        // Acquire pairs with the agent's release.
        let length = header.command_bytes.load(Ordering::Acquire) as usize;
        let is_whole = (1..COMMAND_BYTES).contains(&length);
        let words = header.command.iter().take(length.div_ceil(8));
        let bytes: Vec<u8> = words
            .flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes())
            .take(length)
            .collect();
        (profundo_wire::command::line(&bytes), is_whole)
    }

    /// The number of the next list.
    pub(crate) fn next_generation(&mut self) -> u64 {
        self.generation += 1;
        self.generation
    }

    /// Forgets what was sampled before the recording was cleared.
    pub(crate) fn clear(&mut self) {
        self.forgets_start = true;
        self.by_ticks = 0;
    }

    /// The time that samples of threads without task clocks stand for.
    pub(crate) fn by_ticks(&self) -> u64 {
        self.by_ticks
    }

    /// Starts or stops all clocks.
    pub(crate) fn set_running(&mut self, running: bool, now: u64) {
        if running {
            self.header().resumed.fetch_add(1, Ordering::Relaxed);
        }
        self.header()
            .enabled
            .store(u32::from(running), Ordering::Relaxed);
        for thread in &mut self.threads {
            let Some(record) = self.map.record(thread.index) else {
                continue;
            };
            match &thread.clock {
                Some(clock) if running && !self.is_silent => drop(clock.enable()),
                Some(clock) => clock.disable(),
                None => {}
            }
            if !running {
                thread.calls.close();
            }
            let cpu = thread.cpu_now(self.pid, record);
            if running {
                thread.alive.go(now);
                thread.cpu.go(cpu);
            } else {
                thread.alive.stop(now);
                thread.cpu.stop(cpu);
            }
        }
    }

    /// Notes that the process has executed another program: the kernel's later figures are not
    /// about this one.
    pub(crate) fn note_replaced(&mut self) {
        self.pid = 0;
    }

    /// Closes all clocks: the program has ended or was replaced.
    pub(crate) fn close_clocks(&mut self) {
        for thread in &mut self.threads {
            thread.clock = None;
            thread.calls.close();
        }
    }

    /// The losses so far.
    pub(crate) fn loss(&self) -> LossCounts {
        let counters = &self.header().counters;
        LossCounts {
            buffer_full: counters.buffer_full.load(Ordering::Relaxed),
            overwritten: 0,
            reentrant: counters.reentrant.load(Ordering::Relaxed),
            thread_table_full: counters.thread_table_full.load(Ordering::Relaxed),
        }
    }

    /// The cost of sampling to its threads.
    pub(crate) fn cost(&self) -> Cost {
        let counters = &self.header().counters;
        Cost {
            cycles: counters.cycles.load(Ordering::Relaxed),
            handled: counters.handled.load(Ordering::Relaxed),
            switches: counters.switches.load(Ordering::Relaxed),
            clocked: counters.clocked_switches.load(Ordering::Relaxed),
        }
    }
}

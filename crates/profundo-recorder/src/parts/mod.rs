//! The features of a recording. Each is a folder or a file here, behind one trait: what it does
//! when a program begins, when sampling pauses, at each turn, when a program ends, when the
//! recording is cleared, and when it is over.
//!
//! Parts share what is in [`Core`], and do not know of each other. (Only the wall clock owns the
//! counting of traffic, which asks the threads that the kernel has switched.)

mod allocations;
mod calls;
mod energy;
mod gauge;
mod generated;
pub(crate) mod naming;
mod native_calls;
mod special;
mod syscalls;
mod traffic;
mod unreachable;
mod wall;

use std::collections::HashMap;
use std::time::Duration;

use profundo_wire::recording::Event;

use crate::core::Core;
use crate::program::Program;

pub(crate) use wall::TICK;

use allocations::Allocations;
use calls::Calls;
use energy::Energy;
use gauge::Gauge;
use generated::Generated;
use native_calls::Tallies;
use special::Special;
use syscalls::Syscalls;
use unreachable::Unreachable;
use wall::Wall;

/// The receiver of the recording's events.
pub(crate) type Sink<'a> = dyn FnMut(Event<'_>) + 'a;

/// The reason why a program is removed from the list of living programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// Its process has ended.
    Ended,
    /// Its process runs another program now.
    Replaced,
    /// The recording is over, and the program still runs.
    Alive,
}

/// A switch of a thread by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// It was given a CPU.
    In,
    /// It left the CPU voluntarily.
    Out,
    /// It was preempted.
    Preempted,
}

/// Emits the words of programs.
fn emit_words(by_program: HashMap<u32, Vec<u64>>, sink: &mut Sink<'_>) {
    for (process, words) in by_program {
        if !words.is_empty() {
            let words = &words;
            sink(Event::Words { process, words });
        }
    }
}

/// A feature of a recording. Parts implement only the methods that they need.
pub(crate) trait Part {
    /// A program with an agent has said hello, and waits until all parts have returned. So this
    /// does only what must be done before the program begins.
    fn hello(&mut self, _core: &mut Core, _key: u32, _pid: u32) {}

    /// A program with an agent begins, and is about to be entered.
    fn begin(&mut self, _core: &mut Core, _program: &mut Program) {}

    /// Sampling is about to be paused: measurements so far are kept.
    fn pause(&mut self, _core: &mut Core) {}

    /// Sampling has stopped: the clocks of all programs are off.
    fn paused(&mut self, _core: &mut Core) {}

    /// Sampling resumes.
    fn resume(&mut self, _core: &mut Core) {}

    /// The time until this part has something to do.
    fn until_due(&self, _core: &Core) -> Duration {
        Duration::MAX
    }

    /// Does what is due in a turn, before ended programs are removed.
    fn turn(&mut self, _core: &mut Core, _sink: &mut Sink<'_>) {}

    /// Does what is due in a turn, after ended programs have been removed.
    fn turn_of_living(&mut self, _core: &mut Core, _sink: &mut Sink<'_>) {}

    /// Does what is due once a second. `now` is monotonic, in nanoseconds.
    fn second(&mut self, _core: &mut Core, _now: u64, _sink: &mut Sink<'_>) {}

    /// A program has ended, and its last samples were taken. It is still in the list.
    fn ending(&mut self, _core: &mut Core, _key: u32, _sink: &mut Sink<'_>) {}

    /// A program was removed from the list. Its ring is not recycled yet.
    fn ended(
        &mut self,
        _core: &mut Core,
        _program: &mut Program,
        _why: Leaving,
        _sink: &mut Sink<'_>,
    ) {
    }

    /// The recording is cleared. Sampling is paused.
    fn clear(&mut self, _core: &mut Core) {}

    /// The recording is about to end; programs are still sampled.
    fn stop(&mut self, _core: &mut Core, _sink: &mut Sink<'_>) {}

    /// The recording is over, and all programs have been removed.
    fn finish(&mut self, _core: &mut Core, _sink: &mut Sink<'_>) {}

    /// Adds the notes about the recording as a whole.
    fn last_notes(&mut self, _core: &mut Core, _sink: &mut Sink<'_>) {}
}

/// All parts.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) wall: Wall,
    pub(crate) generated: Generated,
    allocations: Allocations,
    pub(crate) special: Special,
    calls: Calls,
    pub(crate) syscalls: Syscalls,
    tallies: Tallies,
    unreachable: Unreachable,
    gauge: Gauge,
    pub(crate) energy: Energy,
}

impl Parts {
    /// The parts that are requested, before the first program.
    pub(crate) fn new(options: &crate::options::Options, notes: &mut Vec<String>) -> Self {
        Self {
            wall: Wall::default(),
            generated: Generated::default(),
            allocations: Allocations::default(),
            special: Special::default(),
            calls: Calls,
            syscalls: Syscalls::default(),
            tallies: Tallies::default(),
            unreachable: Unreachable,
            gauge: Gauge::new(options),
            energy: Energy::open(options, notes),
        }
    }

    /// All parts, in the order in which they are called. Programs that wait for an answer
    /// (`tallies`, `unreachable`) come before readings that take time (`gauge`).
    pub(crate) fn all(&mut self) -> [&mut dyn Part; 10] {
        [
            &mut self.wall,
            &mut self.generated,
            &mut self.allocations,
            &mut self.special,
            &mut self.calls,
            &mut self.tallies,
            &mut self.unreachable,
            &mut self.syscalls,
            &mut self.gauge,
            &mut self.energy,
        ]
    }
}

//! The meaning of a signal for the thread that it interrupts.

use profundo_wire::State;

/// The meaning of a signal.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// The nanoseconds that this sample stands for. For a task clock's tick, in a program that
    /// profiles itself, the nominal period, until the handler knows better.
    pub weight: u64,
    /// The state of the thread.
    pub state: State,
    /// The perf event that it came from, 0 if none. A thread is sampled by the first one only.
    pub tag: u64,
    /// The treatment of a thread inside a system call.
    pub system_call: SystemCall,
    /// Take it only if the wall-clock helper has asked for this thread, as often as it asked.
    pub only_if_wanted: bool,
}

impl Event {
    /// True for a tick of a clock that runs with the thread, so that its ticks add up to the
    /// thread's time.
    pub(crate) fn is_tick(&self) -> bool {
        let runs_with_it = matches!(self.system_call, SystemCall::Never | SystemCall::Check);
        runs_with_it && !self.only_if_wanted
    }
}

/// The treatment of a thread inside a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemCall {
    /// No check: the clock ticks in user code alone.
    Never,
    /// A check, for the sample's state.
    Check,
    /// No check, but the system time that the kernel has counted for the thread since the last
    /// question: the sample stands for it, and without any it is not taken. It includes page
    /// faults, which the registers would not show.
    Counted,
    /// It has just returned from one, and is sampled for that: no time has passed.
    Returned,
}

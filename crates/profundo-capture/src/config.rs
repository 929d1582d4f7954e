//! The settings, with Julia's defaults.

use std::time::Duration;

/// Julia's default buffer: ten million words, 80 MB of address space, touched as samples come.
pub const DEFAULT_WORDS: u64 = 10_000_000;

/// Julia's default delay between samples.
pub const DEFAULT_DELAY: Duration = Duration::from_millis(1);

/// The engine that samples CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum EngineChoice {
    /// The best one that this machine permits.
    #[default]
    Auto,
    /// `perf_event_open` task clocks, at the full rate.
    PerfSignal,
    /// POSIX CPU timers, which deliver at most as often as the kernel ticks; missed ticks are in
    /// each sample's weight.
    CpuTimer,
}

/// The way of a perf event to the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Delivery {
    /// SIGTRAP, unless a debugger or another handler has it.
    #[default]
    Auto,
    /// SIGTRAP: one inherited event reaches every thread that starts later at once.
    Trap,
    /// SIGURG, one event for each thread.
    Urgent,
}

/// The settings of the sampler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The buffer's size in words: a sample costs its depth plus six.
    pub words: u64,
    /// The time between two samples of a busy thread.
    pub delay: Duration,
    /// Whether the newest samples are kept when the buffer is full, rather than the oldest.
    pub ring: bool,
    /// The engine.
    pub engine: EngineChoice,
    /// The delivery of perf events.
    pub delivery: Delivery,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            words: DEFAULT_WORDS,
            delay: DEFAULT_DELAY,
            ring: false,
            engine: EngineChoice::Auto,
            delivery: Delivery::Auto,
        }
    }
}

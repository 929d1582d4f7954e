//! What is known about the recording as a whole.

use crate::{Energy, Loss, Nanos, Profile, StackId};

/// What made the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Engine {
    /// `perf_event_open` task clocks that signal the running thread.
    PerfSignal,
    /// POSIX timers on each thread's CPU clock.
    CpuTimer,
    /// Rings of perf samples, read from outside.
    PerfRing,
    /// A look at which threads have run, at each tick of the recorder's own, from outside.
    ProcPoll,
    /// A helper that picks threads and tasks at random.
    Wall,
    /// Made by hand, or read from a file that does not say.
    #[default]
    Unknown,
}

impl Engine {
    /// The name in reports and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::PerfSignal => "perf-signal",
            Self::CpuTimer => "cpu-timer",
            Self::PerfRing => "perf-ring",
            Self::ProcPoll => "proc-poll",
            Self::Wall => "wall",
            Self::Unknown => "unknown",
        }
    }
}

/// What the samples measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SampleKind {
    /// CPU time.
    #[default]
    Cpu,
    /// Elapsed time of threads and tasks.
    Wall,
    /// Every call was measured: a sample is what a function took itself in one place of the tree of calls, all its calls
    /// added up.
    Traced,
    /// What was allocated, where that was made the samples of a profile: a weight is no time, but
    /// bytes or blocks.
    Heap(Measure),
}

/// What of a heap is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Measure {
    /// Of which blocks.
    pub part: Part,
    /// Whether they are counted, instead of their bytes.
    pub counts: bool,
}

/// Some of the blocks of a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Part {
    /// All that were allocated.
    #[default]
    Allocated,
    /// Those that were never freed.
    Live,
    /// Those that were there when their process had most.
    Peak,
    /// Those that were freed before their thread had allocated anything else.
    Temporary,
    /// None of them, but what was copied from one place to another.
    Copied,
}

/// The recording as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Meta {
    /// What made the samples.
    pub engine: Engine,
    /// What they measure.
    pub kind: SampleKind,
    /// The nominal time between two samples of a busy thread. 0 where it is unknown.
    pub period: Nanos,
    /// When the recording began, in nanoseconds since 1970.
    pub started_at_unix: u64,
    /// How long it lasted; several sessions in one buffer add up.
    pub duration: Nanos,
    /// How much CPU time the engine could have sampled, by the kernel's count: for
    /// `perf-signal` user time, for `cpu-timer` user and system time.
    pub cpu: Option<Nanos>,
    /// The time our handler took on the program's threads, delivery by the kernel included. Of a program that is
    /// read from outside: how long its threads were held.
    pub own_cost: Option<Nanos>,
    /// CPU time that the profiler's own process used until the recording ended. Known of programs that are read
    /// from outside.
    pub recorder_cpu: Option<Nanos>,
    /// How much CPU time was sampled at the kernel's ticks, beside clocks that tick at any instant: that of threads
    /// which lived shortly or were switched often.
    pub by_ticks: Option<Nanos>,
    /// The energy that the machine has used, where it was asked for and can be read.
    pub energy: Option<Energy>,
    /// What the samples stood for before their weights were made to add up to the CPU time of their
    /// processes. `None`: the weights are as they were recorded.
    pub settled: Option<Settled>,
    /// What was lost.
    pub loss: Loss,
    /// Whether the buffer filled up, so that sampling stopped before the program did.
    pub buffer_was_full: bool,
    /// Sentences for the reader: what was refused, what is out of sight.
    pub notes: Vec<String>,
    /// Whose code a file or a module is, where its place does not tell: patterns for paths, of which the last that fits
    /// decides. What fits is the reader's own, and a library's behind a `!`.
    pub mine: Vec<String>,
}

/// What the samples stood for before each process was given the CPU time that the kernel counted for it.
/// It is not saved: recordings keep the weights as they were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settled {
    /// The sum of the weights.
    pub sampled: Nanos,
    /// The part of it that was taken in system calls.
    pub sampled_in_kernel: Nanos,
    /// How many samples there are; the rows behind them stand for time without a sample.
    pub samples: u64,
    /// The stack of processes that were too short to be sampled.
    pub too_short: Option<StackId>,
    /// The stack of time that samples cannot stand for.
    pub not_sampled: Option<StackId>,
}

impl Settled {
    /// Whether a stack stands for time that was counted and not sampled.
    pub fn is_counted(&self, stack: StackId) -> bool {
        [self.too_short, self.not_sampled].contains(&Some(stack))
    }
}

impl Profile {
    /// How many samples were taken.
    pub fn samples_taken(&self) -> u64 {
        match self.meta.settled {
            Some(settled) => settled.samples,
            None => self.sample_count(),
        }
    }

    /// Whether a stack stands for CPU time that the kernel counted and nobody sampled.
    pub fn is_counted(&self, stack: StackId) -> bool {
        (self.meta.settled).is_some_and(|settled| settled.is_counted(stack))
    }

    /// User and system time that all processes used by the kernel's count, where that is known.
    pub fn cpu_used(&self) -> Option<(Nanos, Nanos)> {
        let sum = |part: fn(&crate::Process) -> Option<Nanos>| {
            let known = self.processes.iter().filter_map(part);
            known.fold(None, |sum: Option<u64>, it| {
                Some(sum.unwrap_or(0).saturating_add(it.0))
            })
        };
        match (sum(|it| it.user), sum(|it| it.system)) {
            (None, None) => None,
            (user, system) => Some((Nanos(user.unwrap_or(0)), Nanos(system.unwrap_or(0)))),
        }
    }
}

impl Meta {
    /// How often a sample of this weight counts that was taken by a clock: see [`Profile::count_of`].
    pub fn count_of(&self, weight: Nanos) -> u64 {
        match self.period.0 {
            0 => 1,
            period => (weight.0.saturating_add(period / 2) / period).max(1),
        }
    }

    /// How many samples the CPU time should have given: `cpu / period`.
    pub fn expected_samples(&self) -> Option<f64> {
        let cpu = self.cpu?;
        (self.period.0 > 0).then(|| cpu.0 as f64 / self.period.0 as f64)
    }
}

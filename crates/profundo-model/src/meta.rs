//! Facts about the recording as a whole.

use crate::{Energy, Loss, Machine, Nanos, Profile, StackId};

/// The source of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Engine {
    /// `perf_event_open` task clocks that signal the running thread.
    PerfSignal,
    /// POSIX timers on each thread's CPU clock.
    CpuTimer,
    /// Rings of perf samples, read from outside.
    PerfRing,
    /// A look from outside at which threads have run, at each tick of the recorder.
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

/// The quantity that the samples measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SampleKind {
    /// CPU time.
    #[default]
    Cpu,
    /// Elapsed time of threads and tasks.
    Wall,
    /// Every call was measured: a sample is the own time of a function in one place of the call
    /// tree, over all its calls.
    Traced,
    /// Events, such as samples of an unknown length, cycles or cache misses: a weight is a number
    /// of them. [`Meta::event`] names them.
    Events,
    /// Allocations turned into samples: a weight is bytes or blocks instead of time.
    Heap(Measure),
}

/// The measured quantity of a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Measure {
    /// The blocks.
    pub part: Part,
    /// Whether blocks are counted instead of their bytes.
    pub counts: bool,
}

/// Some of the blocks of a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Part {
    /// All allocated blocks.
    #[default]
    Allocated,
    /// Blocks never freed.
    Live,
    /// Blocks in use at the peak of their process.
    Peak,
    /// Blocks freed before their thread allocated anything else.
    Temporary,
    /// No blocks, but copies from one place to another.
    Copied,
}

/// The recording as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Meta {
    /// The source of the samples.
    pub engine: Engine,
    /// The quantity that they measure.
    pub kind: SampleKind,
    /// The name of the events that were counted, such as `cycles`; empty for samples. Only with
    /// [`SampleKind::Events`].
    pub event: String,
    /// The nominal time between two samples of a busy thread; 0 where unknown. The number of events
    /// between two samples, with [`SampleKind::Events`]: 1 if each event was counted.
    pub period: Nanos,
    /// Whether samples have no place in time: another tool's file had only their sums.
    pub lacks_times: bool,
    /// Whether all processes of a machine were recorded, or some that were chosen among them.
    pub is_of_machine: bool,
    /// The question that a store of many machines' profiles has answered with this profile. `None`
    /// for a recording. It is not saved.
    pub question: Option<Question>,
    /// The start of the recording, in nanoseconds since 1970.
    pub started_at_unix: u64,
    /// Its length; several sessions in one buffer add up.
    pub duration: Nanos,
    /// CPU time that the engine could have sampled, by the kernel's count: user time for
    /// `perf-signal`, user and system time for `cpu-timer`.
    pub cpu: Option<Nanos>,
    /// The time of our handler on the program's threads, delivery by the kernel included. For a
    /// program that is read from outside: how long its threads were held.
    pub own_cost: Option<Nanos>,
    /// CPU time of the profiler's own process until the end of the recording, for programs that are
    /// read from outside.
    pub recorder_cpu: Option<Nanos>,
    /// CPU time that was sampled at the kernel's ticks, beside clocks that tick at any instant:
    /// that of threads that lived shortly or were switched often.
    pub by_ticks: Option<Nanos>,
    /// The machine that it was made on, where that is known.
    pub machine: Option<Machine>,
    /// The energy that the machine has used, where it was recorded.
    pub energy: Option<Energy>,
    /// The state before the weights were made to add up to the CPU time of their processes. `None`:
    /// the weights are as recorded.
    pub settled: Option<Settled>,
    /// The totals before the weights were made to add up, where that was done before the recording
    /// was saved: it is a part of another one.
    pub weighed: Option<Weighed>,
    /// Counts of lost samples.
    pub loss: Loss,
    /// Whether the buffer filled up, so that sampling stopped before the program did.
    pub buffer_was_full: bool,
    /// Sentences for the reader, about refused access and blind spots.
    pub notes: Vec<String>,
    /// Patterns for paths of code whose owner the place does not show; the last match decides. A
    /// match is the reader's own code, or a library's behind a `!`.
    pub mine: Vec<String>,
}

/// A question to a store of many machines' profiles, in words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Question {
    /// The text as it was typed.
    pub text: String,
    /// The services and their versions.
    pub title: String,
    /// The time, and the rest that was asked for.
    pub rest: String,
    /// The numbers of hosts, processes and threads that the answer is from, those that it knows.
    pub from: Vec<String>,
}

/// The measured totals behind weights that add up to the CPU time of their processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Weighed {
    /// The sum of the weights as measured.
    pub sampled: Nanos,
    /// The part of it that was taken in system calls.
    pub sampled_in_kernel: Nanos,
}

/// The totals before each process was given the CPU time that the kernel counted for it. They are
/// not saved: recordings keep the weights as measured, except for parts of others ([`Weighed`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settled {
    /// The sum of the weights.
    pub sampled: Nanos,
    /// The part of it that was taken in system calls.
    pub sampled_in_kernel: Nanos,
    /// The number of samples; the rows behind them stand for time without a sample.
    pub samples: u64,
    /// The stack of processes too short to be sampled.
    pub too_short: Option<StackId>,
    /// The stack of time beyond the samples.
    pub not_sampled: Option<StackId>,
}

impl Settled {
    /// Whether a stack stands for time that was counted and not sampled.
    pub fn is_counted(&self, stack: StackId) -> bool {
        [self.too_short, self.not_sampled].contains(&Some(stack))
    }
}

impl Profile {
    /// Whether each sample has its place in time.
    pub fn has_times(&self) -> bool {
        match self.meta.kind {
            SampleKind::Cpu | SampleKind::Wall | SampleKind::Events => !self.meta.lacks_times,
            SampleKind::Traced | SampleKind::Heap(_) => false,
        }
    }

    /// Whether weights are numbers of events that were all counted, so that their shares are exact.
    pub fn counts_each_event(&self) -> bool {
        let meta = &self.meta;
        // Samples of an unknown length have no name, and their shares are estimates.
        meta.kind == SampleKind::Events && !meta.event.is_empty() && meta.period.0 == 1
    }

    /// The number of samples taken.
    pub fn samples_taken(&self) -> u64 {
        match self.meta.settled {
            Some(settled) => settled.samples,
            None => self.sample_count(),
        }
    }

    /// Whether a stack stands for CPU time that the kernel counted and no sample covers.
    pub fn is_counted(&self, stack: StackId) -> bool {
        (self.meta.settled).is_some_and(|settled| settled.is_counted(stack))
    }

    /// User and system time of all processes by the kernel's count. `None` if it is not known of a
    /// process that was sampled: its recorder was killed, or still records.
    pub fn cpu_used(&self) -> Option<(Nanos, Nanos)> {
        if self.has_sampled_without_time() {
            return None;
        }
        let sum = |part: fn(&crate::Process) -> Option<Nanos>| {
            let known = self.processes.iter().filter_map(part);
            known.fold(None, |sum: Option<u64>, time| {
                Some(sum.unwrap_or(0).saturating_add(time.0))
            })
        };
        match (sum(|process| process.user), sum(|process| process.system)) {
            (None, None) => None,
            (user, system) => Some((Nanos(user.unwrap_or(0)), Nanos(system.unwrap_or(0)))),
        }
    }

    /// Whether there are samples of a process whose CPU time is not known, beside others whose time
    /// is.
    fn has_sampled_without_time(&self) -> bool {
        let is_unknown = |process: &crate::Process| (process.user, process.system) == (None, None);
        let unknown: Vec<bool> = self.processes.iter().map(is_unknown).collect();
        if !unknown.contains(&true) || !unknown.contains(&false) {
            return false;
        }
        let is_of_one = |sample: &crate::Sample| {
            let process = self.threads.get(sample.thread).process;
            unknown.get(process.index()) == Some(&true)
        };
        self.samples.iter().any(is_of_one)
    }
}

impl Meta {
    /// Adds patterns of whose code it is. They come last, so they decide.
    pub fn add_mine(&mut self, patterns: &[String]) {
        if !self.mine.ends_with(patterns) {
            self.mine.extend_from_slice(patterns);
        }
    }

    /// The count of a sample of this weight that a clock took: see [`Profile::count_of`].
    pub fn count_of(&self, weight: Nanos) -> u64 {
        match self.period.0 {
            0 => 1,
            period => (weight.0.saturating_add(period / 2) / period).max(1),
        }
    }

    /// The number of samples that the CPU time should have given: `cpu / period`.
    pub fn expected_samples(&self) -> Option<f64> {
        let cpu = self.cpu?;
        (self.period.0 > 0).then(|| cpu.0 as f64 / self.period.0 as f64)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Nanos, Process, ProcessId, Profile, Sample, Thread};

    #[test]
    fn the_time_of_a_process_that_was_sampled_is_known_or_none_is() {
        let mut profile = Profile::default();
        let ended = Process {
            user: Some(Nanos(3)),
            system: Some(Nanos(1)),
            ..Process::default()
        };
        profile.processes = vec![ended.clone(), Process::default()];
        let threads = [0, 1].map(|process| {
            profile.threads.push(Thread {
                process: ProcessId::from_index(process),
                ..Thread::default()
            })
        });
        let sample = |thread| Sample {
            thread,
            ..Sample::default()
        };
        // One that was never sampled has hardly run.
        profile.samples = vec![sample(threads[0])];
        assert_eq!(profile.cpu_used(), Some((Nanos(3), Nanos(1))));
        profile.samples.push(sample(threads[1]));
        assert_eq!(profile.cpu_used(), None);
        profile.processes[1] = ended;
        assert_eq!(profile.cpu_used(), Some((Nanos(6), Nanos(2))));
    }
}

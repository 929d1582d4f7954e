//! Options of commands that record.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use profundo_console::options::choices::one_of_described;
use profundo_console::options::values::{
    Size, length_of_time, period_of, rate, seconds, some_seconds,
};
use profundo_recorder::{EngineChoice, Memory};

use crate::recordings::Keep;

use super::AttachedTrace;
use super::view::What;

/// Which allocations are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MemoryChoice {
    /// Some, at random: large ones always, small ones as they come
    Sampled,
    /// Every single one
    Exact,
}

/// What is recorded of the memory of a process that runs already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AttachedMemory {
    /// Some allocations, at random: large ones always, small ones as they come
    Sampled,
    /// Every single allocation
    Exact,
    /// No allocations, but the process's memory over time: nothing is loaded into it
    Outside,
}

/// Bytes between two allocations that are recorded.
pub const SAMPLED: Memory = Memory::Sampled {
    mean: 512 << 10,
    doublings: 4,
};

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "The recording")]
pub struct Recording {
    /// Where the recording goes; `-` is the standard output [default: a name by program and time,
    /// in .profundo]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How many recordings stay in .profundo: a number, a size such as 10G, or `all` [default: the
    /// newest 50, up to 2G]
    #[arg(long, value_name = "HOW MANY")]
    pub keep: Option<Keep>,
    /// Samples per second of CPU time [default: 1000, with -a 199]
    #[arg(short, long, value_name = "HZ", value_parser = rate, allow_negative_numbers = true)]
    pub rate: Option<f64>,
    /// Stop sampling after so long; the program goes on
    #[arg(short, long, value_name = "SECONDS", value_parser = some_seconds, allow_negative_numbers = true)]
    pub duration: Option<Duration>,
    /// Keep only the last so much: 30s, 5m or 2h. It is written when the program ends or crashes,
    /// and by `profundo ctl PID keep`
    #[arg(long, value_name = "TIME", value_parser = length_of_time, allow_negative_numbers = true)]
    pub last: Option<Duration>,
    /// Record where threads wait, too, and for how long; and what they read and write
    #[arg(long)]
    pub wall: bool,
    /// Count each system call and its errors, and record where threads wait, too
    #[arg(long)]
    pub syscalls: bool,
    /// Count the energy that the machine uses meanwhile, and estimate what of it is the program's
    #[arg(long)]
    pub energy: bool,
    /// Record what memory is allocated and who keeps it, and the machine's memory over time; each
    /// single allocation if `exact`
    #[arg(
        long,
        value_enum,
        value_name = "exact",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "sampled",
        hide_possible_values = true
    )]
    pub memory: Option<MemoryChoice>,
    /// Bytes between two allocations that are recorded, about [default: 512K, more where there are
    /// very many]
    #[arg(long, value_name = "SIZE", requires = "memory", hide = true)]
    pub memory_sample: Option<Size>,
    /// Begin sampling only then
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub start_after: Option<Duration>,
    /// Begin sampling only when `profundo ctl PID start` says so
    #[arg(long, conflicts_with = "start_after")]
    pub paused: bool,
    /// Follow the processes that the program starts [default]
    #[arg(long, overrides_with = "no_children")]
    pub children: bool,
    /// Stay with the first process
    #[arg(long, overrides_with = "children")]
    pub no_children: bool,
    /// Record until all processes that it has started have ended, daemons too
    #[arg(long, conflicts_with = "no_children")]
    pub wait_all: bool,
    /// What makes the samples
    #[arg(long, value_parser = one_of_described(EngineChoice::CHOICES), default_value = "auto", hide_possible_values = false)]
    pub engine: EngineChoice,
    /// Let the recording grow to this size, then keep time more coarsely
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "1G",
        allow_negative_numbers = true
    )]
    pub max_size: Size,
    /// Let Python 3.12 and later write a perf map, so that `perf` shows its functions too
    #[arg(long)]
    pub perf_map: bool,
    /// Keep no lines of source code in the recording
    #[arg(long)]
    pub no_source: bool,
    /// The labels that the recording gets, from the option that filters by them elsewhere.
    #[arg(skip)]
    pub labels: Vec<(String, String)>,
}

// How a process is recorded that runs already.
#[derive(Debug, Args)]
#[command(next_help_heading = "The recording")]
pub struct Attached {
    /// Where the recording goes; `-` is the standard output [default: a name by program and time,
    /// in .profundo]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How many recordings stay in .profundo: a number, a size such as 10G, or `all` [default: the
    /// newest 50, up to 2G]
    #[arg(long, value_name = "HOW MANY")]
    pub keep: Option<Keep>,
    /// Samples per second of a thread's CPU time [default: 500]
    #[arg(short, long, value_name = "HZ", value_parser = rate, allow_negative_numbers = true)]
    pub rate: Option<f64>,
    /// How long to record [default: until Ctrl-C, or the process ends]
    #[arg(short, long, value_name = "SECONDS", value_parser = some_seconds, allow_negative_numbers = true)]
    pub duration: Option<Duration>,
    /// Keep only the last so much: 30s, 5m or 2h. It is written when the program ends or crashes,
    /// and by `profundo ctl PID keep`
    #[arg(long, value_name = "TIME", value_parser = length_of_time, allow_negative_numbers = true)]
    pub last: Option<Duration>,
    /// Record where threads wait, too, and for how long; and what they read and write
    #[arg(long)]
    pub wall: bool,
    /// Count each system call and its errors, and record where threads wait, too
    #[arg(long)]
    pub syscalls: bool,
    /// Count the energy that the machine uses meanwhile, and estimate what of it is the program's
    #[arg(long)]
    pub energy: bool,
    /// Enter the process and record what it allocates from then on; each block if `exact`. With
    /// `outside`, only its memory over time
    ///
    /// The reports also say who keeps the memory. With `outside`, nothing is loaded into the process.
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "sampled",
        hide_possible_values = true
    )]
    pub memory: Option<AttachedMemory>,
    /// Enter the process: its threads sample themselves, as after `run`
    #[arg(long, conflicts_with = "dump")]
    pub inside: bool,
    /// Enter the process also where it restricts its own system calls (seccomp), which may end it
    #[arg(long)]
    pub filtered: bool,
    /// Stay with this process, without the children that it has or starts
    #[arg(long)]
    pub no_children: bool,
    /// Let the recording grow to this size, then keep time more coarsely
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "1G",
        allow_negative_numbers = true
    )]
    pub max_size: Size,
    /// Keep no lines of source code in the recording
    #[arg(long)]
    pub no_source: bool,
    /// The labels that the recording gets, from the option that filters by them elsewhere.
    #[arg(skip)]
    pub labels: Vec<(String, String)>,
    #[command(flatten)]
    pub counts: AttachedTrace,
}

/// Why the last minutes of such a recording cannot be kept, if they cannot.
fn last_misfit(
    last: Option<Duration>,
    counts: bool,
    energy: bool,
    output: Option<&Path>,
) -> Option<String> {
    last?;
    let why = if counts {
        "exact counts are of a whole recording, and `--last` keeps its end: leave one of both out"
    } else if energy {
        "energy is counted for a whole recording, and `--last` keeps its end: leave one of both out"
    } else if output.is_some_and(profundo_console::output::is_stdout) {
        "`--last` may write several files, and `-o -` sends one elsewhere: name a file"
    } else {
        return None;
    };
    Some(why.to_owned())
}

impl Attached {
    /// Why `--last` does not go with the other options, if it does not.
    pub fn last_misfit(&self) -> Option<String> {
        let is_exact = self.memory == Some(AttachedMemory::Exact);
        let counts = is_exact || self.counts.trace.is_some();
        last_misfit(self.last, counts, self.energy, self.output.as_deref())
    }

    /// The recorder's setting for memory. Allocations cannot be seen from outside, so its rate has
    /// no effect there.
    pub fn memory(&self) -> Option<Memory> {
        Some(match self.memory? {
            AttachedMemory::Sampled | AttachedMemory::Outside => SAMPLED,
            AttachedMemory::Exact => Memory::Exact,
        })
    }

    /// True if allocations are recorded.
    pub fn has_allocations(&self) -> bool {
        let memory = self.memory;
        matches!(
            memory,
            Some(AttachedMemory::Sampled | AttachedMemory::Exact)
        )
    }

    /// True if the agent enters the process.
    pub fn enters(&self) -> bool {
        self.inside || self.has_allocations() || self.counts.trace.is_some()
    }

    /// True if waits are recorded.
    pub fn has_waits(&self) -> bool {
        self.wall || self.syscalls
    }

    /// The time between two samples in nanoseconds.
    pub fn period(&self) -> u64 {
        period_of(self.rate.unwrap_or(match self.enters() {
            true => 1000.0,
            false => 500.0,
        }))
    }
}

impl Recording {
    /// One of every allocation, and next to nothing else.
    pub fn of_allocations(output: PathBuf) -> Self {
        Self {
            output: Some(output),
            keep: None,
            rate: Some(10.0),
            duration: None,
            last: None,
            wall: false,
            syscalls: false,
            energy: false,
            memory: Some(MemoryChoice::Exact),
            memory_sample: None,
            start_after: None,
            paused: false,
            children: true,
            no_children: false,
            wait_all: false,
            engine: EngineChoice::default(),
            max_size: Size(1 << 30),
            perf_map: false,
            no_source: true,
            labels: Vec::new(),
        }
    }

    /// Adds the options without which this report would have nothing to show.
    pub fn with_all_of(mut self, what: What) -> Self {
        if what.is_of_memory() && self.memory.is_none() {
            self.memory = Some(MemoryChoice::Sampled);
        }
        self.wall |= matches!(what, What::Io | What::Syscalls);
        self
    }

    /// Why `--last` does not go with the other options, if it does not.
    pub fn last_misfit(&self) -> Option<String> {
        let is_exact = self.memory == Some(MemoryChoice::Exact);
        last_misfit(self.last, is_exact, self.energy, self.output.as_deref())
    }

    /// True if waits are recorded.
    pub fn has_waits(&self) -> bool {
        self.wall || self.syscalls
    }

    /// True if processes that the program starts are recorded too.
    pub fn follows(&self) -> bool {
        !self.no_children
    }

    /// The recorder's setting for memory; `None`: no allocations are recorded.
    pub fn memory(&self) -> Option<Memory> {
        let memory = match self.memory? {
            MemoryChoice::Sampled => self.memory_sample.map_or(SAMPLED, |size| Memory::Sampled {
                mean: size.0,
                doublings: 0,
            }),
            MemoryChoice::Exact if self.memory_sample.is_some() => super::refuse(
                "--memory=exact records every allocation, so --memory-sample is not for it",
            ),
            MemoryChoice::Exact => Memory::Exact,
        };
        Some(memory)
    }

    /// The time between two samples in nanoseconds.
    pub fn period(&self) -> u64 {
        period_of(self.rate.unwrap_or(1000.0))
    }

    /// The time between two samples of a CPU, where the whole machine is recorded.
    pub fn period_of_machine(&self) -> u64 {
        period_of(self.rate.unwrap_or(199.0))
    }
}

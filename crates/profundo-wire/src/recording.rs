//! A recording as a whole: the words of all samples and the lists that their numbers point into.
//!
//! It is plain data, so that what captures and what reads meet only here.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::native_calls::Tallies;
use crate::traced::TracedCalls;

/// The source of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// perf task clocks that signal the running thread.
    PerfSignal,
    /// POSIX CPU timers.
    CpuTimer,
    /// perf rings, read from outside.
    PerfRing,
    /// A look from outside at which threads have run, at each tick of the recorder.
    ProcPoll,
    /// A helper that picks threads and tasks at random.
    Wall,
    /// No session has run yet.
    #[default]
    None,
}

/// The same instant on three clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Instant {
    /// The raw cycle counter.
    pub cycles: u64,
    /// The monotonic clock in nanoseconds.
    pub monotonic: u64,
    /// Nanoseconds since 1970.
    pub unix: u64,
}

/// A thread that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadInfo {
    /// Its number, from 1.
    pub number: u32,
    /// The kernel's thread id.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Nanoseconds that it lived while samples were taken.
    pub alive: u64,
    /// CPU time that it used meanwhile, in nanoseconds.
    pub cpu: u64,
}

/// A wrapped asynchronous task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskInfo {
    /// Its number.
    pub number: u64,
    /// The name it was given, or empty.
    pub name: String,
    /// `file:line` where it was made.
    pub spawned_at: String,
}

/// A file mapped into the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleInfo {
    /// Its path; `[vdso]` for the vDSO.
    pub path: String,
    /// The first mapped address.
    pub start: u64,
    /// The end of the last mapping.
    pub end: u64,
    /// The number to subtract from an address to get the address in the file.
    pub bias: u64,
    /// The build id, or empty.
    pub build_id: Vec<u8>,
    /// The time when it was first seen, on the cycle counter.
    pub loaded: u64,
    /// The time when it was unloaded, on the cycle counter; `u64::MAX` while it is loaded.
    pub unloaded: u64,
}

/// A piece of code that a program has generated. One with an end replaces all that began at its
/// address before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedCode {
    /// The first address.
    pub start: u64,
    /// The end address.
    pub end: u64,
    /// The name that its maker gave it.
    pub name: Arc<str>,
    /// The time when it was generated, on the cycle counter; 0 where unknown.
    pub loaded: u64,
    /// The time when it was removed, on the cycle counter; `u64::MAX` while it is there.
    pub unloaded: u64,
    /// The starts of its source lines, sorted; empty where unknown.
    pub lines: Vec<GeneratedLine>,
}

/// The line that generated code belongs to, from an address on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedLine {
    /// The address, counted from the code's start.
    pub offset: u64,
    /// The source file; empty where unknown.
    pub file: Arc<str>,
    /// The line, from 1; 0 where unknown.
    pub line: u32,
}

/// Losses counted while sampling. Losses recorded in a sample itself are not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "each name says what is counted")]
pub struct LossCounts {
    pub buffer_full: u64,
    pub overwritten: u64,
    pub reentrant: u64,
    pub thread_table_full: u64,
}

/// A recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recording {
    /// The samples of each chunk of the buffer. Each chunk is in the order of time; together
    /// they are not.
    pub chunks: Vec<Vec<u64>>,
    /// The source of the samples.
    pub engine: Engine,
    /// The nominal period in nanoseconds.
    pub period: u64,
    /// The start of the first session.
    pub started: Instant,
    /// Now, or the end of the last session.
    pub ended: Instant,
    /// The total time of sessions, in nanoseconds.
    pub duration: u64,
    /// CPU time of the whole process while sessions ran, as far as the engine sees it.
    pub cpu: u64,
    /// The cost of our handlers on the program's threads, in nanoseconds.
    pub own_cost: Option<u64>,
    /// The process id.
    pub pid: u32,
    /// The command line.
    pub command: String,
    /// The threads.
    pub threads: Vec<ThreadInfo>,
    /// The wrapped tasks.
    pub tasks: Vec<TaskInfo>,
    /// The modules, unloaded ones included.
    pub modules: Vec<ModuleInfo>,
    /// Losses counted while sampling.
    pub loss: LossCounts,
    /// Whether the buffer filled up.
    pub buffer_was_full: bool,
    /// Sentences for the reader.
    pub notes: Vec<String>,
}

/// A message of a recorder outside the target, as things happen. A process comes before anything
/// that belongs to it, and a module before the words whose addresses lie in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// The time, after each round of emptying the buffers and once before the first. It relates
    /// cycle counters to times. Samples are flushed when two of these have come since they were
    /// taken.
    Clock(Instant),
    /// A program has begun: by a fork, or by an `exec` in a process known before.
    Process(ProcessInfo),
    /// Modules that are new or have been unloaded.
    Modules {
        /// The process's key.
        process: u32,
        /// Those modules.
        modules: Vec<ModuleInfo>,
    },
    /// A thread that is new, or of which more is known now. Its number is unique in its process.
    Thread {
        /// The process's key.
        process: u32,
        /// All that is known about it.
        thread: ThreadInfo,
        /// Its wait for the interpreter's lock, in nanoseconds.
        gil_wait: u64,
    },
    /// Garbage collections of an interpreter, in their order; empty when it begins to report them.
    Collections {
        /// The process's key.
        process: u32,
        /// Those collections.
        collections: Vec<Collection>,
        /// Earlier collections that were lost.
        lost: u64,
    },
    /// Records, in the order in which one thread wrote them.
    Words {
        /// The process's key.
        process: u32,
        /// The words.
        words: &'a [u64],
    },
    /// Code that a process generated while it ran, or that has been removed. It may come long after
    /// the words whose addresses lie in it.
    Generated {
        /// The process's key.
        process: u32,
        /// Those pieces of code, in the order in which they came and went.
        codes: Vec<GeneratedCode>,
    },
    /// An interpreter was found in a process.
    Runtime {
        /// The process's key.
        process: u32,
        /// Its name and version, such as `CPython 3.12.1`.
        runtime: String,
        /// The path of the module that holds its evaluation loop.
        module: String,
    },
    /// The losses of a process so far.
    Loss {
        /// The process's key.
        process: u32,
        /// The counts.
        loss: LossCounts,
    },
    /// The allocations of a process so far, by stack number.
    Sites {
        /// The process's key.
        process: u32,
        /// The time, on the cycle counter.
        clock: u64,
        /// The stacks whose sums have changed.
        sites: Vec<SiteSum>,
        /// The peak so far.
        peak: Peak,
    },
    /// The traced calls of a process, sent when it has ended.
    Calls {
        /// The process's key.
        process: u32,
        /// Those calls.
        calls: TracedCalls,
    },
    /// The counters that a compiler has put into a file of code, of one process, sent when it has
    /// ended.
    Tallies {
        /// The process's key.
        process: u32,
        /// Those counters.
        tallies: Tallies,
    },
    /// The unreachable blocks of a process, searched for just before its end.
    Unreachable {
        /// The process's key.
        process: u32,
        /// Those blocks.
        found: Unreachable,
    },
    /// The machine's energy use so far while samples were taken.
    Energy(EnergyUsed),
    /// The memory of a process. The gauges of one process come oldest first.
    Gauge(Gauge),
    /// Everything so far is dropped, and so is what comes later of a time before this: the
    /// recording begins here. Processes and threads, with their names, stay known.
    Cleared(Instant),
    /// A program has ended.
    Ended(ProcessEnd),
    /// A sentence for the reader.
    Note(String),
}

/// The allocations of one stack so far: pairs of a number of blocks and of their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SiteSum {
    /// The stack's number; 0 for all stacks without one.
    pub number: u32,
    /// All allocated blocks.
    pub allocated: [u64; 2],
    /// The freed blocks among them.
    pub freed: [u64; 2],
    /// Blocks freed before their thread allocated anything else.
    pub temporary: [u64; 2],
    /// The blocks in use at the peak.
    pub at_peak: [u64; 2],
    /// The lifetimes of all blocks until now, added up, in cycles.
    pub lived: u128,
}

/// Blocks without a pointer to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreachable {
    /// Followed blocks, by their numbers, with no incoming pointer, not even from another lost
    /// block.
    Blocks(Vec<u64>),
    /// All unreachable blocks, by the numbers of their stacks: pairs of a number of blocks and of
    /// their bytes.
    Sites(Vec<(u32, [u64; 2])>),
}

/// The most bytes that a process had allocated and not yet freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Peak {
    /// The bytes in use at the peak.
    pub bytes: u64,
    /// The time of the peak, on the cycle counter.
    pub clock: u64,
}

/// The memory of a process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gauge {
    /// The process's key.
    pub process: u32,
    /// The time when it was read, on the cycle counter.
    pub clock: u64,
    /// Resident bytes, shared ones included.
    pub resident: u64,
    /// The peak of the resident bytes so far; 0 if the kernel does not report it.
    pub peak_resident: u64,
    /// Proportional set size in bytes, where it was read.
    pub proportional: Option<u64>,
    /// Anonymous resident bytes.
    pub anonymous: u64,
    /// Swapped bytes.
    pub swapped: u64,
    /// Minor page faults so far.
    pub minor_faults: u64,
    /// Major page faults so far.
    pub major_faults: u64,
    /// Bytes in live blocks of the allocators; `None` where not all allocations are counted.
    pub in_use: Option<u64>,
    /// Bytes that the program has mapped itself and not yet unmapped; `None` where not all
    /// allocations are counted.
    pub mapped: Option<u64>,
    /// Bytes of `anonymous` that are certainly no allocator's: our own tables, the stack of the
    /// first thread, changed pages of files. `None` where this was not read.
    pub elsewhere: Option<u64>,
    /// Bytes of the interpreter's arenas.
    pub arenas: u64,
}

/// The energy that the machine's counters have measured, and the CPU time of the same interval.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnergyUsed {
    /// The energy of each zone.
    pub zones: Vec<ZoneUsed>,
    /// The length of the interval in nanoseconds.
    pub duration: u64,
    /// CPU time of the whole machine, in nanoseconds.
    pub machine_cpu: u64,
    /// CPU time of the recorded programs, in nanoseconds.
    pub program_cpu: u64,
}

/// The energy counter of one zone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ZoneUsed {
    /// The zone's name, such as `package-0` or `package-0/dram`.
    pub name: String,
    /// The energy used, in microjoules.
    pub microjoules: u64,
    /// True if the zone counts in the sum: it is no part of another one.
    pub is_counted: bool,
}

/// A program in a process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessInfo {
    /// Its number in the recording, from 1. A process has one for each program that it runs.
    pub key: u32,
    /// The kernel's process id.
    pub pid: u32,
    /// The key of the process that forked it, or of the program that it replaced; 0 if there is
    /// none.
    pub parent: u32,
    /// The command line.
    pub command: String,
    /// The initial working directory; empty where unknown.
    pub directory: String,
    /// The names of its environment variables.
    pub environment: Vec<String>,
    /// Its labels, such as its container. No key occurs twice.
    pub labels: Vec<(String, String)>,
    /// The time when it began, on the cycle counter.
    pub started: u64,
}

/// The end of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessEnd {
    /// The program's key.
    pub process: u32,
    /// The time when it ended, on the cycle counter.
    pub ended: u64,
    /// User time in nanoseconds, if known.
    pub user: Option<u64>,
    /// System time in nanoseconds, if known.
    pub system: Option<u64>,
    /// The kind of its end.
    pub how: HowEnded,
}

/// The kind of a program's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HowEnded {
    /// Unknown, or the program goes on.
    #[default]
    Unknown,
    /// With an exit code.
    Exited(u8),
    /// By a signal.
    Killed(u8),
    /// By `exec`.
    Replaced,
}

/// The allocations that are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Allocations {
    /// No allocations.
    #[default]
    None,
    /// On average one allocation in so many bytes.
    Bytes(u64),
    /// All allocations, as sums by stack.
    All,
}

/// The start of a recording from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Start {
    /// The source of the samples.
    pub engine: Engine,
    /// The nominal period in nanoseconds.
    pub period: u64,
    /// Whether waiting is recorded as well, so that the samples add up to elapsed time.
    pub is_wall: bool,
    /// The allocations that are recorded.
    pub allocations: Allocations,
    /// The shortest copies that count, and the copies that are recorded.
    pub copies: (u64, Allocations),
    /// The start of the recording.
    pub started: Instant,
}

/// The end of a recording from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Finish {
    /// The end of the recording.
    pub ended: Instant,
    /// The time of sampling, in nanoseconds, without pauses.
    pub duration: u64,
    /// CPU time that the engine could have sampled, of all processes, in nanoseconds.
    pub cpu: u64,
    /// The cost of our handlers on the programs' threads, delivery included, in nanoseconds. For
    /// programs that are read from outside: how long their threads were held.
    pub own_cost: Option<u64>,
    /// CPU time of the recorder's own process, in nanoseconds, for programs that are read from
    /// outside.
    pub recorder_cpu: Option<u64>,
    /// The part of the sampled CPU time that was sampled at the kernel's ticks, in nanoseconds:
    /// that of threads that lived shortly or were switched often.
    pub by_ticks: u64,
}

/// A garbage collection. Unknown numbers are 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Collection {
    /// The time when it began, in nanoseconds of the monotonic clock.
    pub began: u64,
    /// The length of the program's pause, in nanoseconds.
    pub pause: u64,
    /// The generation: 0 for the youngest objects alone, 2 for all.
    pub generation: u64,
    /// Freed garbage objects.
    pub collected: u64,
    /// Garbage objects that could not be freed.
    pub uncollectable: u64,
    /// Blocks of the interpreter's allocator that were in use before and after.
    pub blocks: [u64; 2],
    /// Resident bytes of the process before and after.
    pub resident: [u64; 2],
}

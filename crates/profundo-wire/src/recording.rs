//! A recording as a whole: the words of all samples and the lists that their numbers point into.
//!
//! It is plain data, so that what captures and what reads meet only here.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::tallies::Tallies;
use crate::traced::TracedCalls;

/// What made the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// perf task clocks that signal the running thread.
    PerfSignal,
    /// POSIX CPU timers.
    CpuTimer,
    /// perf rings, read from outside.
    PerfRing,
    /// A look at which threads have run, at each tick of the recorder's own, from outside.
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

/// A thread that was met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadInfo {
    /// Its number, from 1.
    pub number: u32,
    /// The kernel's thread id.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Nanoseconds for which it was alive while samples were taken.
    pub alive: u64,
    /// CPU time that it used meanwhile, in nanoseconds.
    pub cpu: u64,
}

/// A wrapped task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskInfo {
    /// Its number.
    pub number: u64,
    /// The name it was given, or empty.
    pub name: String,
    /// `file:line` of its making.
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
    /// What to subtract from an address to get the address in the file.
    pub bias: u64,
    /// The build id, or empty.
    pub build_id: Vec<u8>,
    /// When it was first seen and when it was gone, on the cycle counter.
    pub loaded: u64,
    /// `u64::MAX` while it is loaded.
    pub unloaded: u64,
}

/// A piece of code that a program has made. One that is told with the time when it was gone stands for
/// all that began at its place before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedCode {
    /// The first address.
    pub start: u64,
    /// The end of it.
    pub end: u64,
    /// What it is called by whoever made it.
    pub name: Arc<str>,
    /// Since when it is there, on the cycle counter; 0 where nobody knows.
    pub loaded: u64,
    /// `u64::MAX` while it is there.
    pub unloaded: u64,
    /// Where its source lines begin, sorted; empty where they are not known.
    pub lines: Vec<GeneratedLine>,
}

/// From an address on, generated code belongs to a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedLine {
    /// The address, counted from the code's start.
    pub offset: u64,
    /// The source file; empty where it is not known.
    pub file: Arc<str>,
    /// The line, from 1; 0 for none.
    pub line: u32,
}

/// What was lost, counted while sampling. What is in the samples themselves is counted there.
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
    /// What made the samples.
    pub engine: Engine,
    /// The nominal period in nanoseconds.
    pub period: u64,
    /// The start of the first session.
    pub started: Instant,
    /// Now, or the end of the last session.
    pub ended: Instant,
    /// How long sessions ran altogether, in nanoseconds.
    pub duration: u64,
    /// CPU time of the whole process while sessions ran, as far as the engine sees it.
    pub cpu: u64,
    /// What our handlers cost on the program's threads, in nanoseconds.
    pub own_cost: Option<u64>,
    /// The process id.
    pub pid: u32,
    /// The command line.
    pub command: String,
    /// Threads.
    pub threads: Vec<ThreadInfo>,
    /// Tasks.
    pub tasks: Vec<TaskInfo>,
    /// Modules, those unloaded meanwhile included.
    pub modules: Vec<ModuleInfo>,
    /// What was lost.
    pub loss: LossCounts,
    /// Whether the buffer filled up.
    pub buffer_was_full: bool,
    /// Sentences for the reader.
    pub notes: Vec<String>,
}

/// What a recorder outside the target tells, as it happens. A process is told of before anything
/// that belongs to it, and a module before the words whose addresses lie in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// The time, told after each round of emptying the buffers, and once before the first: it is
    /// what turns cycle counters into times. Samples are let go when it has been told twice since
    /// they were taken.
    Clock(Instant),
    /// A program has begun: by a fork, or by an `exec` in a process known before.
    Process(ProcessInfo),
    /// Modules that were not told of yet, or that have been unloaded.
    Modules {
        /// The process's key.
        process: u32,
        /// Those modules.
        modules: Vec<ModuleInfo>,
    },
    /// A thread was met, or more is known of it now. Its number is its own in its process.
    Thread {
        /// The process's key.
        process: u32,
        /// All that is known of it.
        thread: ThreadInfo,
        /// How long it waited for the interpreter's lock, in nanoseconds.
        gil_wait: u64,
    },
    /// Collections of garbage of an interpreter, in their order; none at first, when it begins to tell of them.
    Collections {
        /// The process's key.
        process: u32,
        /// Those collections.
        collections: Vec<Collection>,
        /// How many there were before these that were not told of.
        lost: u64,
    },
    /// Records, in the order in which one thread wrote them.
    Words {
        /// The process's key.
        process: u32,
        /// The words.
        words: &'a [u64],
    },
    /// Code that a process has made while it ran, or that is there no longer. It may be told of
    /// long after the words whose addresses lie in it.
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
        /// What it is, as `CPython 3.12.1`.
        runtime: String,
        /// The path of the module that holds its evaluation loop.
        module: String,
    },
    /// What a process has lost so far, all in all.
    Loss {
        /// The process's key.
        process: u32,
        /// The counts.
        loss: LossCounts,
    },
    /// What a process has allocated so far, by the numbers that its stacks have.
    Sites {
        /// The process's key.
        process: u32,
        /// When, on the cycle counter.
        clock: u64,
        /// Those whose sums have changed.
        sites: Vec<SiteSum>,
        /// The most that there was.
        peak: Peak,
    },
    /// What a process has called, told when it has ended.
    Calls {
        /// The process's key.
        process: u32,
        /// Those calls.
        calls: TracedCalls,
    },
    /// What the counters say that a compiler has put into a file of code, of one process, told when that has ended.
    Tallies {
        /// The process's key.
        process: u32,
        /// Those counters.
        tallies: Tallies,
    },
    /// It was looked which blocks of a process nobody points to, just before its end.
    Unreachable {
        /// The process's key.
        process: u32,
        /// Those.
        found: Unreachable,
    },
    /// What the machine has used so far while samples were taken.
    Energy(EnergyUsed),
    /// What a process has of the machine's memory. Those of one process are told oldest first.
    Gauge(Gauge),
    /// What was told so far is to be forgotten, and what is told later of a time before this: the recording begins
    /// here. Who exists, and what it is called, is known all the same.
    Cleared(Instant),
    /// A program has ended.
    Ended(ProcessEnd),
    /// A sentence for the reader.
    Note(String),
}

/// What was allocated on one stack so far: pairs of a number of blocks and of their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SiteSum {
    /// The stack's number; 0 for all stacks that got none.
    pub number: u32,
    /// All of it.
    pub allocated: [u64; 2],
    /// What was freed of it.
    pub freed: [u64; 2],
    /// What was freed before its thread had allocated anything else.
    pub temporary: [u64; 2],
    /// What there was at the peak.
    pub at_peak: [u64; 2],
    /// How long all of it has lived until now, together, in cycles.
    pub lived: u128,
}

/// Blocks that nobody points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreachable {
    /// Of those that were followed, by their numbers: nobody points to them, be it somebody who is lost himself.
    Blocks(Vec<u64>),
    /// All that cannot be come to, by the numbers of their stacks: pairs of a number of blocks and of their bytes.
    Sites(Vec<(u32, [u64; 2])>),
}

/// The most bytes that a process had allocated and not freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Peak {
    /// How many.
    pub bytes: u64,
    /// When, on the cycle counter.
    pub clock: u64,
}

/// What a process has of the machine's memory at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gauge {
    /// The process's key.
    pub process: u32,
    /// When, on the cycle counter.
    pub clock: u64,
    /// Bytes in memory, those that are shared included.
    pub resident: u64,
    /// The most of those up to then; 0 if the kernel does not tell.
    pub peak_resident: u64,
    /// Bytes in memory, each that is shared by its part, where it was looked at.
    pub proportional: Option<u64>,
    /// Bytes in memory that are no file's.
    pub anonymous: u64,
    /// Bytes that were moved out of memory.
    pub swapped: u64,
    /// Page faults so far that were served from memory.
    pub minor_faults: u64,
    /// Page faults so far that had to read.
    pub major_faults: u64,
    /// Bytes in blocks that allocators have handed out and that were not given back; `None` where not all
    /// are counted.
    pub in_use: Option<u64>,
    /// Bytes that the program has asked the kernel for itself, and not given back; the same.
    pub mapped: Option<u64>,
    /// Bytes of `anonymous` that are certainly no allocator's: our own tables, the stack of the first thread,
    /// what was changed of files. `None` where it was not looked at then.
    pub elsewhere: Option<u64>,
    /// Bytes that the interpreter has asked the kernel for, to make objects in.
    pub arenas: u64,
}

/// What the machine's own counters of energy have counted, and who had its processors meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnergyUsed {
    /// What each counter has counted.
    pub zones: Vec<ZoneUsed>,
    /// For how long, in nanoseconds.
    pub duration: u64,
    /// CPU time of all that ran on the machine, in nanoseconds.
    pub machine_cpu: u64,
    /// CPU time of the recorded programs, in nanoseconds.
    pub program_cpu: u64,
}

/// One counter of energy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ZoneUsed {
    /// What it is for, as `package-0` or `package-0/dram`.
    pub name: String,
    /// What was used there.
    pub microjoules: u64,
    /// Whether it is no part of another zone, so that it counts in the sum.
    pub is_counted: bool,
}

/// A program in a process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessInfo {
    /// Its number in the recording, from 1: a process has one for each program that it runs.
    pub key: u32,
    /// The kernel's process id.
    pub pid: u32,
    /// The key of the process that forked it, or of the program that it replaced; 0 if none.
    pub parent: u32,
    /// The command line.
    pub command: String,
    /// The working directory that it began with, as far as that is known; else empty.
    pub directory: String,
    /// The names of its environment variables.
    pub environment: Vec<String>,
    /// When it began, on the cycle counter.
    pub started: u64,
}

/// The end of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessEnd {
    /// Its key.
    pub process: u32,
    /// When, on the cycle counter.
    pub ended: u64,
    /// User time in nanoseconds, if known.
    pub user: Option<u64>,
    /// System time in nanoseconds, if known.
    pub system: Option<u64>,
    /// How.
    pub how: HowEnded,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HowEnded {
    /// Nobody knows, or it goes on.
    #[default]
    Unknown,
    /// With an exit code.
    Exited(u8),
    /// By a signal.
    Killed(u8),
    /// By `exec`.
    Replaced,
}

/// Which allocations are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Allocations {
    /// None.
    #[default]
    None,
    /// One about each so many bytes.
    Bytes(u64),
    /// All of them, as sums by stack.
    All,
}

/// A recording from outside, when it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Start {
    /// What makes the samples.
    pub engine: Engine,
    /// The nominal period in nanoseconds.
    pub period: u64,
    /// Whether waiting is told of as well, so that the samples add up to elapsed time.
    pub is_wall: bool,
    /// Which allocations are told of.
    pub allocations: Allocations,
    /// The shortest copies that count, and which of them are told of.
    pub copies: (u64, Allocations),
    /// When.
    pub started: Instant,
}

/// A recording from outside, when it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Finish {
    /// When.
    pub ended: Instant,
    /// How long samples were taken, in nanoseconds; pauses are not counted.
    pub duration: u64,
    /// CPU time that the engine could have sampled, of all processes, in nanoseconds.
    pub cpu: u64,
    /// What our handlers cost on the programs' threads, delivery included, in nanoseconds. Of programs that are
    /// read from outside: how long their threads were held.
    pub own_cost: Option<u64>,
    /// CPU time that the recorder's own process has used, in nanoseconds; of programs that are read from outside.
    pub recorder_cpu: Option<u64>,
    /// Of the CPU time that samples stand for, what was sampled at the kernel's ticks, in nanoseconds: of threads
    /// that lived shortly or were switched often.
    pub by_ticks: u64,
}

/// A collection of garbage. Of what is not known it says 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Collection {
    /// When it began, in nanoseconds of the monotonic clock.
    pub began: u64,
    /// How long the program was held up, in nanoseconds.
    pub pause: u64,
    /// How far it went: 0 for the youngest objects alone, 2 for all.
    pub generation: u64,
    /// How many objects were garbage, and freed.
    pub collected: u64,
    /// How many were garbage, and could not be freed.
    pub uncollectable: u64,
    /// Blocks of the interpreter's allocator that were in use before and after.
    pub blocks: [u64; 2],
    /// Bytes that the process had in memory before and after.
    pub resident: [u64; 2],
}

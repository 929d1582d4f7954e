//! What the caller wants.

use std::path::PathBuf;

/// What is to make the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EngineChoice {
    /// The best that is permitted.
    #[default]
    Auto,
    /// Task clocks that signal the running thread, or nothing.
    PerfSignal,
    /// Timers of the program's own threads.
    CpuTimer,
    /// From outside only: nothing is loaded into the program.
    PerfRing,
    /// From outside: by perf rings, or where those are refused by looking which threads have run.
    Around,
    /// None: threads are read when the caller says so.
    None,
}

/// Which allocations are looked at, beside the machine's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// One about each so many bytes, at random.
    Sampled {
        /// How many bytes that are.
        mean: u64,
        /// How often a thread may double that while it allocates so much that it would be looked at too
        /// often.
        doublings: u8,
    },
    /// All of them.
    Exact,
}

/// Which calls are counted, and how long they take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calls {
    /// Also those of functions of C's that the interpreter calls.
    pub builtins: bool,
    /// By the CPU time of each thread, not by the clock on the wall.
    pub cpu: bool,
    /// Lines, instead of calls.
    pub lines: Option<Lines>,
}

/// Which lines are counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lines {
    /// Of which functions; none: of all in the program's own files.
    pub of: Vec<LinesOf>,
    /// Which files are its own, where their places do not tell: patterns as in a recording.
    pub mine: Vec<String>,
    /// Whether it is measured for how long each is run.
    pub times: bool,
    /// Whether it is only of interest which are run at all.
    pub once: bool,
}

/// Functions whose lines are counted, by patterns in which `*` is anything and `?` any one byte.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinesOf {
    /// What the path of their file fits, or the end of it; `None`: any.
    pub file: Option<String>,
    /// What their name fits, or that with those that they are in; `None`: any.
    pub name: Option<String>,
}

/// How to record.
#[derive(Debug, Clone)]
pub struct Options {
    /// Nanoseconds of CPU time between two samples of a thread.
    pub period: u64,
    /// Nanoseconds between two looks for system time; 0 for none.
    pub system_period: u64,
    /// What makes the samples.
    pub engine: EngineChoice,
    /// Whether children, and what they execute, are recorded too.
    pub follow: bool,
    /// Threads of processes without an agent are held to be read for at most one part in so many of the
    /// time that they run.
    pub most_held: u64,
    /// Nanoseconds between two looks for threads that wait; `None`: their waiting is not recorded.
    pub wall: Option<u64>,
    /// Where the kernel has the counters of energy, if they are to be read: [`POWERCAP`](crate::POWERCAP).
    pub energy: Option<PathBuf>,
    /// Whether what they read and write is recorded as well.
    pub traffic: bool,
    /// Whether interpreters tell of their collections of garbage.
    pub collections: bool,
    /// What interpreters count of their calls.
    pub calls: Option<Calls>,
    /// Whether memory is looked at, and which allocations.
    pub memory: Option<Memory>,
    /// Whether to begin without sampling, until told.
    pub paused: bool,
    /// The agent's file. Without one everything is sampled from outside.
    pub agent: Option<PathBuf>,
    /// Where compiled tables are kept from one recording to the next; `None` for the user's
    /// cache directory.
    pub cache: Option<PathBuf>,
    /// Where the session's directory is made; `None` for /dev/shm, or else TMPDIR.
    pub place: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            period: 1_000_000,
            system_period: 2_000_000,
            engine: EngineChoice::Auto,
            follow: true,
            most_held: 30,
            wall: None,
            energy: None,
            traffic: true,
            collections: false,
            calls: None,
            memory: None,
            paused: false,
            agent: None,
            cache: None,
            place: None,
        }
    }
}

//! The options of a recording.

use std::path::PathBuf;

use profundo_process::reading::MOST_HELD;

/// The engine that makes the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EngineChoice {
    /// The best that is permitted.
    #[default]
    Auto,
    /// Task clocks that signal the running thread, or nothing.
    PerfSignal,
    /// Timers of the program's own threads.
    CpuTimer,
    /// From outside only: the program has no agent.
    PerfRing,
    /// From outside: by perf rings, or by polling threads where those are refused.
    Around,
    /// None: threads are read when the caller asks for it.
    None,
}

impl EngineChoice {
    /// The choices of a user: the name, the engine, and its description. The other engines are
    /// chosen by a command.
    pub const CHOICES: [(&'static str, Self, &'static str); 4] = [
        ("auto", Self::Auto, "The best that this machine permits"),
        (
            "perf-signal",
            Self::PerfSignal,
            "Clocks of the kernel's that signal the running thread",
        ),
        (
            "cpu-timer",
            Self::CpuTimer,
            "POSIX timers on each thread's CPU time",
        ),
        (
            "perf-ring",
            Self::PerfRing,
            "From outside, without anything in the program",
        ),
    ];
}

/// The allocations that are recorded, besides the process's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Random ones, about one per `mean` bytes.
    Sampled {
        /// The mean number of bytes between two samples.
        mean: u64,
        /// The number of times that a thread may double the mean while its allocations would be
        /// sampled too often.
        doublings: u8,
    },
    /// Every allocation.
    Exact,
}

/// The calls that are counted, and their times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calls {
    /// Also calls of C functions by the interpreter.
    pub builtins: bool,
    /// Times are each thread's CPU time instead of elapsed time.
    pub cpu: bool,
    /// Counts lines instead of calls.
    pub lines: Option<Lines>,
    /// Counts exceptions instead of calls; lines may be counted as well.
    pub exceptions: bool,
}

/// The lines that are counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lines {
    /// The functions whose lines are counted; none: all in the program's own files.
    pub of: Vec<LinesOf>,
    /// Files that are the program's own although their places do not show it: patterns as in a
    /// recording.
    pub mine: Vec<String>,
    /// Whether the time of each line is measured.
    pub times: bool,
    /// Whether it is recorded only which lines ran at all.
    pub once: bool,
}

/// Functions whose lines are counted, by patterns in which `*` is anything and `?` any one byte.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinesOf {
    /// The pattern for the path of their file, or its end; `None`: any.
    pub file: Option<String>,
    /// The pattern for their name, plain or qualified; `None`: any.
    pub name: Option<String>,
}

/// The options.
#[derive(Debug, Clone)]
pub struct Options {
    /// Nanoseconds of CPU time between two samples of a thread.
    pub period: u64,
    /// Nanoseconds between two samples of system time; 0 for none.
    pub system_period: u64,
    /// The engine.
    pub engine: EngineChoice,
    /// Whether children, and the programs that they execute, are recorded too.
    pub follow: bool,
    /// The limit of holding threads of processes without an agent, as one part in so many of the
    /// time that they run.
    pub most_held: u64,
    /// Nanoseconds between two readings of waiting threads; `None`: waits are not recorded.
    pub wall: Option<u64>,
    /// The directory of the energy counters, if they are to be read:
    /// [`POWERCAP`](profundo_linux::energy::POWERCAP).
    pub energy: Option<PathBuf>,
    /// Whether the traffic of threads is recorded as well.
    pub traffic: bool,
    /// Whether system calls and their errors are counted.
    pub syscalls: bool,
    /// Whether interpreters record their garbage collections.
    pub collections: bool,
    /// Whether interpreters have a builtin `profile`, a decorator that does nothing.
    pub builtin: bool,
    /// The calls that interpreters count.
    pub calls: Option<Calls>,
    /// Whether memory is recorded, and which allocations.
    pub memory: Option<Memory>,
    /// Whether to begin paused.
    pub paused: bool,
    /// The agent's file. Without one all programs are sampled from outside.
    pub agent: Option<PathBuf>,
    /// The directory where compiled tables are kept from one recording to the next; `None` for the
    /// user's cache directory.
    pub cache: Option<PathBuf>,
    /// The place of the session's directory; `None` for /dev/shm, or else TMPDIR.
    pub place: Option<PathBuf>,
    /// A process that runs already, which the agent is about to enter: the session's directory lies
    /// where it is found by this process, which may be in a container.
    pub within: Option<u32>,
    /// The processes that are recorded if all of the machine are: those that are chosen.
    pub machine: Option<Chosen>,
}

/// The choice among all processes of a machine. A kind of choice that names nothing leaves none
/// out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    /// These processes, and their descendants.
    pub pids: Vec<u32>,
    /// Processes with the rights of these users.
    pub users: Vec<u32>,
    /// Processes whose program has one of these names, in which `*` is anything.
    pub programs: Vec<String>,
    /// Processes in one of these groups of the kernel (cgroups), or below one: a path, or the name
    /// of one of its folders.
    pub cgroups: Vec<String>,
}

impl Chosen {
    /// Whether all processes are chosen.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            period: 1_000_000,
            system_period: 2_000_000,
            engine: EngineChoice::Auto,
            follow: true,
            most_held: MOST_HELD,
            wall: None,
            energy: None,
            traffic: true,
            syscalls: false,
            collections: false,
            builtin: false,
            calls: None,
            memory: None,
            paused: false,
            agent: None,
            cache: None,
            place: None,
            within: None,
            machine: None,
        }
    }
}

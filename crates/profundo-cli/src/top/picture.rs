//! What a page shows: numbers and names that were worked out, so that drawing is only drawing.

use std::sync::Arc;

use profundo_analysis::{Place, Split};
use profundo_model::{FileId, StringId, ThreadId, Wait};

use super::processes::Sizes;
use super::window::Span;

/// What a table is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum View {
    /// Functions.
    #[default]
    Functions,
    /// Lines of source.
    Lines,
    /// Threads.
    Threads,
    /// Processes, with their memory.
    Processes,
    /// What threads wait for.
    Waits,
}

impl View {
    /// All of them, in the order of their keys.
    pub const ALL: [Self; 5] = [
        Self::Functions,
        Self::Lines,
        Self::Threads,
        Self::Processes,
        Self::Waits,
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Functions => "Functions",
            Self::Lines => "Lines",
            Self::Threads => "Threads",
            Self::Processes => "Processes",
            Self::Waits => "Waits",
        }
    }
}

/// Where code without a name lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Whereabouts {
    /// In the file of this path.
    File(StringId),
    /// In memory where a program has made code.
    Made,
    /// Nobody knows.
    Nowhere,
}

/// What a row is about, from one page to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// A function, by its name and its file.
    Function(StringId, FileId),
    /// What has no function.
    Nameless(Place),
    /// Code without names that lies there.
    Unknown(Whereabouts),
    /// A line of a file.
    Line(FileId, u32),
    /// A thread.
    Thread(ThreadId),
    /// A process, by its number.
    Process(u32),
    /// What is waited for, and where.
    Wait(Option<Wait>, Option<Place>, Option<Place>),
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What it is about.
    pub key: Key,
    /// The function, the line, the thread, the kind of waiting.
    pub name: String,
    /// Where that is, or what it is called.
    pub at: String,
    /// The time of its own.
    pub own: u64,
    /// Its time with all that it called.
    pub total: u64,
    /// Its own time by kind.
    pub split: Split,
    /// How many threads it is about.
    pub threads: usize,
    /// Of a process, what the kernel counts.
    pub sizes: Option<Sizes>,
}

/// The memory of all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Bytes in memory. What processes share is counted in each of them.
    pub resident: u64,
    /// How many more that is than at the beginning of the window.
    pub grown: Option<i64>,
    /// The most that one process had, if there is only one.
    pub peak: Option<u64>,
}

/// What stands above a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Head {
    /// The command line.
    pub command: String,
    /// The process.
    pub pid: u32,
    /// How many others are recorded with it.
    pub others: usize,
    /// How long it has been recorded, in nanoseconds.
    pub elapsed: u64,
    /// CPU time in the part that is shown, per elapsed time: 1 is one CPU.
    pub cpu: f64,
    /// CPU time that the kernel has counted in that part, in nanoseconds, and where it is known of all processes.
    pub counted: Option<u64>,
    /// The share of a CPU that this program itself takes.
    pub own_cpu: f64,
    /// Samples per second.
    pub rate: f64,
    /// Time by kind.
    pub split: Split,
    /// Threads that there are; 0 where nobody knows, or the program has ended.
    pub threads: usize,
    /// The memory that it has.
    pub memory: Option<Memory>,
    /// What could not be read, or was lost, in a sentence.
    pub unread: Option<String>,
    /// Why there is no CPU time, where that is known.
    pub asleep: Option<String>,
    /// Whether names are being looked up.
    pub is_naming: bool,
    /// Why much of the time is not where it was spent, if it is so much.
    pub warning: Option<String>,
    /// How the program ended.
    pub ended: Option<String>,
    /// What the recorder said last.
    pub note: Option<String>,
}

/// More about one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Detail {
    /// Of which row.
    pub key: Key,
    /// What it is called.
    pub name: String,
    /// What called it, with the time that was spent so; not of threads and waits.
    pub callers: Vec<(String, u64)>,
    /// The stack that took most of its time, the innermost first.
    pub stack: Vec<String>,
    /// How much that was.
    pub stack_weight: u64,
    /// The time of all stacks with it.
    pub weight: u64,
    /// What shares of it are shares of.
    pub whole: u64,
}

/// A page's worth of numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// What the rows are about.
    pub view: View,
    /// What part of the past it is.
    pub span: Span,
    /// How long that part is in nanoseconds.
    pub length: u64,
    /// What stands above.
    pub head: Head,
    /// The rows in no order.
    pub rows: Arc<[Row]>,
    /// What all shares are shares of, in nanoseconds; or how many samples there are, where they are few.
    pub whole: u64,
    /// Whether there are too few samples for shares: then all times are numbers of samples.
    pub is_few: bool,
    /// How many samples of CPU time there are.
    pub samples: u64,
    /// More about one of them, where that was asked for.
    pub detail: Option<Detail>,
}

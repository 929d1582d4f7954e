//! The content of a page: computed numbers and names, so that drawing needs nothing else.

use std::sync::Arc;

use profundo_analysis::{Place, Split};
use profundo_model::{FileId, StringId, ThreadId, Wait};

use super::processes::Sizes;
use super::window::Span;

/// The subject of a table.
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
    /// The waits of threads.
    Waits,
}

impl View {
    /// All views, in the order of their keys.
    pub const ALL: [Self; 5] = [
        Self::Functions,
        Self::Lines,
        Self::Threads,
        Self::Processes,
        Self::Waits,
    ];

    /// Its name.
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

/// The mapping in which code without a name lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Whereabouts {
    /// In the file of this path.
    File(StringId),
    /// In generated code.
    Made,
    /// Unknown.
    Nowhere,
}

/// The subject of a row, from one page to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// A function, by its name and its file.
    Function(StringId, FileId),
    /// A place without a function.
    Nameless(Place),
    /// Code without names that lies there.
    Unknown(Whereabouts),
    /// A line of a file.
    Line(FileId, u32),
    /// A thread.
    Thread(ThreadId),
    /// A process, by its id.
    Process(u32),
    /// A kind of wait, and its place.
    Wait(Option<Wait>, Option<Place>, Option<Place>),
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The subject of the row.
    pub key: Key,
    /// The name of the function, line, thread or wait.
    pub name: String,
    /// The place of it, or its text.
    pub at: String,
    /// Its own time.
    pub own: u64,
    /// Its time with its callees.
    pub total: u64,
    /// Its own time by kind.
    pub split: Split,
    /// The number of its threads.
    pub threads: usize,
    /// For a process, the kernel's counts.
    pub sizes: Option<Sizes>,
}

/// The memory of all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Resident bytes. Memory shared by processes is counted in each of them.
    pub resident: u64,
    /// The growth since the beginning of the window.
    pub grown: Option<i64>,
    /// The peak, if there is only one process.
    pub peak: Option<u64>,
}

/// The head above a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Head {
    /// The command line.
    pub command: String,
    /// The process id.
    pub pid: u32,
    /// The number of other recorded processes.
    pub others: usize,
    /// The recorded duration in nanoseconds.
    pub elapsed: u64,
    /// CPU time per elapsed time in the shown part: 1 is one CPU.
    pub cpu: f64,
    /// The kernel's count of CPU time in the shown part, in nanoseconds, if it is known for all
    /// processes.
    pub counted: Option<u64>,
    /// This program's own share of a CPU.
    pub own_cpu: f64,
    /// Samples per second.
    pub rate: f64,
    /// Time by kind.
    pub split: Split,
    /// The number of threads; 0 if it is unknown, or the program has ended.
    pub threads: usize,
    /// The memory of the program.
    pub memory: Option<Memory>,
    /// A sentence on what could not be read, or was lost.
    pub unread: Option<String>,
    /// The reason why there is no CPU time, if known.
    pub asleep: Option<String>,
    /// True if names are being looked up.
    pub is_naming: bool,
    /// The reason why much of the time is not attributed, if it is so much.
    pub warning: Option<String>,
    /// The end of the program.
    pub ended: Option<String>,
    /// The recorder's last note.
    pub note: Option<String>,
}

/// Details of one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Detail {
    /// The row.
    pub key: Key,
    /// Its name.
    pub name: String,
    /// Its callers, with the time of their calls; none for threads and waits.
    pub callers: Vec<(String, u64)>,
    /// The stack with most of its time, the innermost frame first.
    pub stack: Vec<String>,
    /// The time of that stack.
    pub stack_weight: u64,
    /// The time of all stacks with it.
    pub weight: u64,
    /// The whole that its shares are of.
    pub whole: u64,
}

/// The numbers of one page.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// The subject of the rows.
    pub view: View,
    /// The part of the past.
    pub span: Span,
    /// The length of that part in nanoseconds.
    pub length: u64,
    /// The head above the table.
    pub head: Head,
    /// The rows, unordered.
    pub rows: Arc<[Row]>,
    /// The whole that all shares are of, in nanoseconds; or the number of samples, if they are few.
    pub whole: u64,
    /// True if there are too few samples for shares: then all times are numbers of samples.
    pub is_few: bool,
    /// The number of samples of CPU time.
    pub samples: u64,
    /// Details of a row, if they were asked for.
    pub detail: Option<Detail>,
}

/// A command line whose program is reduced to its file name.
pub fn short_command(command: &str) -> String {
    let end = command.find(' ').unwrap_or(command.len());
    let start = command[..end].rfind('/').map_or(0, |slash| slash + 1);
    command[start..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_called_by_its_name() {
        for (command, short) in [
            (
                "/usr/bin/python3 /home/me/app.py",
                "python3 /home/me/app.py",
            ),
            ("./server", "server"),
            ("sort /tmp/x", "sort /tmp/x"),
            ("", ""),
        ] {
            assert_eq!(short_command(command), short);
        }
    }
}

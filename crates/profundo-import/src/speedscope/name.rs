//! The names of profiles, which say the thread and the process, in a way of each tool.

use profundo_model::{LocationId, ThreadId};

use super::Tool;
use crate::{Builder, Named};

/// The threads so far.
#[derive(Default)]
pub(super) struct Owners {
    /// The numbers in our own reports.
    numbers: Vec<(ThreadId, u64)>,
}

/// The thread and the process in a name.
#[derive(Debug, Default, PartialEq, Eq)]
struct Owner<'a> {
    process: &'a str,
    pid: u32,
    number: Option<u64>,
    tid: Option<u64>,
    thread: &'a str,
}

impl Owners {
    /// The thread of a profile.
    pub(super) fn thread(
        &mut self,
        name: &str,
        tool: Tool,
        index: u64,
        builder: &mut Builder,
    ) -> ThreadId {
        let owner = match tool {
            Tool::Ours => ours(name),
            _ => other(name),
        };
        let owner = owner.unwrap_or(Owner {
            thread: name,
            ..Owner::default()
        });
        builder.process(owner.pid, owner.process);
        // Beyond the kernel's numbers.
        let tid = owner.tid.unwrap_or((1 << 40) + index);
        let thread = builder.thread(owner.pid, tid, owner.thread);
        if let Some(number) = owner.number {
            self.numbers.push((thread, number));
        }
        thread
    }

    /// Gives the threads their numbers, where each has one of its own.
    pub(super) fn number(&self, builder: &mut Builder) {
        let mut numbers: Vec<u64> = self.numbers.iter().map(|&(_, number)| number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.len() != builder.profile.threads.len() || numbers.first() == Some(&0) {
            return;
        }
        for &(thread, number) in &self.numbers {
            builder.profile.threads.get_mut(thread).number = number;
        }
    }
}

/// A frame that the table does not have.
pub(super) fn unnamed(frame: u32, builder: &mut Builder) -> LocationId {
    builder.location(Named {
        function: &format!("frame {frame}"),
        ..Named::default()
    })
}

/// Our own names: `python3 app.py (12), thread 3 worker (tid 14)`.
fn ours(name: &str) -> Option<Owner<'_>> {
    let (process, thread) = match name.rfind(", thread ") {
        Some(at) => (&name[..at], &name[at + 2..]),
        None => ("", name),
    };
    let thread = thread.strip_prefix("thread ")?;
    let (thread, tid) = with_number(thread, " (tid ");
    let (number, thread) = thread.split_once(' ').unwrap_or((thread, ""));
    let alone = process
        .strip_prefix("process ")
        .and_then(|pid| pid.parse().ok());
    let (process, pid) = match alone {
        Some(pid) => ("", Some(pid)),
        None => with_number(process, " ("),
    };
    Some(Owner {
        process: if process == "unknown process" {
            ""
        } else {
            process
        },
        pid: pid.and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0),
        number: Some(number.parse().ok()?),
        tid,
        thread,
    })
}

/// A text that ends with a number in brackets.
fn with_number<'a>(text: &'a str, open: &str) -> (&'a str, Option<u64>) {
    let parts = text
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once(open));
    if let Some((before, number)) = parts
        && let Ok(number) = number.parse()
    {
        return (before, Some(number));
    }
    (text, None)
}

/// The names of py-spy: `Process 12 Thread 14 "worker"`, `Thread 0x7F12 "MainThread"`.
fn other(name: &str) -> Option<Owner<'_>> {
    let (pid, rest) = match name.strip_prefix("Process ") {
        Some(rest) => {
            let (pid, rest) = rest.split_once(' ')?;
            (pid.trim_end_matches(':').parse().ok()?, rest)
        }
        None => (0, name),
    };
    let rest = rest.strip_prefix("Thread ")?;
    let (tid, thread) = rest.split_once(' ').unwrap_or((rest, ""));
    let tid = match tid.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => tid.parse().ok()?,
    };
    Some(Owner {
        pid,
        tid: Some(tid),
        thread: thread.trim_matches('"'),
        ..Owner::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tools_say_the_thread() {
        let row = |process, pid, number, tid, thread| Owner {
            process,
            pid,
            number,
            tid,
            thread,
        };
        assert_eq!(
            ours("python3 app.py (12), thread 3 a b (tid 14)"),
            Some(row("python3 app.py", 12, Some(3), Some(14), "a b"))
        );
        assert_eq!(ours("thread 1"), Some(row("", 0, Some(1), None, "")));
        assert_eq!(
            ours("process 7, thread 2 w"),
            Some(row("", 7, Some(2), None, "w"))
        );
        assert_eq!(ours("my title"), None);
        assert_eq!(
            other("Process 12 Thread 14 \"worker\""),
            Some(row("", 12, None, Some(14), "worker"))
        );
        assert_eq!(
            other("Thread 0x7F \"\""),
            Some(row("", 0, None, Some(0x7f), ""))
        );
        assert_eq!(other("Memory"), None);
    }
}

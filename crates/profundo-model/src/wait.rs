//! The wait of a blocked thread: the innermost entry of its stack.

/// The kind of a blocked thread's wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Wait {
    /// The interpreter's lock.
    Gil,
    /// A lock or a condition of the program.
    Lock,
    /// Time to pass.
    Sleep,
    /// A child process.
    Child,
    /// Data to read.
    Read,
    /// Room to write.
    Write,
    /// An incoming connection.
    Accept,
    /// An outgoing connection.
    Connect,
    /// A lock on a file.
    FileLock,
    /// Any of several files, or a timeout.
    Poll,
    /// A signal.
    Signal,
    /// A page fault.
    Fault,
    /// Another system call.
    Other,
    /// A free CPU.
    Cpu,
    /// The end of a thread.
    Thread,
}

impl Wait {
    /// All of them, in the order of their codes in saved files.
    pub const ALL: [Self; 15] = [
        Self::Gil,
        Self::Lock,
        Self::Sleep,
        Self::Child,
        Self::Read,
        Self::Write,
        Self::Accept,
        Self::Connect,
        Self::FileLock,
        Self::Poll,
        Self::Signal,
        Self::Fault,
        Self::Other,
        Self::Cpu,
        Self::Thread,
    ];

    /// The word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gil => "GIL",
            Self::Lock => "lock",
            Self::Sleep => "sleep",
            Self::Child => "child",
            Self::Read => "read",
            Self::Write => "write",
            Self::Accept => "accept",
            Self::Connect => "connect",
            Self::FileLock => "file lock",
            Self::Poll => "poll",
            Self::Signal => "signal",
            Self::Fault => "page fault",
            Self::Other => "system call",
            Self::Cpu => "CPU",
            Self::Thread => "thread",
        }
    }

    /// The name of the frame that stands for it. `what` is the lock's address, the file's path, the
    /// child's number, or nothing.
    pub fn frame_name(self, what: &str) -> String {
        let named = |verb: &str| format!("[{verb} {what}]");
        match (self, what.is_empty()) {
            (Self::Gil, _) => "[waits for the GIL]".into(),
            (Self::Lock, true) => "[waits for a lock]".into(),
            (Self::Lock, false) => named("waits for the lock at"),
            (Self::Sleep, _) => "[sleeps]".into(),
            (Self::Child, true) => "[waits for a child]".into(),
            (Self::Child, false) => named("waits for the child"),
            (Self::Read, true) => "[reads]".into(),
            (Self::Read, false) => named("reads"),
            (Self::Write, true) => "[writes]".into(),
            (Self::Write, false) => named("writes"),
            (Self::Accept, true) => "[accepts connections]".into(),
            (Self::Accept, false) => named("accepts connections:"),
            (Self::Connect, true) => "[connects]".into(),
            (Self::Connect, false) => named("connects:"),
            (Self::FileLock, true) => "[waits for a file's lock]".into(),
            (Self::FileLock, false) => named("waits for the lock of"),
            (Self::Poll, _) => "[waits for events]".into(),
            (Self::Signal, _) => "[waits for a signal]".into(),
            (Self::Fault, _) => "[waits for memory]".into(),
            (Self::Thread, true) => "[waits for the end of a thread]".into(),
            (Self::Thread, false) => named("waits for the end of thread"),
            (Self::Cpu, _) => "[waits for a CPU]".into(),
            (Self::Other, true) => "[waits]".into(),
            (Self::Other, false) => named("waits in"),
        }
    }

    /// The object of the wait, from the frame's name: the lock's address, the file's path or the
    /// child's number. Empty where there is none.
    pub fn what_of(self, frame_name: &str) -> &str {
        let all = self.frame_name("\n");
        let parts = all.split_once('\n');
        let what = parts
            .and_then(|(before, behind)| frame_name.strip_prefix(before)?.strip_suffix(behind));
        what.unwrap_or("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wait_has_a_frame_in_brackets() {
        for wait in Wait::ALL {
            for what in ["", "/tmp/a"] {
                let name = wait.frame_name(what);
                assert!(name.starts_with('[') && name.ends_with(']'), "{name}");
            }
        }
        assert_eq!(Wait::Read.frame_name("/tmp/a"), "[reads /tmp/a]");
    }

    #[test]
    fn a_frame_says_what_it_was_made_of() {
        for wait in Wait::ALL {
            let says = wait.frame_name("\n").contains('\n');
            for what in ["", "/tmp/a", "/tmp/]", "socket, descriptor 3"] {
                let found = wait.what_of(&wait.frame_name(what)).to_owned();
                assert_eq!(found, if says { what } else { "" }, "{wait:?}");
            }
        }
        assert_eq!(Wait::Read.what_of("main"), "");
    }
}

//! The kernel's counts of a thread's or a process's reading and writing (`/proc/PID/io`).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes read and written so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Bytes that calls have read.
    pub read: u64,
    /// Bytes that calls have written.
    pub written: u64,
    /// Bytes that came from a disk.
    pub fetched: u64,
    /// Bytes that were sent to a disk.
    pub stored: u64,
}

impl Counters {
    /// Reads the file of a thread or a process.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let number = |name: &str| {
            let mut lines = text.lines();
            let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            value.trim().parse().ok()
        };
        Some(Self {
            read: number("rchar")?,
            written: number("wchar")?,
            fetched: number("read_bytes")?,
            stored: number("write_bytes")?,
        })
    }

    /// Whether both counters are at least as large as the other's.
    pub fn is_ahead_of(&self, other: &Self) -> bool {
        self.read >= other.read && self.written >= other.written
    }

    /// The growth since an earlier reading.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            read: self.read.saturating_sub(before.read),
            written: self.written.saturating_sub(before.written),
            fetched: self.fetched.saturating_sub(before.fetched),
            stored: self.stored.saturating_sub(before.stored),
        }
    }

    /// Adds other counts.
    pub fn add(&mut self, more: &Self) {
        self.read = self.read.saturating_add(more.read);
        self.written = self.written.saturating_add(more.written);
        self.fetched = self.fetched.saturating_add(more.fetched);
        self.stored = self.stored.saturating_add(more.stored);
    }
}

/// Reads such a file from its beginning.
pub fn read(file: &File) -> io::Result<Counters> {
    let mut text = [0; 512];
    let length = file.read_at(&mut text, 0)?;
    let text = text.get(..length).unwrap_or_default();
    Counters::parse(text).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

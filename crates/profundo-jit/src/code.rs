//! A piece of generated code: its address, its name, and since when it exists.

use std::sync::Arc;

/// The time of an event, on the clock of its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// Nanoseconds of the monotonic clock.
    Monotonic(u64),
    /// The processor's cycle counter.
    Cycles(u64),
    /// Unknown; earlier than any known time.
    Always,
}

/// A function, or a piece of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The first address.
    pub start: u64,
    /// The number of bytes.
    pub size: u64,
    /// Its name, as the compiler wrote it.
    pub name: Arc<str>,
    /// The time at which it appeared.
    pub since: At,
    /// The starts of its source lines, sorted by address; empty where unknown.
    pub lines: Arc<[Line]>,
}

/// The line that code belongs to, from an address on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The address, counted from the code's start.
    pub offset: u64,
    /// The source file.
    pub file: Arc<str>,
    /// The line, from 1; 0 where there is none.
    pub line: u32,
}

/// A change found by a poll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Code was made, or moved here.
    Loaded(Code),
    /// The code that began here is gone.
    Unloaded {
        /// Its start.
        start: u64,
        /// The time at which it disappeared.
        at: At,
    },
}

/// The longest name that is kept; longer ones are cut.
const LONGEST_NAME: usize = 1 << 12;

/// Bytes as a name: cut, and without invalid characters.
pub(crate) fn name_of(bytes: &[u8]) -> Arc<str> {
    let cut = &bytes[..bytes.len().min(LONGEST_NAME)];
    String::from_utf8_lossy(cut).as_ref().into()
}

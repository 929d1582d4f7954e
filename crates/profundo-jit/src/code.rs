//! A piece of generated code: where it lies, what it is called, and since when.

use std::sync::Arc;

/// When something happened, on the clock of whoever told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// Nanoseconds of the monotonic clock.
    Monotonic(u64),
    /// The processor's cycle counter.
    Cycles(u64),
    /// Nobody knows; before anything that is known.
    Always,
}

/// A function, or a piece of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The first address.
    pub start: u64,
    /// How many bytes.
    pub size: u64,
    /// Its name, as whoever made it wrote it.
    pub name: Arc<str>,
    /// Since when it is there.
    pub since: At,
    /// Where source lines begin, sorted by address; empty where nothing is known of them.
    pub lines: Arc<[Line]>,
}

/// From this address on, code belongs to a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The address, counted from the code's start.
    pub offset: u64,
    /// The source file.
    pub file: Arc<str>,
    /// The line, from 1; 0 where there is none.
    pub line: u32,
}

/// What a look has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Code was made, or moved here.
    Loaded(Code),
    /// The code that began here is gone.
    Unloaded {
        /// Where it began.
        start: u64,
        /// Since when.
        at: At,
    },
}

/// The longest name that is kept; longer ones are cut.
const LONGEST_NAME: usize = 1 << 12;

/// Bytes as a name: cut, and without what is no text.
pub(crate) fn name_of(bytes: &[u8]) -> Arc<str> {
    let cut = &bytes[..bytes.len().min(LONGEST_NAME)];
    String::from_utf8_lossy(cut).as_ref().into()
}

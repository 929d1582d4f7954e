//! A file that cannot be read, and the gaps of one that can.

use std::io;
use std::path::PathBuf;

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No reader knows the file.
    #[error("no profile in a known format")]
    Unknown,
    /// The format is known, and is not read.
    #[error("{what} is not read; {instead}")]
    Refused {
        /// The file, in words.
        what: &'static str,
        /// The way around it.
        instead: &'static str,
    },
    /// The file is damaged before its first sample.
    #[error("the file of {format} is damaged before its first sample")]
    NothingBeforeDamage {
        /// The format.
        format: &'static str,
    },
    /// The head of the file is not as its format has it.
    #[error("not a whole file of {format}: {what}")]
    Malformed {
        /// The format.
        format: &'static str,
        /// The problem.
        what: String,
    },
    /// The file has no such value.
    #[error("the file has no value {name}; it has {choices}")]
    NoSuchValue {
        /// The wanted value.
        name: String,
        /// The values of the file.
        choices: String,
    },
    /// The unpacked file is too large.
    #[error("the file unpacks to more than {} GB, which is more than a profile has", .limit >> 30)]
    TooLarge {
        /// The most bytes that are unpacked.
        limit: u64,
    },
    /// The packed file is damaged at its start.
    #[error("the file is packed and cannot be unpacked: {0}")]
    Unpack(String),
    /// The file cannot be opened or read.
    #[error("cannot read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// The error for a file that no reader knows; where its format is known, with the way around.
    pub(crate) fn unknown(bytes: &[u8]) -> Self {
        match crate::reader::refused(bytes) {
            Some((what, instead)) => Self::Refused { what, instead },
            None => Self::Unknown,
        }
    }
}

/// A gap in a foreign file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// The packed file ends early.
    #[error("the packed file ends early: it was cut")]
    PackedCut,
    /// The file ends in the middle of a record, or a record is damaged.
    #[error("the file is damaged at byte {offset} ({what}); what stands before it was read")]
    Damaged {
        /// The offset.
        offset: u64,
        /// The problem.
        what: String,
    },
    /// Lines or records that do not fit the format were left out.
    #[error("{count} {what} could not be read (the first is {first})")]
    LeftOut {
        /// Their number.
        count: u64,
        /// Lines, records, events.
        what: &'static str,
        /// The first one: `line 7`.
        first: String,
    },
}

impl Warning {
    /// Whether a part of the file was not read at all.
    pub fn is_damage(&self) -> bool {
        !matches!(self, Self::LeftOut { .. })
    }
}

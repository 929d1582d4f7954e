//! What can go wrong: errors leave nothing to show, warnings say what is missing from what is
//! shown.

use std::io;
use std::path::PathBuf;

/// Why nothing was read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The first bytes are not those of a saved profile.
    #[error("not a profundo file (its first 16 bytes are another format's, or missing)")]
    NotAProfile,
    /// The file is of a version that this program does not know.
    #[error(
        "file format version {version} is not known (this program reads 1 to {newest}); a newer profundo reads it"
    )]
    UnknownVersion {
        /// The version in the file.
        version: u32,
        /// The newest version that can be read.
        newest: u32,
    },
    /// A chunk that is needed is packed in a way that this program does not know.
    #[error(
        "chunk {kind} at byte {offset} is packed by codec {codec}, which is not known; a newer profundo reads it"
    )]
    UnknownCodec {
        /// The codec's number.
        codec: u8,
        /// The chunk's kind.
        kind: String,
        /// Where the chunk begins.
        offset: usize,
    },
    /// The profile to be written points at a row that it does not have.
    #[error("row {id} of the profile's {table} is used, but there are {rows}")]
    Dangling {
        /// The table.
        table: &'static str,
        /// The row that is missing.
        id: usize,
        /// How many there are.
        rows: usize,
    },
    /// The profile holds a value for which this version of the format has no code.
    #[error("a saved file has no code for this {what}")]
    NoCode {
        /// What kind of value.
        what: &'static str,
    },
    /// One row is larger than a chunk may be.
    #[error("a {kind} chunk of {bytes} bytes is larger than the format allows ({most})")]
    TooLarge {
        /// The chunk's kind.
        kind: String,
        /// Its size.
        bytes: usize,
        /// The most that is allowed.
        most: usize,
    },
    /// A heap has more of something than its numbers can name.
    #[error("there are more {what} than a heap snapshot is written with (4294967295)")]
    TooMany {
        /// Objects, references or texts.
        what: &'static str,
    },
    /// A part file of a heap snapshot cannot be used.
    #[error("{} {what}", path.display())]
    Part {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Objects of a heap snapshot hang on nothing, so its parts are not whole, or not of one snapshot.
    #[error(
        "Orphaned nodes: {orphans} {} no incoming edges (the first is in row {first})",
        if *orphans == 1 { "object has" } else { "objects have" }
    )]
    Orphans {
        /// How many.
        orphans: usize,
        /// The row of the first one.
        first: usize,
    },
    /// The first bytes are not those of a heap snapshot.
    #[error("not a heap snapshot (one begins with {{\"snapshot\":)")]
    NotASnapshot,
    /// A heap snapshot ends before it is whole.
    #[error("the heap snapshot ends at byte {offset}, in the middle of its {within}: it was cut")]
    SnapshotCut {
        /// Where it ends.
        offset: u64,
        /// What was being read.
        within: &'static str,
    },
    /// A heap snapshot says what cannot be.
    #[error("the heap snapshot is damaged at byte {offset}: {what}")]
    SnapshotDamaged {
        /// Where that was seen.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// The reader that was given to us failed.
    #[error("cannot read the heap snapshot")]
    Read(#[source] io::Error),
    /// An export knows no such choice.
    #[error("{name} is not known: it is {choices}")]
    UnknownChoice {
        /// What was asked for.
        name: String,
        /// What there is.
        choices: &'static str,
    },
    /// The format is one of calls or lines that were counted, and none were.
    #[error("no {what} were counted in this recording (`profundo trace{}` counts them)", if *what == "lines" { " --lines" } else { "" })]
    NotCounted {
        /// Calls or lines.
        what: &'static str,
    },
    /// The name of a file does not say in which format it should be.
    #[error(
        "the name {} does not tell the format (.pb.gz, .folded, .speedscope.json, .svg, .pstats, .callgrind or .lprof would)", path.display()
    )]
    NoFormat {
        /// The file.
        path: PathBuf,
    },
    /// The writer that was given to us failed.
    #[error("cannot write the profile")]
    Write(#[source] io::Error),
    /// A file could not be opened, read, written or renamed.
    #[error("cannot {action} {}", path.display())]
    File {
        /// `read`, `create`, `write`, `rename`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file was opened, but holds no profile that can be read.
    #[error("cannot use {}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<Error>,
    },
}

/// What is missing from a profile that was read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// The file ends without its end chunk: it was cut, or its writer was stopped.
    #[error("the file ends at byte {offset} without an end mark; {samples} samples were read")]
    Cut {
        /// Where the last whole chunk ends.
        offset: usize,
        /// The samples before the cut.
        samples: usize,
    },
    /// A chunk is damaged; it and all that follows it were left out.
    #[error(
        "the chunk at byte {offset} is damaged ({damage}); {samples} samples before it were read"
    )]
    Damaged {
        /// Where the chunk begins.
        offset: usize,
        /// What is wrong.
        damage: Damage,
        /// The samples before it.
        samples: usize,
    },
    /// Bytes follow the end chunk. They were left out.
    #[error("{bytes} bytes follow the end mark at byte {offset}")]
    Trailing {
        /// Where the end chunk ends.
        offset: usize,
        /// How many bytes follow.
        bytes: usize,
    },
    /// Values that a newer writer knows and we do not; the nearest thing was taken for them.
    #[error("{times} rows have a {what} that is not known here (the first is number {code})")]
    UnknownCode {
        /// What kind of value.
        what: &'static str,
        /// The first such code.
        code: u64,
        /// How many rows have one.
        times: u64,
    },
    /// The parents of some processes were not in the file, or ran in a circle, and were left out.
    #[error("the parents of {processes} processes are missing or run in a circle")]
    Parents {
        /// How many.
        processes: usize,
    },
}

/// What is wrong with a damaged chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// Its bytes are not those that were written.
    #[error("its checksum differs")]
    Checksum,
    /// It claims more bytes or rows than the format allows.
    #[error("it claims an impossible length")]
    Length,
    /// Its packed bytes do not unpack to what it claims.
    #[error("it does not unpack")]
    Unpack,
    /// A number is longer than 64 bits, or ends with the column.
    #[error("a number in it is broken")]
    Number,
    /// A column is missing, too short or too long for its rows.
    #[error("column {0} does not fit its rows")]
    Column(u8),
    /// Its rows do not follow those before it.
    #[error("it begins with row {found} where row {expected} was due")]
    Order {
        /// The row that was due.
        expected: u64,
        /// The row that it begins with.
        found: u64,
    },
    /// A row points at a row that has not been read.
    #[error("it points at row {id} of {table}, which is not there")]
    Id {
        /// The table.
        table: &'static str,
        /// The row.
        id: u64,
    },
    /// A text is not UTF-8.
    #[error("a text in it is not UTF-8")]
    Text,
    /// The end chunk counts other samples than were read.
    #[error("it counts {0} samples")]
    Count(u64),
}

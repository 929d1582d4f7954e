//! Errors leave nothing to show; warnings list the gaps in what is shown.

use std::io;
use std::path::PathBuf;

/// The reason why nothing was read or written.
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
    /// A needed chunk is packed with an unknown codec.
    #[error(
        "chunk {kind} at byte {offset} is packed by codec {codec}, which is not known; a newer profundo reads it"
    )]
    UnknownCodec {
        /// The codec's number.
        codec: u8,
        /// The chunk's kind.
        kind: String,
        /// The offset of the chunk.
        offset: usize,
    },
    /// The profile to be written refers to a missing row.
    #[error("row {id} of the profile's {table} is used, but there are {rows}")]
    Dangling {
        /// The table.
        table: &'static str,
        /// The missing row.
        id: usize,
        /// The number of rows.
        rows: usize,
    },
    /// A value of the profile has no code in this version of the format.
    #[error("a saved file has no code for this {what}")]
    NoCode {
        /// The kind of the value.
        what: &'static str,
    },
    /// One row is larger than a chunk may be.
    #[error("a {kind} chunk of {bytes} bytes is larger than the format allows ({most})")]
    TooLarge {
        /// The chunk's kind.
        kind: String,
        /// Its size.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// A heap has too many objects, references or texts for its numbers.
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
        /// The problem.
        what: &'static str,
    },
    /// Objects of a heap snapshot have no references to them, so its parts are incomplete, or not
    /// of one snapshot.
    #[error(
        "Orphaned nodes: {orphans} {} no incoming edges (the first is in row {first})",
        if *orphans == 1 { "object has" } else { "objects have" }
    )]
    Orphans {
        /// The number of such objects.
        orphans: usize,
        /// The row of the first one.
        first: usize,
    },
    /// The first bytes are not those of a heap snapshot.
    #[error("not a heap snapshot (one begins with {{\"snapshot\":)")]
    NotASnapshot,
    /// A heap snapshot ends early.
    #[error("the heap snapshot ends at byte {offset}, in the middle of its {within}: it was cut")]
    SnapshotCut {
        /// The offset of its end.
        offset: u64,
        /// The part being read.
        within: &'static str,
    },
    /// A heap snapshot is inconsistent.
    #[error("the heap snapshot is damaged at byte {offset}: {what}")]
    SnapshotDamaged {
        /// The offset of the problem.
        offset: u64,
        /// The problem.
        what: String,
    },
    /// The given reader failed.
    #[error("cannot read the heap snapshot")]
    Read(#[source] io::Error),
    /// An export has no such choice.
    #[error("{name} is not known: it is {choices}")]
    UnknownChoice {
        /// The requested choice.
        name: String,
        /// The possible choices.
        choices: &'static str,
    },
    /// The format is for counted calls or lines, and there are none.
    #[error("no {what} were counted in this recording (`profundo trace{}` counts them)", if *what == "lines" { " --lines" } else { "" })]
    NotCounted {
        /// Calls or lines.
        what: &'static str,
    },
    /// The format is for spans and marks, and there are none with their times.
    #[error("the program has named no spans and no marks in this recording")]
    NoSpans,
    /// The format is for memory, and none was recorded.
    #[error("what is allocated was not recorded: `profundo run --memory` and `record --memory` do")]
    NoAllocations,
    /// The format is for memory over time, and none was recorded.
    #[error(
        "neither allocations nor readings of memory were recorded: `profundo run --memory` does"
    )]
    NoMemory,
    /// Options for samples are given, and the profile has counted calls.
    #[error(
        "calls were counted in this recording, and {format} has all that there are: it takes no options for samples"
    )]
    CountedWhole {
        /// The format.
        format: &'static str,
    },
    /// A picture in the order of time is wanted of what has no times.
    #[error(
        "the order of time is not known: memory and counted calls have sums, and only samples of time have instants"
    )]
    NoOrder,
    /// A heatmap would have too many cells.
    #[error(
        "so short columns and rows would be too many cells to see: --column takes more seconds"
    )]
    TooManyCells,
    /// The name of a file does not decide its format.
    #[error(
        "the name {} does not tell the format (.pb.gz, .folded, .speedscope.json, .firefox.json, .cpuprofile, .svg, .pstats, .callgrind or .lprof would)", path.display()
    )]
    NoFormat {
        /// The file.
        path: PathBuf,
    },
    /// The given writer failed.
    #[error("cannot write the profile")]
    Write(#[source] io::Error),
    /// A file could not be opened, read, written or renamed.
    #[error("cannot {action} {}", path.display())]
    File {
        /// `read`, `create`, `write`, `rename`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file was opened, but has no readable profile.
    #[error("cannot use {}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<Error>,
    },
}

/// A gap in a profile that was read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// The file ends without its end chunk: it was cut, or its writer was stopped.
    #[error("the file ends at byte {offset} without an end mark; {samples} samples were read")]
    Cut {
        /// The end of the last whole chunk.
        offset: usize,
        /// The samples before the cut.
        samples: usize,
    },
    /// A chunk is damaged; it and all later ones were left out.
    #[error(
        "the chunk at byte {offset} is damaged ({damage}); {samples} samples before it were read"
    )]
    Damaged {
        /// The offset of the chunk.
        offset: usize,
        /// The damage.
        damage: Damage,
        /// The samples before it.
        samples: usize,
    },
    /// Bytes follow the end chunk. They were left out.
    #[error("{bytes} bytes follow the end mark at byte {offset}")]
    Trailing {
        /// The end of the end chunk.
        offset: usize,
        /// The number of trailing bytes.
        bytes: usize,
    },
    /// Values of a newer writer; the nearest known ones replace them.
    #[error("{times} rows have a {what} that is not known here (the first is number {code})")]
    UnknownCode {
        /// The kind of the value.
        what: &'static str,
        /// The first such code.
        code: u64,
        /// The number of rows with such a code.
        times: u64,
    },
    /// The parents of some processes were not in the file, or formed a cycle, and were left out.
    #[error("the parents of {processes} processes are missing or run in a circle")]
    Parents {
        /// The number of processes.
        processes: usize,
    },
}

/// The damage of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The checksum is wrong.
    #[error("its checksum differs")]
    Checksum,
    /// It claims more bytes or rows than the format allows.
    #[error("it claims an impossible length")]
    Length,
    /// Its packed bytes do not unpack to the claimed length.
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
        /// Its first row.
        found: u64,
    },
    /// A row refers to a row that has not been read.
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
    /// The end chunk counts another number of samples.
    #[error("it counts {0} samples")]
    Count(u64),
}

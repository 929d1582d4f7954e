//! What can go wrong, in one sentence each.

use std::path::PathBuf;

/// A result of this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The sampler could not start or was used wrongly.
    #[error(transparent)]
    Capture(#[from] profundo_capture::Error),
    /// A report was asked for in a way that makes no sense.
    #[error(transparent)]
    Report(#[from] profundo_report::Error),
    /// A saved profile could not be written or read.
    #[error(transparent)]
    Format(#[from] profundo_formats::Error),
    /// A question about callers that cannot be answered.
    #[error(transparent)]
    Callers(#[from] profundo_analysis::CallersError),
    /// Metadata was to be added to data that has it.
    #[error("input already has metadata")]
    HasMetadata,
    /// Something that needs to know threads and tasks was asked of data without them.
    #[error(
        "profile data is missing the required metadata; fetch it with `include_meta`, or use `add_fake_meta`"
    )]
    MissingMetadata,
    /// A thread number of 0 cannot be told from an end of sample.
    #[error("fake threadid cannot be 0")]
    FakeThreadZero,
    /// A task number of 0 cannot be told from an end of sample.
    #[error("fake taskid cannot be 0")]
    FakeTaskZero,
    /// Words that are not in the layout of a profile buffer.
    #[error(
        "word {at} does not end a sample with metadata: the words are not a profile, or were cut"
    )]
    NotAProfile {
        /// The word's index.
        at: usize,
    },
    /// No number is left for an invented address.
    #[error("all addresses are taken: none is left to invent")]
    AddressesExhausted,
    /// A duration for the peek that makes no sense.
    #[error("peek duration {0} is not possible; it must be more than 0 and at most 3600 seconds")]
    PeekDuration(f64),
    /// A signal that cannot be caught, or is the sampler's own.
    #[error("signal {0} cannot be used to peek; SIGUSR1 and SIGUSR2 can")]
    PeekSignal(i32),
    /// A delay that is no duration at all.
    #[error("delay {0} is not a number of seconds")]
    DelayNotANumber(f64),
    /// A file of ours could not be written or read.
    #[error("cannot use {}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Output went nowhere.
    #[error("the report could not be written: {0}")]
    Output(#[from] std::io::Error),
}

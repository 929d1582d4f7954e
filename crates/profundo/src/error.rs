//! Errors, in one sentence each.

/// A result of this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The sampler could not start or was used wrongly.
    #[error(transparent)]
    Capture(#[from] profundo_capture::Error),
    /// A report was asked for in a way that makes no sense, or could not be written.
    #[error("{}", whole(.0))]
    Report(profundo_report::Error),
    /// A saved profile could not be written or read.
    #[error("{}", whole(.0))]
    Format(profundo_formats::Error),
    /// A question about callers that cannot be answered.
    #[error(transparent)]
    Callers(#[from] profundo_analysis::CallersError),
    /// Metadata was to be added to data that has it.
    #[error("input already has metadata")]
    HasMetadata,
    /// Threads or tasks are needed from data without metadata.
    #[error(
        "profile data is missing the required metadata; fetch it with `include_meta`, or use `add_fake_meta`"
    )]
    MissingMetadata,
    /// A thread number of 0 is ambiguous with the end of a sample.
    #[error("fake threadid cannot be 0")]
    FakeThreadZero,
    /// A task number of 0 is ambiguous with the end of a sample.
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
    /// An invalid duration for the peek.
    #[error("peek duration {0} is not possible; it must be more than 0 and at most 3600 seconds")]
    PeekDuration(f64),
    /// A signal that cannot be caught, or is used by the sampler.
    #[error("signal {0} cannot be used to peek; SIGUSR1 and SIGUSR2 can")]
    PeekSignal(i32),
    /// A peek waits for one signal only.
    #[error("signal {wanted} cannot be used to peek: signal {installed} is used already")]
    PeekInstalled {
        /// The requested signal.
        wanted: i32,
        /// The signal in use.
        installed: i32,
    },
    /// A delay that is not a duration.
    #[error("delay {0} s is not possible; it must be from 10 microseconds to 1 hour")]
    DelayNotANumber(f64),
    /// Allocations cannot be reported by address.
    #[error("reports on allocations always combine the addresses of a line")]
    AllocationsCombine,
    /// A format that is for time only.
    #[error("allocations are shown as a tree or as a flat table")]
    AllocationsFormat,
    /// The memory of the blocks cannot be accounted for.
    #[error(
        "the program's blocks are not glibc's: of another allocator (jemalloc, mimalloc, musl's) it is not known how it has \
         its pages"
    )]
    UnknownAllocator,
    /// A heap has too many references to follow.
    #[error("the heap has more references than a snapshot can have (4294967295)")]
    TooManyReferences,
    /// Output could not be written.
    #[error("the report could not be written: {0}")]
    Output(#[from] std::io::Error),
}

// By hand and without a source: the error's own sentence includes its causes.
impl From<profundo_report::Error> for Error {
    fn from(error: profundo_report::Error) -> Self {
        match error {
            profundo_report::Error::Write(source) => Self::Output(source),
            other => Self::Report(other),
        }
    }
}

impl From<profundo_formats::Error> for Error {
    fn from(error: profundo_formats::Error) -> Self {
        Self::Format(error)
    }
}

/// An error and its causes in one sentence.
fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        // Some errors include their cause already.
        if !text.contains(&more) {
            text += &format!(": {more}");
        }
        cause = error.source();
    }
    text
}

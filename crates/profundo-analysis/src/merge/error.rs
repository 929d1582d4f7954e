//! The reasons why recordings cannot be merged.

/// Why a recording cannot be merged with those before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// The samples measure different things.
    #[error(
        "{name} has {its}, and the recordings before it have {others}: these cannot be added up"
    )]
    Kind {
        /// The recording.
        name: String,
        /// The quantity that it has.
        its: String,
        /// The quantity that those before have.
        others: String,
    },
    /// Allocations were recorded in different ways.
    #[error(
        "{name} has {its}, and the recordings before it have {others}: their bytes cannot be added up"
    )]
    Memory {
        /// The recording.
        name: String,
        /// The allocations that it has.
        its: String,
        /// The allocations that those before have.
        others: String,
    },
    /// The start of the recording is not known.
    #[error("{0} does not say when it began, so it has no place on a common clock")]
    NoClock(String),
}

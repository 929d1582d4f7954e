//! What can go wrong.

/// A question that gets no answer, or a part of the cluster that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store or the question.
    #[error(transparent)]
    Store(#[from] profundo_store::Error),
    /// A plan could not be made or carried out.
    #[error("{0}")]
    Plan(#[from] datafusion::common::DataFusionError),
    /// A server could not start.
    #[error("cannot start: {0}")]
    Ballista(#[from] ballista_core::error::BallistaError),
    /// The profile could not be written.
    #[error(transparent)]
    Format(#[from] profundo_formats::Error),
    /// A file or a socket.
    #[error("cannot {verb} {what}: {source}")]
    Io {
        /// The action.
        verb: &'static str,
        /// The file or address.
        what: String,
        /// The reason.
        source: std::io::Error,
    },
    /// An address that is none.
    #[error("{address} is no address; write {example}")]
    Address {
        /// The text as given.
        address: String,
        /// One that would be right.
        example: &'static str,
    },
    /// There is no scheduler, or it has no executors.
    #[error("{0}")]
    Absent(String),
}

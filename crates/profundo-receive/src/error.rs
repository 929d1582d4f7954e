//! The reasons why a server ends, and why it does not take a body.

use std::io;

use axum::http::StatusCode;

/// A server that cannot work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is not free, or not ours.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: String,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// The folder of the journal cannot be used.
    #[error("cannot {verb} {path}")]
    Journal {
        /// The action.
        verb: &'static str,
        /// The place.
        path: String,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// The store or the spool.
    #[error(transparent)]
    Store(#[from] profundo_store::Error),
}

/// A body that is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It cannot be decoded.
    #[error(transparent)]
    Body(#[from] profundo_pushed::Error),
    /// It is larger than a body may be, as it arrives.
    #[error("the body has more than {limit} bytes")]
    TooLarge {
        /// The most bytes.
        limit: usize,
    },
    /// It did not arrive in time.
    #[error("the body did not arrive in {seconds} s")]
    Slow {
        /// The time for a body.
        seconds: u64,
    },
    /// The connection broke.
    #[error("the body could not be read to its end")]
    Cut,
    /// There is no room now.
    #[error("{why}; try again in {seconds} s")]
    Busy {
        /// What is full.
        why: String,
        /// When there may be room.
        seconds: u64,
    },
}

impl Refusal {
    pub(crate) fn busy(why: impl Into<String>, seconds: u64) -> Self {
        Self::Busy {
            why: why.into(),
            seconds,
        }
    }

    /// The answer's status.
    pub(crate) fn status(&self) -> StatusCode {
        use profundo_pushed::Error;
        match self {
            Self::Body(Error::Unsupported { .. }) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Body(Error::TooLarge { .. }) | Self::TooLarge { .. } => {
                StatusCode::PAYLOAD_TOO_LARGE
            }
            Self::Body(_) | Self::Cut => StatusCode::BAD_REQUEST,
            Self::Slow { .. } => StatusCode::REQUEST_TIMEOUT,
            Self::Busy { .. } => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The seconds after which a client may try again.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Busy { seconds, .. } => Some(*seconds),
            _ => None,
        }
    }
}

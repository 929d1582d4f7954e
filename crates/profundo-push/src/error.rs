//! The reasons why a profile cannot be sent.

use std::time::Duration;

/// A profile that was not sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address cannot be understood.
    #[error("{address} is no destination: {why}")]
    Address {
        /// The address.
        address: String,
        /// The fault.
        why: String,
    },
    /// A header cannot be understood.
    #[error("the header {header} is not clear; write NAME:VALUE")]
    Header {
        /// The text as given, without the value.
        header: String,
    },
    /// The other side cannot be reached.
    #[error("cannot reach {address}: {why}")]
    Unreachable {
        /// The address.
        address: String,
        /// The reason.
        why: String,
    },
    /// The other side has no time, or fails.
    #[error("{address} does not take it now ({status})")]
    Busy {
        /// The address.
        address: String,
        /// The answer's status.
        status: u16,
        /// When it may.
        after: Option<Duration>,
    },
    /// The other side does not take it.
    #[error("{address} refuses it ({status}){}", reason(why))]
    Refused {
        /// The address.
        address: String,
        /// The answer's status.
        status: u16,
        /// The first line of the answer.
        why: String,
    },
    /// The other side took only a part.
    #[error("{address} refuses {count} of the profiles{}", reason(why))]
    Partly {
        /// The address.
        address: String,
        /// The number of profiles that it did not take.
        count: u64,
        /// Its words.
        why: String,
    },
    /// The profile cannot be written in the format.
    #[error(transparent)]
    Format(#[from] profundo_formats::Error),
    /// The store does not take it.
    #[error(transparent)]
    Store(#[from] profundo_store::Error),
    /// Requests cannot be made at all.
    #[error("requests cannot be made: {why}")]
    Client {
        /// The reason.
        why: String,
    },
}

fn reason(why: &str) -> String {
    match why {
        "" => String::new(),
        why => format!(": {why}"),
    }
}

impl Error {
    /// Whether a later attempt with the same profile may succeed.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Busy { .. } => true,
            Self::Store(error) => error.is_passing(),
            _ => false,
        }
    }

    /// The time after which the other side wants to be asked again, where it says so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { after, .. } => *after,
            _ => None,
        }
    }
}

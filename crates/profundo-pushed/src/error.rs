//! The reasons why a body is not decoded.

/// A body that is not decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is not what it should be.
    #[error("this is no {what}: {why}")]
    Malformed {
        /// The format.
        what: &'static str,
        /// The fault.
        why: String,
    },
    /// The format is known and not taken.
    #[error("{what} is not taken; {instead}")]
    Unsupported {
        /// The format.
        what: String,
        /// The way around it.
        instead: &'static str,
    },
    /// It is larger than a body may be.
    #[error("the {what} has more than {limit} bytes")]
    TooLarge {
        /// Packed or not.
        what: &'static str,
        /// The most bytes.
        limit: usize,
    },
}

impl Error {
    pub(crate) fn malformed(what: &'static str, why: impl Into<String>) -> Self {
        Self::Malformed {
            what,
            why: why.into(),
        }
    }
}

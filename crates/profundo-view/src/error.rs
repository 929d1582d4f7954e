//! What can go wrong with a question.

use axum::http::StatusCode;

/// A question without an answer, or a server that cannot serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The question is unknown.
    #[error("there is no question “{0}”")]
    Unknown(String),
    /// A value of the question is wrong.
    #[error("{name}: {why}")]
    Value {
        /// The name of the value.
        name: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The recording has nothing for this question.
    #[error("{0}")]
    Nothing(String),
    /// The recording cannot be read.
    #[error("{0}")]
    Read(String),
    /// The answer cannot be written.
    #[error("cannot answer: {0}")]
    Write(String),
    /// A file cannot be as small as it should be.
    #[error("the smallest page of this recording has {least} bytes, and {most} are permitted")]
    TooLarge {
        /// The bytes of the smallest page.
        least: usize,
        /// The most bytes.
        most: usize,
    },
    /// The server cannot listen.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Random numbers cannot be had.
    #[error("no random numbers from /dev/urandom")]
    Random(#[source] std::io::Error),
}

impl Error {
    pub(crate) fn value(name: &'static str, why: impl ToString) -> Self {
        Self::Value {
            name,
            why: why.to_string(),
        }
    }

    /// The status of the answer.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Unknown(_) | Self::Nothing(_) => StatusCode::NOT_FOUND,
            Self::Value { .. } => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl From<profundo_report::Error> for Error {
    fn from(error: profundo_report::Error) -> Self {
        Self::Write(error.to_string())
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Write(error.to_string())
    }
}

//! The reasons why a recorder cannot start, and what mends them.

use profundo_permits::{Gap, no_room};
use profundo_session::Error as SessionError;

/// The reason why nothing is recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine does not permit it.
    #[error("{0}")]
    Refused(Gap),
    /// The session's directory could not be made.
    #[error(transparent)]
    Session(SessionError),
}

impl From<SessionError> for Error {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::NoRoom { fallback, source } => Self::Refused(no_room(&fallback, &source)),
            other => Self::Session(other),
        }
    }
}

//! Options that do not go together: an error that is answered like a wrong option.

use std::fmt;

/// The reason why the typed command cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongUsage(pub String);

impl fmt::Display for WrongUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongUsage {}

//! Restrictions of a table of calls: Python's `pstats` takes one after the other, each of what the
//! last one has left.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use profundo_analysis::Pattern;

/// A restriction.
///
/// ```
/// use profundo_report::{Only, Pattern};
///
/// assert_eq!("20".parse(), Ok(Only::First(20)));
/// assert_eq!(".1".parse(), Ok(Only::Part(0.1)));
/// assert_eq!("app.py".parse(), Ok(Only::Named(Pattern::new("app.py"))));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Only {
    /// The first rows, this many.
    First(usize),
    /// This part of the rows, from 0 to 1.
    Part(f64),
    /// The rows with this in their standard name.
    Named(Pattern),
    /// The row with this standard name.
    Is(String),
}

impl FromStr for Only {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        if let Ok(count) = text.parse() {
            return Ok(Self::First(count));
        }
        Ok(match text.parse() {
            Ok(part) if (0.0..1.0).contains(&part) => Self::Part(part),
            _ => Self::Named(Pattern::new(text)),
        })
    }
}

impl fmt::Display for Only {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First(count) => write!(f, "{count}"),
            Self::Part(part) => write!(f, "{part:?}"),
            // As Python writes a text.
            Self::Named(pattern) => match pattern.text() {
                text if text.contains('\'') && !text.contains('"') => write!(f, "\"{text}\""),
                text => write!(f, "'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
            },
            Self::Is(name) => f.write_str(name),
        }
    }
}

impl Only {
    /// Leaves the rows that pass, whose standard names are these.
    pub(super) fn leave(&self, rows: &mut Vec<usize>, names: &[String]) {
        match self {
            Self::First(count) => rows.truncate(*count),
            Self::Part(part) => rows.truncate((rows.len() as f64 * part + 0.5) as usize),
            Self::Named(pattern) => rows.retain(|&row| pattern.is_in(&names[row])),
            Self::Is(name) => rows.retain(|&row| names[row] == *name),
        }
    }
}

//! A regular expression of a filter or a transform, with the text that it was made from.

use std::fmt;
use std::str::FromStr;

use regex::Regex;

/// A regular expression. It matches a name if it matches any part of it; upper and lower case
/// differ.
///
/// ```
/// use profundo_analysis::Expression;
///
/// let expression: Expression = "^parse_(int|float)$".parse().unwrap();
/// assert!(expression.is_match("parse_int"));
/// let error = "parse(".parse::<Expression>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "“parse(” is no regular expression: unclosed group, at character 6"
/// );
/// ```
#[derive(Debug, Clone)]
pub struct Expression(Regex);

/// A text that is no regular expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("“{text}” is no regular expression: {reason}")]
pub struct ExpressionError {
    /// The text.
    pub text: String,
    /// The mistake, and its place.
    pub reason: String,
}

impl Expression {
    /// The text.
    pub fn text(&self) -> &str {
        self.0.as_str()
    }

    /// Whether it matches any part of `name`.
    pub fn is_match(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

impl FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Self, ExpressionError> {
        Regex::new(text).map(Self).map_err(|_| ExpressionError {
            text: text.to_owned(),
            reason: reason(text),
        })
    }
}

/// The mistake in an expression, and its place.
fn reason(text: &str) -> String {
    use regex_syntax::Error;
    let at = |kind: &dyn fmt::Display, offset: usize| {
        let before = text.get(..offset).unwrap_or(text);
        format!("{kind}, at character {}", before.chars().count() + 1)
    };
    match regex_syntax::parse(text) {
        Err(Error::Parse(error)) => at(error.kind(), error.span().start.offset),
        Err(Error::Translate(error)) => at(error.kind(), error.span().start.offset),
        _ => "it is too large".to_owned(),
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Expression {}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_has_its_place() {
        let reason = |text: &str| text.parse::<Expression>().unwrap_err().to_string();
        assert!(reason("漢(").ends_with("unclosed group, at character 2"));
        assert!(
            reason("*a").ends_with(", at character 1"),
            "{}",
            reason("*a")
        );
        assert!(reason("a{1000}{1000}{1000}").ends_with("it is too large"));
        for text in ["(", "a\\", "[b", "(?<n", "\\p{Nope}"] {
            assert!(!reason(text).contains('\n'), "{text}");
        }
    }
}

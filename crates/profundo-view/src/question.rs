//! A question of the page: a name, and values.
//!
//! It has one text, whatever the order of its values: the page asks the server by it, and finds
//! answers in an offline file by it.

use std::collections::BTreeMap;
use std::str::FromStr;

use profundo_analysis::Filter;
use profundo_model::Nanos;

use crate::Error;

/// A question, see the module.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    name: String,
    values: BTreeMap<String, String>,
}

impl Question {
    /// A question without values.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            values: BTreeMap::new(),
        }
    }

    /// Adds a value.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.values.insert(name.to_owned(), value.to_string());
        self
    }

    /// The question without a value.
    #[must_use]
    pub(crate) fn without(&self, name: &str) -> Self {
        let mut question = self.clone();
        question.values.remove(name);
        question
    }

    /// The question of an address: its last part, and what stands behind the question mark.
    pub fn of_address(name: &str, query: &str) -> Result<Self, Error> {
        let mut question = Self::new(name);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (plain(name)?, plain(value)?);
            question.values.insert(name, value);
        }
        Ok(question)
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A value, if it is there and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let value = self.values.get(name)?;
        (!value.is_empty()).then_some(value)
    }

    /// A value that has a type of its own.
    pub(crate) fn parsed<T>(&self, name: &'static str) -> Result<Option<T>, Error>
    where
        T: FromStr,
        T::Err: ToString,
    {
        let parse = |text: &str| text.parse().map_err(|why: T::Err| Error::value(name, why));
        self.get(name).map(parse).transpose()
    }

    /// Whether a value is `1`.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.get(name) == Some("1")
    }

    /// The filter.
    pub(crate) fn filter(&self) -> Result<Filter, Error> {
        Ok(self.parsed("filter")?.unwrap_or_default())
    }

    /// The moment of `at`, which is in seconds since the start.
    pub(crate) fn moment(&self) -> Result<Option<Nanos>, Error> {
        let Some(seconds) = self.parsed::<f64>("at")? else {
            return Ok(None);
        };
        match (0.0..1e9).contains(&seconds) {
            true => Ok(Some(Nanos((seconds * 1e9).round() as u64))),
            false => Err(Error::value("at", "there is no such moment")),
        }
    }

    /// The text, see the module.
    pub fn text(&self) -> String {
        let mut text = self.name.clone();
        let values = self.values.iter().filter(|(_, value)| !value.is_empty());
        for (place, (name, value)) in values.enumerate() {
            text.push(if place == 0 { '?' } else { '&' });
            push_coded(&mut text, name);
            text.push('=');
            push_coded(&mut text, value);
        }
        text
    }
}

/// Text as JavaScript's `encodeURIComponent` codes it.
fn push_coded(out: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => out.push(char::from(byte)),
            b'-' | b'_' | b'.' | b'!' | b'~' | b'*' | b'\'' | b'(' | b')' => {
                out.push(char::from(byte));
            }
            _ => {
                out.push('%');
                out.push(char::from(HEX[usize::from(byte >> 4)]));
                out.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
    }
}

fn plain(coded: &str) -> Result<String, Error> {
    let mut bytes = Vec::with_capacity(coded.len());
    let mut rest = coded.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let value = digit(rest.next()).zip(digit(rest.next()));
                let (high, low) = value.ok_or_else(|| Error::value("address", "a broken `%`"))?;
                bytes.push((high * 16 + low) as u8);
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).map_err(|_| Error::value("address", "is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_has_one_text() {
        let question = Question::new("report")
            .with("what", "lines")
            .with("filter", "focus=^a b");
        let text = question.text();
        assert_eq!(text, "report?filter=focus%3D%5Ea%20b&what=lines");
        let (name, query) = text.split_once('?').unwrap();
        assert_eq!(Question::of_address(name, query).unwrap(), question);
        assert_eq!(question.with("limit", "").text(), text);
    }

    #[test]
    fn a_moment_is_in_seconds() {
        let at = |text: &str| Question::new("held").with("at", text).moment();
        assert_eq!(at("1.5").unwrap(), Some(Nanos(1_500_000_000)));
        assert_eq!(at("").unwrap(), None);
        for wrong in ["-1", "NaN", "inf", "1e300", "soon"] {
            assert!(at(wrong).is_err(), "{wrong}");
        }
        let question = Question::new("held").with("at", 1);
        assert_eq!(question.without("at"), Question::new("held"));
    }

    #[test]
    fn broken_addresses_are_refused() {
        assert!(Question::of_address("report", "a=%2").is_err());
        assert!(Question::of_address("report", "a=%zz").is_err());
        assert!(Question::of_address("report", "a=%ff").is_err());
        assert_eq!(
            Question::of_address("x", "a=b+c&&d").unwrap().get("a"),
            Some("b c")
        );
    }
}

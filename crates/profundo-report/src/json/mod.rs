//! A streaming writer of JSON: objects with one member a line, except for rows, which take one line
//! each. That is all that reports need, and less than a hundred lines.

mod members;

use std::fmt::{self, Write as _};
use std::io::{self, Write};

use crate::naming::weighs::Weighs;
use crate::page::line::turns_direction;

pub(crate) use members::{
    SCHEMA, amounts_members, figure_members, head_members, header_member, place, place_at,
    share_members,
};

/// JSON in the making. The first error is kept and returned at the end.
pub struct Json<'a> {
    out: &'a mut dyn Write,
    depth: usize,
    /// The number of open rows: inside, all is on one line.
    rows: usize,
    is_first: bool,
    buffer: String,
    result: io::Result<()>,
    /// The unit of weights.
    pub(crate) weighs: Weighs,
}

impl fmt::Debug for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Json").finish_non_exhaustive()
    }
}

impl<'a> Json<'a> {
    /// Writes a document, an object.
    pub(crate) fn document(
        out: &'a mut dyn Write,
        members: impl FnOnce(&mut Self),
    ) -> io::Result<()> {
        let mut json = Self {
            out,
            depth: 0,
            rows: 0,
            is_first: true,
            buffer: String::new(),
            result: Ok(()),
            weighs: Weighs::Time,
        };
        json.nested('{', '}', members);
        json.buffer.push('\n');
        json.flush();
        json.result
    }

    /// An object; without a key it is an element of an array.
    pub(crate) fn object(&mut self, key: &str, members: impl FnOnce(&mut Self)) {
        self.key(key);
        self.nested('{', '}', members);
    }

    /// An object on one line.
    pub(crate) fn row(&mut self, key: &str, members: impl FnOnce(&mut Self)) {
        self.key(key);
        self.rows += 1;
        self.nested('{', '}', members);
        self.rows -= 1;
    }

    /// An array.
    pub(crate) fn array(&mut self, key: &str, elements: impl FnOnce(&mut Self)) {
        self.key(key);
        self.nested('[', ']', elements);
    }

    /// A text.
    pub(crate) fn text(&mut self, key: &str, text: &str) {
        self.key(key);
        self.quoted(text);
    }

    /// A text, or `null` where it is empty.
    pub(crate) fn text_or_null(&mut self, key: &str, text: &str) {
        if text.is_empty() {
            self.null(key);
        } else {
            self.text(key, text);
        }
    }

    /// A whole number.
    pub(crate) fn number(&mut self, key: &str, number: u64) {
        self.key(key);
        let _ = write!(self.buffer, "{number}");
    }

    /// A whole number, or `null`.
    pub(crate) fn number_or_null(&mut self, key: &str, number: Option<u64>) {
        match number {
            Some(number) => self.number(key, number),
            None => self.null(key),
        }
    }

    /// A share, to a millionth.
    pub(crate) fn share(&mut self, key: &str, share: Option<f64>) {
        self.decimal(key, share, 6);
    }

    /// Nanoseconds in seconds.
    pub(crate) fn seconds(&mut self, key: &str, nanos: Option<u64>) {
        self.decimal(key, nanos.map(|nanos| nanos as f64 / 1e9), 9);
    }

    /// A number as exactly as it is known, or `null`.
    pub(crate) fn exactly(&mut self, key: &str, number: Option<f64>) {
        let Some(number) = number.filter(|number| number.is_finite()) else {
            return self.null(key);
        };
        self.key(key);
        let _ = write!(self.buffer, "{number:?}");
    }

    /// A rate per second, to a thousandth.
    pub(crate) fn rate(&mut self, key: &str, rate: f64) {
        self.decimal(key, Some(rate), 3);
    }

    /// Any number, to nine digits behind the point.
    pub(crate) fn figure(&mut self, key: &str, number: Option<f64>) {
        self.decimal(key, number, 9);
    }

    /// A weight: seconds, or what else it is, with `name` before it.
    pub(crate) fn weight(&mut self, name: &str, weight: u64) {
        let key = format!("{name}{}", self.weighs.member());
        match self.weighs {
            Weighs::Time | Weighs::Traced => self.seconds(&key, Some(weight)),
            Weighs::Events { .. } | Weighs::Heap(_) => self.number(&key, weight),
        }
    }

    /// A member that is true or false.
    pub(crate) fn is(&mut self, key: &str, is: bool) {
        self.key(key);
        self.buffer.push_str(if is { "true" } else { "false" });
    }

    /// A member whose value is not known.
    pub(crate) fn null(&mut self, key: &str) {
        self.key(key);
        self.buffer.push_str("null");
    }

    fn decimal(&mut self, key: &str, number: Option<f64>, digits: usize) {
        let Some(number) = number.filter(|number| number.is_finite()) else {
            return self.null(key);
        };
        self.key(key);
        let start = self.buffer.len();
        let _ = write!(self.buffer, "{number:.digits$}");
        let zeros = self.buffer[start..].trim_end_matches('0').len();
        self.buffer.truncate(start + zeros);
        if self.buffer.ends_with('.') {
            self.buffer.push('0');
        }
    }

    fn nested(&mut self, open: char, close: char, inside: impl FnOnce(&mut Self)) {
        self.buffer.push(open);
        self.depth += 1;
        self.is_first = true;
        inside(self);
        self.depth -= 1;
        if !self.is_first {
            self.new_line();
        }
        self.buffer.push(close);
        self.is_first = false;
        if self.buffer.len() > 1 << 16 {
            self.flush();
        }
    }

    fn key(&mut self, key: &str) {
        if !self.is_first {
            self.buffer.push_str(if self.rows > 0 { ", " } else { "," });
        }
        self.is_first = false;
        // A row's own place is on a line of its own.
        self.new_line();
        if !key.is_empty() {
            self.quoted(key);
            self.buffer.push_str(": ");
        }
    }

    fn new_line(&mut self) {
        if self.rows == 0 {
            self.buffer.push('\n');
            self.buffer.extend(std::iter::repeat_n("  ", self.depth));
        }
    }

    fn quoted(&mut self, text: &str) {
        self.buffer.push('"');
        for character in text.chars() {
            match character {
                '"' => self.buffer.push_str("\\\""),
                '\\' => self.buffer.push_str("\\\\"),
                '\n' => self.buffer.push_str("\\n"),
                '\t' => self.buffer.push_str("\\t"),
                // JSON wants some of these escaped; a terminal must not meet the others either.
                character if character.is_control() || turns_direction(character) => {
                    let _ = write!(self.buffer, "\\u{:04x}", u32::from(character));
                }
                character => self.buffer.push(character),
            }
        }
        self.buffer.push('"');
    }

    fn flush(&mut self) {
        if self.result.is_ok() {
            self.result = self.out.write_all(self.buffer.as_bytes());
        }
        self.buffer.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_take_one_line_and_all_else_one_a_member() {
        let mut out = Vec::new();
        Json::document(&mut out, |json| {
            json.text("a", "\"\\\n\u{1b}é\u{9b}");
            json.array("empty", |_| {});
            json.array("rows", |json| {
                json.row("", |json| {
                    json.number("n", 1);
                    json.share("s", Some(0.5));
                    json.exactly("e", Some(1.25e-10));
                    json.exactly("i", Some(f64::INFINITY));
                    json.share("none", Some(f64::NAN));
                    json.array("list", |json| json.number("", 2));
                });
                json.row("", |json| json.seconds("t", Some(2_000_000_000)));
            });
            json.is("z", true);
        })
        .unwrap();
        let expected = r#"{
  "a": "\"\\\n\u001bé\u009b",
  "empty": [],
  "rows": [
    {"n": 1, "s": 0.5, "e": 1.25e-10, "i": null, "none": null, "list": [2]},
    {"t": 2.0}
  ],
  "z": true
}
"#;
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

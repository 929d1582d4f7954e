//! The part of the protobuf wire format that a profile needs: numbers, bytes, packed numbers.
//!
//! ```text
//! field = tag varint (number << 3 | type), then
//!         type 0: varint
//!         type 2: length varint, bytes
//! ```
//!
//! A field of value 0 is left out, and readers assume 0.

use std::io::{self, Write};

use rustc_hash::FxHashMap;

const VARINT: u64 = 0;
const BYTES: u64 = 2;

/// A message in the making.
#[derive(Debug, Default)]
pub(super) struct Message {
    bytes: Vec<u8>,
    /// The buffer for inner messages, whose lengths must be known first.
    inner: Vec<u8>,
}

impl Message {
    pub(super) fn number(&mut self, field: u32, value: u64) {
        number(&mut self.bytes, field, value);
    }

    pub(super) fn packed(&mut self, field: u32, values: impl IntoIterator<Item = u64>) {
        self.inner.clear();
        for value in values {
            varint(&mut self.inner, value);
        }
        if !self.inner.is_empty() {
            framed(&mut self.bytes, field, &self.inner);
        }
    }

    /// A message inside this one.
    pub(super) fn inner(&mut self, field: u32, fill: impl FnOnce(&mut Inner<'_>)) {
        self.inner.clear();
        fill(&mut Inner(&mut self.inner));
        framed(&mut self.bytes, field, &self.inner);
    }

    /// Writes this as `field` of the message in `out`, and starts anew.
    pub(super) fn emit(&mut self, field: u32, out: &mut impl Write) -> io::Result<()> {
        let written = bytes(field, &self.bytes, out);
        self.bytes.clear();
        written
    }

    /// Writes the bare fields: `out` holds the message itself.
    pub(super) fn finish(self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.bytes)
    }
}

/// A message inside another one.
pub(super) struct Inner<'a>(&'a mut Vec<u8>);

impl Inner<'_> {
    pub(super) fn number(&mut self, field: u32, value: u64) {
        number(self.0, field, value);
    }
}

/// Writes a field of bytes, an empty one too.
pub(super) fn bytes(field: u32, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    let mut head = Vec::with_capacity(12);
    varint(&mut head, u64::from(field) << 3 | BYTES);
    varint(&mut head, bytes.len() as u64);
    out.write_all(&head)?;
    out.write_all(bytes)
}

fn number(out: &mut Vec<u8>, field: u32, value: u64) {
    if value != 0 {
        varint(out, u64::from(field) << 3 | VARINT);
        varint(out, value);
    }
}

fn framed(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    varint(out, u64::from(field) << 3 | BYTES);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The table of texts; row 0 is the empty one.
#[derive(Debug)]
pub(super) struct Strings {
    ids: FxHashMap<Box<str>, u64>,
    all: Vec<Box<str>>,
}

impl Default for Strings {
    fn default() -> Self {
        let mut strings = Self {
            ids: FxHashMap::default(),
            all: Vec::new(),
        };
        strings.id("");
        strings
    }
}

impl Strings {
    pub(super) fn id(&mut self, text: &str) -> u64 {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = self.all.len() as u64;
        self.all.push(text.into());
        self.ids.insert(text.into(), id);
        id
    }

    pub(super) fn all(&self) -> &[Box<str>] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_specification() {
        let mut message = Message::default();
        message.number(1, 150);
        message.number(2, 0);
        message.packed(4, [3, 270, 86942]);
        message.inner(3, |inner| inner.number(1, 150));
        let mut out = Vec::new();
        message.emit(2, &mut out).unwrap();
        assert_eq!(
            out,
            [
                0x12, 0x10, 0x08, 0x96, 0x01, 0x22, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05, 0x1a,
                0x03, 0x08, 0x96, 0x01
            ]
        );
    }
}

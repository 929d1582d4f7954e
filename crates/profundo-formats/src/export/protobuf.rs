//! The part of the wire format of protobuf that profiles need. A message is a row of fields:
//!
//! ```text
//! field = tag varint (number << 3 | type), then
//!         type 0: varint
//!         type 1: 8 bytes
//!         type 2: length varint, bytes (a text, a message or packed numbers)
//! ```
//!
//! A field of value 0 is left out, and readers assume 0. A message inside another one is written in
//! place: it moves by a few bytes where its length has more than one.

use std::io::{self, Write};

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;

/// The fields of a message so far.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn number(&mut self, field: u32, number: u64) {
        if number != 0 {
            self.number_or_zero(field, number);
        }
    }

    /// A number where 0 is not the same as none.
    pub(super) fn number_or_zero(&mut self, field: u32, number: u64) {
        tag(&mut self.0, field, VARINT);
        varint(&mut self.0, number);
    }

    pub(super) fn fixed64(&mut self, field: u32, number: u64) {
        if number != 0 {
            tag(&mut self.0, field, FIXED64);
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// Bytes, or a finished message.
    pub(super) fn framed(&mut self, field: u32, bytes: &[u8]) {
        head(&mut self.0, field, bytes.len());
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn text(&mut self, field: u32, text: &str) {
        self.framed(field, text.as_bytes());
    }

    /// A message inside this one.
    pub(super) fn inner(&mut self, field: u32, fill: impl FnOnce(&mut Self)) {
        tag(&mut self.0, field, BYTES);
        let start = self.0.len();
        self.0.push(0);
        fill(self);
        self.give_length(start);
    }

    pub(super) fn packed(&mut self, field: u32, numbers: impl IntoIterator<Item = u64>) {
        let mut numbers = numbers.into_iter().peekable();
        if numbers.peek().is_none() {
            return;
        }
        self.inner(field, |packed| {
            numbers.for_each(|number| varint(&mut packed.0, number));
        });
    }

    pub(super) fn packed_fixed64(&mut self, field: u32, numbers: &[u64]) {
        if !numbers.is_empty() {
            head(&mut self.0, field, numbers.len() * 8);
            self.0
                .extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        }
    }

    /// Writes the length of all behind the byte at `start`, which is kept free for it.
    fn give_length(&mut self, start: usize) {
        let length = self.0.len() - start - 1;
        if length < 0x80 {
            self.0[start] = length as u8;
            return;
        }
        let mut head = Vec::with_capacity(10);
        varint(&mut head, length as u64);
        self.0.splice(start..=start, head);
    }

    /// Writes this as `field` of the message in `out`, and starts anew.
    pub(super) fn emit(&mut self, field: u32, out: &mut impl Write) -> io::Result<()> {
        let written = write(field, &self.0, out);
        self.0.clear();
        written
    }
}

/// Writes a field of bytes, an empty one too.
pub(super) fn write(field: u32, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    let mut start = Vec::with_capacity(15);
    head(&mut start, field, bytes.len());
    out.write_all(&start)?;
    out.write_all(bytes)
}

/// The start of a field of so many bytes.
fn head(out: &mut Vec<u8>, field: u32, length: usize) {
    tag(out, field, BYTES);
    varint(out, length as u64);
}

fn tag(out: &mut Vec<u8>, field: u32, kind: u64) {
    varint(out, u64::from(field) << 3 | kind);
}

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_specification() {
        let mut message = Message::default();
        message.number(1, 150);
        message.number(2, 0);
        message.number_or_zero(2, 0);
        message.packed(4, [3, 270, 86942]);
        message.packed(4, []);
        message.inner(3, |inner| inner.number(1, 150));
        message.fixed64(5, 1);
        message.packed_fixed64(6, &[2]);
        let bytes = [
            0x08, 0x96, 0x01, 0x10, 0x00, 0x22, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05, 0x1a,
            0x03, 0x08, 0x96, 0x01, 0x29, 1, 0, 0, 0, 0, 0, 0, 0, 0x32, 8, 2, 0, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(message.bytes(), bytes);
        let mut out = Vec::new();
        message.emit(2, &mut out).unwrap();
        assert_eq!(out[..2], [0x12, bytes.len() as u8]);
        assert_eq!(out[2..], bytes);
        assert!(message.bytes().is_empty());
    }

    #[test]
    fn long_messages_have_long_lengths() {
        for length in [0_usize, 126, 127, 128, 16_382, 16_383, 16_384] {
            let text = "x".repeat(length);
            let mut framed = Message::default();
            framed.text(1, &text);
            let mut whole = Message::default();
            whole.framed(2, framed.bytes());
            let mut in_place = Message::default();
            in_place.inner(2, |inner| inner.text(1, &text));
            assert_eq!(in_place.bytes(), whole.bytes(), "{length}");
        }
    }
}

//! Messages of protobuf in the making. A field of value 0 is left out, and readers assume 0.

/// The fields of a message so far.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;

impl Message {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn tag(&mut self, field: u32, kind: u64) {
        varint(&mut self.0, u64::from(field) << 3 | kind);
    }

    pub(super) fn number(&mut self, field: u32, number: u64) {
        if number != 0 {
            self.number_or_zero(field, number);
        }
    }

    /// A number where 0 is not the same as none.
    pub(super) fn number_or_zero(&mut self, field: u32, number: u64) {
        self.tag(field, VARINT);
        varint(&mut self.0, number);
    }

    pub(super) fn fixed64(&mut self, field: u32, number: u64) {
        if number != 0 {
            self.tag(field, FIXED64);
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    pub(super) fn framed(&mut self, field: u32, bytes: &[u8]) {
        self.tag(field, BYTES);
        varint(&mut self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn text(&mut self, field: u32, text: &str) {
        self.framed(field, text.as_bytes());
    }

    /// A message inside this one.
    pub(super) fn inner(&mut self, field: u32, fill: impl FnOnce(&mut Message)) {
        let mut inner = Message::default();
        fill(&mut inner);
        self.framed(field, inner.bytes());
    }

    pub(super) fn packed(&mut self, field: u32, numbers: impl IntoIterator<Item = u64>) {
        let mut packed = Vec::new();
        for number in numbers {
            varint(&mut packed, number);
        }
        if !packed.is_empty() {
            self.framed(field, &packed);
        }
    }

    pub(super) fn packed_fixed64(&mut self, field: u32, numbers: &[u64]) {
        if !numbers.is_empty() {
            self.tag(field, BYTES);
            varint(&mut self.0, numbers.len() as u64 * 8);
            self.0
                .extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        }
    }
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
        message.inner(3, |inner| inner.number(1, 150));
        message.fixed64(5, 1);
        message.packed_fixed64(6, &[2]);
        let bytes = [
            0x08, 0x96, 0x01, 0x10, 0x00, 0x22, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05, 0x1a,
            0x03, 0x08, 0x96, 0x01, 0x29, 1, 0, 0, 0, 0, 0, 0, 0, 0x32, 8, 2, 0, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(message.bytes(), bytes);
    }
}

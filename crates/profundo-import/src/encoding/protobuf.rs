//! The wire format of protobuf, read without a schema: a message is a row of numbered fields.
//!
//! ```text
//! field = tag varint (number << 3 | type), then
//!         type 0: varint         type 1: 8 bytes
//!         type 2: length varint, that many bytes (a text, a message or packed numbers)
//!         type 5: 4 bytes
//! ```
//!
//! Nothing is copied or allocated. What is usual is `#[inline]`: then it is compiled as its caller
//! is, for speed in a server and for size elsewhere. A message that is damaged gives the fields
//! before the damage. A reader of a message goes through its fields once:
//!
//! ```ignore
//! for field in Fields::new(bytes).flatten() {
//!     match field.number {
//!         1 => id = field.value.number(),
//!         4 => lines.push(field.value.bytes()),
//!         _ => {}
//!     }
//! }
//! ```

/// The fields of a message.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    /// What is not read yet.
    rest: &'a [u8],
    length: usize,
}

/// A field of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its number in the schema.
    pub number: u32,
    /// Its value.
    pub value: Value<'a>,
}

/// A value on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// `int32`, `int64`, `uint64`, `bool`, an enum.
    Varint(u64),
    /// `fixed64`, `double`.
    Fixed64(u64),
    /// A text, a message, or packed numbers.
    Bytes(&'a [u8]),
    /// `fixed32`, `float`.
    Fixed32(u32),
}

/// The place in a message where it is no message any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed {
    /// The offset of the field in the message.
    pub offset: usize,
    /// Whether the message may only have been cut there.
    pub is_cut: bool,
}

impl<'a> Fields<'a> {
    /// The fields of this message.
    #[inline]
    pub fn new(message: &'a [u8]) -> Self {
        Self {
            rest: message,
            length: message.len(),
        }
    }

    /// A field of the usual kinds whose tag has one byte and whose number or length has at most
    /// two, and what stands behind it.
    #[inline(always)]
    fn short(&self) -> Option<(Field<'a>, &'a [u8])> {
        let (&tag, rest) = self.rest.split_first()?;
        if !(8..0x80).contains(&tag) {
            return None;
        }
        let (number, rest) = short_varint(rest)?;
        let (value, rest) = match tag & 7 {
            0 => (Value::Varint(number), rest),
            2 => {
                let (bytes, rest) = rest.split_at_checked(number as usize)?;
                (Value::Bytes(bytes), rest)
            }
            _ => return None,
        };
        let number = u32::from(tag >> 3);
        Some((Field { number, value }, rest))
    }

    /// Any field.
    #[inline(never)]
    fn long(&self) -> Result<(Field<'a>, &'a [u8]), Malformed> {
        let malformed = |is_cut| Malformed {
            offset: self.length - self.rest.len(),
            is_cut,
        };
        let (tag, rest) = varint(self.rest).map_err(malformed)?;
        let number = u32::try_from(tag >> 3).map_err(|_| malformed(false))?;
        if number == 0 {
            return Err(malformed(false));
        }
        let (value, rest) = match tag & 7 {
            0 => {
                let (number, rest) = varint(rest).map_err(malformed)?;
                (Value::Varint(number), rest)
            }
            1 => {
                let (bytes, rest) = rest.split_first_chunk().ok_or_else(|| malformed(true))?;
                (Value::Fixed64(u64::from_le_bytes(*bytes)), rest)
            }
            2 => {
                let (length, rest) = varint(rest).map_err(malformed)?;
                let length = usize::try_from(length).map_err(|_| malformed(false))?;
                let parts = rest.split_at_checked(length);
                let (bytes, rest) = parts.ok_or_else(|| malformed(true))?;
                (Value::Bytes(bytes), rest)
            }
            5 => {
                let (bytes, rest) = rest.split_first_chunk().ok_or_else(|| malformed(true))?;
                (Value::Fixed32(u32::from_le_bytes(*bytes)), rest)
            }
            // Groups, which no schema of profiles has.
            _ => return Err(malformed(false)),
        };
        Ok((Field { number, value }, rest))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some((field, rest)) = self.short() {
            self.rest = rest;
            return Some(Ok(field));
        }
        if self.rest.is_empty() {
            return None;
        }
        match self.long() {
            Ok((field, rest)) => {
                self.rest = rest;
                Some(Ok(field))
            }
            Err(malformed) => {
                self.rest = &[];
                Some(Err(malformed))
            }
        }
    }
}

impl<'a> Value<'a> {
    /// A number; 0 where the value is none.
    #[inline]
    pub fn number(self) -> u64 {
        match self {
            Self::Varint(number) | Self::Fixed64(number) => number,
            Self::Fixed32(number) => u64::from(number),
            Self::Bytes(_) => 0,
        }
    }

    /// Bytes; none where the value is a number.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    /// The numbers of a repeated field of varints: a packed value has many, and another one is one
    /// of them.
    #[inline]
    pub fn numbers(self) -> Numbers<'a> {
        match self {
            Self::Bytes(packed) => Numbers { one: None, packed },
            number => Numbers {
                one: Some(number.number()),
                packed: &[],
            },
        }
    }
}

/// The numbers of a repeated field.
#[derive(Debug, Clone)]
pub struct Numbers<'a> {
    one: Option<u64>,
    packed: &'a [u8],
}

impl Iterator for Numbers<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        if self.packed.is_empty() {
            return self.one.take();
        }
        match varint(self.packed) {
            Ok((number, rest)) => {
                self.packed = rest;
                Some(number)
            }
            Err(_) => {
                self.packed = &[];
                None
            }
        }
    }
}

/// A number of seven bits a byte, the lowest first, and the bytes behind it. The error says whether
/// it may only have been cut.
#[inline]
fn varint(bytes: &[u8]) -> Result<(u64, &[u8]), bool> {
    match short_varint(bytes) {
        Some(short) => Ok(short),
        None => long_varint(bytes),
    }
}

/// The same, of one or two bytes.
#[inline]
fn short_varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    match *bytes {
        [first, ref rest @ ..] if first < 0x80 => Some((u64::from(first), rest)),
        [first, second, ref rest @ ..] if second < 0x80 => {
            Some((u64::from(first & 0x7f) | u64::from(second) << 7, rest))
        }
        _ => None,
    }
}

#[inline(never)]
fn long_varint(bytes: &[u8]) -> Result<(u64, &[u8]), bool> {
    /// 64 bits have so many.
    const LONGEST: usize = 10;
    let mut number = 0;
    for (at, &byte) in bytes.iter().take(LONGEST).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            return Ok((number, &bytes[at + 1..]));
        }
    }
    Err(bytes.len() < LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields before the damage, and the damage.
    fn fields(message: &[u8]) -> (Vec<Field<'_>>, Option<Malformed>) {
        let mut found = Vec::new();
        for field in Fields::new(message) {
            match field {
                Ok(field) => found.push(field),
                Err(malformed) => return (found, Some(malformed)),
            }
        }
        (found, None)
    }

    #[test]
    fn the_examples_of_the_specification() {
        let number = Field {
            number: 1,
            value: Value::Varint(150),
        };
        assert_eq!(fields(&[0x08, 0x96, 0x01]), (vec![number], None));
        let text = Field {
            number: 2,
            value: Value::Bytes(b"testing"),
        };
        assert_eq!(fields(b"\x12\x07testing"), (vec![text], None));
        let packed = [0x22, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05];
        let (packed, _) = fields(&packed);
        let numbers: Vec<u64> = packed[0].value.numbers().collect();
        assert_eq!(numbers, [3, 270, 86942]);
        let fixed = [0x09, 1, 0, 0, 0, 0, 0, 0, 0, 0x15, 2, 0, 0, 0];
        let (fixed, damage) = fields(&fixed);
        let numbers: Vec<u64> = fixed.iter().map(|field| field.value.number()).collect();
        assert_eq!((numbers, damage), (vec![1, 2], None));
    }

    #[test]
    fn a_negative_number_has_ten_bytes() {
        let mut message = vec![0x08];
        message.extend([0xff; 9]);
        message.push(0x01);
        let (found, damage) = fields(&message);
        assert_eq!(damage, None);
        assert_eq!(found[0].value.number() as i64, -1);
    }

    #[test]
    fn what_stands_before_the_damage_is_read() {
        let message = [0x08, 0x96, 0x01, 0x12, 0x07, b't', b'e'];
        for (end, count) in [(0, 0), (2, 0), (3, 1), (4, 1), (5, 1), (7, 1)] {
            let (found, damage) = fields(&message[..end]);
            assert_eq!(found.len(), count, "{end}");
            let is_whole = [0, 3].contains(&end);
            assert_eq!(damage.is_none(), is_whole, "{end}");
            assert!(damage.is_none_or(|damage| damage.is_cut), "{end}");
        }
        // No field, a group, a varint without end, a length beyond the memory.
        for wrong in [
            &[0x00][..],
            &[0x0b],
            &[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255],
        ] {
            let (_, damage) = fields(wrong);
            assert_eq!(damage.map(|damage| damage.is_cut), Some(false), "{wrong:?}");
        }
        let long = [0x0a, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        assert!(fields(&long).1.is_some());
    }
}

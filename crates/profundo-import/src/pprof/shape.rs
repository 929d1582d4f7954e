//! Whether bytes begin as a profile: each field of the message, and of the messages in it, has a
//! number and a type of the schema.

use crate::encoding::protobuf::{Field, Fields, Value};

/// Whether a file begins like this. Its last field may be cut.
pub(super) fn is_start(start: &[u8]) -> bool {
    let (mut has_any, mut texts) = (false, 0_usize);
    for field in Fields::new(start) {
        let field = match field {
            Ok(field) => field,
            Err(malformed) => return malformed.is_cut && has_any,
        };
        let fits = match (field.number, field.value) {
            // The first text of the table is always empty.
            (6, Value::Bytes(text)) => {
                texts += 1;
                (texts > 1 || text.is_empty()) && std::str::from_utf8(text).is_ok()
            }
            (1 | 11, Value::Bytes(message)) => fits(message, 1..=2, 0..=0),
            (2, Value::Bytes(sample)) => Fields::new(sample).all(|field| match field {
                Ok(Field {
                    number: 3,
                    value: Value::Bytes(label),
                }) => fits(label, 1..=4, 0..=0),
                Ok(Field { number, .. }) => matches!(number, 1 | 2),
                Err(_) => false,
            }),
            (3, Value::Bytes(mapping)) => fits(mapping, 1..=10, 0..=0),
            (4, Value::Bytes(location)) => fits(location, 1..=5, 4..=4),
            (5, Value::Bytes(function)) => fits(function, 1..=5, 0..=0),
            (13, Value::Bytes(_)) => true,
            (7..=10 | 12..=15, Value::Varint(_)) => true,
            _ => false,
        };
        if !fits {
            return false;
        }
        // Nearly all begin with a type of value, or with the empty text.
        has_any |= matches!(field.number, 1..=5) && !field.value.bytes().is_empty();
    }
    has_any
}

/// Whether a message has such fields of numbers, and such of bytes.
fn fits(
    message: &[u8],
    numbers: std::ops::RangeInclusive<u32>,
    bytes: std::ops::RangeInclusive<u32>,
) -> bool {
    Fields::new(message).all(|field| {
        field.is_ok_and(|field| match field.value {
            Value::Varint(_) => numbers.contains(&field.number),
            Value::Bytes(_) => bytes.contains(&field.number),
            _ => false,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_known_by_the_shape_of_its_fields() {
        // A type of value, a sample, the empty text.
        let profile = b"\x0a\x04\x08\x01\x10\x02\x12\x05\x0a\x01\x01\x10\x05\x32\x00\x32\x03cpu";
        assert!(is_start(profile));
        assert!(is_start(&profile[..9]));
        assert!(!is_start(&profile[..3]));
        assert!(!is_start(b""));
        // A text that is not the empty one comes first.
        assert!(!is_start(b"\x32\x03cpu\x0a\x04\x08\x01\x10\x02"));
        // The types of values have numbers only.
        assert!(!is_start(b"\x0a\x05\x0a\x03cpu"));
        assert!(!is_start(b"\n\nmain;work 3\nmain;idle 1\n"));
    }
}

//! Bytes as JSON: numbers without the machinery of formatting, and strings that need not be UTF-8.

use std::io::{self, Write};

/// The replacement for invalid bytes. The words are Julia's.
const NO_CHARACTER: &[u8] = b"[invalid unicode character]";

/// Adds `number` in decimal.
pub(super) fn decimal(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        // A digit: it fits.
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// Writes `text` as a JSON string.
pub(super) fn string(out: &mut impl Write, text: &[u8]) -> io::Result<()> {
    out.write_all(b"\"")?;
    for chunk in text.utf8_chunks() {
        characters(out, chunk.valid().as_bytes())?;
        if !chunk.invalid().is_empty() {
            out.write_all(NO_CHARACTER)?;
        }
    }
    out.write_all(b"\"")
}

fn characters(out: &mut impl Write, text: &[u8]) -> io::Result<()> {
    let mut plain = 0;
    for (index, byte) in text.iter().enumerate() {
        let escaped: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            0x08 => b"\\b",
            0x0c => b"\\f",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0..0x20 => b"",
            _ => continue,
        };
        out.write_all(&text[plain..index])?;
        plain = index + 1;
        if escaped.is_empty() {
            write!(out, "\\u{byte:04x}")?;
        } else {
            out.write_all(escaped)?;
        }
    }
    out.write_all(&text[plain..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_everybody_writes_them() {
        let mut numbers = vec![0, 9, 10, 99, 100, 255, 12_345, u64::MAX, u64::MAX - 1];
        numbers.extend((0..64).flat_map(|shift| [1 << shift, (1 << shift) - 1]));
        numbers.extend((0..20).map(|power| 10_u64.pow(power)));
        for number in numbers {
            let mut out = Vec::new();
            decimal(&mut out, number);
            assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }
    }

    #[test]
    fn what_json_cannot_hold_is_escaped() {
        let cases: [(&[u8], &str); 9] = [
            (b"", r#""""#),
            (b"plain", r#""plain""#),
            (br#"a "b" \c"#, r#""a \"b\" \\c""#),
            (b"\x01\x02\x03", r#""\u0001\u0002\u0003""#),
            (b"\x08\x0c\n\r\t", r#""\b\f\n\r\t""#),
            (b"\x1f x\x7f", "\"\\u001f x\x7f\""),
            ("é€😀".as_bytes(), "\"é€😀\""),
            (b"a\xffb", r#""a[invalid unicode character]b""#),
            (b"a\xe2\x82", r#""a[invalid unicode character]""#),
        ];
        for (text, expected) in cases {
            let mut out = Vec::new();
            string(&mut out, text).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}

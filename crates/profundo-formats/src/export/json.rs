//! JSON strings, for the little JSON written here.

use std::io::{self, Write};

/// Writes `text` as a JSON string.
pub(crate) fn string(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(b"\"")?;
    let mut plain = 0;
    for (index, byte) in text.bytes().enumerate() {
        let escaped: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            // `<` would end the script element of a page that carries the text.
            0..0x20 | b'<' => b"",
            _ => continue,
        };
        out.write_all(&text.as_bytes()[plain..index])?;
        plain = index + 1;
        if escaped.is_empty() {
            write!(out, "\\u{byte:04x}")?;
        } else {
            out.write_all(escaped)?;
        }
    }
    out.write_all(&text.as_bytes()[plain..])?;
    out.write_all(b"\"")
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_json_cannot_hold_is_escaped() {
        let mut out = Vec::new();
        super::string(&mut out, "a\"b\\c\n\u{1}<é>").unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#""a\"b\\c\n\u0001\u003cé>""#
        );
    }
}

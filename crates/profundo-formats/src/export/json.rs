//! JSON strings, for the little JSON written here.

use std::io::{self, Write};

/// Writes `text` as a JSON string.
pub(crate) fn string(out: &mut impl Write, text: &str) -> io::Result<()> {
    // `<` would end the script element of a page that carries the text.
    escaped(out, text, |_, byte| byte == b'<')
}

/// Writes `text` as a JSON string for Perfetto, which shows most escapes as they are written, and
/// takes the quotation mark behind any backslash for a part of the text.
pub(crate) fn bare_string(out: &mut impl Write, text: &str) -> io::Result<()> {
    let last = text.len().saturating_sub(1);
    escaped(out, text, |index, byte| index == last && byte == b'\\')
}

/// Writes a JSON string in which some bytes have an escape that they do not need.
fn escaped(out: &mut impl Write, text: &str, also: impl Fn(usize, u8) -> bool) -> io::Result<()> {
    out.write_all(b"\"")?;
    let mut plain = 0;
    for (index, byte) in text.bytes().enumerate() {
        let escaped: &[u8] = match byte {
            _ if also(index, byte) => b"",
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0..0x20 => b"",
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

/// Writes a member whose value is a list: `"name":[…]`.
pub(crate) fn list<W: Write, T>(
    out: &mut W,
    name: &str,
    items: impl IntoIterator<Item = T>,
    mut each: impl FnMut(&mut W, T) -> io::Result<()>,
) -> io::Result<()> {
    write!(out, "\"{name}\":[")?;
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        each(out, item)?;
    }
    out.write_all(b"]")
}

/// Writes a number of thousandths of a thousandth, such as nanoseconds as milliseconds, without
/// zeros at the end.
pub(crate) fn millionths(out: &mut impl Write, number: u64) -> io::Result<()> {
    parts(out, number, 1_000_000)
}

/// Writes nanoseconds as microseconds, without zeros at the end.
pub(crate) fn thousandths(out: &mut impl Write, number: u64) -> io::Result<()> {
    parts(out, number, 1_000)
}

fn parts(out: &mut impl Write, number: u64, of: u64) -> io::Result<()> {
    let (whole, mut part) = (number / of, number % of);
    if part == 0 {
        return write!(out, "{whole}");
    }
    let mut digits = of.ilog10() as usize;
    while part % 10 == 0 {
        part /= 10;
        digits -= 1;
    }
    write!(out, "{whole}.{part:0digits$}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_json_cannot_hold_is_escaped() {
        let mut out = Vec::new();
        super::string(&mut out, "a\"b\\c\n\u{1}<é>").unwrap();
        super::bare_string(&mut out, "a\"b\\c\n\u{1}<é>").unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#""a\"b\\c\n\u0001\u003cé>""a\"b\\c\n\u0001<é>""#
        );
        let mut out = Vec::new();
        super::bare_string(&mut out, "a\\b\\").unwrap();
        super::bare_string(&mut out, "").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), r#""a\\b\u005c""""#);
    }

    #[test]
    fn parts_have_no_zeros_at_the_end() {
        let text = |number| {
            let mut out = Vec::new();
            super::millionths(&mut out, number).unwrap();
            String::from_utf8(out).unwrap()
        };
        let rows = [
            (0, "0"),
            (1, "0.000001"),
            (1_500_000, "1.5"),
            (2_000_000, "2"),
        ];
        for (number, written) in rows {
            assert_eq!(text(number), written);
        }
    }
}

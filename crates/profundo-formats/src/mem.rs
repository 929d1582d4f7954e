//! `.mem` files: a source file with the bytes that each line has allocated, in the manner of
//! Julia's `--track-allocation`, and the sorted list made from them.
//!
//! ```text
//!         - function f(x)
//!         0     s = 0
//!   8000080     v = rand(x)
//!         - end
//! ```
//!
//! A number has nine columns, to the right, and takes more if it has to; `-` stands where there is
//! no code, and `?` where the line's bytes are unknown. One space, and the line of source, of which
//! the first 1023 bytes are kept.
//!
//! ```
//! use profundo_formats::mem::{self, Count};
//!
//! let mut text = Vec::new();
//! let counts = [Count::NoCode, Count::Bytes(0), Count::NoCode, Count::Bytes(64)];
//! mem::write(b"x = 1\n\ny = [x]\n", |line| counts[line as usize], &mut text)?;
//! assert_eq!(text, b"        0 x = 1\n        - \n       64 y = [x]\n");
//! assert_eq!(mem::read(&text), [(1, 0), (3, 64)]);
//! # Ok::<(), std::io::Error>(())
//! ```

use std::io::{self, Write};

/// The kept bytes of a line.
const LONGEST: usize = 1023;

/// The mark before a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// The bytes that the line has allocated.
    Bytes(u64),
    /// It has code, with unknown allocations.
    Unknown,
    /// It has no code.
    NoCode,
}

/// Writes a source file with the count of each line (from 1) before it.
pub fn write(
    source: &[u8],
    count_of: impl Fn(u32) -> Count,
    out: &mut impl Write,
) -> io::Result<()> {
    for (number, line) in (1..).zip(lines(source)) {
        match count_of(number) {
            Count::Bytes(bytes) => write!(out, "{bytes:>9} ")?,
            Count::Unknown => write!(out, "{:>9} ", '?')?,
            Count::NoCode => write!(out, "{:>9} ", '-')?,
        }
        out.write_all(&line[..line.len().min(LONGEST)])?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// The lines of a file that have a number, with that number.
pub fn read(text: &[u8]) -> Vec<(u32, u64)> {
    let number = |line: &[u8]| {
        let start = line.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let digits = line[start..].split(u8::is_ascii_whitespace).next()?;
        std::str::from_utf8(digits).ok()?.parse().ok()
    };
    let numbered = (1..).zip(lines(text));
    numbered
        .filter_map(|(line, text)| Some((line, number(text)?)))
        .collect()
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let is_empty = text.is_empty();
    text.split(|&byte| byte == b'\n').filter(move |_| !is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(source: &[u8], count_of: impl Fn(u32) -> Count) -> String {
        let mut out = Vec::new();
        write(source, count_of, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_layout_is_julias() {
        let source = b"function f(x)\n    s = 0\n    v = rand(x)\nend";
        let text = written(source, |line| {
            let [none, some] = [Count::NoCode, Count::Bytes(8_000_080)];
            [none, none, Count::Bytes(0), some, none][line as usize]
        });
        let expected = "        - function f(x)\n        0     s = 0\n  8000080     v = rand(x)\n        - end\n";
        assert_eq!(text, expected);
        assert_eq!(read(text.as_bytes()), [(2, 0), (3, 8_000_080)]);
        // A number may be wider than its column.
        assert_eq!(
            written(b"x", |_| Count::Bytes(12_345_678_901)),
            "12345678901 x\n"
        );
        assert_eq!(written(b"", |_| Count::Bytes(1)), "");
    }

    #[test]
    fn long_lines_are_cut_and_bytes_are_kept_as_they_are() {
        let long = vec![b'a'; 3000];
        assert_eq!(written(&long, |_| Count::NoCode).len(), 9 + 1 + 1023 + 1);
        let mut out = Vec::new();
        write(b"\xff\r\n", |_| Count::NoCode, &mut out).unwrap();
        assert_eq!(out, b"        - \xff\r\n");
    }

    #[test]
    fn what_is_not_known_is_no_number() {
        let text = written(b"a\nb\n", |line| match line {
            1 => Count::Unknown,
            _ => Count::Bytes(5),
        });
        assert_eq!(text, "        ? a\n        5 b\n");
        assert_eq!(read(text.as_bytes()), [(2, 5)]);
    }

    #[test]
    fn what_is_no_number_is_passed_over() {
        let text = b"        - 12\n junk\n\n\xff\n       7 x\n99999999999999999999999 y\n";
        assert_eq!(read(text), [(5, 7)]);
    }
}

//! `.mem` files: a source file with the bytes that each line has allocated, as Julia's `--track-allocation` leaves
//! them, and the sorted list that is made of them.
//!
//! ```text
//!         - function f(x)
//!         0     s = 0
//!   8000080     v = rand(x)
//!         - end
//! ```
//!
//! A number has nine columns, to the right, and takes more if it has to; `-` stands where there is no code. One
//! space, and the line of source, of which the first 1023 bytes are kept.
//!
//! ```
//! use profundo_formats::mem;
//!
//! let mut text = Vec::new();
//! mem::write(b"x = 1\n\ny = [x]\n", |line| [None, Some(0), None, Some(64)][line as usize], &mut text)?;
//! assert_eq!(text, b"        0 x = 1\n        - \n       64 y = [x]\n");
//! assert_eq!(mem::read(&text), [(1, 0), (3, 64)]);
//! # Ok::<(), std::io::Error>(())
//! ```

use std::io::{self, Write};

/// So many bytes of a line are kept.
const LONGEST: usize = 1023;

/// Writes a source file with a number before each line: the bytes that the line (from 1) has allocated, or `-` where it
/// has no code.
pub fn write(
    source: &[u8],
    bytes_of: impl Fn(u32) -> Option<u64>,
    out: &mut impl Write,
) -> io::Result<()> {
    for (number, line) in (1..).zip(lines(source)) {
        match bytes_of(number) {
            Some(bytes) => write!(out, "{bytes:>9} ")?,
            None => write!(out, "{:>9} ", '-')?,
        }
        out.write_all(&line[..line.len().min(LONGEST)])?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// The lines of a file that have a number, and it.
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

    fn written(source: &[u8], bytes_of: impl Fn(u32) -> Option<u64>) -> String {
        let mut out = Vec::new();
        write(source, bytes_of, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_layout_is_julias() {
        let source = b"function f(x)\n    s = 0\n    v = rand(x)\nend";
        let text = written(source, |line| {
            [None, None, Some(0), Some(8_000_080), None][line as usize]
        });
        let expected = "        - function f(x)\n        0     s = 0\n  8000080     v = rand(x)\n        - end\n";
        assert_eq!(text, expected);
        assert_eq!(read(text.as_bytes()), [(2, 0), (3, 8_000_080)]);
        // A number may be wider than its column.
        assert_eq!(written(b"x", |_| Some(12_345_678_901)), "12345678901 x\n");
        assert_eq!(written(b"", |_| Some(1)), "");
    }

    #[test]
    fn long_lines_are_cut_and_bytes_are_kept_as_they_are() {
        let long = vec![b'a'; 3000];
        assert_eq!(written(&long, |_| None).len(), 9 + 1 + 1023 + 1);
        let mut out = Vec::new();
        write(b"\xff\r\n", |_| None, &mut out).unwrap();
        assert_eq!(out, b"        - \xff\r\n");
    }

    #[test]
    fn what_is_no_number_is_passed_over() {
        let text = b"        - 12\n junk\n\n\xff\n       7 x\n99999999999999999999999 y\n";
        assert_eq!(read(text), [(5, 7)]);
    }
}

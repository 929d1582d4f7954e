//! The bytes of a pickle: its numbers and texts, as bytes in newer protocols and as lines of text
//! in older ones.

use std::borrow::Cow;

/// The end of a pickle: its place and its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stop {
    pub at: usize,
    pub why: &'static str,
}

#[derive(Debug)]
pub(super) struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Words<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn stop(&self, why: &'static str) -> Stop {
        Stop { at: self.at, why }
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Stop> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(taken) = rest.get(..count) else {
            return Err(self.stop("it ends in the middle"));
        };
        self.at += count;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Stop> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }

    /// A number of so many bytes, the lowest first.
    fn unsigned(&mut self, count: usize) -> Result<u64, Stop> {
        let bytes = self.take(count)?;
        Ok(bytes
            .iter()
            .rev()
            .fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
    }

    fn length(&mut self, count: usize) -> Result<usize, Stop> {
        Ok(usize::try_from(self.unsigned(count)?).unwrap_or(usize::MAX))
    }

    fn line(&mut self) -> Result<&'a [u8], Stop> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(end) = memchr::memchr(b'\n', rest) else {
            return Err(self.stop("it ends in the middle"));
        };
        self.at += end + 1;
        Ok(rest.get(..end).unwrap_or_default().trim_ascii_end())
    }

    fn parsed<T: std::str::FromStr>(&mut self) -> Result<T, Stop> {
        let line = self.line()?;
        let line = line.strip_suffix(b"L").unwrap_or(line);
        let number = std::str::from_utf8(line)
            .ok()
            .and_then(|line| line.parse().ok());
        number.ok_or_else(|| self.stop("it has a number that is none"))
    }

    /// `module` and `name`, each on a line.
    pub(super) fn two_lines(&mut self) -> Result<String, Stop> {
        let (module, name) = (self.line()?, self.line()?);
        let text = String::from_utf8_lossy;
        Ok(format!("{}.{}", text(module), text(name)))
    }

    /// The number of a kept value.
    pub(super) fn number(&mut self, code: u8) -> Result<u64, Stop> {
        match code {
            b'p' | b'g' => self.parsed(),
            b'q' | b'h' => self.unsigned(1),
            _ => self.unsigned(4),
        }
    }

    pub(super) fn int(&mut self, code: u8) -> Result<i64, Stop> {
        match code {
            b'K' => Ok(self.unsigned(1)? as i64),
            b'M' => Ok(self.unsigned(2)? as i64),
            b'J' => Ok(i64::from(self.unsigned(4)? as u32 as i32)),
            b'I' | b'L' => self.parsed(),
            0x8a => {
                let length = self.length(1)?;
                self.long(length)
            }
            _ => {
                let length = self.length(4)?;
                self.long(length)
            }
        }
    }

    /// A number in two's complement. One that is too large saturates.
    fn long(&mut self, length: usize) -> Result<i64, Stop> {
        let bytes = self.take(length)?;
        let Some(&last) = bytes.last() else {
            return Ok(0);
        };
        let is_negative = last & 0x80 != 0;
        let fill = if is_negative { 0xff } else { 0 };
        let (low, high) = bytes.split_at(length.min(8));
        if high.iter().any(|&byte| byte != fill) {
            return Ok(if is_negative { i64::MIN } else { i64::MAX });
        }
        let mut array = [fill; 8];
        array.iter_mut().zip(low).for_each(|(to, &from)| *to = from);
        Ok(i64::from_le_bytes(array))
    }

    pub(super) fn float(&mut self, code: u8) -> Result<f64, Stop> {
        match code {
            b'F' => self.parsed(),
            _ => {
                let mut array = [0; 8];
                array.copy_from_slice(self.take(8)?);
                Ok(f64::from_be_bytes(array))
            }
        }
    }

    /// A text or bytes.
    pub(super) fn text(&mut self, code: u8) -> Result<Cow<'a, str>, Stop> {
        let length = match code {
            b'S' | b'V' => {
                let line = String::from_utf8_lossy(self.line()?);
                return Ok(match code {
                    b'S' => unescaped(line.trim_matches(['\'', '"'])).into(),
                    _ if line.contains('\\') => unescaped(&line).into(),
                    _ => line,
                });
            }
            b'U' | b'C' | 0x8c => self.length(1)?,
            b'T' | b'X' | b'B' => self.length(4)?,
            _ => self.length(8)?,
        };
        Ok(String::from_utf8_lossy(self.take(length)?))
    }
}

/// A text without Python's escapes.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let digits = match after.as_bytes().first() {
            Some(b'x') => 2,
            Some(b'u') => 4,
            Some(b'U') => 8,
            _ => 0,
        };
        let number = after.get(1..1 + digits).filter(|_| digits > 0);
        let number = number.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        if let Some(letter) = number.and_then(char::from_u32) {
            plain.push(letter);
            rest = after.get(1 + digits..).unwrap_or_default();
            continue;
        }
        let mut letters = after.chars();
        match letters.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some(letter) => plain.push(letter),
            None => {}
        }
        rest = letters.as_str();
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_protocol_0_have_escapes() {
        assert_eq!(unescaped(r"C:\\a\tb\x41\u00e4\'"), "C:\\a\tbAä'");
        assert_eq!(unescaped("\\"), "");
    }

    #[test]
    fn numbers_have_any_length() {
        let mut words = Words::new(&[2, 0xff, 0xff, 9, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
        assert_eq!(words.int(0x8a), Ok(-1));
        assert_eq!(words.int(0x8a), Ok(i64::MAX));
        assert_eq!(words.int(0x8a), Ok(0));
        assert!(words.int(0x8a).is_err());
    }
}

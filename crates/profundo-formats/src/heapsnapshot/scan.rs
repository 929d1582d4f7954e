//! JSON as it comes from a reader: a snapshot may be larger than the memory, and is nearly all
//! numbers below ten million, so eight characters are parsed at a time.

use std::io::Read;

use crate::Error;

/// The bytes read at a time.
const BLOCK: usize = 1 << 20;
/// The longest number, with room to load eight characters at a time.
const WINDOW: usize = 32;

/// JSON that is being read.
pub(super) struct Scan<R> {
    from: R,
    buffer: Vec<u8>,
    position: usize,
    end: usize,
    /// The buffer's offset in the file.
    start: u64,
    is_over: bool,
    /// The part being read, for the error at an early end.
    pub within: &'static str,
}

impl<R: Read> Scan<R> {
    pub fn new(from: R) -> Self {
        Self {
            from,
            buffer: vec![0; BLOCK],
            position: 0,
            end: 0,
            start: 0,
            is_over: false,
            within: "beginning",
        }
    }

    /// The offset in the file.
    pub fn offset(&self) -> u64 {
        self.start + self.position as u64
    }

    /// The rest of the buffer, at least `wanted` bytes of it if the file has them.
    pub fn ahead(&mut self, wanted: usize) -> Result<&[u8], Error> {
        while self.end - self.position < wanted && !self.is_over {
            self.buffer.copy_within(self.position..self.end, 0);
            self.start += self.position as u64;
            self.end -= self.position;
            self.position = 0;
            match self.from.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.is_over = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(source) => return Err(Error::Read(source)),
            }
        }
        Ok(&self.buffer[self.position..self.end])
    }

    /// Skips bytes that [`Scan::ahead`] has returned.
    pub fn pass(&mut self, bytes: usize) {
        self.position = (self.position + bytes).min(self.end);
    }

    pub fn cut(&self) -> Error {
        Error::SnapshotCut {
            offset: self.start + self.end as u64,
            within: self.within,
        }
    }

    pub fn damaged(&self, what: impl Into<String>) -> Error {
        Error::SnapshotDamaged {
            offset: self.offset(),
            what: what.into(),
        }
    }

    /// The next character other than a space.
    pub fn peek(&mut self) -> Result<u8, Error> {
        loop {
            let ahead = self.ahead(1)?;
            if ahead.is_empty() {
                return Err(self.cut());
            }
            let spaces = ahead.iter().position(|byte| !is_space(*byte));
            let length = ahead.len();
            match spaces {
                Some(spaces) => {
                    self.position += spaces;
                    return Ok(self.buffer[self.position]);
                }
                None => self.position += length,
            }
        }
    }

    /// Skips a required character.
    pub fn expect(&mut self, character: u8) -> Result<(), Error> {
        match self.peek()? {
            found if found == character => {
                self.position += 1;
                Ok(())
            }
            found => Err(self.damaged(format!(
                "{:?} stands where {:?} was due",
                char::from(found),
                char::from(character)
            ))),
        }
    }

    /// Reads `open`, then calls `each` before each element, until `close`.
    pub fn each(
        &mut self,
        open: u8,
        close: u8,
        mut each: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.expect(open)?;
        let mut is_first = true;
        while self.peek()? != close {
            if !is_first {
                self.expect(b',')?;
            }
            is_first = false;
            each(self)?;
        }
        self.expect(close)
    }

    /// Calls `each` with the key of each member of an object.
    pub fn members(
        &mut self,
        mut each: impl FnMut(&mut Self, &str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut key = Vec::new();
        self.each(b'{', b'}', |scan| {
            key.clear();
            scan.string(|bytes| key.extend_from_slice(bytes))?;
            scan.expect(b':')?;
            each(scan, &String::from_utf8_lossy(&key))
        })
    }

    /// The next number of an open array, until the array ends.
    #[inline]
    pub fn next_number(&mut self) -> Result<Option<u64>, Error> {
        if self.end - self.position >= WINDOW {
            // Mostly a comma stands before it, and often the end of a line before that.
            let mut at = self.position;
            let mut byte = self.buffer[at];
            while is_space(byte) || byte == b',' {
                at += 1;
                let Some(&next) = self.buffer[..self.end].get(at) else {
                    return self.next_number_slowly();
                };
                byte = next;
            }
            if let Some(ahead) = self.buffer[..self.end].get(at..at + 16) {
                let (first, second) = (eight(&ahead[..8]), eight(&ahead[8..]));
                if let Some((number, length)) = up_to_seven_digits(first) {
                    self.position = at + length;
                    return Ok(Some(number));
                }
                // Eight digits or more, or no number.
                if others(first) == 0 {
                    let high = of_digits(first);
                    if others(second) & 0x80 != 0 {
                        self.position = at + 8;
                        return Ok(Some(high));
                    }
                    if let Some((low, length)) = up_to_seven_digits(second) {
                        self.position = at + 8 + length;
                        return Ok(Some(high * POWERS[length] + low));
                    }
                }
            }
        }
        self.next_number_slowly()
    }

    #[inline(never)]
    fn next_number_slowly(&mut self) -> Result<Option<u64>, Error> {
        loop {
            match self.peek()? {
                b',' => self.position += 1,
                b']' => {
                    self.position += 1;
                    return Ok(None);
                }
                b'0'..=b'9' => return self.number().map(Some),
                found => {
                    return Err(self.damaged(format!(
                        "{:?} stands where a number was due",
                        char::from(found)
                    )));
                }
            }
        }
    }

    /// A number.
    pub fn number(&mut self) -> Result<u64, Error> {
        self.peek()?;
        let ahead = self.ahead(WINDOW)?;
        let digits = ahead
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if digits == ahead.len() && digits < WINDOW {
            // The number may continue.
            return Err(self.cut());
        }
        let text = &self.buffer[self.position..self.position + digits];
        let number = text.iter().try_fold(0_u64, |number, digit| {
            number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
        });
        match number {
            Some(number) if digits > 0 => {
                self.position += digits;
                Ok(number)
            }
            _ => Err(self.damaged("a number of at most 64 bits was due")),
        }
    }

    /// Passes on the text of a string, piece by piece, with its escapes decoded.
    pub fn string(&mut self, mut piece: impl FnMut(&[u8])) -> Result<(), Error> {
        self.expect(b'"')?;
        loop {
            let ahead = self.ahead(1)?;
            if ahead.is_empty() {
                return Err(self.cut());
            }
            let length = ahead.len();
            let special = ahead.iter().position(|byte| matches!(byte, b'"' | b'\\'));
            piece(&ahead[..special.unwrap_or(length)]);
            let Some(special) = special else {
                self.position += length;
                continue;
            };
            self.position += special + 1;
            if self.buffer[self.position - 1] == b'"' {
                return Ok(());
            }
            self.escape(&mut piece)?;
        }
    }

    /// Decodes the escape after a backslash.
    fn escape(&mut self, piece: &mut impl FnMut(&[u8])) -> Result<(), Error> {
        let Some(&letter) = self.ahead(1)?.first() else {
            return Err(self.cut());
        };
        let plain: &[u8] = match letter {
            b'"' => b"\"",
            b'\\' => b"\\",
            b'/' => b"/",
            b'b' => b"\x08",
            b'f' => b"\x0c",
            b'n' => b"\n",
            b'r' => b"\r",
            b't' => b"\t",
            b'u' => {
                self.position += 1;
                let character = self.code_point()?;
                piece(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => {
                return Err(
                    self.damaged("a backslash stands before a letter that JSON does not know")
                );
            }
        };
        piece(plain);
        self.position += 1;
        Ok(())
    }

    /// The four digits after `\u`, and those of the other half of a pair. A half alone is no
    /// character.
    fn code_point(&mut self) -> Result<char, Error> {
        let first = self.four_digits()?;
        let unit = match first {
            0xd800..0xdc00 => {
                let second = match self.ahead(6)? {
                    [b'\\', b'u', digits @ ..] => hexadecimal(digits.get(..4)),
                    _ => None,
                };
                match second {
                    Some(second @ 0xdc00..0xe000) => {
                        self.position += 6;
                        0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)
                    }
                    _ => first,
                }
            }
            _ => first,
        };
        Ok(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn four_digits(&mut self) -> Result<u32, Error> {
        let ahead = self.ahead(4)?;
        if ahead.len() < 4 {
            return Err(self.cut());
        }
        match hexadecimal(ahead.get(..4)) {
            Some(unit) => {
                self.position += 4;
                Ok(unit)
            }
            None => Err(self.damaged("four hexadecimal digits were due")),
        }
    }

    /// Skips a value of any kind.
    pub fn skip(&mut self) -> Result<(), Error> {
        let mut depth = 0_u64;
        loop {
            match self.peek()? {
                b'"' => self.string(|_| {})?,
                b'[' | b'{' => {
                    depth += 1;
                    self.position += 1;
                    continue;
                }
                b']' | b'}' => {
                    let Some(outer) = depth.checked_sub(1) else {
                        return Err(self.damaged("a value was due"));
                    };
                    depth = outer;
                    self.position += 1;
                }
                b',' | b':' if depth > 0 => {
                    self.position += 1;
                    continue;
                }
                _ => self.word()?,
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Skips a number or a word.
    fn word(&mut self) -> Result<(), Error> {
        let mut length = 0;
        loop {
            let ahead = self.ahead(1)?;
            let part = ahead
                .iter()
                .take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
                .count();
            let is_all = part == ahead.len() && part > 0;
            self.position += part;
            length += part;
            if !is_all {
                break;
            }
        }
        match length {
            0 => Err(self.damaged("a value was due")),
            _ => Ok(()),
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

fn hexadecimal(digits: Option<&[u8]>) -> Option<u32> {
    digits?.iter().try_fold(0, |number, digit| {
        Some(number << 4 | char::from(*digit).to_digit(16)?)
    })
}

const POWERS: [u64; 8] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];

fn eight(text: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(text);
    u64::from_le_bytes(bytes)
}

/// The number at the start of eight characters and its length, if it has one to seven digits.
#[inline]
fn up_to_seven_digits(eight: u64) -> Option<(u64, usize)> {
    let length = others(eight).trailing_zeros() / 8;
    if length == 0 || length > 7 {
        return None;
    }
    // The digits move to the end, where they are the last of eight; zeros come before them.
    Some((of_digits(eight << (64 - 8 * length)), length as usize))
}

/// Sets the high bit of the first character that is no digit, and no bit before it.
#[inline]
fn others(eight: u64) -> u64 {
    // Carries go to later characters only.
    let above = eight.wrapping_add(0x4646_4646_4646_4646);
    let below = eight.wrapping_sub(0x3030_3030_3030_3030);
    (above | below) & 0x8080_8080_8080_8080
}

/// Eight digits as a number; a zero byte counts as 0.
#[inline]
fn of_digits(eight: u64) -> u64 {
    let digits = eight & 0x0f0f_0f0f_0f0f_0f0f;
    let pairs = (digits.wrapping_mul(2561) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(6_553_601) >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(42_949_672_960_001) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Result<Vec<u64>, Error> {
        let mut scan = Scan::new(text.as_bytes());
        let mut numbers = Vec::new();
        while let Some(number) = scan.next_number()? {
            numbers.push(number);
        }
        Ok(numbers)
    }

    #[test]
    fn numbers_of_any_length_are_read_as_everybody_reads_them() {
        let mut expected: Vec<u64> = (0..20).map(|power| 10_u64.pow(power)).collect();
        expected.extend((0..64).flat_map(|shift| [1 << shift, (1 << shift) - 1]));
        expected.extend((0..5000).map(|number| number * 12_345_677));
        expected.push(u64::MAX);
        for between in [",", "\n,", " , \t"] {
            let words: Vec<String> = expected.iter().map(ToString::to_string).collect();
            let text = words.join(between) + "]";
            assert_eq!(numbers(&text).unwrap(), expected);
        }
        numbers("18446744073709551616]").unwrap_err();
        numbers("1,-2]").unwrap_err();
        numbers("1,2").unwrap_err();
    }

    #[test]
    fn strings_are_what_was_written() {
        let text = |json: &str| {
            let mut text = Vec::new();
            let mut scan = Scan::new(json.as_bytes());
            scan.string(|piece| text.extend_from_slice(piece))?;
            Ok::<_, Error>(String::from_utf8(text).unwrap())
        };
        let cases = [
            (r#""plain""#, "plain"),
            (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\x08\x0c\n\r\t"),
            (r#""\u00e9\u20AC""#, "é€"),
            (r#""\ud83d\ude00""#, "😀"),
            (r#""\ud83d x""#, "\u{fffd} x"),
            (r#""\ud83d\u0041""#, "\u{fffd}A"),
            (r#""\ude00""#, "\u{fffd}"),
        ];
        for (json, expected) in cases {
            assert_eq!(text(json).unwrap(), expected, "{json}");
        }
        for wrong in [r#""cut"#, r#""\"#, r#""\u00"#, r#""\u00g0""#, r#""\x""#] {
            assert!(text(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_are_gone_past_whole() {
        for value in [
            "1",
            "-1.5e+3",
            "null",
            r#""a\"]""#,
            "[]",
            r#"{"a":[1,{"b":"}"}],"c":true}"#,
        ] {
            let text = format!(" {value} !");
            let mut scan = Scan::new(text.as_bytes());
            scan.skip().unwrap();
            assert_eq!(scan.peek().unwrap(), b'!', "{value}");
        }
        for wrong in ["", "]", ",", "[1", "{\"a\":", "!"] {
            assert!(Scan::new(wrong.as_bytes()).skip().is_err(), "{wrong}");
        }
    }
}

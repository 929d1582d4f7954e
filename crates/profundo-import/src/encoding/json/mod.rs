//! JSON, read value by value and without a tree: a large file takes no memory, a deep one no stack,
//! and a damaged one gives what stands before the damage.
//!
//! It is a reader of profiles, not a judge of JSON: commas may be missing or too many, and a value
//! of another type than the wanted one is passed over.

mod number;

use std::borrow::Cow;

pub(crate) use number::scaled;

/// A place in a JSON text.
#[derive(Debug, Clone)]
pub(crate) struct Json<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The place where a text is no JSON any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    pub offset: usize,
    pub what: &'static str,
}

/// The damage of a text that was cut.
pub(crate) const ENDS_EARLY: &str = "it ends early";

pub(crate) type Read<T> = Result<T, Damage>;

impl Damage {
    /// The gap of the file.
    pub(crate) fn warning(&self) -> crate::Warning {
        crate::Warning::Damaged {
            offset: self.offset as u64,
            what: self.what.to_owned(),
        }
    }
}

impl<'a> Json<'a> {
    /// The start of a text.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let bom = if bytes.starts_with(&[0xef, 0xbb, 0xbf]) {
            3
        } else {
            0
        };
        Self { bytes, at: bom }
    }

    fn damage(&self, what: &'static str) -> Damage {
        Damage {
            offset: self.at,
            what,
        }
    }

    /// The bytes read so far.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// The rest of the text.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The first byte of the next value or mark.
    pub(crate) fn peek(&mut self) -> Read<u8> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Ok(byte);
            }
            self.at += 1;
        }
        Err(self.damage(ENDS_EARLY))
    }

    /// Enters an array (`[`) or an object (`{`). Another value is passed over.
    pub(crate) fn enter(&mut self, open: u8) -> Read<bool> {
        if self.peek()? == open {
            self.at += 1;
            return Ok(true);
        }
        self.skip()?;
        Ok(false)
    }

    /// The next key of the object that was entered; `None` at its end.
    pub(crate) fn key(&mut self) -> Read<Option<Cow<'a, str>>> {
        loop {
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(None);
                }
                b'"' => {
                    let key = self.string()?;
                    if self.peek()? != b':' {
                        return Err(self.damage("a key has no value"));
                    }
                    self.at += 1;
                    return Ok(Some(key));
                }
                _ => return Err(self.damage("it is no JSON")),
            }
        }
    }

    /// Whether the array that was entered has another value, which must be read next.
    pub(crate) fn element(&mut self) -> Read<bool> {
        loop {
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Ok(false);
                }
                _ => return Ok(true),
            }
        }
    }

    /// Reads an object. `each` reads the value of each key.
    pub(crate) fn object(&mut self, mut each: impl FnMut(&mut Self, &str) -> Read<()>) -> Read<()> {
        if self.enter(b'{')? {
            while let Some(key) = self.key()? {
                each(self, &key)?;
            }
        }
        Ok(())
    }

    /// Reads an array. `each` reads each value.
    pub(crate) fn array(&mut self, mut each: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        if self.enter(b'[')? {
            while self.element()? {
                each(self)?;
            }
        }
        Ok(())
    }

    /// A string; `None` for another value.
    pub(crate) fn text(&mut self) -> Read<Option<Cow<'a, str>>> {
        if self.peek()? == b'"' {
            return self.string().map(Some);
        }
        self.skip()?;
        Ok(None)
    }

    /// A string, or another value as it stands.
    pub(crate) fn text_or_raw(&mut self) -> Read<Cow<'a, str>> {
        if self.peek()? == b'"' {
            return self.string();
        }
        self.raw().map(String::from_utf8_lossy)
    }

    /// A number; `None` for another value.
    pub(crate) fn number(&mut self) -> Read<Option<f64>> {
        self.digits().map(|digits| digits.and_then(number::float))
    }

    /// A whole number; `None` for another value.
    pub(crate) fn whole(&mut self) -> Read<Option<i64>> {
        self.decimal(0)
    }

    /// A number with the point moved to the right by so many places, rounded; `None` for another
    /// value.
    pub(crate) fn decimal(&mut self, places: i32) -> Read<Option<i64>> {
        (self.digits()).map(|digits| digits.and_then(|digits| scaled(digits, places)))
    }

    /// A number that is an index; `None` for another value, and for one out of range.
    pub(crate) fn index(&mut self) -> Read<Option<u32>> {
        let whole = self.whole()?;
        Ok(whole.and_then(|whole| u32::try_from(whole).ok()))
    }

    /// The text of a number, also where it is in quotes.
    fn digits(&mut self) -> Read<Option<&'a [u8]>> {
        match self.peek()? {
            b'-' | b'0'..=b'9' => self.raw().map(Some),
            b'"' => Ok(self
                .raw()?
                .get(1..)
                .and_then(|text| text.strip_suffix(b"\""))),
            _ => self.skip().map(|()| None),
        }
    }

    /// The text of the next value.
    pub(crate) fn raw(&mut self) -> Read<&'a [u8]> {
        self.peek()?;
        let start = self.at;
        self.skip()?;
        Ok(self.bytes.get(start..self.at).unwrap_or_default())
    }

    /// Passes over the next value.
    pub(crate) fn skip(&mut self) -> Read<()> {
        match self.peek()? {
            b'"' => self.skip_string(),
            b'{' | b'[' => self.skip_container(),
            _ => self.skip_word(),
        }
    }

    fn skip_word(&mut self) -> Read<()> {
        let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let length = self.rest().iter().take_while(is_word).count();
        if length == 0 {
            return Err(self.damage("it is no JSON"));
        }
        self.at += length;
        Ok(())
    }

    fn skip_string(&mut self) -> Read<()> {
        let mut at = self.at + 1;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            match memchr::memchr2(b'"', b'\\', rest) {
                Some(next) if rest[next] == b'"' => {
                    self.at = at + next + 1;
                    return Ok(());
                }
                // The letter behind it is a part of the text.
                Some(next) => at += next + 2,
                None => {
                    self.at = self.bytes.len();
                    return Err(self.damage(ENDS_EARLY));
                }
            }
        }
    }

    fn skip_container(&mut self) -> Read<()> {
        let mut depth = 0_usize;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.skip_string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
        Err(self.damage(ENDS_EARLY))
    }

    /// The string that begins here.
    fn string(&mut self) -> Read<Cow<'a, str>> {
        let start = self.at + 1;
        self.skip_string()?;
        let text = self.bytes.get(start..self.at - 1).unwrap_or_default();
        Ok(match memchr::memchr(b'\\', text) {
            None => String::from_utf8_lossy(text),
            Some(_) => Cow::Owned(unescaped(text)),
        })
    }
}

/// A string without its escapes. Wrong ones stay as they are.
fn unescaped(text: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        bytes.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let escaped = match rest.get(1) {
            Some(b'n') => Some('\n'),
            Some(b't') => Some('\t'),
            Some(b'r') => Some('\r'),
            Some(b'b') => Some('\u{8}'),
            Some(b'f') => Some('\u{c}'),
            Some(&byte @ (b'"' | b'\\' | b'/')) => Some(char::from(byte)),
            Some(b'u') => {
                let (letter, length) = unicode(rest);
                let mut buffer = [0; 4];
                bytes.extend_from_slice(letter.encode_utf8(&mut buffer).as_bytes());
                rest = &rest[length..];
                continue;
            }
            _ => None,
        };
        match escaped {
            Some(letter) => {
                bytes.push(letter as u8);
                rest = &rest[2..];
            }
            None => {
                bytes.push(b'\\');
                rest = &rest[1..];
            }
        }
    }
    bytes.extend_from_slice(rest);
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The letter of `\u1234` or of a pair of these, and its length in the text.
fn unicode(text: &[u8]) -> (char, usize) {
    let unit = |text: &[u8]| -> Option<u16> {
        let digits = text.strip_prefix(b"\\u")?.get(..4)?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let Some(first) = unit(text) else {
        return (char::REPLACEMENT_CHARACTER, 2.min(text.len()));
    };
    let second = text.get(6..).and_then(unit);
    let units = [first, second.unwrap_or(0)];
    let letter = char::decode_utf16(units).next().and_then(Result::ok);
    match letter {
        Some(letter) if letter.len_utf16() == 2 => (letter, 12),
        letter => (letter.unwrap_or(char::REPLACEMENT_CHARACTER), 6),
    }
}

/// The members of an object that may be cut: the keys, and the text from each value on.
pub(crate) fn members(start: &[u8]) -> Vec<(Cow<'_, str>, &[u8])> {
    let mut json = Json::new(start);
    let mut members = Vec::new();
    if json.peek() != Ok(b'{') {
        return members;
    }
    json.at += 1;
    while let Ok(Some(key)) = json.key() {
        members.push((key, json.rest()));
        if json.skip().is_err() {
            break;
        }
    }
    members
}

/// The value of a member.
pub(crate) fn member<'a>(members: &[(Cow<'a, str>, &'a [u8])], key: &str) -> Option<&'a [u8]> {
    let member = members.iter().find(|(name, _)| name == key);
    member.map(|&(_, value)| value)
}

/// The first value of an array that may be cut.
pub(crate) fn first(start: &[u8]) -> Option<&[u8]> {
    let mut json = Json::new(start);
    let is_any = json.peek() == Ok(b'[') && json.enter(b'[') == Ok(true);
    (is_any && json.element() == Ok(true)).then(|| json.rest())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_or_passed_over() {
        let text = r#" {"a": "x\"\u00e4\ud83d\ude00\n", "b": [1, -2.5e1, null, {"c": "]}"}],
            "d": 12, "e": true, "f": NaN}"#;
        let mut json = Json::new(text.as_bytes());
        let mut seen = Vec::new();
        json.object(|json, key| {
            match key {
                "a" => seen.push(json.text()?.unwrap().into_owned()),
                "b" => json.array(|json| {
                    seen.push(format!("{:?}", json.number()?));
                    Ok(())
                })?,
                "f" => seen.push(format!("{:?}", json.number()?)),
                _ => json.skip()?,
            }
            Ok(())
        })
        .unwrap();
        let expected = [
            "x\"ä😀\n",
            "Some(1.0)",
            "Some(-25.0)",
            "None",
            "None",
            "None",
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn any_cut_and_any_change_is_damage_or_nothing() {
        let text = r#"{"a":[1,{"b":"\u12"},"\\"],"c":{"d":[[]]}}"#;
        fn walk(json: &mut Json<'_>, depth: u32) -> Read<()> {
            assert!(depth < 100);
            match json.peek()? {
                b'{' => json.object(|json, _| walk(json, depth + 1)),
                b'[' => json.array(|json| walk(json, depth + 1)),
                b'"' => json.text().map(|_| ()),
                _ => json.number().map(|_| ()),
            }
        }
        for end in 0..text.len() {
            assert!(walk(&mut Json::new(&text.as_bytes()[..end]), 0).is_err());
        }
        for at in 0..text.len() {
            for byte in 0..=255 {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] = byte;
                let _ = walk(&mut Json::new(&bytes), 0);
                members(&bytes);
            }
        }
    }

    #[test]
    fn members_of_a_cut_object_are_found() {
        let found = members(br#"{"a": 1, "b": {"c": [1, 2"#);
        assert_eq!(found.len(), 2);
        assert_eq!(found[1].0, "b");
        assert!(found[1].1.trim_ascii().starts_with(b"{\"c\""));
        assert_eq!(first(b" [ {\"x\""), Some(&b"{\"x\""[..]));
    }
}

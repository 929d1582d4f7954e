//! XML, read tag by tag and without a tree. It does not validate: names of closing tags are not
//! compared, and declarations and comments are skipped.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memmem};

/// A place in an XML text.
#[derive(Debug, Clone)]
pub(crate) struct Xml<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// A part of the text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part<'a> {
    /// `<name key="value">`; `is_empty` with a slash at its end: no [`Part::Close`] follows.
    Open {
        name: &'a [u8],
        attributes: &'a [u8],
        is_empty: bool,
    },
    /// `</name>`
    Close(&'a [u8]),
    /// The text between two tags.
    Text(&'a [u8]),
}

impl<'a> Xml<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The bytes read so far.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The next part. `None` at the end, and where a tag is cut.
    pub(crate) fn next(&mut self) -> Option<Part<'a>> {
        loop {
            let rest = self.rest();
            match memchr(b'<', rest)? {
                0 => {}
                length => {
                    self.at += length;
                    return rest.get(..length).map(Part::Text);
                }
            }
            if rest.starts_with(b"<!--") {
                self.at += memmem::find(rest, b"-->")? + 3;
                continue;
            }
            if rest.starts_with(b"<!") {
                self.at += declaration(rest)?;
                continue;
            }
            let length = tag(rest)?;
            self.at += length + 1;
            let inside = rest.get(1..length)?;
            if inside.starts_with(b"?") {
                continue;
            }
            if let Some(name) = inside.strip_prefix(b"/") {
                return Some(Part::Close(name.trim_ascii()));
            }
            let (inside, is_empty) = match inside.strip_suffix(b"/") {
                Some(inside) => (inside, true),
                None => (inside, false),
            };
            let end = inside.iter().position(u8::is_ascii_whitespace);
            let (name, attributes) = inside.split_at_checked(end.unwrap_or(inside.len()))?;
            return Some(Part::Open {
                name,
                attributes,
                is_empty,
            });
        }
    }
}

/// The place of the `>` that ends a tag, behind its values in quotes.
fn tag(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match *text.get(at)? {
            b'>' => return Some(at),
            quote @ (b'"' | b'\'') => at += memchr(quote, text.get(at + 1..)?)? + 2,
            _ => at += 1,
        }
    }
}

/// The length of a declaration with what is in its brackets, or of a section of plain text.
fn declaration(text: &[u8]) -> Option<usize> {
    if text.starts_with(b"<![CDATA[") {
        return Some(memmem::find(text, b"]]>")? + 3);
    }
    let mut at = memchr2(b'[', b'>', text)?;
    // The bracket that ends it has only spaces before the `>`.
    while text.get(at) != Some(&b'>') {
        at += 1;
        at += memchr(b']', text.get(at..)?)? + 1;
        let spaces = text
            .get(at..)?
            .iter()
            .take_while(|it| it.is_ascii_whitespace());
        at += spaces.count();
    }
    Some(at + 1)
}

/// The value of an attribute.
pub(crate) fn attribute<'a>(attributes: &'a [u8], key: &str) -> Option<Cow<'a, str>> {
    let mut rest = attributes;
    loop {
        let equals = memchr(b'=', rest)?;
        let name = rest.get(..equals)?.trim_ascii();
        let value = rest.get(equals + 1..)?.trim_ascii_start();
        let quote = *value.first()?;
        let value = value.get(1..)?;
        let end = memchr(quote, value)?;
        if name == key.as_bytes() {
            return Some(plain(value.get(..end)?));
        }
        rest = value.get(end + 1..)?;
    }
}

/// The number in an attribute.
pub(crate) fn number<T: std::str::FromStr>(attributes: &[u8], key: &str) -> Option<T> {
    attribute(attributes, key)?.trim().parse().ok()
}

/// Text with its character references replaced: `<` for `&lt;`, `A` for `&#65;`. Unknown ones stay
/// as they are.
pub(crate) fn plain(text: &[u8]) -> Cow<'_, str> {
    /// A longer name is none that is known.
    const LONGEST: usize = 12;
    let text = String::from_utf8_lossy(text);
    if !text.contains('&') {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = &text[..];
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        let end = after.bytes().take(LONGEST).position(|byte| byte == b';');
        let named = end.and_then(|end| {
            let letter = match after.get(..end)? {
                "lt" => '<',
                "gt" => '>',
                "amp" => '&',
                "quot" => '"',
                "apos" => '\'',
                name => numbered(name.strip_prefix('#')?)?,
            };
            Some((letter, after.get(end + 1..)?))
        });
        rest = match named {
            Some((letter, after)) => {
                plain.push(letter);
                after
            }
            None => {
                plain.push('&');
                after
            }
        };
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

fn numbered(digits: &str) -> Option<char> {
    let number = match digits.strip_prefix('x') {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    char::from_u32(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_one_another() {
        let text = b"<?xml version=\"1.0\"?><!DOCTYPE a [ <!ELEMENT b> <!-- > --> ]>\n\
            <a n=\"x &lt;y&gt; &#65;&amp;&odd;\" m='2'><!-- <no> --><b/>text</a><c";
        let mut xml = Xml::new(text);
        let mut seen = Vec::new();
        while let Some(part) = xml.next() {
            match part {
                Part::Open {
                    name,
                    attributes,
                    is_empty,
                } => {
                    seen.push(format!("{}{is_empty}", String::from_utf8_lossy(name)));
                    if name == b"a" {
                        let value = attribute(attributes, "n");
                        assert_eq!(value.as_deref(), Some("x <y> A&&odd;"));
                        assert_eq!(number::<u32>(attributes, "m"), Some(2));
                        assert_eq!(attribute(attributes, "k"), None);
                    }
                }
                Part::Close(name) => seen.push(format!("/{}", String::from_utf8_lossy(name))),
                Part::Text(text) => {
                    let text = String::from_utf8_lossy(text);
                    if !text.trim().is_empty() {
                        seen.push(text.into_owned());
                    }
                }
            }
        }
        assert_eq!(seen, ["afalse", "btrue", "text", "/a"]);
        assert_eq!(xml.offset(), text.len() - 2);
    }

    #[test]
    fn a_declaration_ends_at_its_own_bracket() {
        for text in [
            "<!DOCTYPE a [ <!ELEMENT b (c)> ]  ><d/>",
            "<![CDATA[ a[0] > b ]]><d/>",
            "<!DOCTYPE a><d/>",
        ] {
            let part = Xml::new(text.as_bytes()).next();
            assert!(
                matches!(part, Some(Part::Open { name: b"d", .. })),
                "{text}"
            );
        }
        assert!(Xml::new(b"<!DOCTYPE a [ ] b").next().is_none());
    }

    /// In time that grows with the square of the length, each would take minutes.
    #[test]
    fn marks_without_an_end_take_little_time() {
        let text = "&".repeat(1 << 20);
        assert_eq!(plain(text.as_bytes()), text);
        assert!(Xml::new("<![]".repeat(1 << 18).as_bytes()).next().is_none());
    }
}

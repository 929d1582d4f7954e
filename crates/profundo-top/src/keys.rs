//! Keys from the bytes that a terminal sends for them. No library does it, because reading must
//! never block, neither for the rest of a sequence nor on a closed terminal.

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// Ctrl and a letter.
    Control(char),
    /// Return.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
    /// Tab.
    Tab,
    /// Shift and tab.
    BackTab,
    /// The up arrow.
    Up,
    /// The down arrow.
    Down,
    /// The left arrow.
    Left,
    /// The right arrow.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the first row.
    Home,
    /// To the last row.
    End,
    /// A key without a meaning here.
    Other,
}

/// The bytes of keys received so far.
#[derive(Debug, Default)]
pub struct Keys(Vec<u8>);

impl Keys {
    /// Adds received bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// True if the beginning of a key was received.
    pub fn is_waiting(&self) -> bool {
        !self.0.is_empty()
    }

    /// The next key. An incomplete one is waited for, unless no more is to come soon (`now`).
    pub fn next(&mut self, now: bool) -> Option<Key> {
        let (key, length) = match parse(&self.0) {
            Some(found) => found,
            None if now && !self.0.is_empty() => match self.0[0] {
                0x1b => (Key::Escape, 1),
                _ => (Key::Other, self.0.len()),
            },
            None => return None,
        };
        self.0.drain(..length);
        Some(key)
    }
}

/// The first key and its number of bytes; `None` if it is incomplete.
fn parse(bytes: &[u8]) -> Option<(Key, usize)> {
    /// No key's sequence is longer.
    const LONGEST: usize = 16;
    let (&first, rest) = bytes.split_first()?;
    let key = match first {
        0x1b => {
            return match *rest.first()? {
                b'O' => Some((letter(*rest.get(1)?), 3)),
                b'[' => {
                    let body = rest.get(1..)?;
                    let end = body.iter().position(|byte| (0x40..=0x7e).contains(byte));
                    match end {
                        Some(end) => Some((sequence(&body[..end], body[end]), end + 3)),
                        None if body.len() >= LONGEST => Some((Key::Other, bytes.len())),
                        None => None,
                    }
                }
                // A second escape begins another key.
                0x1b => Some((Key::Escape, 1)),
                // Alt and a key.
                _ => parse(rest).map(|(_, length)| (Key::Other, length + 1)),
            };
        }
        b'\r' | b'\n' => Key::Enter,
        b'\t' => Key::Tab,
        0x7f | 0x08 => Key::Backspace,
        0 => Key::Other,
        1..=26 => Key::Control(char::from(b'a' + first - 1)),
        0x1c..=0x1f => Key::Control(char::from(first + 0x40)),
        _ => return character(bytes),
    };
    Some((key, 1))
}

fn character(bytes: &[u8]) -> Option<(Key, usize)> {
    let length = match bytes[0] {
        0..0x80 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf8 => 4,
        _ => return Some((Key::Other, 1)),
    };
    let text = std::str::from_utf8(bytes.get(..length)?);
    match text.ok().and_then(|text| text.chars().next()) {
        Some(character) => Some((Key::Char(character), length)),
        None => Some((Key::Other, 1)),
    }
}

fn sequence(body: &[u8], end: u8) -> Key {
    match (body, end) {
        (b"1" | b"7", b'~') => Key::Home,
        (b"4" | b"8", b'~') => Key::End,
        (b"5", b'~') => Key::PageUp,
        (b"6", b'~') => Key::PageDown,
        (b"", end) => letter(end),
        _ => Key::Other,
    }
}

fn letter(end: u8) -> Key {
    match end {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        b'Z' => Key::BackTab,
        _ => Key::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8], now: bool) -> Vec<Key> {
        let mut keys = Keys::default();
        keys.add(bytes);
        std::iter::from_fn(|| keys.next(now)).collect()
    }

    #[test]
    fn bytes_are_keys() {
        let rows: [(&[u8], &[Key]); 14] = [
            (b"q1", &[Key::Char('q'), Key::Char('1')]),
            ("ü漢".as_bytes(), &[Key::Char('ü'), Key::Char('漢')]),
            (b"\x03\x1a", &[Key::Control('c'), Key::Control('z')]),
            (b"\r\t\x7f", &[Key::Enter, Key::Tab, Key::Backspace]),
            (b"\x1b[A\x1bOB", &[Key::Up, Key::Down]),
            (b"\x1b[C\x1b[D", &[Key::Right, Key::Left]),
            (b"\x1b[5~\x1b[6~", &[Key::PageUp, Key::PageDown]),
            (b"\x1b[H\x1b[4~\x1bOF", &[Key::Home, Key::End, Key::End]),
            (b"\x1b[Z", &[Key::BackTab]),
            (b"\x1b[1;5Cx", &[Key::Other, Key::Char('x')]),
            (b"\x1bx", &[Key::Other]),
            (b"\x1b\x1b[A", &[Key::Escape, Key::Up]),
            (b"\x1b[200~", &[Key::Other]),
            (b"\xff\x80a", &[Key::Other, Key::Other, Key::Char('a')]),
        ];
        for (bytes, keys) in rows {
            assert_eq!(all(bytes, false), keys, "{bytes:x?}");
        }
    }

    #[test]
    fn the_rest_of_a_key_is_waited_for_and_not_for_ever() {
        for (bytes, key) in [
            (&b"\x1b"[..], &[Key::Escape][..]),
            (b"\x1b[", &[Key::Escape, Key::Char('[')]),
            (b"\xe6\xbc", &[Key::Other]),
        ] {
            assert_eq!(all(bytes, false), [], "{bytes:x?}");
            assert_eq!(all(bytes, true), key, "{bytes:x?}");
        }
        let mut keys = Keys::default();
        keys.add(b"\x1b");
        assert_eq!(keys.next(false), None);
        assert!(keys.is_waiting());
        keys.add(b"[A");
        assert_eq!(keys.next(false), Some(Key::Up));
        assert!(!keys.is_waiting());
        // A sequence without end does not fill the memory either.
        assert_eq!(
            all(&[b"\x1b[".as_slice(), &[b'1'; 64]].concat(), false),
            [Key::Other]
        );
    }

    #[test]
    fn any_bytes_come_to_an_end() {
        for first in 0..=255_u8 {
            for second in 0..=255_u8 {
                let keys = all(&[first, second, b'q'], true);
                assert!((1..=3).contains(&keys.len()), "{first:x} {second:x}");
            }
        }
    }
}

//! Compressed names: `(12) name` gives a name a number, `(12)` stands for it from then on.

use rustc_hash::FxHashMap;

/// The names of files, of functions or of objects.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    by_number: FxHashMap<u64, u32>,
    by_text: FxHashMap<&'a [u8], u32>,
    texts: Vec<&'a [u8]>,
}

impl<'a> Names<'a> {
    /// The row of a name as it is written.
    pub(super) fn row(&mut self, written: &'a [u8]) -> u32 {
        let written = written.trim_ascii();
        let Some((number, text)) = numbered(written) else {
            return self.intern(written);
        };
        if text.is_empty() {
            let known = self.by_number.get(&number).copied();
            return known.unwrap_or_else(|| self.intern(written));
        }
        let row = self.intern(text);
        self.by_number.insert(number, row);
        row
    }

    fn intern(&mut self, text: &'a [u8]) -> u32 {
        let text = without_level(text);
        let next = self.texts.len() as u32;
        let row = *self.by_text.entry(text).or_insert(next);
        if row == next {
            self.texts.push(text);
        }
        row
    }

    /// The text of a row; empty where the file has `???`.
    pub(super) fn text(&self, row: u32) -> std::borrow::Cow<'a, str> {
        match self.texts.get(row as usize) {
            None => "".into(),
            Some(&text) if text == b"???" => "".into(),
            Some(text) => String::from_utf8_lossy(text),
        }
    }
}

/// The number and the text of `(12) name`.
fn numbered(written: &[u8]) -> Option<(u64, &[u8])> {
    let rest = written.strip_prefix(b"(")?;
    let end = rest.iter().position(|&byte| byte == b')')?;
    let digits = &rest[..end];
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some((number, rest[end + 1..].trim_ascii()))
}

/// Callgrind names the second and later levels of a recursion `f'2`; they are one function.
fn without_level(text: &[u8]) -> &[u8] {
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let digits = digits.count();
    match text.get(..text.len() - digits) {
        Some([name @ .., b'\'']) if digits > 0 && !name.is_empty() => name,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_for_its_name() {
        let mut names = Names::default();
        let one = names.row(b"(1) main");
        assert_eq!(names.row(b"(1)"), one);
        assert_eq!(names.row(b"main"), one);
        assert_eq!(names.text(one), "main");
        let below = names.row(b"(below main)");
        assert_eq!(names.text(below), "(below main)");
        assert_eq!(names.row(b"fib"), names.row(b"(7) fib'2"));
        let unknown = names.row(b"(99)");
        assert_eq!(names.text(unknown), "(99)");
        let unknown = names.row(b"???");
        assert_eq!(names.text(unknown), "");
    }
}

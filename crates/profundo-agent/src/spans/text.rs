//! The text of a label in the making, on the stack of the thread that enters the span.

use core::fmt::{self, Write};

use profundo_wire::{CleanText, SPAN_SEPARATOR};

/// The bytes of a label: a name and some attributes.
const MOST: usize = 2048;

/// A text with a limit.
pub struct Text {
    bytes: [core::mem::MaybeUninit<u8>; MOST],
    length: usize,
}

impl Text {
    /// No text.
    pub fn new() -> Self {
        Self {
            bytes: [const { core::mem::MaybeUninit::uninit() }; MOST],
            length: 0,
        }
    }

    /// The text so far.
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..self.length).unwrap_or_default();
        // SAFETY: `write_str` has copied whole texts to there.
        unsafe {
            let bytes = core::slice::from_raw_parts(bytes.as_ptr().cast::<u8>(), bytes.len());
            str::from_utf8_unchecked(bytes)
        }
    }

    /// Adds a name, a key or a value, as it is, behind a separator if `is_next`. False: there is no
    /// room, and nothing was added.
    pub fn add(&mut self, is_next: bool, part: &str) -> bool {
        self.whole(|text| {
            if is_next {
                text.write_char(SPAN_SEPARATOR)?;
            }
            text.write_str(part)
        })
    }

    /// As [`Self::add`], without control characters, and cut if it is long.
    pub fn add_clean(&mut self, is_next: bool, part: &str) -> bool {
        self.whole(|text| {
            if is_next {
                text.write_char(SPAN_SEPARATOR)?;
            }
            CleanText::new(text).write_str(part)
        })
    }

    /// The length, to come back to by [`Self::cut`].
    pub fn length(&self) -> usize {
        self.length
    }

    /// Drops all that was added behind a length.
    pub fn cut(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    fn whole(&mut self, write: impl FnOnce(&mut Self) -> fmt::Result) -> bool {
        let before = self.length;
        let fits = write(self).is_ok();
        if !fits {
            self.length = before;
        }
        fits
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        let place = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        // SAFETY: both are as long as the text, and do not overlap.
        unsafe {
            let place = place.as_mut_ptr().cast::<u8>();
            text.as_ptr().copy_to_nonoverlapping(place, text.len());
        }
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_added_whole_or_not_at_all() {
        let mut text = Text::new();
        assert!(text.add_clean(false, "request\n"));
        assert!(text.add_clean(true, "route"));
        assert!(text.add_clean(true, "/ä"));
        assert_eq!(text.as_str(), "request \u{1f}route\u{1f}/ä");
        let before = text.length();
        while text.add_clean(true, &"x".repeat(190)) {}
        assert!(text.length() > MOST - 200);
        text.cut(before);
        assert_eq!(text.as_str(), "request \u{1f}route\u{1f}/ä");
        assert!(!text.add(true, &"x".repeat(MOST)));
        assert_eq!(text.length(), before);
    }
}

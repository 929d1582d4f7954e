//! The parts of spans that all their writers share: limits, the text of a label, buckets of lengths.
//!
//! A *label* is the name of a span with its attributes. The library writes spans of Rust programs,
//! and the agent those of Python programs. A reader sees no difference, so both have the same
//! limits, cut the same texts and round lengths in the same way.

use core::fmt::{self, Write};

/// The limits of spans and marks.
pub mod span_limit {
    /// Labels with one name.
    pub const LABELS_OF_NAME: u32 = 1024;
    /// Labels. One more for each name has room above it, up to twice as many.
    pub const LABELS: usize = 1 << 13;
    /// Paths.
    pub const PATHS: usize = 1 << 15;
    /// Spans in one another. Deeper ones are counted, and not entered.
    pub const DEPTH: usize = 1000;
    /// Spans that are kept each for itself: 8 MB.
    pub const KEPT: usize = 1 << 17;
    /// Marks.
    pub const MARKS: usize = 10_000;
    /// The bytes of a name and of an attribute's key or value.
    pub const TEXT: usize = 200;
}

/// The number of the path for spans beyond the limits.
pub const OTHER_PATH: u32 = 1;
/// The name of that path.
pub const OTHER_SPANS: &str = "[other spans]";
/// The value of attributes that are not kept.
pub const OTHER_VALUE: &str = "…";

/// A writer that replaces control characters, and cuts what is too long.
#[derive(Debug)]
pub struct CleanText<'a, W> {
    out: &'a mut W,
    left: usize,
}

impl<'a, W: Write> CleanText<'a, W> {
    /// A writer of one name, key or value.
    pub fn new(out: &'a mut W) -> Self {
        let left = span_limit::TEXT;
        Self { out, left }
    }
}

impl<W: Write> Write for CleanText<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        const CUT: char = '…';
        // Most texts need nothing: they are copied at once.
        let is_plain = text.len() + CUT.len_utf8() <= self.left
            && text.bytes().all(|byte| (b' '..0x7F).contains(&byte));
        if is_plain {
            self.left -= text.len();
            return self.out.write_str(text);
        }
        for letter in text.chars() {
            if self.left == 0 {
                return Ok(());
            }
            let length = letter.len_utf8();
            if self.left < length + CUT.len_utf8() {
                self.left = 0;
                return self.out.write_char(CUT);
            }
            self.left -= length;
            let is_control = letter.is_control();
            self.out.write_char(if is_control { ' ' } else { letter })?;
        }
        Ok(())
    }
}

/// The bits of a length below its highest one that count.
const FINE: u32 = 5;

/// The number of buckets of lengths.
pub const LENGTH_BUCKETS: usize = ((u64::BITS - FINE + 1) as usize) << FINE;

/// The bucket of a length: there are 32 for each power of two.
pub const fn length_bucket(length: u64) -> u16 {
    let highest = u64::BITS - 1 - (length | 1).leading_zeros();
    let Some(shift) = highest.checked_sub(FINE) else {
        return length as u16;
    };
    let fine = (length >> shift) as u16 & ((1 << FINE) - 1);
    ((shift + 1) << FINE) as u16 | fine
}

/// The middle of a bucket.
pub const fn middle_of_bucket(bucket: u16) -> u64 {
    let fine = bucket as u64 & ((1 << FINE) - 1);
    match (bucket as u32 >> FINE).checked_sub(1) {
        None => fine,
        Some(shift) => ((fine | 1 << FINE) << shift) + (1_u64 << shift) / 2,
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;

    fn clean(text: &str) -> String {
        let mut out = String::new();
        let _ = CleanText::new(&mut out).write_str(text);
        out
    }

    #[test]
    fn texts_are_cleaned_and_cut() {
        assert_eq!(clean("/search?q=ä"), "/search?q=ä");
        assert_eq!(clean("a\u{1f}b\nc"), "a b c");
        for letter in ["x", "ä", "🦀"] {
            let long = clean(&letter.repeat(300));
            assert!(long.ends_with('…') && long.len() <= span_limit::TEXT);
            assert!(long.len() > span_limit::TEXT - 8, "{}", long.len());
        }
        // In parts, as a formatter writes.
        let mut out = String::new();
        let mut writer = CleanText::new(&mut out);
        for _ in 0..300 {
            let _ = writer.write_str("y");
        }
        assert_eq!(out, "y".repeat(197) + "…");
    }

    #[test]
    fn a_bucket_is_two_percent_wide() {
        for length in (0..200).chain((8..63).flat_map(|bit| {
            let low = 1_u64 << bit;
            [low - 1, low, low + 1, low + low / 3, low + low / 2]
        })) {
            let near = middle_of_bucket(length_bucket(length));
            let off = near.abs_diff(length) as f64 / length.max(1) as f64;
            assert!(off <= 0.016, "{length} is {near}");
            assert!(length_bucket(length) <= length_bucket(length + 1));
        }
        assert_eq!(usize::from(length_bucket(u64::MAX)) + 1, LENGTH_BUCKETS);
    }
}

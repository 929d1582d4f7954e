//! The code that a thread's walks have read lately.
//!
//! Where code has no rows, a walk looks at its instructions. They may be unmapped by another thread at any time, so the
//! kernel copies them, a line at a time, and what it has copied is believed for a tenth of a second, as a page of the
//! interpreter's is: the thread will return to that code, and code that is made while the program runs is seldom
//! replaced under a thread that is in it.

use core::cell::Cell;

use crate::sys;

/// For how many cycles a line is believed: about a tenth of a second.
pub(crate) const BELIEVED: u64 = 1 << 28;

/// How many lines are kept: a power of two.
const LINES: usize = 256;
/// How many bytes a line has.
const BYTES: u64 = 64;
const WORDS: usize = BYTES as usize / 8;

/// What a thread knows of code. All zero knows none.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct RecentTexts([Cell<Line>; LINES]);

#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Line {
    /// The address of its first byte.
    address: u64,
    /// When it was copied, by the cycle counter; 0: never.
    copied: u64,
    words: [u64; WORDS],
}

impl RecentTexts {
    /// The eight bytes at an address, and when they were copied. `None`: not by lines, and perhaps not at all.
    #[inline]
    pub(crate) fn read(&self, address: u64, now: u64) -> Option<(u64, u64)> {
        let first = address & !(BYTES - 1);
        let (line, copied) = self.line(first, now)?;
        let within = address % BYTES;
        let (at, bits) = ((within / 8) as usize, within % 8 * 8);
        let low = *line.get(at)? >> bits;
        if bits == 0 {
            return Some((low, copied));
        }
        let (high, copied) = match line.get(at + 1) {
            Some(&next) => (next, copied),
            None => {
                let (next, also) = self.line(first.checked_add(BYTES)?, now)?;
                (*next.first()?, copied.min(also))
            }
        };
        Some((low | high << (64 - bits), copied))
    }

    fn line(&self, first: u64, now: u64) -> Option<([u64; WORDS], u64)> {
        let number = first / BYTES;
        let place = self.0.get((number ^ number >> 8) as usize % LINES)?;
        let kept = place.get();
        // What a copied process has from its parent's time is as old as that.
        if kept.address == first && kept.copied != 0 && now.wrapping_sub(kept.copied) < BELIEVED {
            return Some((kept.words, kept.copied));
        }
        let mut bytes = [0; BYTES as usize];
        if sys::copy_checked(first, &mut bytes) != bytes.len() {
            return None;
        }
        let mut words = [0; WORDS];
        let (eights, _) = bytes.as_chunks();
        for (word, eight) in words.iter_mut().zip(eights) {
            *word = u64::from_le_bytes(*eight);
        }
        let copied = now.max(1);
        place.set(Line {
            address: first,
            copied,
            words,
        });
        Some((words, copied))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::boxed::Box;

    fn nothing() -> Box<RecentTexts> {
        // SAFETY: all zero is a valid one.
        unsafe { Box::<RecentTexts>::new_zeroed().assume_init() }
    }

    #[test]
    fn all_bytes_are_read_as_they_are() {
        let texts = nothing();
        let bytes: std::vec::Vec<u8> = (0..=255).collect();
        let start = bytes.as_ptr() as u64;
        // The lines at both ends may have bytes of others.
        for offset in 0..=248_usize {
            let expected = u64::from_le_bytes(*bytes[offset..].first_chunk().unwrap());
            for _ in 0..2 {
                let read = texts.read(start + offset as u64, 7);
                assert_eq!(read, Some((expected, 7)), "{offset}");
            }
        }
    }

    #[test]
    fn what_was_copied_is_believed_for_a_while() {
        let texts = nothing();
        let mut word = std::hint::black_box(Box::new([1_u64; 16]));
        let address = (&raw const word[8] as u64) & !7;
        assert_eq!(texts.read(address, 1000), Some((1, 1000)));
        word[8] = std::hint::black_box(2);
        std::hint::black_box(&word);
        assert_eq!(texts.read(address, 1000 + BELIEVED - 1), Some((1, 1000)));
        let later = 1000 + BELIEVED;
        assert_eq!(texts.read(address, later), Some((2, later)));
    }

    #[test]
    fn what_is_not_mapped_is_not_touched() {
        let texts = nothing();
        for address in [0, 8, 0x1001, 1 << 40, u64::MAX - 7, u64::MAX] {
            assert_eq!(texts.read(address, 5), None, "{address:#x}");
        }
    }
}

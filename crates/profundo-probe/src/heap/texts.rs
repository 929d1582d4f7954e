//! The code that a walk reads.
//!
//! Where code has no rows, a walk looks at its instructions. They may be unmapped by another thread
//! at any time, so the kernel copies them, a line at a time, once for each walk: the next one may
//! find other code there.

use core::cell::Cell;

use crate::sys;

/// The cycles for which a stack whose walk has read code stays known by its registers and its other
/// words: about a tenth of a second, as for pages of the interpreter. Where code is replaced
/// meanwhile, the thread will return to the same addresses.
pub(crate) const BELIEVED: u64 = 1 << 28;

/// The number of lines: a power of two.
const LINES: usize = 64;
/// The number of bytes of a line.
const BYTES: u64 = 64;
const WORDS: usize = BYTES as usize / 8;

/// The code of one walk. All zero is none.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct RecentTexts([Cell<Line>; LINES]);

#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Line {
    /// The address of its first byte.
    address: u64,
    /// The start of the walk that has copied it, by the cycle counter, plus one; 0: none has.
    copied: u64,
    words: [u64; WORDS],
}

impl RecentTexts {
    /// The eight bytes at an address, for the walk that began at this time. `None`: they cannot be
    /// read by lines.
    #[inline]
    pub(crate) fn read(&self, address: u64, began: u64) -> Option<u64> {
        let first = address & !(BYTES - 1);
        let line = self.line(first, began)?;
        let within = address % BYTES;
        let (at, bits) = ((within / 8) as usize, within % 8 * 8);
        let low = *line.get(at)? >> bits;
        if bits == 0 {
            return Some(low);
        }
        let high = match line.get(at + 1) {
            Some(&next) => next,
            None => *self.line(first.checked_add(BYTES)?, began)?.first()?,
        };
        Some(low | high << (64 - bits))
    }

    fn line(&self, first: u64, began: u64) -> Option<[u64; WORDS]> {
        let copied = began.wrapping_add(1).max(1);
        let number = first / BYTES;
        let place = self.0.get((number ^ number >> 8) as usize % LINES)?;
        let kept = place.get();
        if kept.address == first && kept.copied == copied {
            return Some(kept.words);
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
        place.set(Line {
            address: first,
            copied,
            words,
        });
        Some(words)
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
                assert_eq!(read, Some(expected), "{offset}");
            }
        }
    }

    #[test]
    fn the_next_walk_reads_anew() {
        let texts = nothing();
        let mut word = std::hint::black_box(Box::new([1_u64; 16]));
        let address = (&raw const word[8] as u64) & !7;
        assert_eq!(texts.read(address, 1000), Some(1));
        word[8] = std::hint::black_box(2);
        std::hint::black_box(&word);
        assert_eq!(texts.read(address, 1000), Some(1));
        assert_eq!(texts.read(address, 1001), Some(2));
    }

    #[test]
    fn what_is_not_mapped_is_not_touched() {
        let texts = nothing();
        for address in [0, 8, 0x1001, 1 << 40, u64::MAX - 7, u64::MAX] {
            assert_eq!(texts.read(address, 5), None, "{address:#x}");
        }
    }
}

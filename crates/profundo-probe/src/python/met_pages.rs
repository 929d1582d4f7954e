//! Pages in which frames were found before: their words are loaded at once. Those of other pages
//! are read through the kernel first, because an interpreter that was left without its notice
//! names frames that are none.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::sys;

const PAGE: u64 = 4096;

/// The pages, each in the place of its number, with all bits turned: 0 is none. Two that share a
/// place take turns.
static MET: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// A word of a frame, or of what is taken for one; 0 where nothing can be read.
///
/// A page that was met may be unmapped later. No living frame lies in it then, and one that is none
/// would have to point right there.
#[inline]
pub(super) fn word(frame: u64, offset: u16) -> u64 {
    let place = frame.wrapping_add(offset.into());
    if !place.is_multiple_of(4) || !is_met(place) || !is_met(place.wrapping_add(7)) {
        return first_word(place);
    }
    // SAFETY: the page was found to be readable, and frames live in it. No other thread writes
    // there that does not hold the interpreter's lock, and half a word does no harm.
    unsafe { (place as *const u64).read_unaligned() }
}

#[inline]
fn is_met(place: u64) -> bool {
    let page = place / PAGE;
    at(page).is_some_and(|met| met.load(Ordering::Relaxed) == !page)
}

#[inline]
fn at(page: u64) -> Option<&'static AtomicU64> {
    MET.get(page as usize % MET.len())
}

/// The word at a place in a page that was not met.
#[cold]
#[inline(never)]
fn first_word(place: u64) -> u64 {
    let Some(word) = sys::read_word(place) else {
        return 0;
    };
    for page in [place / PAGE, place.wrapping_add(7) / PAGE] {
        if let Some(met) = at(page) {
            met.store(!page, Ordering::Relaxed);
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_in_pages_old_and_new() {
        let words = std::vec![7_u64; 3 * PAGE as usize / 8];
        let begin = words.as_ptr() as u64;
        for _ in 0..2 {
            for offset in (0..2 * PAGE as u16).step_by(8) {
                assert_eq!(word(begin, offset), 7);
            }
        }
        // A word that lies in two pages, as half words before 3.11 may.
        let edge = (begin / PAGE + 1) * PAGE - 4;
        assert_eq!(word(edge, 0), 7 << 32);
        assert_eq!(word(edge, 0), 7 << 32);
    }

    #[test]
    fn what_is_no_frame_has_no_words() {
        for nonsense in [0, 8, 0x4000_0000_0000_0000, u64::MAX - 3, u64::MAX] {
            assert_eq!(word(nonsense, 0), 0, "{nonsense:#x}");
            assert_eq!(word(nonsense, 56), 0, "{nonsense:#x}");
        }
    }
}

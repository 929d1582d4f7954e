//! The words of [`Shadow`](super::Shadow), read by another process.

use super::shadow::{BRANCH, GRAIN, LEAF, ROOT, SIZE, Shade};

/// The meaning of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The block's address.
    pub address: u64,
    /// Its size, past or present.
    pub size: u64,
    /// The number of its stack; `None` if it was freed.
    pub site: Option<u32>,
}

/// Reads the other process's memory.
pub trait Words {
    /// Fills the words from an address on. Returns whether there is anything but zeros, as far as
    /// that is known without looking. `None`: stop reading.
    fn read(&mut self, address: u64, words: &mut [u64]) -> Option<bool>;
}

const WORD: u64 = size_of::<u64>() as u64;
/// The number of words read at one time.
const SOME: usize = 1 << 9;

/// Passes on all blocks with words in the other process's [`Shadow`](super::Shadow) at this
/// address. Returns whether all words were read.
pub fn each_seen(at: u64, words: &mut impl Words, visit: &mut impl FnMut(Seen)) -> bool {
    let mut is_whole = true;
    for is_odd in 0..2_u64 {
        let roots = at + (is_odd << ROOT) * WORD;
        is_whole &= each_word(words, roots, 1 << ROOT, &mut |words, root, branch| {
            each_word(words, branch, 1 << BRANCH, &mut |words, leaf, place| {
                each_word(words, place, 1 << LEAF, &mut |_, grain, word| {
                    let grain = (root << BRANCH | leaf) << LEAF | grain;
                    visit(Seen {
                        address: grain << GRAIN | is_odd << (GRAIN - 1),
                        size: word & ((1 << SIZE) - 1),
                        site: Shade::from_word(word).map(|shade| shade.site),
                    });
                    true
                })
            })
        });
    }
    is_whole
}

/// Passes on the addresses of the other process's [`Shadow`](super::Shadow), apart from its own,
/// with the bytes that may be used there: first the words that lead to others, then those of blocks
/// (`true`). Returns whether all words were read.
pub fn each_leaf_seen(
    at: u64,
    words: &mut impl Words,
    visit: &mut impl FnMut(u64, u64, bool),
) -> bool {
    each_word(words, at, 2 << ROOT, &mut |words, _, branch| {
        visit(branch, WORD << BRANCH, false);
        each_word(words, branch, 1 << BRANCH, &mut |_, _, leaf| {
            visit(leaf, WORD << LEAF, true);
            true
        })
    })
}

/// The size of a [`Shadow`](super::Shadow) itself in bytes.
pub const SHADOW_BYTES: u64 = (2 << ROOT) * WORD;

/// Runs `f` with each word that is not zero, and its number. `false`: reading failed, or `f`
/// returned it.
fn each_word<W: Words>(
    words: &mut W,
    at: u64,
    count: u64,
    f: &mut impl FnMut(&mut W, u64, u64) -> bool,
) -> bool {
    let mut room = [0; SOME];
    let mut first = 0;
    while first < count {
        match words.read(at + first * WORD, &mut room) {
            Some(true) => {
                for (number, &word) in (first..count).zip(&room) {
                    if word != 0 && !f(words, number, word) {
                        return false;
                    }
                }
            }
            Some(false) => {}
            None => return false,
        }
        first += SOME as u64;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::Shadow;
    use std::alloc::{Layout, alloc_zeroed};
    use std::boxed::Box;
    use std::vec::Vec;

    struct Own;

    impl Words for Own {
        fn read(&mut self, address: u64, words: &mut [u64]) -> Option<bool> {
            let place = address as *const u64;
            // SAFETY: it is the shadow that is looked at, whose parts are larger than the room.
            words.copy_from_slice(unsafe { std::slice::from_raw_parts(place, words.len()) });
            Some(true)
        }
    }

    fn memory(bytes: usize) -> *mut u8 {
        // SAFETY: the layout is one.
        unsafe { alloc_zeroed(Layout::from_size_align(bytes, 4096).unwrap()) }
    }

    #[test]
    fn what_was_set_is_seen_and_what_was_taken_has_its_size() {
        // SAFETY: all zero is a valid one.
        let shadow = unsafe { Box::<Shadow>::new_zeroed().assume_init() };
        let blocks = [
            (0x10, 7, 100),
            (0x5555_0000_1238, 0, 8),
            (0x7fff_ffff_fff0, 65535, 1 << 40),
        ];
        for (address, site, size) in blocks {
            let _ = shadow.set(address, Shade { site, size }, memory);
        }
        let _ = shadow.set(0x40, Shade { site: 3, size: 33 }, memory);
        assert!(shadow.take(0x40).is_some() && shadow.take(0x40).is_none());
        let mut seen = Vec::new();
        let at = &raw const *shadow as u64;
        assert!(each_seen(at, &mut Own, &mut |block| seen.push(block)));
        seen.sort_by_key(|block| block.address);
        let found: Vec<_> = seen
            .iter()
            .map(|block| (block.address, block.site, block.size))
            .collect();
        let [first, second, third] =
            blocks.map(|(address, site, size)| (address, Some(site), size));
        assert_eq!(found, [first, (0x40, None, 33), second, third]);
        let (mut there, mut seen) = (Vec::new(), Vec::new());
        shadow.each_leaf(|at, bytes| there.push((at, bytes as u64)));
        assert!(each_leaf_seen(at, &mut Own, &mut |at, bytes, _| {
            seen.push((at, bytes));
        }));
        assert_eq!(seen, there);
        assert_eq!(SHADOW_BYTES, size_of::<Shadow>() as u64);
    }
}

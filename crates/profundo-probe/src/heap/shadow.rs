//! A word for each place where a block can begin: its stack and its size.
//!
//! Blocks begin at multiples of eight, nearly all of them at multiples of sixteen. Their words lie
//! one after another, in the order of the blocks, in memory that exists only where there are
//! blocks: so a lookup needs no search, no lock and no hash, and lies near to the one before. The
//! words take half of the blocks' memory at most. Of a freed block the size stays, to find free
//! memory at the end.

use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Bits of an address of a program's.
#[cfg(target_arch = "x86_64")]
pub(super) const ADDRESS: u32 = 47;
/// Bits of an address of a program's.
#[cfg(not(target_arch = "x86_64"))]
pub(super) const ADDRESS: u32 = 48;
/// Bits of a grain: sixteen bytes have a word.
pub(super) const GRAIN: u32 = 4;
/// The words of 16 MiB are a leaf, and 2048 leaves a branch.
pub(super) const LEAF: u32 = 20;
pub(super) const BRANCH: u32 = 11;
pub(super) const ROOT: u32 = ADDRESS - GRAIN - LEAF - BRANCH;

/// The number of bits of a size. A block of four terabytes or more is recorded as one byte less
/// than that.
pub(super) const SIZE: u32 = 42;

/// The block that a word describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shade {
    /// The number of its stack.
    pub site: u32,
    /// Its size.
    pub size: u64,
}

impl Shade {
    fn to_word(self) -> u64 {
        u64::from(self.site + 1) << SIZE | self.size.min((1 << SIZE) - 1)
    }

    pub(super) fn from_word(word: u64) -> Option<Self> {
        let site = (word >> SIZE).checked_sub(1)?;
        Some(Self {
            site: site as u32,
            size: word & ((1 << SIZE) - 1),
        })
    }
}

/// The words of 16 MiB.
#[repr(C)]
#[derive(Debug)]
pub struct Leaf([AtomicU64; 1 << LEAF]);

/// The bytes of a leaf.
pub const LEAF_BYTES: usize = size_of::<Leaf>();

/// Leaves.
#[repr(C)]
#[derive(Debug)]
pub struct Branch([AtomicPtr<Leaf>; 1 << BRANCH]);

/// All words. All zero is one without blocks.
#[repr(C)]
#[derive(Debug)]
pub struct Shadow {
    /// The roots for blocks at multiples of sixteen, and for the others.
    roots: [[AtomicPtr<Branch>; 1 << ROOT]; 2],
}

/// There is no memory for a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoMemory;

/// The source of zeroed memory that stays; null if there is none.
pub type Memory = fn(bytes: usize) -> *mut u8;

impl Shadow {
    /// Sets the block at an address; returns the block there before whose end was missed. An error:
    /// there is no memory for it.
    #[inline]
    pub fn set(
        &self,
        address: u64,
        shade: Shade,
        memory: Memory,
    ) -> Result<Option<Shade>, NoMemory> {
        let word = match self.word(address) {
            Some(word) => word,
            None => self.make(address, memory).ok_or(NoMemory)?,
        };
        // Relaxed: the freeing thread has the block from the allocating one.
        let before = word.load(Ordering::Relaxed);
        word.store(shade.to_word(), Ordering::Relaxed);
        Ok(Shade::from_word(before))
    }

    /// Removes the block at an address.
    #[inline]
    pub fn take(&self, address: u64) -> Option<Shade> {
        let word = self.word(address)?;
        let shade = Shade::from_word(word.load(Ordering::Relaxed))?;
        // Its memory is free, as far as it reached.
        word.store(shade.size & ((1 << SIZE) - 1), Ordering::Relaxed);
        Some(shade)
    }

    /// True if a block is at an address, or was.
    pub fn was_met(&self, address: u64) -> bool {
        let word = self.word(address);
        word.is_some_and(|word| word.load(Ordering::Relaxed) != 0)
    }

    /// The block at an address.
    #[inline]
    pub fn get(&self, address: u64) -> Option<Shade> {
        Shade::from_word(self.word(address)?.load(Ordering::Relaxed))
    }

    /// Replaces the block at an address by another one, or frees it (`None`), unless it is not
    /// `from` any more. Returns whether it was.
    #[inline]
    pub fn turn(&self, address: u64, from: Shade, to: Option<Shade>) -> bool {
        let Some(word) = self.word(address) else {
            return false;
        };
        let to = match to {
            Some(to) => to.to_word(),
            None => from.size & ((1 << SIZE) - 1),
        };
        let turned =
            word.compare_exchange(from.to_word(), to, Ordering::Relaxed, Ordering::Relaxed);
        turned.is_ok()
    }

    /// Passes on the addresses of the words, with the bytes that may be used there.
    pub fn each_leaf(&self, mut visit: impl FnMut(u64, usize)) {
        let branches = self.roots.iter().flatten();
        for branch in branches.map(|branch| branch.load(Ordering::Acquire)) {
            // SAFETY: null, or put there by `make`, all zero at first, and stays.
            let Some(branch) = (unsafe { branch.as_ref() }) else {
                continue;
            };
            visit(&raw const *branch as u64, size_of::<Branch>());
            for leaf in branch.0.iter().map(|leaf| leaf.load(Ordering::Acquire)) {
                if !leaf.is_null() {
                    visit(leaf as u64, size_of::<Leaf>());
                }
            }
        }
    }

    #[inline]
    fn place(&self, address: u64) -> Option<(&AtomicPtr<Branch>, usize, usize)> {
        let is_odd = (address >> (GRAIN - 1) & 1) as usize;
        let grain = address >> GRAIN;
        let root = self.roots.get(is_odd)?;
        let branch = root.get((grain >> (LEAF + BRANCH)) as usize)?;
        let leaf = (grain >> LEAF) as usize & ((1 << BRANCH) - 1);
        Some((branch, leaf, grain as usize & ((1 << LEAF) - 1)))
    }

    #[inline]
    fn word(&self, address: u64) -> Option<&AtomicU64> {
        let (branch, leaf, grain) = self.place(address)?;
        // SAFETY: what is there was put there by `make`, all zero at first, and stays.
        unsafe {
            // Acquire pairs with the exchange in `grow`.
            let branch = branch.load(Ordering::Acquire).as_ref()?;
            let leaf = branch.0.get(leaf)?.load(Ordering::Acquire).as_ref()?;
            leaf.0.get(grain)
        }
    }

    #[cold]
    fn make(&self, address: u64, memory: Memory) -> Option<&AtomicU64> {
        let (branch, leaf, _) = self.place(address)?;
        // SAFETY: as above.
        unsafe {
            let branch = grow(branch, memory)?;
            grow(branch.0.get(leaf)?, memory)?;
        }
        self.word(address)
    }
}

/// The table at a place, which is made if there is none.
///
/// # Safety
/// All zero is a valid table, and a table at the place stays.
unsafe fn grow<T>(place: &AtomicPtr<T>, memory: Memory) -> Option<&T> {
    if place.load(Ordering::Acquire).is_null() {
        let new = memory(size_of::<T>()).cast::<T>();
        if new.is_null() {
            return None;
        }
        // If another thread was faster, ours is never used, and takes no memory.
        let _ = place.compare_exchange(
            core::ptr::null_mut(),
            new,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
    }
    // SAFETY: the caller vouches.
    unsafe { place.load(Ordering::Acquire).as_ref() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::Gaps;
    use std::alloc::{Layout, alloc_zeroed};
    use std::boxed::Box;
    use std::collections::HashMap;

    fn memory(bytes: usize) -> *mut u8 {
        // SAFETY: the layout is one.
        unsafe { alloc_zeroed(Layout::from_size_align(bytes, 4096).unwrap()) }
    }

    fn empty() -> Box<Shadow> {
        // SAFETY: all zero is a valid one.
        unsafe { Box::<Shadow>::new_zeroed().assume_init() }
    }

    #[test]
    fn it_does_what_a_map_does() {
        let shadow = empty();
        let mut map = HashMap::new();
        let mut draws = Gaps::new(3);
        let bases = [0x1000, 0x5555_0000_0000, 0x7fff_ffff_0000];
        for number in 0..100_000 {
            let address = bases[(draws.draw() % 3) as usize] + 8 * (draws.draw() % 4000);
            if draws.draw().is_multiple_of(2) {
                let shade = Shade {
                    site: number % 0xFFFF,
                    size: draws.draw() >> 23,
                };
                let before = shadow.set(address, shade, memory).unwrap();
                assert_eq!(before, map.insert(address, shade));
            } else {
                assert_eq!(shadow.take(address), map.remove(&address));
            }
        }
    }

    #[test]
    fn a_block_without_bytes_is_a_block() {
        let shadow = empty();
        let shade = Shade { site: 0, size: 0 };
        assert_eq!(shadow.set(16, shade, memory), Ok(None));
        assert_eq!(shadow.take(16), Some(shade));
        assert_eq!(shadow.take(16), None);
    }

    #[test]
    fn what_is_something_else_already_is_not_turned() {
        let shadow = empty();
        let shade = |site| Shade { site, size: 100 };
        assert!(!shadow.turn(48, shade(1), Some(shade(2))));
        assert_eq!(shadow.set(48, shade(1), memory), Ok(None));
        assert!(shadow.turn(48, shade(1), Some(shade(2))) && !shadow.turn(48, shade(1), None));
        assert_eq!(shadow.get(48), Some(shade(2)));
        assert!(shadow.turn(48, shade(2), None));
        assert_eq!(shadow.get(48), None);
        let mut leaves = std::vec::Vec::new();
        shadow.each_leaf(|at, bytes| leaves.push((at, bytes)));
        assert_eq!(
            leaves
                .iter()
                .map(|leaf| leaf.1)
                .collect::<std::vec::Vec<_>>(),
            [8 << 11, 8 << 20]
        );
    }

    #[test]
    fn addresses_that_no_program_has_are_nowhere() {
        let shadow = empty();
        let shade = Shade { site: 0, size: 0 };
        assert_eq!(shadow.set(1 << ADDRESS, shade, memory), Err(NoMemory));
        assert_eq!(shadow.take(u64::MAX), None);
    }

    #[test]
    fn without_memory_nothing_is_kept() {
        let shadow = empty();
        let shade = Shade { site: 0, size: 0 };
        assert_eq!(
            shadow.set(16, shade, |_| core::ptr::null_mut()),
            Err(NoMemory)
        );
    }
}

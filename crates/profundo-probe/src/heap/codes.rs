//! The numbers of the code objects in a thread's latest walks.
//!
//! The table of all code objects is large and is looked up by a hash. One walk after another meets
//! the same few functions, so comparing the words of a code object with the latest ones at its
//! address costs less.

use core::cell::Cell;

use profundo_cpython::CodeKey;

/// The number of entries: a power of two.
const CODES: usize = 256;

/// The latest code objects of a thread. All zero is empty.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct RecentCodes([Cell<Code>; CODES]);

#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Code {
    key: CodeKey,
    /// The epoch of the number; 0 for none.
    epoch: u64,
    number: u32,
}

impl RecentCodes {
    fn place(&self, key: &CodeKey) -> Option<&Cell<Code>> {
        // Code objects lie at multiples of 16.
        let address = key.address >> 4;
        self.0.get((address ^ address >> 8) as usize % CODES)
    }

    /// The number of a code object in an epoch.
    #[inline]
    pub(crate) fn find(&self, key: &CodeKey, epoch: u64) -> Option<u32> {
        let code = self.place(key)?.get();
        (code.epoch == epoch && code.key == *key).then_some(code.number)
    }

    /// Keeps a number, in place of another code object's.
    #[inline]
    pub(crate) fn keep(&self, key: CodeKey, epoch: u64, number: u32) {
        if let Some(place) = self.place(&key) {
            place.set(Code { key, epoch, number });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::boxed::Box;

    #[test]
    fn a_number_holds_for_one_code_object_in_one_epoch() {
        // SAFETY: all zero is a valid one.
        let codes = unsafe { Box::<RecentCodes>::new_zeroed().assume_init() };
        let key = CodeKey {
            address: 0x1000,
            name: 7,
            ..CodeKey::default()
        };
        assert_eq!(codes.find(&CodeKey::default(), 1), None, "empty");
        assert_eq!(codes.find(&key, 1), None);
        codes.keep(key, 1, 5);
        assert_eq!(codes.find(&key, 1), Some(5));
        assert_eq!(codes.find(&key, 2), None, "numbers are given anew");
        // Another code object lies there now.
        let other = CodeKey { name: 8, ..key };
        assert_eq!(codes.find(&other, 1), None);
        codes.keep(other, 1, 6);
        assert_eq!(codes.find(&other, 1), Some(6));
        assert_eq!(codes.find(&key, 1), None);
    }
}

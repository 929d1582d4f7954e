//! The collector's lists of objects, and the places where the graph begins.

use profundo_probe::shared::refusal;
use profundo_probe::sys;

use super::Failure;
use super::types::word;
use crate::inject::api::Object;

/// Where the collector's records stand, by the first of its lists.
#[derive(Debug, Clone, Copy)]
pub struct Lists {
    first: u64,
}

/// Of the collector's records, behind the first list: the other ones, a pointer to the first, the list of those that are
/// never looked at, and whether it is at work; and before it, whether it may work by itself.
const STEP: u64 = 24;
const LISTS: u64 = 3;
const POINTER: u64 = LISTS * STEP;
const FROZEN: u64 = POINTER + 8;
const COLLECTING: u64 = 176;
const ENABLED_BEFORE: u64 = 12;

/// Before an object that the collector knows.
const HEAD: u64 = 16;

/// A word near an address that is mapped; what is on another page may not be.
///
/// # Safety
/// `mapped` is.
unsafe fn near(mapped: u64, address: u64) -> Option<u64> {
    const PAGE: u64 = 4096;
    match mapped / PAGE == address / PAGE {
        // SAFETY: the same page is mapped, and words of heads do not cross its end.
        true => Some(unsafe { word(address) }),
        false => sys::read_word(address),
    }
}

impl Lists {
    /// Found by following the list that an object is in to its head.
    ///
    /// # Safety
    /// The collector knows the object, and the lock is held.
    pub unsafe fn of(object: Object) -> Result<Self, Failure> {
        const MOST: u64 = 1 << 32;
        let mut at = object as u64 - HEAD;
        for _ in 0..MOST {
            // SAFETY: the caller vouches: a list of the collector's is a ring, and beside its head are its records.
            unsafe {
                at = word(at) & !3;
                if at == 0 {
                    break;
                }
                for list in 0..=LISTS {
                    let first = match list {
                        LISTS => at - FROZEN,
                        list => at - list * STEP,
                    };
                    let lists = Self { first };
                    if near(at, first + POINTER) == Some(first) && lists.are_rings() {
                        return Ok(lists);
                    }
                }
            }
        }
        Err(refusal::UNKNOWN_LAYOUT)
    }

    /// Whether each list comes back to its head. Neighbours of a list may have words that look like the records'.
    fn are_rings(self) -> bool {
        const PREVIOUS: u64 = 8;
        self.heads().all(|head| {
            let next = sys::read_word(head).map(|next| next & !3);
            let back = next.and_then(|next| sys::read_word(next + PREVIOUS));
            back.is_some_and(|back| back & !3 == head)
        })
    }

    fn heads(self) -> impl Iterator<Item = u64> {
        (0..=LISTS).map(move |list| match list {
            LISTS => self.first + FROZEN,
            list => self.first + list * STEP,
        })
    }

    /// Whether garbage is being collected just now: then the lists are not whole.
    pub fn is_collecting(self) -> bool {
        // SAFETY: the records are there.
        (unsafe { word(self.first + COLLECTING) }) as u32 != 0
    }

    /// Keeps it from ever beginning, in the copy.
    pub fn forbid(self) {
        // SAFETY: the records are there, and the lock is held.
        unsafe {
            ((self.first - ENABLED_BEFORE) as *mut u32).write(0);
            ((self.first + COLLECTING) as *mut u32).write(1);
        }
    }

    /// Calls `f` with each object that the collector knows.
    pub fn each(self, mut f: impl FnMut(u64) -> Result<(), Failure>) -> Result<(), Failure> {
        for head in self.heads() {
            // SAFETY: each list is a ring of heads of objects.
            let mut at = unsafe { word(head) } & !3;
            while at != head && at != 0 {
                f(at + HEAD)?;
                // SAFETY: as above.
                at = unsafe { word(at) } & !3;
            }
        }
        Ok(())
    }
}

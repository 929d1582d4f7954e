//! The collector's lists of objects, and the roots of the graph.

use profundo_cpython::collector::{self, head};
use profundo_cpython::objects::object;
use profundo_probe::shared::refusal;
use profundo_probe::sys;

use super::Failure;
use crate::inject::api::Object;
use crate::inject::word;

/// The place of the collector's records, by the first of its lists.
#[derive(Debug, Clone, Copy)]
pub struct Lists {
    first: u64,
}

/// The offset from the first list of the collector's records to what else is in them.
const POINTER: u64 = collector::GENERATION_0 - collector::GENERATIONS;
const PERMANENT: u64 = collector::PERMANENT - collector::GENERATIONS;
const COLLECTING: u64 = collector::COLLECTING - collector::GENERATIONS;
const ENABLED_BEFORE: u64 = collector::GENERATIONS - collector::ENABLED;

/// A word near a mapped address; another page may not be mapped.
///
/// # Safety
/// `mapped` is a mapped address.
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
        let begin = object as u64 - object::GC_HEAD;
        let mut at = begin;
        for _ in 0..MOST {
            // SAFETY: the caller vouches: a list of the collector's is a ring, and beside its head
            // are its records.
            unsafe {
                at = word(at) & !head::TAGS;
                // Once around, and no head looks like one of the records'.
                if at == 0 || at == begin {
                    break;
                }
                for list in 0..=collector::GENERATION_COUNT {
                    let first = match list {
                        collector::GENERATION_COUNT => at - PERMANENT,
                        list => at - list * collector::GENERATION_BYTES,
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

    /// True if each list comes back to its head. Neighbours of a list may have words that look like
    /// the records'.
    fn are_rings(self) -> bool {
        self.heads().all(|head| {
            let next = sys::read_word(head).map(|next| next & !head::TAGS);
            let back = next.and_then(|next| sys::read_word(next + head::PREVIOUS));
            back.is_some_and(|back| back & !head::TAGS == head)
        })
    }

    fn heads(self) -> impl Iterator<Item = u64> {
        (0..=collector::GENERATION_COUNT).map(move |list| match list {
            collector::GENERATION_COUNT => self.first + PERMANENT,
            list => self.first + list * collector::GENERATION_BYTES,
        })
    }

    /// True if a garbage collection is running: then the lists are not whole.
    pub fn is_collecting(self) -> bool {
        // SAFETY: the records are there.
        (unsafe { word(self.first + COLLECTING) }) as u32 != 0
    }

    /// Keeps the collector from ever beginning, in the copy.
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
            let mut at = unsafe { word(head) } & !head::TAGS;
            while at != head && at != 0 {
                f(at + object::GC_HEAD)?;
                // SAFETY: as above.
                at = unsafe { word(at) } & !head::TAGS;
            }
        }
        Ok(())
    }
}

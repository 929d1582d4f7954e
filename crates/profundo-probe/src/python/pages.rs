//! Reading the interpreter's memory without ever touching a page that is not mapped.
//!
//! An object that a living frame points to is alive, so it is mapped. But a frame that is just
//! being pushed may point anywhere, and it looks like the others. So each page is probed before it
//! is read, at some 150 ns, and trusted for a tenth of a second: pages of frames and code come and
//! go more seldom than that. An address that may be garbage is trusted only on a page that was
//! probed in this very walk.

use core::cell::UnsafeCell;

use profundo_cpython::Memory;

use super::page::Page;
use crate::heap::{Arrival, ReadLog, Trails};
use crate::sys;

/// The number of pages of a cache.
pub const PAGES: usize = 256;

/// The cycles for which a page is trusted: about a tenth of a second.
const BELIEVED: u64 = 1 << 28;

const PAGE_BITS: u32 = 12;
const PAGE: u64 = 1 << PAGE_BITS;

/// The pages that a thread found mapped lately, in zeroed memory.
#[derive(Debug)]
#[repr(transparent)]
pub struct PageCache(UnsafeCell<[Page; PAGES]>);

// SAFETY: a cache is used by the thread that it is lent to, inside its handler, alone.
unsafe impl Sync for PageCache {}

impl PageCache {
    /// The pages, for the one thread that the cache is lent to.
    pub(super) fn get(&self) -> *mut [Page; PAGES] {
        self.0.get()
    }
}

/// Reads the memory of the calling thread's process.
#[derive(Debug)]
pub(super) struct ProcessMemory<'a> {
    /// The thread's own stack, as far as it is known to be mapped.
    stack: (u64, u64),
    /// The pages; their number is a power of two.
    pages: &'a mut [Page],
    began: u64,
    is_doubtful: bool,
    /// Whether all addresses are doubtful, whatever the walk says.
    are_all_doubtful: bool,
    log: Option<&'a ReadLog>,
    trails: Option<&'a Trails>,
    is_of_code: bool,
}

impl<'a> ProcessMemory<'a> {
    /// For one walk, which began at this cycle counter.
    pub(super) fn new(stack: (u64, u64), pages: &'a mut [Page], began: u64) -> Self {
        Self {
            stack,
            pages,
            // 0 marks an unused entry.
            began: began.max(1),
            is_doubtful: false,
            are_all_doubtful: false,
            log: None,
            trails: None,
            is_of_code: false,
        }
    }

    /// Starts to note reads and to take over known frames, or stops.
    pub(super) fn set_log(&mut self, log: Option<&'a ReadLog>, trails: Option<&'a Trails>) {
        (self.log, self.trails) = (log, trails);
    }

    /// Doubts all addresses from now on, or only those that the walk doubts.
    pub(super) fn doubt_all(&mut self, doubtful: bool) {
        self.are_all_doubtful = doubtful;
    }

    /// True if the page with this number is mapped: asked for, if it was not lately.
    #[inline]
    fn is_mapped(&mut self, page: u64) -> bool {
        let index = (page ^ page >> 6) as usize & self.pages.len().wrapping_sub(1);
        let Some(entry) = self.pages.get_mut(index) else {
            return false;
        };
        let least = if self.is_doubtful || self.are_all_doubtful {
            self.began
        } else {
            self.began.saturating_sub(BELIEVED).max(1)
        };
        if entry.0 == page && entry.1 >= least && entry.1 <= self.began {
            return true;
        }
        let is_mapped = page != 0 && sys::is_readable(page << PAGE_BITS);
        *entry = (page, if is_mapped { self.began } else { 0 });
        is_mapped
    }

    #[inline]
    fn is_own_stack(&self, address: u64) -> bool {
        let (low, high) = self.stack;
        address >= low && high >= 8 && address <= high - 8
    }
}

impl Memory for ProcessMemory<'_> {
    #[inline]
    fn word(&mut self, address: u64) -> Option<u64> {
        if !address.is_multiple_of(8) {
            return None;
        }
        if !self.is_own_stack(address) && !self.is_mapped(address >> PAGE_BITS) {
            return None;
        }
        // SAFETY: the word is aligned, so it lies in one page, which is mapped: it is the thread's
        // own stack, or it was found mapped, and memory that a living frame leads to stays mapped.
        // Volatile, because its owner may have left anything there.
        let word = unsafe { core::ptr::read_volatile(address as *const u64) };
        if let Some(log) = self.log {
            match self.trails.filter(|_| self.is_of_code) {
                Some(trails) => trails.note_code(address, word, log),
                None => log.note(address, word),
            }
        }
        Some(word)
    }

    fn bytes(&mut self, address: u64, out: &mut [u8]) -> bool {
        let mut from = address;
        let mut rest = out;
        while !rest.is_empty() {
            if !self.is_mapped(from >> PAGE_BITS) {
                return false;
            }
            let in_page = (PAGE - from % PAGE) as usize;
            let (now, later) = rest.split_at_mut(in_page.min(rest.len()));
            // SAFETY: the page is mapped, as above, and `now` is ours; a text of the interpreter's
            // does not lie in our chunk.
            unsafe {
                core::ptr::copy_nonoverlapping(from as *const u8, now.as_mut_ptr(), now.len());
            }
            let Some(next) = from.checked_add(now.len() as u64) else {
                return later.is_empty();
            };
            from = next;
            rest = later;
        }
        true
    }

    fn doubt(&mut self, doubtful: bool) {
        self.is_doubtful = doubtful;
    }

    fn implied(&mut self, implied: bool) {
        if let Some(log) = self.log {
            log.set_implied(implied);
        }
    }

    #[inline]
    fn of_code(&mut self, of_code: bool) {
        self.is_of_code = of_code;
    }

    #[inline]
    fn arrive(&mut self, arrival: Arrival) -> bool {
        let both = self.trails.zip(self.log);
        // SAFETY: there are trails only where the calling thread is at a call of ours, so that its
        // frames are whole and alive.
        both.is_some_and(|(trails, log)| unsafe { trails.arrive_python(arrival, log) })
    }
}

/// Reads the process's memory through the kernel: expensive, and safe whatever other threads unmap.
#[derive(Debug)]
pub(super) struct CheckedMemory;

impl Memory for CheckedMemory {
    fn word(&mut self, address: u64) -> Option<u64> {
        address.is_multiple_of(8).then(|| sys::read_word(address))?
    }

    fn bytes(&mut self, address: u64, out: &mut [u8]) -> bool {
        sys::copy_checked(address, out) == out.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STACK: (u64, u64) = (0, 0);

    #[test]
    fn what_is_mapped_is_read() {
        let words = [7_u64, 8, 9];
        let mut pages = [(0, 0); 16];
        let mut memory = ProcessMemory::new(STACK, &mut pages, 5);
        let address = words.as_ptr() as u64;
        assert_eq!(memory.word(address + 8), Some(8));
        assert_eq!(memory.word(address + 4), None, "not aligned");
        let mut out = [0; 3];
        assert!(memory.bytes(address, &mut out));
        assert_eq!(out, [7, 0, 0]);
    }

    #[test]
    fn what_is_not_mapped_is_not_touched() {
        let mut pages = [(0, 0); 16];
        let mut memory = ProcessMemory::new(STACK, &mut pages, 5);
        for address in [0, 8, 0x1000, 1 << 40, 1 << 63, u64::MAX - 7] {
            assert_eq!(memory.word(address), None, "{address:#x}");
            assert!(!memory.bytes(address, &mut [0; 9]));
        }
    }

    #[test]
    fn a_page_is_believed_for_a_while_but_not_in_doubt() {
        let word = 1_u64;
        let page = (&raw const word as u64) >> PAGE_BITS;
        // A page that was mapped a moment ago, and is not any more.
        let gone = 1 << 30;
        let fill = |pages: &mut [Page], seen| {
            for page in [page, gone] {
                pages[(page ^ page >> 6) as usize & 15] = (page, seen);
            }
        };
        let mut pages = [(0, 0); 16];
        let now = 1 << 40;
        fill(&mut pages, now - BELIEVED / 2);
        let mut memory = ProcessMemory::new(STACK, &mut pages, now);
        assert!(memory.is_mapped(gone));
        memory.doubt(true);
        assert!(!memory.is_mapped(gone));
        assert!(memory.is_mapped(page));
        memory.doubt(false);
        assert!(!memory.is_mapped(gone), "it was asked for just now");

        fill(&mut pages, now - BELIEVED - 1);
        let mut memory = ProcessMemory::new(STACK, &mut pages, now);
        assert!(!memory.is_mapped(gone));
        assert!(memory.is_mapped(page));
    }
}

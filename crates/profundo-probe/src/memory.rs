//! Reading stacks without ever touching memory that is not mapped.
//!
//! The thread's own stack is read by plain loads, between the lowest address known to be readable
//! and the thread control block above it: once mapped, a stack stays mapped as long as its thread.
//!
//! Another stack that the thread runs on (a coroutine's, a signal's) is asked for page by page, and
//! the answer is forgotten after the walk. It stays mapped while the thread is on it. Anything else
//! may be unmapped by another thread between the question and the load, so it is copied by the
//! kernel, word by word.

use core::sync::atomic::Ordering;

use profundo_unwind::Memory;

use crate::heap::ReadLog;
use crate::slot::Slot;
use crate::sys;

const PAGE: u64 = 4096;

/// The largest number of pages of a stack that are probed to find out whether it is the thread's
/// own. That is done once, then again only when the stack has grown.
const MOST_PAGES: u64 = 2048;

/// Reads the memory of the calling thread.
#[derive(Debug)]
pub struct StackMemory<'a> {
    own_stack: Range,
    /// Pages of another stack that the thread runs on, from its stack pointer upwards.
    running: Range,
    log: Option<&'a ReadLog>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Range {
    low: u64,
    high: u64,
}

impl Range {
    #[inline]
    fn holds_word(self, address: u64) -> bool {
        address >= self.low && self.high >= 8 && address <= self.high - 8
    }
}

fn page_of(address: u64) -> u64 {
    address & !(PAGE - 1)
}

impl<'a> StackMemory<'a> {
    /// A reader for the calling thread, whose stack pointer is `sp` and whose own stack ends at
    /// `stack_end`. Findings about the stack are kept in the thread's slot.
    #[inline]
    pub fn new(slot: &Slot, sp: u64, stack_end: u64) -> Self {
        let low = slot.stack_low.load(Ordering::Relaxed);
        let high = slot.stack_high.load(Ordering::Relaxed);
        let own_stack = if sp >= low && sp < high {
            Range { low, high }
        } else {
            Self::learn(slot, sp, stack_end)
        };
        let first = page_of(sp);
        Self {
            own_stack,
            running: Range {
                low: first,
                high: first,
            },
            log: None,
        }
    }

    /// Notes all reads.
    pub(crate) fn with_log(mut self, log: Option<&'a ReadLog>) -> Self {
        self.log = log;
        self
    }

    /// Finds out whether `sp` lies in the thread's own stack: whether every page from there up to
    /// its end (or to the part already known) can be read. A guard page lies below each stack, so
    /// no other stack can reach up to this one without a gap.
    ///
    /// If not, the known part of the thread's own stack stays valid.
    #[cold]
    fn learn(slot: &Slot, sp: u64, stack_end: u64) -> Range {
        let known_low = slot.stack_low.load(Ordering::Relaxed);
        let known_high = slot.stack_high.load(Ordering::Relaxed);
        let known = Range {
            low: known_low,
            high: known_high,
        };
        let first = page_of(sp);
        let until = if known_high == stack_end && known_low > sp {
            known_low
        } else {
            stack_end
        };
        if sp == 0 || first >= until || (until - first) / PAGE > MOST_PAGES {
            return known;
        }
        let mut page = first;
        while page < until {
            if !sys::is_readable(page) {
                return known;
            }
            page += PAGE;
        }
        slot.stack_low.store(first, Ordering::Relaxed);
        slot.stack_high.store(stack_end, Ordering::Relaxed);
        Range {
            low: first,
            high: stack_end,
        }
    }

    /// The number of words that the stack may have from an address upwards, `most` at most.
    pub fn words_above(&self, from: u64, most: usize) -> usize {
        match self.own_stack.holds_word(from) {
            true => {
                usize::try_from((self.own_stack.high - from) / 8).map_or(most, |all| all.min(most))
            }
            false => most,
        }
    }

    /// Copies the stack from an address upwards, as far as it can be read. Returns the number of
    /// words.
    pub fn copy(&mut self, from: u64, out: &mut [u64]) -> usize {
        let most = self.words_above(from, out.len());
        let mut address = from;
        for (count, word) in out.iter_mut().enumerate().take(most) {
            let Some(value) = self.read(address) else {
                return count;
            };
            *word = value;
            address = address.wrapping_add(8);
        }
        most
    }

    #[cold]
    fn read_elsewhere(&mut self, address: u64) -> Option<u64> {
        /// The largest frame on another stack that still counts as a part of it.
        const MOST_AT_ONCE: u64 = 16 * PAGE;
        let last = address.checked_add(7)?;
        let Range { low, high } = self.running;
        if address >= low && last < high.saturating_add(MOST_AT_ONCE) {
            while self.running.high <= last {
                if !sys::is_readable(self.running.high) {
                    break;
                }
                self.running.high = self.running.high.checked_add(PAGE)?;
            }
            if last < self.running.high {
                return self.load(address);
            }
        }
        sys::read_word(address)
    }

    fn load(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        if address.is_multiple_of(8) {
            // SAFETY: the word lies in a range that was found readable: the thread's own stack, or
            // the one it runs on, and either outlives this call. Volatile, because its owner may
            // have left anything there.
            return Some(unsafe { core::ptr::read_volatile(address as *const u64) });
        }
        for (offset, byte) in bytes.iter_mut().enumerate() {
            // SAFETY: as above, for each byte of the word.
            *byte = unsafe { core::ptr::read_volatile((address + offset as u64) as *const u8) };
        }
        Some(u64::from_ne_bytes(bytes))
    }
}

impl Memory for StackMemory<'_> {
    #[inline]
    fn read(&mut self, address: u64) -> Option<u64> {
        if self.own_stack.holds_word(address) {
            let word = self.load(address);
            if let (Some(log), Some(word)) = (self.log, word) {
                log.note(address, word);
            }
            return word;
        }
        if let Some(log) = self.log {
            log.lose();
        }
        if address < PAGE {
            None
        } else {
            self.read_elsewhere(address)
        }
    }

    fn read_searched(&mut self, address: u64) -> Option<u64> {
        if self.own_stack.holds_word(address) {
            return self.read(address);
        }
        if let Some(log) = self.log {
            log.lose();
        }
        // What lies above the end of another stack may be unmapped at any time.
        (address >= PAGE).then(|| sys::read_word(address))?
    }

    fn read_code(&mut self, address: u64) -> Option<u64> {
        let log = self.log.filter(|_| !self.own_stack.holds_word(address));
        let read = log.and_then(|log| log.read_code(address));
        read.or_else(|| self.read(address))
    }

    #[inline]
    fn read_frame_pointer(&mut self, address: u64) -> Option<u64> {
        match self.log {
            Some(log) if self.own_stack.holds_word(address) => {
                let word = self.load(address)?;
                log.set_frame_pointer(address, word);
                Some(word)
            }
            _ => self.read(address),
        }
    }

    #[inline]
    fn uses_frame_pointer(&mut self) {
        if let Some(log) = self.log {
            log.uses_frame_pointer();
        }
    }

    #[inline]
    fn uses_general(&mut self) {
        if let Some(log) = self.log {
            log.uses_general();
        }
    }
}

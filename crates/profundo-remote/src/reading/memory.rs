//! The memory of another process, page by page.
//!
//! A reading of a thread looks at nearly the same pages as the one before. So the pages that a reading
//! has touched are fetched by one system call when the next one begins, which makes the reading several
//! times shorter and its pages nearly of one instant.

use crate::sys;

const PAGE: usize = 4096;
/// Fetched at once at the most, and kept for one reading.
const MOST_FETCHED: usize = 64;
const MOST_KEPT: usize = 512;

/// The pages of one reading.
#[derive(Debug, Default)]
pub(crate) struct PageMemory {
    pid: u32,
    /// Where each page begins, in the order in which they were fetched.
    starts: Vec<u64>,
    /// Whether the reading has looked at it.
    touched: Vec<bool>,
    bytes: Vec<u8>,
    /// Where the last look was.
    last: usize,
    /// A piece that was copied at an earlier instant, and where it begins: it goes before the pages.
    copied: (u64, Vec<u8>),
}

impl PageMemory {
    /// Whose memory it is.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Begins a reading, with the pages that the one before it wanted.
    pub(crate) fn begin(&mut self, pid: u32, wanted: &[u64]) {
        self.pid = pid;
        self.starts.clear();
        self.touched.clear();
        self.last = 0;
        self.copied.1.clear();
        let wanted = wanted.get(..MOST_FETCHED).unwrap_or(wanted);
        if wanted.is_empty() {
            return;
        }
        self.bytes.resize(wanted.len().max(1) * PAGE, 0);
        let read = sys::read_pages(pid, wanted, PAGE, &mut self.bytes);
        // What comes behind a page that is gone was not read.
        let whole = (read / PAGE).min(wanted.len());
        self.starts.extend(wanted.iter().take(whole));
        self.touched.resize(whole, false);
    }

    /// Forgets what was read, so that it is read again.
    pub(crate) fn again(&mut self, wanted: &[u64]) {
        self.begin(self.pid, wanted);
    }

    /// Has what lies from an address on be what it was when it was copied.
    pub(crate) fn lay_over(&mut self, start: u64, bytes: &[u8]) {
        self.copied.0 = start;
        self.copied.1.clear();
        self.copied.1.extend_from_slice(bytes);
    }

    fn in_copy(&self, address: u64) -> Option<u64> {
        let (start, bytes) = &self.copied;
        let offset = usize::try_from(address.checked_sub(*start)?).ok()?;
        let word = bytes.get(offset..)?.first_chunk()?;
        Some(u64::from_le_bytes(*word))
    }

    /// The pages that were looked at: what the next reading will want.
    pub(crate) fn wanted(&self) -> Vec<u64> {
        let pages = self.starts.iter().zip(&self.touched);
        pages
            .filter(|(_, touched)| **touched)
            .map(|(&start, _)| start)
            .take(MOST_FETCHED)
            .collect()
    }

    fn page(&mut self, address: u64) -> Option<&[u8]> {
        let start = address & !(PAGE as u64 - 1);
        if self.starts.get(self.last) != Some(&start) {
            let found = self.starts.iter().position(|&page| page == start);
            self.last = match found {
                Some(found) => found,
                None => self.fetch(start)?,
            };
        }
        if let Some(touched) = self.touched.get_mut(self.last) {
            *touched = true;
        }
        self.bytes.get(self.last * PAGE..(self.last + 1) * PAGE)
    }

    fn fetch(&mut self, start: u64) -> Option<usize> {
        let at = self.starts.len();
        if at >= MOST_KEPT {
            return None;
        }
        let end = (at + 1) * PAGE;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        let place = self.bytes.get_mut(at * PAGE..end)?;
        if sys::read_memory(self.pid, start, place) != PAGE {
            return None;
        }
        self.starts.push(start);
        self.touched.push(true);
        Some(at)
    }

    /// Copies bytes; false if not all of them can be read.
    pub(crate) fn copy(&mut self, address: u64, out: &mut [u8]) -> bool {
        let mut done = 0;
        while done < out.len() {
            let at = address.wrapping_add(done as u64);
            let offset = (at & (PAGE as u64 - 1)) as usize;
            let Some(rest) = self.page(at).and_then(|page| page.get(offset..)) else {
                return false;
            };
            let count = rest.len().min(out.len() - done);
            let (Some(to), Some(from)) = (out.get_mut(done..done + count), rest.get(..count))
            else {
                return false;
            };
            to.copy_from_slice(from);
            done += count;
        }
        true
    }
}

impl profundo_unwind::Memory for PageMemory {
    fn read(&mut self, address: u64) -> Option<u64> {
        if let Some(word) = self.in_copy(address) {
            return Some(word);
        }
        let offset = (address & (PAGE as u64 - 1)) as usize;
        let whole = self.page(address)?.get(offset..)?.first_chunk();
        if let Some(bytes) = whole {
            return Some(u64::from_le_bytes(*bytes));
        }
        let mut bytes = [0; 8];
        self.copy(address, &mut bytes)
            .then(|| u64::from_le_bytes(bytes))
    }
}

impl profundo_cpython::Memory for PageMemory {
    fn word(&mut self, address: u64) -> Option<u64> {
        profundo_unwind::Memory::read(self, address)
    }

    fn bytes(&mut self, address: u64, out: &mut [u8]) -> bool {
        self.copy(address, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_unwind::Memory;

    #[test]
    fn words_are_read_across_pages_and_remembered() {
        let memory: Vec<u64> = (0..4096).collect();
        let start = memory.as_ptr() as u64;
        let mut pages = PageMemory::default();
        pages.begin(std::process::id(), &[]);
        for (index, word) in memory.iter().enumerate() {
            assert_eq!(pages.read(start + index as u64 * 8), Some(*word));
        }
        // Not aligned, and across the end of a page.
        let page = (start | 4095) + 1;
        let index = ((page - start) / 8) as usize;
        let expected = memory[index - 1] >> 32 | memory[index] << 32;
        assert_eq!(pages.read(page - 4), Some(expected));
        let wanted = pages.wanted();
        assert!(wanted.len() >= 8);
        pages.again(&wanted);
        assert_eq!(pages.starts, wanted);
        assert!(pages.wanted().is_empty(), "nothing was looked at yet");
        assert_eq!(pages.read(start), Some(0));
        assert_eq!(pages.wanted().len(), 1);
    }

    #[test]
    fn what_is_not_mapped_is_nothing() {
        let mut pages = PageMemory::default();
        let here = &raw const pages as u64;
        let page = here & !4095;
        pages.begin(std::process::id(), &[4096, page]);
        assert_eq!(pages.starts, [] as [u64; 0], "the first one is not there");
        assert_eq!(pages.read(8), None);
        assert!(pages.read(here & !7).is_some());
    }
}

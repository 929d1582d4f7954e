//! The resident memory of a stopped process: pages that were never touched are skipped.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use profundo_probe::heap::seen::Words;

use crate::ranges::Range;

const PAGE: u64 = 4096;
/// The number of bytes read at one time.
const PIECE: u64 = 1 << 20;
/// Flags of the kernel's pagemap: the page is in memory, or swapped.
const IS_THERE: u64 = 0b11 << 62;

/// The reason why memory was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// It took too long.
    Long,
    /// There is too much of it.
    Much,
    /// It cannot be read, or the process has gone meanwhile.
    Gone,
}

/// Copies memory of another process; returns how many bytes could be read.
pub fn read_memory(pid: u32, address: u64, out: &mut [u8]) -> usize {
    let local = libc::iovec {
        iov_base: out.as_mut_ptr().cast(),
        iov_len: out.len(),
    };
    let remote = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: out.len(),
    };
    // SAFETY: the local part is ours to write; the remote one is checked by the kernel.
    let read = unsafe { libc::process_vm_readv(pid as i32, &local, 1, &remote, 1, 0) };
    usize::try_from(read).unwrap_or(0)
}

/// True if a process has that id.
fn is_alive(pid: u32) -> bool {
    // SAFETY: signal 0 checks the process and sends nothing.
    let found = unsafe { libc::kill(pid as i32, 0) } == 0;
    found || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// The process's memory.
#[derive(Debug)]
pub struct Memory {
    pid: u32,
    pages: Option<File>,
    until: Instant,
    /// The number of bytes that may still be read.
    left: u64,
    why_not: Option<Unread>,
    /// The last read, for small requests.
    window: Window,
}

/// A stretch that was read as a whole, as far as its pages are resident.
#[derive(Debug, Default)]
struct Window {
    start: u64,
    end: u64,
    there: Vec<Range>,
    /// Its words; none where nothing is resident.
    words: Vec<u64>,
}

impl Memory {
    /// The memory of a process; at most `most` bytes of it are read, until the time `until`.
    pub fn open(pid: u32, until: Instant, most: u64) -> Self {
        Self {
            pid,
            // Without it all pages are read.
            pages: File::open(format!("/proc/{pid}/pagemap")).ok(),
            until,
            left: most,
            why_not: None,
            window: Window::default(),
        }
    }

    /// Takes the resident pages from another process: a forked child does not report those of
    /// shared memory.
    pub fn with_pages_of(mut self, pid: u32) -> Self {
        self.pages = File::open(format!("/proc/{pid}/pagemap")).ok();
        self
    }

    /// The reason why a read failed.
    pub fn why_not(&self) -> Unread {
        self.why_not.unwrap_or(Unread::Gone)
    }

    /// Runs `f` with all resident memory of a range, piece by piece.
    pub fn each_piece(
        &mut self,
        (start, end): Range,
        mut f: impl FnMut(u64, &[u64]),
    ) -> Result<(), Unread> {
        let mut words = Vec::new();
        for (start, end) in self.there(start, end)? {
            let mut at = start;
            while at < end {
                let next = end.min((at / PIECE + 1) * PIECE);
                self.read_piece(at, next, &mut words)?;
                f(at, &words);
                at = next;
            }
        }
        Ok(())
    }

    /// Words that must be readable.
    pub fn words(&mut self, at: u64, count: u64) -> Result<Vec<u64>, Unread> {
        let mut words = Vec::new();
        if count > 0 {
            self.read_piece(at, at.saturating_add(count * 8), &mut words)?;
        }
        Ok(words)
    }

    /// Reads from `at` to `end`; pages that vanished meanwhile are zeros.
    fn read_piece(&mut self, at: u64, end: u64, words: &mut Vec<u64>) -> Result<(), Unread> {
        if Instant::now() >= self.until {
            return Err(self.refuse(Unread::Long));
        }
        let Some(left) = self.left.checked_sub(end - at) else {
            return Err(self.refuse(Unread::Much));
        };
        self.left = left;
        let count = ((end - at) / 8) as usize;
        words.clear();
        words.resize(count, 0);
        let bytes = bytes_of(words);
        let mut from = 0;
        while from < bytes.len() {
            let room = bytes.get_mut(from..).unwrap_or_default();
            let read = read_memory(self.pid, at + from as u64, room);
            from += read;
            if from < bytes.len() {
                if read == 0 && !is_alive(self.pid) {
                    return Err(self.refuse(Unread::Gone));
                }
                let page = (at + from as u64) / PAGE + 1;
                from = (page * PAGE - at) as usize;
            }
        }
        Ok(())
    }

    fn refuse(&mut self, why: Unread) -> Unread {
        *self.why_not.get_or_insert(why)
    }

    /// The resident stretches of a range.
    fn there(&mut self, start: u64, end: u64) -> Result<Vec<Range>, Unread> {
        let Some(pages) = &self.pages else {
            return Ok(vec![(start, end)]);
        };
        const SOME: u64 = 1 << 13;
        let mut found: Vec<Range> = Vec::new();
        let mut words = vec![0; SOME as usize];
        let (mut page, last) = (start / PAGE, end.div_ceil(PAGE));
        while page < last {
            if Instant::now() >= self.until {
                return Err(self.refuse(Unread::Long));
            }
            let count = (last - page).min(SOME) as usize;
            let words = words.get_mut(..count).unwrap_or_default();
            let bytes = bytes_of(words);
            let read = pages.read_at(bytes, page * 8).unwrap_or(0);
            if read < bytes.len() {
                // Unknown, so the page has to be tried.
                words.fill(IS_THERE);
            }
            for (&word, page) in words.iter().zip(page..) {
                if word & IS_THERE == 0 {
                    continue;
                }
                let (from, to) = ((page * PAGE).max(start), ((page + 1) * PAGE).min(end));
                match found.last_mut() {
                    Some(run) if run.1 == from => run.1 = to,
                    _ => found.push((from, to)),
                }
            }
            page += count as u64;
        }
        Ok(found)
    }

    /// Reads a window from a page on.
    fn load_window(&mut self, start: u64) -> Result<(), Unread> {
        let end = start.saturating_add(PIECE);
        let there = self.there(start, end)?;
        let mut words = std::mem::take(&mut self.window.words);
        words.clear();
        if !there.is_empty() {
            words.resize((PIECE / 8) as usize, 0);
        }
        let mut piece = Vec::new();
        for &(from, to) in &there {
            self.read_piece(from, to, &mut piece)?;
            let at = ((from - start) / 8) as usize;
            if let Some(place) = words.get_mut(at..at + piece.len()) {
                place.copy_from_slice(&piece);
            }
        }
        self.window = Window {
            start,
            end,
            there,
            words,
        };
        Ok(())
    }
}

impl Words for Memory {
    fn read(&mut self, address: u64, words: &mut [u64]) -> Option<bool> {
        let end = address.checked_add(8 * words.len() as u64)?;
        if address < self.window.start || end > self.window.end {
            self.load_window(address / PAGE * PAGE).ok()?;
        }
        let window = &self.window;
        if !(window.there.iter()).any(|&(from, to)| from < end && address < to) {
            words.fill(0);
            return Some(false);
        }
        let at = usize::try_from((address - window.start) / 8).ok()?;
        words.copy_from_slice(window.words.get(at..)?.get(..words.len())?);
        Some(true)
    }
}

fn bytes_of(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: bytes may be anything, and the words are that long and not used meanwhile.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn memory_is_read_as_it_is_and_what_was_never_touched_is_not() {
        const WORDS: usize = 4 << 17;
        // Some pages are touched.
        let mut own = vec![0_u64; WORDS];
        own[1000] = 7;
        own[WORDS - 3] = 8;
        let soon = || Instant::now() + Duration::from_secs(60);
        let mut memory = Memory::open(std::process::id(), soon(), 1 << 30);
        let start = own.as_ptr() as u64;
        let (mut sum, mut read) = (0, 0);
        let range = (start, start + 8 * WORDS as u64);
        let whole = memory.each_piece(range, |at, words| {
            assert!(at >= start);
            sum += words.iter().sum::<u64>();
            read += words.len();
        });
        assert_eq!((whole, sum), (Ok(()), 15));
        assert!(
            read <= WORDS && (read < WORDS / 2 || memory.pages.is_none()),
            "{read}"
        );
        let mut two = [0; 2];
        assert!(memory.read(start + 8000, &mut two) == Some(true) && two == [7, 0]);
        assert_eq!(
            memory.words(start + 8 * (WORDS as u64 - 3), 2),
            Ok(vec![8, 0])
        );
        let mut little = Memory::open(std::process::id(), soon(), 4096);
        let much = little.words(start, 1000);
        assert_eq!((much, little.why_not()), (Err(Unread::Much), Unread::Much));
        let mut late = Memory::open(std::process::id(), Instant::now(), 1 << 30);
        assert_eq!(late.words(start, 1), Err(Unread::Long));
    }
}

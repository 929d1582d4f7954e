//! The memory of another process, page by page.
//!
//! A reading of a thread looks at nearly the same pages as those before. So the pages that the last
//! readings have touched are fetched by one system call when the next one begins, which makes the
//! reading several times shorter and its pages nearly of one instant. A thread is held only for
//! that fetch: the memory is then [closed](PageMemory::close), and read after the thread has
//! resumed.

use profundo_linux::sys;

use super::pages::Pages;

const PAGE: usize = 4096;
/// The largest number of pages fetched at once. A stack of the largest depth lies on 500 pages
/// before CPython 3.11.
const MOST_FETCHED: usize = 768;
/// The largest number of pages in one reading.
const MOST_KEPT: usize = 1536;
/// The number of neighbours fetched with an unexpected page, if the page before was its neighbour.
const NEIGHBOURS: usize = 8;
/// The number of readings after which an unused page is not fetched any more.
const REST: u8 = 12;

/// The pages that the readings of one thread use, ordered by address.
#[derive(Debug, Default, Clone)]
pub struct Wanted {
    pages: Vec<u64>,
    /// The number of readings since each was used.
    rests: Vec<u8>,
}

impl Wanted {
    /// Counts a reading that has used these pages.
    fn note(&mut self, touched: impl Iterator<Item = u64>) {
        for rest in &mut self.rests {
            *rest += 1;
        }
        let mut new = Vec::new();
        for page in touched {
            match self.pages.binary_search(&page) {
                Ok(at) => {
                    if let Some(rest) = self.rests.get_mut(at) {
                        *rest = 0;
                    }
                }
                Err(_) => new.push(page),
            }
        }
        let counts = |rest| self.rests.iter().filter(|&&age| age <= rest).count();
        let mut most = REST;
        while counts(most) + new.len() > MOST_FETCHED && most > 0 {
            most -= 1;
        }
        let old = self.pages.iter().zip(&self.rests);
        let old = old
            .filter(|(_, rest)| **rest <= most)
            .map(|(page, rest)| (*page, *rest));
        let mut all: Vec<(u64, u8)> = old.chain(new.iter().map(|&page| (page, 0))).collect();
        // The pages used now are removed last.
        if all.len() > MOST_FETCHED {
            all.sort_by_key(|(_, rest)| *rest);
            all.truncate(MOST_FETCHED);
        }
        all.sort_unstable();
        all.dedup_by_key(|(page, _)| *page);
        (self.pages, self.rests) = all.into_iter().unzip();
    }

    /// Removes a page that is not mapped any more.
    fn remove(&mut self, at: usize) {
        self.pages.remove(at);
        self.rests.remove(at);
    }
}

/// The pages of one reading.
#[derive(Debug, Default)]
pub struct PageMemory {
    pid: u32,
    /// The start of each page, in the order of fetching.
    starts: Vec<u64>,
    places: Pages,
    /// True for each page that the reading has used.
    touched: Vec<bool>,
    bytes: Vec<u8>,
    /// The page of the last access.
    last: usize,
    /// A piece that was copied earlier, and its start. It takes precedence over the pages.
    copied: (u64, Vec<u8>),
    /// Whether the copied piece is out of sight.
    is_bare: bool,
    /// Whether no more pages are fetched, and which pages were missed then.
    closed: bool,
    missed: Vec<u64>,
}

impl PageMemory {
    /// The process whose memory it is.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Begins a reading with the pages that earlier ones used.
    pub fn begin(&mut self, pid: u32, wanted: &mut Wanted) {
        self.pid = pid;
        self.starts.clear();
        self.places.clear();
        self.touched.clear();
        self.last = 0;
        self.copied.1.clear();
        self.closed = false;
        self.missed.clear();
        if wanted.pages.is_empty() {
            return;
        }
        self.have_room(wanted.pages.len());
        // The pages behind an unmapped one are not read.
        while let Some(rest) = wanted
            .pages
            .get(self.starts.len()..)
            .filter(|pages| !pages.is_empty())
        {
            let from = self.starts.len();
            let room = from * PAGE..(from + rest.len()) * PAGE;
            let out = self.bytes.get_mut(room).unwrap_or_default();
            let whole = (sys::read_pages(pid, rest, PAGE, out) / PAGE).min(rest.len());
            self.starts.extend(rest.iter().take(whole));
            if whole < rest.len() {
                wanted.remove(from + whole);
            }
        }
        self.touched.resize(self.starts.len(), false);
        for (at, &start) in self.starts.iter().enumerate() {
            self.places.insert(start, at);
        }
    }

    fn have_room(&mut self, pages: usize) {
        if self.bytes.len() < pages * PAGE {
            self.bytes.resize(pages * PAGE, 0);
        }
    }

    /// Begins a reading without expected pages.
    pub fn begin_anew(&mut self, pid: u32) {
        self.begin(pid, &mut Wanted::default());
    }

    /// Fetches no more pages: others cannot be read.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Whether a page was missed because the memory was closed.
    pub fn is_short(&self) -> bool {
        !self.missed.is_empty()
    }

    /// Whether few more pages can be kept.
    pub fn is_nearly_full(&self) -> bool {
        self.starts.len() > MOST_KEPT / 2
    }

    /// Forgets all pages, so that they are read again.
    pub fn read_again(&mut self, wanted: &mut Wanted) {
        self.note(wanted);
        self.begin(self.pid, wanted);
    }

    /// Notes the pages that were used, or missed.
    pub fn note(&self, wanted: &mut Wanted) {
        let pages = self.starts.iter().zip(&self.touched);
        let touched = pages
            .filter(|(_, touched)| **touched)
            .map(|(&start, _)| start);
        wanted.note(touched.chain(self.missed.iter().copied()));
    }

    /// Lays a copied piece over the memory from an address on.
    pub fn lay_over(&mut self, start: u64, bytes: &[u8]) {
        self.copied.0 = start;
        self.copied.1.clear();
        self.copied.1.extend_from_slice(bytes);
    }

    /// Reads without the copied piece.
    pub fn without_copy<R>(&mut self, read: impl FnOnce(&mut Self) -> R) -> R {
        self.is_bare = true;
        let result = read(self);
        self.is_bare = false;
        result
    }

    fn in_copy(&self, address: u64) -> Option<u64> {
        if self.is_bare {
            return None;
        }
        let (start, bytes) = &self.copied;
        let offset = usize::try_from(address.checked_sub(*start)?).ok()?;
        let word = bytes.get(offset..)?.first_chunk()?;
        Some(u64::from_le_bytes(*word))
    }

    fn page(&mut self, address: u64) -> Option<&[u8]> {
        let start = address & !(PAGE as u64 - 1);
        if self.starts.get(self.last) != Some(&start) {
            self.last = match self.places.find(start) {
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
        if self.closed {
            if self.missed.last() != Some(&start) {
                self.missed.push(start);
            }
            return None;
        }
        if at >= MOST_KEPT {
            return None;
        }
        let beside = self.neighbours(start);
        let many = beside.len();
        self.have_room(at + many);
        let place = self.bytes.get_mut(at * PAGE..(at + many) * PAGE)?;
        let mut whole = sys::read_pages(self.pid, &beside, PAGE, place) / PAGE;
        if whole == 0 {
            return None;
        }
        whole = whole.min(many);
        for &page in beside.iter().take(whole) {
            self.places.insert(page, self.starts.len());
            self.starts.push(page);
            self.touched.push(false);
        }
        Some(at)
    }

    /// The page, and its neighbours in the direction in which pages are missed one after another.
    fn neighbours(&self, start: u64) -> Vec<u64> {
        let step = PAGE as u64;
        let towards = match self.starts.last() {
            Some(&last) if last.wrapping_add(step) == start => step,
            Some(&last) if last.wrapping_sub(step) == start => step.wrapping_neg(),
            _ => return vec![start],
        };
        let next = |&page: &u64| Some(page.wrapping_add(towards));
        let all = std::iter::successors(Some(start), next).take(NEIGHBOURS);
        all.take_while(|&page| self.places.find(page).is_none())
            .collect()
    }

    /// Copies bytes; false if not all of them can be read.
    pub fn copy(&mut self, address: u64, out: &mut [u8]) -> bool {
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
        pages.begin_anew(std::process::id());
        for (index, word) in memory.iter().enumerate() {
            assert_eq!(pages.read(start + index as u64 * 8), Some(*word));
        }
        // Not aligned, and across the end of a page.
        let page = (start | 4095) + 1;
        let index = ((page - start) / 8) as usize;
        let expected = memory[index - 1] >> 32 | memory[index] << 32;
        assert_eq!(pages.read(page - 4), Some(expected));
        let mut wanted = Wanted::default();
        pages.read_again(&mut wanted);
        assert!(wanted.pages.len() >= 8);
        assert_eq!(pages.starts, wanted.pages);
        assert_eq!(pages.read(start), Some(0));
        pages.close();
        assert_eq!(pages.read(start), Some(0));
        let elsewhere = Box::new(5_u64);
        let place = &raw const *elsewhere as u64;
        if !wanted.pages.contains(&(place & !4095)) {
            assert_eq!(pages.read(place), None, "it is closed");
            assert!(pages.is_short());
        }
        // A missed page is fetched the next time.
        pages.read_again(&mut wanted);
        pages.close();
        assert_eq!(pages.read(place), Some(5));
        // An unused page is not fetched for ever.
        for _ in 0..REST + 2 {
            pages.read_again(&mut wanted);
            pages.close();
            assert_eq!(pages.read(start), Some(0));
        }
        assert_eq!(wanted.pages, [start & !4095]);
    }

    #[test]
    fn a_deep_stack_is_fetched_whole_the_second_time() {
        // Frames of 3.8 are objects of their own: the pages of two thousand of them.
        const DEEP: usize = 400;
        let memory = vec![7_u64; DEEP * PAGE / 8];
        let start = memory.as_ptr() as u64;
        let mut pages = PageMemory::default();
        pages.begin_anew(std::process::id());
        let read_all = |pages: &mut PageMemory| {
            let words = memory.chunks(PAGE / 8).rev();
            words.into_iter().all(|chunk| {
                let address = chunk.as_ptr() as u64;
                pages.read(address) == Some(7)
            })
        };
        assert!(read_all(&mut pages));
        // Neighbours are fetched together, also those below the first address.
        assert!(pages.starts.len() <= DEEP + 1 + NEIGHBOURS);
        let mut wanted = Wanted::default();
        pages.read_again(&mut wanted);
        assert!(wanted.pages.is_sorted() && wanted.pages.contains(&(start & !4095)));
        pages.close();
        assert!(read_all(&mut pages) && !pages.is_short());
        // Pages beyond one reading's limit are left to the next holding.
        let many = (1..=MOST_FETCHED as u64 * 2).map(|page| page * PAGE as u64);
        wanted.note(many);
        assert_eq!(wanted.pages.len(), MOST_FETCHED);
    }

    #[test]
    fn what_is_not_mapped_is_nothing() {
        let mut pages = PageMemory::default();
        let here = &raw const pages as u64;
        let page = here & !4095;
        let mut wanted = Wanted::default();
        wanted.note([4096, page].into_iter());
        pages.begin(std::process::id(), &mut wanted);
        assert_eq!(pages.starts, [page], "the first one is not there");
        assert_eq!(wanted.pages, [page], "it is not asked for again");
        assert_eq!(pages.read(8), None);
        pages.read(here & !7).expect("our own page");
    }
}

//! A process's counts of its allocations, as the command reads them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use profundo_linux::map::SharedMap;
use profundo_probe::shared::{LIVES, MAGIC, PIECE, Piece, SITES, SLOTS, Sum, SumsHeader};
use profundo_wire::recording::{Peak, SiteSum};

use crate::counted::{self, before_of, sums_path};
use crate::files::{make_file, open_file};
use crate::stacks::StacksFile;

/// The interval of readings at first. It grows, so that there are a few hundred readings in all.
const OFTEN: Duration = Duration::from_millis(100);
const LOOKS: u32 = 200;
/// Reading takes at most this part of the time.
const PART: u32 = 50;

/// A process's file of sums.
#[derive(Debug)]
pub struct SumsMap {
    directory: PathBuf,
    ring: usize,
    path: PathBuf,
    /// The header of the file.
    map: SharedMap,
    /// The mapped pieces, by their numbers.
    pieces: HashMap<usize, SharedMap>,
    /// The file that defines the numbers of stacks, if it exists.
    stacks: Option<StacksFile>,
    /// The sums reported last.
    reported: Vec<Sum>,
    /// The counts at the last clear.
    before: Option<Before>,
    began: Instant,
    due: Instant,
}

impl SumsMap {
    /// Opens the file of the process with this ring, if it has one.
    pub fn open(directory: &Path, ring: usize) -> Option<Self> {
        let path = sums_path(directory, ring);
        let file = open_file(&path).ok()?;
        let map = SharedMap::new(&file, size_of::<SumsHeader>()).ok()?;
        // SAFETY: it is made of atomics.
        let header = unsafe { map.as_ref::<SumsHeader>() };
        // A process that does not count owns nothing.
        let is_used = header.owned.load(Ordering::Acquire) != 0;
        if header.magic.load(Ordering::Acquire) != MAGIC || !is_used {
            return None;
        }
        let now = Instant::now();
        let mut bytes = Vec::new();
        let before = open_file(&before_of(&path)).and_then(|mut file| file.read_to_end(&mut bytes));
        let before = before.ok().map(|_| Before::from_bytes(&bytes));
        Some(Self {
            directory: directory.to_owned(),
            ring,
            path,
            map,
            pieces: HashMap::new(),
            stacks: StacksFile::open(directory, ring),
            reported: Vec::new(),
            before,
            began: now,
            due: now,
        })
    }

    /// The sums that have changed since the last reading, if one is due or it is the last. `clock`
    /// is the cycle counter.
    pub fn news(&mut self, last: bool, clock: u64) -> Option<(Vec<SiteSum>, Peak)> {
        let begun = Instant::now();
        if !last && begun < self.due {
            return None;
        }
        let mut all = self.all();
        let header = self.header();
        let peak = Peak {
            bytes: header.peak_bytes.load(Ordering::Relaxed),
            clock: header.peak_clock.load(Ordering::Relaxed),
        };
        let number_of_peak = header.peak.load(Ordering::Relaxed);
        if let Some(before) = &mut self.before {
            before.take_off(&mut all, number_of_peak);
        }
        self.reported.resize(all.len(), Sum::default());
        let mut news = Vec::new();
        for (number, (sum, reported)) in all.iter().zip(&mut self.reported).enumerate() {
            // Live blocks grow older without an event.
            let is_same = sum == reported && !(last && live(sum) > 0);
            if !is_same {
                *reported = *sum;
                let gone = self
                    .before
                    .as_ref()
                    .and_then(|before| before.gone.get(number));
                news.push(site_sum(number, sum, *gone.unwrap_or(&0), clock));
            }
        }
        let now = Instant::now();
        let pause = (now - self.began) / LOOKS;
        self.due = now + pause.max(OFTEN).max((now - begun) * PART);
        Some((news, peak))
    }

    /// Clears the counts: later ones are as if nothing had been allocated before.
    pub fn clear(&mut self) {
        let sums = self.all();
        let before = Before {
            sums,
            peak: self.header().peak.load(Ordering::Relaxed),
            ..Before::default()
        };
        // For a recovery after we were killed. Without the file, it would count too much.
        let path = before_of(&self.path);
        let _ = fs::remove_file(&path);
        let _ = make_file(&path, before.to_bytes().len())
            .and_then(|mut file| file.write_all(&before.to_bytes()));
        self.before = Some(before);
        self.reported.clear();
        self.due = Instant::now();
    }

    /// Bytes in live blocks of allocators, and bytes that the program has mapped itself.
    pub fn in_use(&self) -> (u64, u64) {
        let header = self.header();
        let nets = header.nets.iter();
        let all = nets.fold(0, |sum: u64, net| {
            sum.wrapping_add(net.0.load(Ordering::Relaxed))
        });
        // While threads count, a sum may be negative for a moment.
        let whole = |bytes: u64| if (bytes as i64) < 0 { 0 } else { bytes };
        let mapped = whole(header.mapped.load(Ordering::Relaxed));
        (whole(all.wrapping_sub(mapped)), mapped)
    }

    /// The number of allocations counted at no stack, for want of room.
    pub fn uncounted(&self) -> u64 {
        let [blocks, _] = &self.header().uncounted;
        blocks.load(Ordering::Relaxed)
    }

    /// Gives the process room for more stacks and rows, if it needs some.
    pub fn provide(&self) {
        counted::provide(self.header(), &self.directory, self.ring);
    }

    /// Appends the records of stacks numbered since the last reading. Returns whether there are
    /// more.
    pub fn new_stacks(&mut self, out: &mut Vec<u64>) -> bool {
        // SAFETY: as above; the borrow is of the head alone.
        let header: &SumsHeader = unsafe { self.map.as_ref() };
        let stacks = self.stacks.as_mut();
        stacks.is_some_and(|stacks| stacks.take(&header.stacks, out))
    }

    fn header(&self) -> &SumsHeader {
        // SAFETY: it is made of atomics.
        unsafe { self.map.as_ref() }
    }

    /// The counts of all sites.
    fn all(&mut self) -> Vec<Sum> {
        // SAFETY: as above; the borrow is of the head alone.
        let header: &SumsHeader = unsafe { self.map.as_ref() };
        let count = header.sites.load(Ordering::Acquire) as usize;
        let peak = header.peak.load(Ordering::Relaxed);
        let count = count.min(SITES - 1);
        let mut all = vec![Sum::default(); count + 1];
        let mut file = None;
        let taken = header.pieces_taken.load(Ordering::Relaxed) as usize;
        for slot in 0..taken.min(SLOTS) {
            let sums = header.purpose_of(slot).and_then(|(_, run)| {
                let first = run * PIECE;
                all.get_mut(first..(first + PIECE).min(count + 1))
            });
            let Some(sums) = sums else {
                continue;
            };
            let rows = match self.pieces.entry(slot) {
                Entry::Occupied(rows) => rows.into_mut(),
                Entry::Vacant(place) => {
                    let file = file.get_or_insert_with(|| open_file(&self.path).ok());
                    let from = SumsHeader::piece_at(slot);
                    let mapped = file
                        .as_ref()
                        .and_then(|file| SharedMap::part(file, from, size_of::<Piece>()).ok());
                    match mapped {
                        Some(mapped) => place.insert(mapped),
                        None => continue,
                    }
                }
            };
            // SAFETY: it is made of atomics, and has its memory, as it was taken.
            let rows: &Piece = unsafe { rows.as_ref() };
            for (sum, row) in sums.iter_mut().zip(rows) {
                sum.add(row, peak);
            }
        }
        all
    }
}

/// The counts at a clear, and what became of them since.
#[derive(Debug, Default)]
struct Before {
    sums: Vec<Sum>,
    /// The number of the process's peak. While it does not change, the process has not exceeded the
    /// peak before the clear.
    peak: u64,
    /// The most bytes at any reading since then, and each stack's share of them.
    most: u64,
    at_most: Vec<[u64; 2]>,
    /// By stack, a lower bound of the blocks from before the clear that were freed since.
    gone: Vec<u64>,
}

impl Before {
    /// The number of the peak, and the sums: all that another reader needs to subtract them.
    fn to_bytes(&self) -> Vec<u8> {
        let words = self.sums.iter().flat_map(|sum| {
            let pairs = [sum.allocated, sum.freed, sum.temporary, sum.at_peak];
            pairs.into_iter().flatten().chain([sum.lives])
        });
        let words = std::iter::once(self.peak).chain(words);
        words.flat_map(u64::to_le_bytes).collect()
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let (words, _) = bytes.as_chunks::<8>();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let peak = words.next().unwrap_or(0);
        let mut sums = Vec::new();
        while let Some(first) = words.next() {
            let mut next = || words.next().unwrap_or(0);
            sums.push(Sum {
                allocated: [first, next()],
                freed: [next(), next()],
                temporary: [next(), next()],
                at_peak: [next(), next()],
                lives: next(),
            });
        }
        Self {
            sums,
            peak,
            ..Self::default()
        }
    }

    /// Subtracts the counts at the clear. A freed block from before is not distinguished from a
    /// later one, so a stack has what it has more than at the clear.
    fn take_off(&mut self, all: &mut [Sum], peak: u64) {
        let nothing = Sum::default();
        self.gone.resize(all.len(), 0);
        for (number, sum) in all.iter_mut().enumerate() {
            let before = self.sums.get(number).unwrap_or(&nothing);
            let [freed, _] = less(sum.freed, before.freed);
            *sum = since(sum, before);
            self.gone[number] = freed.saturating_sub(sum.freed[0]);
        }
        if peak != self.peak {
            // An all-time peak after the clear is the peak since the clear, and the process knows
            // its sums exactly.
            return;
        }
        let lives = |sum: &Sum| [0, 1].map(|of| sum.allocated[of].saturating_sub(sum.freed[of]));
        let most = all.iter().map(|sum| lives(sum)[1]).sum();
        if most > self.most {
            self.most = most;
            self.at_most = all.iter().map(lives).collect();
        }
        for (number, sum) in all.iter_mut().enumerate() {
            sum.at_peak = self.at_most.get(number).copied().unwrap_or_default();
        }
    }
}

fn less(now: [u64; 2], before: [u64; 2]) -> [u64; 2] {
    [0, 1].map(|of| {
        let left = now[of].wrapping_sub(before[of]);
        // While threads count, the difference may be negative for a moment.
        if (left as i64) < 0 { 0 } else { left }
    })
}

/// The growth of a sum since another.
fn since(now: &Sum, before: &Sum) -> Sum {
    let least = |one: [u64; 2], other: [u64; 2]| [0, 1].map(|of| one[of].min(other[of]));
    let allocated = less(now.allocated, before.allocated);
    let there = less(before.allocated, before.freed);
    Sum {
        allocated,
        freed: least(less(now.freed, before.freed), allocated),
        temporary: least(less(now.temporary, before.temporary), allocated),
        at_peak: less(now.at_peak, there),
        lives: now.lives.wrapping_sub(before.lives),
    }
}

fn live(sum: &Sum) -> u64 {
    let [allocated, _] = sum.allocated;
    let [freed, _] = sum.freed;
    allocated.saturating_sub(freed)
}

/// The sum of a stack of which `gone` freed blocks do not count.
fn site_sum(number: usize, sum: &Sum, gone: u64, clock: u64) -> SiteSum {
    // Each live block counts as if freed now, and one that does not count as if it had begun now.
    let live = live(sum).wrapping_sub(gone);
    let now = live.wrapping_mul(clock / LIVES);
    let lived = sum.lives.wrapping_add(now);
    // While threads count, a sum may be negative for a moment.
    let lived = if (lived as i64) < 0 { 0 } else { lived };
    SiteSum {
        number: number as u32,
        allocated: sum.allocated,
        freed: sum.freed,
        temporary: sum.temporary,
        at_peak: sum.at_peak,
        lived: u128::from(lived) * u128::from(LIVES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(allocated: u64, freed: u64) -> Sum {
        Sum {
            allocated: [allocated, 10 * allocated],
            freed: [freed, 10 * freed],
            ..Sum::default()
        }
    }

    /// A reading by another reader.
    fn before(sums: Vec<Sum>) -> Before {
        let before = Before {
            sums,
            peak: 3,
            ..Before::default()
        };
        let read = Before::from_bytes(&before.to_bytes());
        assert_eq!((&read.sums, read.peak), (&before.sums, 3));
        read
    }

    #[test]
    fn what_was_there_before_is_never_less_than_nothing_afterwards() {
        let mut before = before(vec![sum(100, 40), sum(5, 5)]);
        // Fifty of the first stack's old blocks were freed; the third stack is new.
        let mut all = [sum(110, 90), sum(9, 6), sum(2, 0)];
        before.take_off(&mut all, 3);
        assert_eq!((all[0].allocated, all[0].freed), ([10, 100], [10, 100]));
        assert_eq!((all[1].allocated, all[1].freed), ([4, 40], [1, 10]));
        assert_eq!(all[2].allocated, [2, 20]);
        assert_eq!(before.gone, [40, 0, 0]);
        let peaks: Vec<_> = all.iter().map(|sum| sum.at_peak).collect();
        assert_eq!(peaks, [[0, 0], [3, 30], [2, 20]]);
    }

    #[test]
    fn the_peak_since_then_is_the_processs_own_if_that_is_newer() {
        let mut before = before(vec![sum(10, 0)]);
        let peak = |bytes| Sum {
            at_peak: [bytes / 10, bytes],
            ..sum(30, 25)
        };
        let mut all = [peak(100)];
        before.take_off(&mut all, 3);
        assert_eq!(all[0].at_peak, [0, 0]);
        let mut all = [peak(300)];
        before.take_off(&mut all, 4);
        assert_eq!(all[0].at_peak, [20, 200]);
    }

    #[test]
    fn old_blocks_that_are_freed_have_not_lived() {
        let unit = LIVES;
        // One block came at 5 and lives at 9; an old one was freed at 8.
        let lives = (8_u64).wrapping_sub(5);
        let site = Sum {
            lives,
            allocated: [1, 10],
            freed: [1, 10],
            ..Sum::default()
        };
        assert_eq!(site_sum(1, &site, 0, 9 * unit).lived, u128::from(3 * unit));
        let gone = Sum {
            lives: 8,
            ..Sum::default()
        };
        assert_eq!(site_sum(1, &gone, 1, 9 * unit).lived, 0);
    }
}

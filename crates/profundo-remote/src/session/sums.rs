//! What a process counts of its allocations, as the command sees it.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use profundo_probe::shared::{LIVES, MAGIC, SITES, SUMS_FILE, Sum, Sums};
use profundo_wire::recording::{Peak, SiteSum};

use crate::map::SharedMap;

/// How often it is looked, at first; later less often, so that there are a few hundred looks in all.
const OFTEN: Duration = Duration::from_millis(100);
const LOOKS: u32 = 200;
/// Looking takes this part of the time at most.
const PART: u32 = 50;

/// A process's file.
#[derive(Debug)]
pub(crate) struct SumsMap {
    path: PathBuf,
    map: SharedMap,
    /// What was told last.
    told: Vec<Sum>,
    began: Instant,
    due: Instant,
}

impl SumsMap {
    /// The file of the process with this ring, if it has one.
    pub(crate) fn open(directory: &Path, ring: usize) -> Option<Self> {
        let path = directory.join(format!("{SUMS_FILE}{ring}"));
        let file = OpenOptions::new().read(true).write(true).open(&path).ok()?;
        let map = SharedMap::new(&file, Sums::BYTES).ok()?;
        // SAFETY: it is made of atomics. Rows without memory are never touched.
        let header = unsafe { &map.as_ref::<Sums>().header };
        if header.magic.load(Ordering::Acquire) != MAGIC {
            return None;
        }
        let now = Instant::now();
        Some(Self {
            path,
            map,
            told: Vec::new(),
            began: now,
            due: now,
        })
    }

    /// The sums that have changed since the last look, if it is time for one, or if it is the last. `clock` is
    /// the cycle counter.
    pub(crate) fn news(&mut self, last: bool, clock: u64) -> Option<(Vec<SiteSum>, Peak)> {
        let begun = Instant::now();
        if !last && begun < self.due {
            return None;
        }
        // SAFETY: as above.
        let sums: &Sums = unsafe { self.map.as_ref() };
        let count = sums.header.sites.load(Ordering::Acquire) as usize;
        self.told.resize(count.min(SITES - 1) + 1, Sum::default());
        let mut news = Vec::new();
        for (number, told) in self.told.iter_mut().enumerate() {
            let sum = sums.sum(number);
            // What is there grows older, though nothing happens to it.
            let is_same = sum == *told && !(last && live(&sum) > 0);
            if !is_same {
                *told = sum;
                news.push(site_sum(number, &sum, clock));
            }
        }
        let peak = Peak {
            bytes: sums.header.peak_bytes.load(Ordering::Relaxed),
            clock: sums.header.peak_clock.load(Ordering::Relaxed),
        };
        let now = Instant::now();
        let pause = (now - self.began) / LOOKS;
        self.due = now + pause.max(OFTEN).max((now - begun) * PART);
        Some((news, peak))
    }

    /// How many allocations were counted at no stack, for want of room.
    pub(crate) fn uncounted(&self) -> u64 {
        // SAFETY: as above.
        let sums: &Sums = unsafe { self.map.as_ref() };
        let [blocks, _] = &sums.header.uncounted;
        blocks.load(Ordering::Relaxed)
    }
}

impl Drop for SumsMap {
    fn drop(&mut self) {
        // The next process with this ring makes its own.
        let _ = fs::remove_file(&self.path);
    }
}

fn live(sum: &Sum) -> u64 {
    let [allocated, _] = sum.allocated;
    let [freed, _] = sum.freed;
    allocated.saturating_sub(freed)
}

fn site_sum(number: usize, sum: &Sum, clock: u64) -> SiteSum {
    let live = live(sum);
    // Each block that is there counts as if it were freed now.
    let now = live.wrapping_mul(clock / LIVES);
    let lived = sum.lives.wrapping_add(now);
    // While threads count, a sum may be less than nothing for a moment.
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

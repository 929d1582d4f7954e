//! Allocations and frees, added up by stack.

use profundo_model::{Amount, Gauge, Moment, Nanos, ProcessId, Site, StackId};
use rustc_hash::FxHashMap;

use super::Words;
use super::places::Places;
use crate::{Builder, Named};

/// The sums so far.
#[derive(Debug, Default)]
pub(super) struct Costs {
    pub process: ProcessId,
    pub page_size: u64,
    /// Sizes and stacks that allocations have in common.
    kinds: Vec<(u64, u64)>,
    /// Blocks of a file that was not interpreted: the size and the site.
    blocks: FxHashMap<u64, (u64, u32)>,
    has_blocks: bool,
    /// By row of the table of stacks.
    of_stack: Vec<Option<u32>>,
    rows: FxHashMap<StackId, u32>,
    sites: Vec<Sum>,
    /// The last allocation, if nothing happened since.
    last: Option<u64>,
    live: u64,
    /// The most live bytes, and a number of this peak.
    most: u64,
    peak: u64,
    /// The time in milliseconds.
    time: u64,
    /// The time between two moments that are kept.
    interval: u64,
    next_moment: u64,
    resident: u64,
    /// Sites that have changed since the last moment.
    changed: Vec<u32>,
}

/// The sums of a site.
#[derive(Debug, Default)]
struct Sum {
    stack: StackId,
    allocated: Amount,
    freed: Amount,
    temporary: Amount,
    at_peak: Amount,
    /// The peak that `at_peak` is of. At a later one the site has what it has now.
    peak: u64,
    has_changed: bool,
}

impl Sum {
    fn live(&self) -> Amount {
        Amount {
            count: self.allocated.count.saturating_sub(self.freed.count),
            bytes: self.allocated.bytes.saturating_sub(self.freed.bytes),
        }
    }

    /// Keeps what it has at the last peak, before it changes.
    fn keep(&mut self, peak: u64) {
        if self.peak < peak {
            self.at_peak = self.live();
            self.peak = peak;
        }
    }
}

impl Costs {
    pub(super) fn new(last_time: u64) -> Self {
        /// The moments of a whole file.
        const MOMENTS: u64 = 200;
        Self {
            page_size: 4096,
            interval: last_time / MOMENTS,
            ..Self::default()
        }
    }

    /// `size stack`.
    pub(super) fn kind(&mut self, mut words: Words<'_>) -> Option<()> {
        self.kinds.push((words.number()?, words.number()?));
        Some(())
    }

    /// `kind`, or `size stack block`.
    pub(super) fn allocate(
        &mut self,
        builder: &mut Builder,
        places: &mut Places<'_>,
        mut words: Words<'_>,
    ) -> Option<()> {
        let first = words.number()?;
        let (size, stack, key) = match words.0.is_empty() {
            true => {
                let &(size, stack) = self.kinds.get(usize::try_from(first).ok()?)?;
                (size, stack, first)
            }
            false => (first, words.number()?, words.number()?),
        };
        let row = self.site(builder, places, stack)?;
        if places.is_raw || self.has_blocks {
            self.has_blocks = true;
            self.blocks.insert(key, (size, row));
        }
        self.last = Some(key);
        self.change(row, |site| {
            site.allocated += Amount {
                count: 1,
                bytes: size,
            };
        });
        self.live = self.live.saturating_add(size);
        if self.live > self.most {
            self.most = self.live;
            self.peak += 1;
        }
        Some(())
    }

    /// `kind`, or `block`.
    pub(super) fn free(&mut self, mut words: Words<'_>) -> Option<()> {
        let key = words.number()?;
        let is_temporary = self.last.take() == Some(key);
        let (size, row) = match self.has_blocks {
            // It was allocated before the file began.
            true => match self.blocks.remove(&key) {
                Some(block) => block,
                None => return Some(()),
            },
            false => {
                let &(size, stack) = self.kinds.get(usize::try_from(key).ok()?)?;
                (size, self.row_of_stack(stack)?)
            }
        };
        let amount = Amount {
            count: 1,
            bytes: size,
        };
        self.change(row, |site| {
            site.freed += amount;
            if is_temporary {
                site.temporary += amount;
            }
        });
        self.live = self.live.saturating_sub(size);
        Some(())
    }

    fn change(&mut self, row: u32, change: impl FnOnce(&mut Sum)) {
        let peak = self.peak;
        let Some(site) = self.sites.get_mut(row as usize) else {
            return;
        };
        site.keep(peak);
        change(site);
        if !site.has_changed {
            site.has_changed = true;
            self.changed.push(row);
        }
    }

    fn site(&mut self, builder: &mut Builder, places: &Places<'_>, stack: u64) -> Option<u32> {
        let row = usize::try_from(stack).ok()?;
        if let Some(&Some(row)) = self.of_stack.get(row) {
            return Some(row);
        }
        // Stacks of no frames have number 0.
        let id = match stack {
            0 => {
                let unknown = builder.location(Named {
                    function: "???",
                    ..Named::default()
                });
                builder.stack(None, unknown)
            }
            _ => places.stack(stack)?,
        };
        let next = self.sites.len() as u32;
        let site = *self.rows.entry(id).or_insert(next);
        if site == next {
            self.sites.push(Sum {
                stack: id,
                ..Sum::default()
            });
        }
        if self.of_stack.len() <= row {
            // No longer than the table of stacks.
            self.of_stack.resize(row + 1, None);
        }
        self.of_stack[row] = Some(site);
        Some(site)
    }

    fn row_of_stack(&self, stack: u64) -> Option<u32> {
        let row = usize::try_from(stack).ok()?;
        self.of_stack.get(row).copied().flatten()
    }

    /// A mark of time.
    pub(super) fn set_time(&mut self, builder: &mut Builder, time: u64) {
        self.time = time.max(self.time);
        builder.profile.heap.gauges.push(Gauge {
            process: self.process,
            time: self.now(),
            resident: self.resident,
            in_use: Some(self.live),
            ..Gauge::default()
        });
        if self.time >= self.next_moment {
            self.next_moment = self.time.saturating_add(self.interval);
            self.moments(builder);
        }
    }

    /// The resident memory at the last mark.
    pub(super) fn set_resident(&mut self, builder: &mut Builder, pages: u64) {
        self.resident = pages.saturating_mul(self.page_size);
        let now = self.now();
        let last = builder.profile.heap.gauges.last_mut();
        if let Some(last) = last.filter(|last| last.time == now) {
            last.resident = self.resident;
        }
    }

    fn now(&self) -> Nanos {
        Nanos(self.time.saturating_mul(1_000_000))
    }

    fn moments(&mut self, builder: &mut Builder) {
        let time = self.now();
        for row in self.changed.drain(..) {
            let Some(site) = self.sites.get_mut(row as usize) else {
                continue;
            };
            site.has_changed = false;
            builder.profile.heap.moments.push(Moment {
                site: row,
                time,
                allocated: site.allocated,
                live: site.live(),
            });
        }
    }

    pub(super) fn finish(&mut self, builder: &mut Builder) {
        self.moments(builder);
        builder.profile.meta.duration = self.now();
        for (number, site) in (1..).zip(&mut self.sites) {
            site.keep(self.peak);
            builder.profile.heap.sites.push(Site {
                process: self.process,
                stack: site.stack,
                allocated: site.allocated,
                freed: site.freed,
                temporary: site.temporary,
                at_peak: site.at_peak,
                number,
                ..Site::default()
            });
        }
    }
}

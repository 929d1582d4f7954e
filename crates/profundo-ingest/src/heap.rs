//! Blocks: from the records of their allocations and frees, which come in any order, to rows.

use profundo_model::{
    Amount, Block, BlockEnd, Copied, Domain, Heap, Moment, Nanos, ProcessId, Profile, Sample,
    Sampling, Site, StackId, StringId,
};
use profundo_wire::recording::{Allocations, SiteSum};
use profundo_wire::{Freed, Source};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::clock::Clock;
use crate::spans::Spans;

/// The record that follows a sample of an allocation.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AllocationRecord {
    Block(profundo_wire::Block),
    Site(profundo_wire::Site),
}

impl AllocationRecord {
    /// The cycle counter of the sample.
    pub(crate) fn clock(&self) -> u64 {
        match self {
            Self::Block(block) => block.clock,
            Self::Site(site) => site.clock,
        }
    }
}

/// Blocks by their numbers in their processes.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// The rows of blocks not known to be freed.
    live: FxHashMap<(u32, u64), u64>,
    /// Frees of unknown blocks: the records of another thread come later.
    early: FxHashMap<(u32, u64), Freed>,
    /// Blocks not known to be freed that are to be ignored.
    forgotten: FxHashSet<(u32, u64)>,
    /// Unreachable blocks that are unknown yet, and the rows of known ones.
    early_lost: FxHashSet<(u32, u64)>,
    lost: Vec<u64>,
    /// Blocks held back until the clock is known, with the ticket of the span's path in place of
    /// its row.
    held: Vec<Block>,
    /// Copies held back, with the cycle counter in place of the time.
    copies: Vec<Copied>,
    /// Frees held back: the row, the cycle counter, and whether the block was freed at once.
    ends: Vec<(u64, u64, bool)>,
    /// The number of rows.
    rows: u64,
    /// The blocks of earlier pieces of the recording, and what became of them here.
    earlier: Earlier,
}

/// In a recording in pieces, the blocks of earlier pieces. Their rows count through all pieces.
#[derive(Debug, Default)]
struct Earlier {
    /// The number of rows of all earlier pieces.
    rows: u64,
    /// The rows of blocks not known to be freed.
    live: FxHashMap<(u32, u64), u64>,
    /// Frees that came in the piece before, of blocks that were unknown there.
    frees: FxHashMap<(u32, u64), Freed>,
    ends: Vec<(u64, u64, bool)>,
    lost: Vec<u64>,
}

/// The fate of blocks of earlier pieces, by their rows in all pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EarlierBlocks {
    /// The ends of blocks that were freed.
    pub ends: Vec<BlockEnd>,
    /// Blocks that were found to be unreachable.
    pub unreachable: Vec<u64>,
}

impl Blocks {
    /// The blocks of the next piece, which knows the live ones from this row of all pieces on.
    pub(crate) fn next_piece(&mut self, first_kept: u64) -> Self {
        let rows = self.earlier.rows;
        let mut live = std::mem::take(&mut self.earlier.live);
        live.extend(self.live.drain().map(|(key, row)| (key, rows + row)));
        live.retain(|_, row| *row >= first_kept);
        live.shrink_to_fit();
        Self {
            earlier: Earlier {
                rows: rows + self.rows,
                live,
                frees: std::mem::take(&mut self.early),
                ..Earlier::default()
            },
            ..Self::default()
        }
    }

    /// The number of rows of earlier pieces, and of this one.
    pub(crate) fn rows(&self) -> (u64, u64) {
        (self.earlier.rows, self.rows)
    }

    /// The fate of blocks of earlier pieces.
    pub(crate) fn take_earlier(&mut self, clock: Clock) -> EarlierBlocks {
        let ends = self.earlier.ends.drain(..);
        EarlierBlocks {
            ends: ends
                .map(|(row, when, is_temporary)| BlockEnd {
                    row,
                    freed: clock.since_start(when),
                    is_temporary,
                })
                .collect(),
            unreachable: std::mem::take(&mut self.earlier.lost),
        }
    }

    /// Continues after the rows of a profile.
    pub(crate) fn after(heap: &Heap) -> Self {
        Self {
            rows: heap.taken + heap.blocks.len() as u64,
            ..Self::default()
        }
    }

    /// Takes in a block with its sample.
    pub(crate) fn block(&mut self, process: u32, sample: &Sample, block: &profundo_wire::Block) {
        if block.source == Source::Copied {
            self.copies.push(Copied {
                time: Nanos(block.clock),
                size: block.size,
                thread: sample.thread,
                stack: sample.stack,
                doublings: 0,
            });
            return;
        }
        let row = self.rows;
        self.rows += 1;
        self.held.push(Block {
            clock: block.clock,
            size: block.size,
            thread: sample.thread,
            task: sample.task,
            span: sample.span,
            stack: sample.stack,
            domain: domain(block.source),
            type_name: StringId::default(),
            is_buffer: block.is_buffer,
            doublings: block.doublings,
            ..Block::default()
        });
        let key = (process, block.number);
        if self.early_lost.remove(&key) {
            self.lost.push(row);
        }
        let early = self.early.remove(&key);
        match early.or_else(|| self.earlier.frees.remove(&key)) {
            Some(freed) => self.ends.push((row, freed.clock, freed.at_once)),
            None => {
                self.live.insert(key, row);
            }
        }
    }

    /// Marks blocks as unreachable.
    pub(crate) fn unreachable(&mut self, process: u32, numbers: &[u64]) {
        for &number in numbers {
            let key = (process, number);
            match self.live.get(&key) {
                Some(&row) => self.lost.push(row),
                None if self.earlier.live.contains_key(&key) => {
                    self.earlier.lost.extend(self.earlier.live.get(&key));
                }
                None if self.forgotten.contains(&key) => {}
                None => drop(self.early_lost.insert(key)),
            }
        }
    }

    /// Ignores all known blocks from now on.
    pub(crate) fn clear(&mut self) {
        let old = std::mem::take(&mut self.live);
        self.forgotten.extend(old.into_keys());
        self.held.clear();
        self.copies.clear();
        self.ends.clear();
        self.lost.clear();
        self.rows = 0;
    }

    /// Takes in a block that is to be ignored.
    pub(crate) fn forget_one(&mut self, process: u32, block: &profundo_wire::Block) {
        let key = (process, block.number);
        if block.source != Source::Copied && self.early.remove(&key).is_none() {
            self.forgotten.insert(key);
        }
    }

    /// Takes in the free of a block.
    pub(crate) fn freed(&mut self, process: u32, freed: &Freed) {
        let key = (process, freed.number);
        if self.forgotten.remove(&key) {
            return;
        }
        match self.live.remove(&key) {
            Some(row) => self.ends.push((row, freed.clock, freed.at_once)),
            None => match self.earlier.live.remove(&key) {
                Some(row) => (self.earlier.ends).push((row, freed.clock, freed.at_once)),
                None => drop(self.early.insert(key, *freed)),
            },
        }
    }

    /// Forgets the blocks of a process that has ended.
    pub(crate) fn forget(&mut self, process: u32) {
        self.live.retain(|(of, _), _| *of != process);
        self.early.retain(|(of, _), _| *of != process);
        self.forgotten.retain(|(of, _)| *of != process);
        self.early_lost.retain(|(of, _)| *of != process);
        self.earlier.live.retain(|(of, _), _| *of != process);
        self.earlier.frees.retain(|(of, _), _| *of != process);
    }

    /// Appends the held back rows to the profile.
    pub(crate) fn flush(&mut self, clock: Clock, spans: &mut Spans, profile: &mut Profile) {
        for block in self.held.drain(..) {
            let span = spans.row(block.span.0, profile);
            profile.heap.blocks.push(Block {
                time: clock.since_start(block.clock),
                span,
                ..block
            });
        }
        let heap = &mut profile.heap;
        heap.copies
            .extend(self.copies.drain(..).map(|copied| Copied {
                time: clock.since_start(copied.time.0),
                ..copied
            }));
        for row in self.lost.drain(..) {
            let index = row.checked_sub(heap.taken);
            let block = index.and_then(|index| heap.blocks.get_mut(usize::try_from(index).ok()?));
            match block {
                Some(block) => block.is_unreachable = true,
                None => heap.unreachable.push(row),
            }
        }
        for (row, when, is_temporary) in self.ends.drain(..) {
            let freed = clock.since_start(when);
            let index = row.checked_sub(heap.taken);
            let block = index.and_then(|index| heap.blocks.get_mut(usize::try_from(index).ok()?));
            match block {
                Some(block) => {
                    block.freed = Some(freed.max(block.time));
                    block.is_temporary = is_temporary;
                }
                None => heap.ends.push(BlockEnd {
                    row,
                    freed,
                    is_temporary,
                }),
            }
        }
    }
}

/// Sums by the numbers of stacks in their processes.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    rows: FxHashMap<(u32, u32), u32>,
    /// Sums of unknown stacks: their records come later.
    early: FxHashMap<(u32, u32), SiteSum>,
    /// The rows of each process, so that a look at one does not visit the rows of the others.
    of_process: FxHashMap<u32, Vec<u32>>,
    /// By process, the look with the highest sum.
    highest: FxHashMap<u32, Highest>,
}

/// The sums of a process at one look.
#[derive(Debug, Default)]
struct Highest {
    bytes: u64,
    /// The part of each stack, by its row.
    rows: Vec<(u32, Amount)>,
}

/// The time of the sums.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moments {
    pub(crate) clock: Clock,
    pub(crate) now: u64,
}

impl Sites {
    /// Continues the sums of a profile, whose processes have keys in the order of their rows.
    pub(crate) fn of(heap: &Heap) -> Self {
        let rows = heap.sites.iter().zip(0..);
        let rows = rows.map(|(site, row)| ((site.process.0 + 1, site.number), row));
        let rows: FxHashMap<(u32, u32), u32> = rows.collect();
        let mut of_process: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (&(key, _), &row) in &rows {
            of_process.entry(key).or_default().push(row);
        }
        Self {
            rows,
            of_process,
            early: FxHashMap::default(),
            highest: FxHashMap::default(),
        }
    }

    /// Ends the look at a process: remembers the amount of each stack, if the total is higher than
    /// at any look before, and higher than the peak that the process itself has noticed.
    pub(crate) fn keep_highest(&mut self, key: u32, peak: u64, heap: &Heap) {
        let of_process = self.of_process.get(&key).into_iter().flatten();
        let live = of_process.filter_map(|&row| Some((row, heap.sites.get(row as usize)?.live())));
        let rows: Vec<(u32, Amount)> = live.filter(|(_, live)| live.bytes > 0).collect();
        let bytes = rows.iter().map(|(_, live)| live.bytes).sum();
        let highest = self.highest.entry(key).or_default();
        if bytes > peak && bytes > highest.bytes {
            *highest = Highest { bytes, rows };
        }
    }

    /// Drops earlier looks.
    pub(crate) fn forget_highest(&mut self) {
        self.highest.clear();
    }

    /// Threads that allocate at the same time notice their common peak only roughly. If a look saw
    /// more, its amounts replace the peak. A single thread's peak is exact.
    pub(crate) fn mend_peaks(&mut self, has_threads: impl Fn(ProcessId) -> bool, heap: &mut Heap) {
        for (key, highest) in std::mem::take(&mut self.highest) {
            let rows = self.of_process.get(&key).into_iter().flatten();
            let rows: Vec<usize> = rows.map(|&row| row as usize).collect();
            let known = rows.iter().filter_map(|&row| heap.sites.get(row));
            let at_peak = known.fold(0_u64, |sum, site| sum.saturating_add(site.at_peak.bytes));
            let first = rows.first().and_then(|&row| heap.sites.get(row));
            let is_shared = first.is_some_and(|site| has_threads(site.process));
            if !is_shared || highest.bytes <= at_peak {
                continue;
            }
            for row in rows {
                if let Some(site) = heap.sites.get_mut(row) {
                    site.at_peak = Amount::default();
                }
            }
            for (row, live) in highest.rows {
                if let Some(site) = heap.sites.get_mut(row as usize) {
                    site.at_peak = live;
                }
            }
        }
    }

    /// Sums whose stacks never came.
    pub(crate) fn take_unknown(&mut self) -> Vec<(u32, SiteSum)> {
        let early = std::mem::take(&mut self.early);
        early
            .into_iter()
            .map(|((key, _), sum)| (key, sum))
            .collect()
    }

    /// Adds a sum to the stacks without a number.
    pub(crate) fn add_to_others(&mut self, key: u32, sum: &SiteSum, clock: Clock, heap: &mut Heap) {
        let row = self.rows.get(&(key, 0));
        let Some(site) = row.and_then(|&row| heap.sites.get_mut(row as usize)) else {
            return;
        };
        let amount = |[count, bytes]: [u64; 2]| Amount { count, bytes };
        site.allocated += amount(sum.allocated);
        site.freed += amount(sum.freed);
        site.temporary += amount(sum.temporary);
        site.at_peak += amount(whole(sum.at_peak));
        let lived = clock.length(sum.lived).0;
        site.lifetimes.0 = site.lifetimes.0.saturating_add(lived);
    }

    /// Takes in the number of a stack.
    pub(crate) fn site(
        &mut self,
        key: u32,
        process: ProcessId,
        sample: &Sample,
        record: &profundo_wire::Site,
        heap: &mut Heap,
    ) {
        let site = Site {
            process,
            stack: sample.stack,
            domain: domain(record.source),
            number: record.number,
            ..Site::default()
        };
        self.add((key, record.number), site, heap);
    }

    fn add(&mut self, key: (u32, u32), site: Site, heap: &mut Heap) -> u32 {
        let row = heap.sites.len() as u32;
        heap.sites.push(site);
        self.rows.insert(key, row);
        self.of_process.entry(key.0).or_default().push(row);
        row
    }

    /// Whether a process has a row for stacks without a number.
    pub(crate) fn knows_others(&self, key: u32) -> bool {
        self.rows.contains_key(&(key, 0))
    }

    /// Adds that row.
    pub(crate) fn others(&mut self, key: u32, process: ProcessId, stack: StackId, heap: &mut Heap) {
        let site = Site {
            process,
            stack,
            ..Site::default()
        };
        self.add((key, 0), site, heap);
    }

    /// Takes in a sum.
    pub(crate) fn sum(&mut self, key: u32, sum: &SiteSum, when: Moments, heap: &mut Heap) {
        let Some(&row) = self.rows.get(&(key, sum.number)) else {
            self.early.insert((key, sum.number), *sum);
            return;
        };
        let Some(site) = heap.sites.get_mut(row as usize) else {
            return;
        };
        let amount = |[count, bytes]: [u64; 2]| Amount { count, bytes };
        site.allocated = amount(sum.allocated);
        site.freed = amount(sum.freed);
        site.temporary = amount(sum.temporary);
        site.at_peak = amount(whole(sum.at_peak));
        site.lifetimes = when.clock.length(sum.lived);
        heap.moments.push(Moment {
            site: row,
            time: when.clock.since_start(when.now),
            allocated: site.allocated,
            live: site.live(),
        });
    }

    /// Takes in the amounts of unreachable blocks by stack.
    pub(crate) fn unreachable(&mut self, key: u32, found: &[(u32, [u64; 2])], heap: &mut Heap) {
        for &(number, [count, bytes]) in found {
            let row = self.rows.get(&(key, number));
            if let Some(site) = row.and_then(|&row| heap.sites.get_mut(row as usize)) {
                site.unreachable = Amount { count, bytes };
            }
        }
    }

    /// Tries again the sums that came too early.
    pub(crate) fn retry(&mut self, when: Moments, heap: &mut Heap) {
        let early = std::mem::take(&mut self.early);
        for ((key, _), sum) in early {
            self.sum(key, &sum, when, heap);
        }
    }
}

/// A thread may have been in the middle of counting.
fn whole(pair: [u64; 2]) -> [u64; 2] {
    pair.map(|amount| if (amount as i64) < 0 { 0 } else { amount })
}

pub(crate) fn sampling(allocations: Allocations) -> Sampling {
    match allocations {
        Allocations::None => Sampling::None,
        Allocations::Bytes(mean) => Sampling::Bytes(mean),
        Allocations::All => Sampling::All,
    }
}

fn domain(source: Source) -> Domain {
    match source {
        Source::Native | Source::Copied => Domain::Native,
        Source::Python => Domain::Python,
        Source::Mapped => Domain::Mapped,
    }
}

/// The time of a sample that stands for no time.
pub(crate) const NO_TIME: Nanos = Nanos(0);

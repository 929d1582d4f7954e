//! Blocks: from the records of their beginnings and ends, which come in any order, to rows.

use profundo_model::{
    Amount, Block, BlockEnd, Copied, Domain, Heap, Moment, Nanos, ProcessId, Sample, Sampling,
    Site, StackId, StringId,
};
use profundo_wire::recording::{Allocations, SiteSum};
use profundo_wire::{Freed, Source};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::clock::Clock;

/// What stands behind a sample of an allocation, and belongs to it.
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

/// Blocks by the numbers that their processes have given them.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// The rows of those that are not known to be freed.
    live: FxHashMap<(u32, u64), u64>,
    /// Ends of blocks that were not told of yet: another thread's records come later.
    early: FxHashMap<(u32, u64), Freed>,
    /// Those that are not known to be freed and are not to be told of any more.
    forgotten: FxHashSet<(u32, u64)>,
    /// Those that nobody points to and that were not told of yet; the rows of the others.
    early_lost: FxHashSet<(u32, u64)>,
    lost: Vec<u64>,
    /// Those that are held back until it is known what the cycle counter means.
    held: Vec<Block>,
    /// Copies, the same, with the cycle counter in place of the time.
    copies: Vec<Copied>,
    /// Ends, the same: the row, when on the cycle counter, and whether it was freed at once.
    ends: Vec<(u64, u64, bool)>,
    /// How many rows there are.
    rows: u64,
}

impl Blocks {
    /// Goes on after so many rows.
    pub(crate) fn after(heap: &Heap) -> Self {
        Self {
            rows: heap.taken + heap.blocks.len() as u64,
            ..Self::default()
        }
    }

    /// Takes in a block whose sample is this.
    pub(crate) fn block(&mut self, process: u32, sample: &Sample, told: &profundo_wire::Block) {
        if told.source == Source::Copied {
            self.copies.push(Copied {
                time: Nanos(told.clock),
                size: told.size,
                thread: sample.thread,
                stack: sample.stack,
                doublings: 0,
            });
            return;
        }
        let row = self.rows;
        self.rows += 1;
        self.held.push(Block {
            clock: told.clock,
            size: told.size,
            thread: sample.thread,
            task: sample.task,
            stack: sample.stack,
            domain: domain(told.source),
            type_name: StringId::default(),
            is_buffer: told.is_buffer,
            doublings: told.doublings,
            ..Block::default()
        });
        let key = (process, told.number);
        if self.early_lost.remove(&key) {
            self.lost.push(row);
        }
        match self.early.remove(&key) {
            Some(freed) => self.ends.push((row, freed.clock, freed.at_once)),
            None => {
                self.live.insert(key, row);
            }
        }
    }

    /// Nobody points to these blocks.
    pub(crate) fn unreachable(&mut self, process: u32, numbers: &[u64]) {
        for &number in numbers {
            let key = (process, number);
            match self.live.get(&key) {
                Some(&row) => self.lost.push(row),
                None if self.forgotten.contains(&key) => {}
                None => drop(self.early_lost.insert(key)),
            }
        }
    }

    /// Forgets all that were told of so far.
    pub(crate) fn clear(&mut self) {
        let old = std::mem::take(&mut self.live);
        self.forgotten.extend(old.into_keys());
        self.held.clear();
        self.copies.clear();
        self.ends.clear();
        self.lost.clear();
        self.rows = 0;
    }

    /// Takes in a block of which nobody is to know.
    pub(crate) fn forget_one(&mut self, process: u32, told: &profundo_wire::Block) {
        let key = (process, told.number);
        if told.source != Source::Copied && self.early.remove(&key).is_none() {
            self.forgotten.insert(key);
        }
    }

    /// Takes in the end of a block.
    pub(crate) fn freed(&mut self, process: u32, told: &Freed) {
        let key = (process, told.number);
        if self.forgotten.remove(&key) {
            return;
        }
        match self.live.remove(&key) {
            Some(row) => self.ends.push((row, told.clock, told.at_once)),
            None => {
                self.early.insert(key, *told);
            }
        }
    }

    /// Forgets the blocks of a process that has ended.
    pub(crate) fn forget(&mut self, process: u32) {
        self.live.retain(|(of, _), _| *of != process);
        self.early.retain(|(of, _), _| *of != process);
        self.forgotten.retain(|(of, _)| *of != process);
        self.early_lost.retain(|(of, _)| *of != process);
    }

    /// Appends what is held back.
    pub(crate) fn let_go(&mut self, clock: Clock, heap: &mut Heap) {
        heap.blocks.extend(self.held.drain(..).map(|block| Block {
            time: clock.since_start(block.clock),
            ..block
        }));
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

/// Sums by the numbers that stacks have in their processes.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    rows: FxHashMap<(u32, u32), u32>,
    /// Sums of stacks that were not told of yet: their records come later.
    early: FxHashMap<(u32, u32), SiteSum>,
    /// The rows of each process, so that a look at one does not go through those of the others.
    of_process: FxHashMap<u32, Vec<u32>>,
    /// By process, the look at which it had most.
    highest: FxHashMap<u32, Highest>,
}

/// What a process had at one look.
#[derive(Debug, Default)]
struct Highest {
    bytes: u64,
    /// What each stack had of it, by its row.
    rows: Vec<(u32, Amount)>,
}

/// What is known of when sums were told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moments {
    pub(crate) clock: Clock,
    pub(crate) now: u64,
}

impl Sites {
    /// Goes on with those that a profile has, whose processes have keys in the order of their rows.
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

    /// A look at a process is over: remembers what each of its stacks had, if together they had more than at any look
    /// before, and more than at the peak that the process has noticed itself.
    pub(crate) fn looked(&mut self, key: u32, peak: u64, heap: &Heap) {
        let of_process = self.of_process.get(&key).into_iter().flatten();
        let live = of_process.filter_map(|&row| Some((row, heap.sites.get(row as usize)?.live())));
        let rows: Vec<(u32, Amount)> = live.filter(|(_, live)| live.bytes > 0).collect();
        let bytes = rows.iter().map(|(_, live)| live.bytes).sum();
        let highest = self.highest.entry(key).or_default();
        if bytes > peak && bytes > highest.bytes {
            *highest = Highest { bytes, rows };
        }
    }

    /// Earlier looks count no more.
    pub(crate) fn forget_looks(&mut self) {
        self.highest.clear();
    }

    /// Threads that allocate at one time notice a peak of all of them only roughly. Where a look saw more than that, its
    /// amounts are those of the peak. A single thread's peak is exact.
    pub(crate) fn mend_peaks(&mut self, has_threads: impl Fn(ProcessId) -> bool, heap: &mut Heap) {
        for (key, highest) in std::mem::take(&mut self.highest) {
            let rows = self.of_process.get(&key).into_iter().flatten();
            let rows: Vec<usize> = rows.map(|&row| row as usize).collect();
            let known = rows.iter().filter_map(|&row| heap.sites.get(row));
            let at_peak: u64 = known.map(|site| site.at_peak.bytes).sum();
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

    /// Those whose sums came and whose stacks never did.
    pub(crate) fn take_unknown(&mut self) -> Vec<(u32, SiteSum)> {
        let early = std::mem::take(&mut self.early);
        early
            .into_iter()
            .map(|((key, _), told)| (key, told))
            .collect()
    }

    /// Adds a sum to the stacks without a number.
    pub(crate) fn add_to_others(
        &mut self,
        key: u32,
        told: &SiteSum,
        clock: Clock,
        heap: &mut Heap,
    ) {
        let row = self.rows.get(&(key, 0));
        let Some(site) = row.and_then(|&row| heap.sites.get_mut(row as usize)) else {
            return;
        };
        let amount = |[count, bytes]: [u64; 2]| Amount { count, bytes };
        site.allocated += amount(told.allocated);
        site.freed += amount(told.freed);
        site.temporary += amount(told.temporary);
        site.at_peak += amount(whole(told.at_peak));
        site.lifetimes.0 += clock.length(told.lived).0;
    }

    /// A stack has a number.
    pub(crate) fn site(
        &mut self,
        key: u32,
        process: ProcessId,
        sample: &Sample,
        told: &profundo_wire::Site,
        heap: &mut Heap,
    ) {
        let site = Site {
            process,
            stack: sample.stack,
            domain: domain(told.source),
            number: told.number,
            ..Site::default()
        };
        self.add((key, told.number), site, heap);
    }

    fn add(&mut self, key: (u32, u32), site: Site, heap: &mut Heap) -> u32 {
        let row = heap.sites.len() as u32;
        heap.sites.push(site);
        self.rows.insert(key, row);
        self.of_process.entry(key.0).or_default().push(row);
        row
    }

    /// Whether the stacks without a number of a process have a row.
    pub(crate) fn knows_others(&self, key: u32) -> bool {
        self.rows.contains_key(&(key, 0))
    }

    /// Gives them one.
    pub(crate) fn others(&mut self, key: u32, process: ProcessId, stack: StackId, heap: &mut Heap) {
        let site = Site {
            process,
            stack,
            ..Site::default()
        };
        self.add((key, 0), site, heap);
    }

    /// Takes in a sum.
    pub(crate) fn sum(&mut self, key: u32, told: &SiteSum, when: Moments, heap: &mut Heap) {
        let Some(&row) = self.rows.get(&(key, told.number)) else {
            self.early.insert((key, told.number), *told);
            return;
        };
        let Some(site) = heap.sites.get_mut(row as usize) else {
            return;
        };
        let amount = |[count, bytes]: [u64; 2]| Amount { count, bytes };
        site.allocated = amount(told.allocated);
        site.freed = amount(told.freed);
        site.temporary = amount(told.temporary);
        site.at_peak = amount(whole(told.at_peak));
        site.lifetimes = when.clock.length(told.lived);
        heap.moments.push(Moment {
            site: row,
            time: when.clock.since_start(when.now),
            allocated: site.allocated,
            live: site.live(),
        });
    }

    /// These are the amounts of stacks that cannot be come to.
    pub(crate) fn unreachable(&mut self, key: u32, found: &[(u32, [u64; 2])], heap: &mut Heap) {
        for &(number, [count, bytes]) in found {
            let row = self.rows.get(&(key, number));
            if let Some(site) = row.and_then(|&row| heap.sites.get_mut(row as usize)) {
                site.unreachable = Amount { count, bytes };
            }
        }
    }

    /// Tries again what came too early.
    pub(crate) fn retry(&mut self, when: Moments, heap: &mut Heap) {
        let early = std::mem::take(&mut self.early);
        for ((key, _), told) in early {
            self.sum(key, &told, when, heap);
        }
    }
}

/// A thread may have been in the middle of counting.
fn whole(pair: [u64; 2]) -> [u64; 2] {
    pair.map(|it| if (it as i64) < 0 { 0 } else { it })
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

/// The time of a sample that is no time of the program's.
pub(crate) const NO_TIME: Nanos = Nanos(0);

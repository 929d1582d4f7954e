//! Blocks: from the records of their beginnings and ends, which come in any order, to rows.

use profundo_model::{
    Block, BlockEnd, Domain, Heap, Nanos, ProcessId, Sample, Sampling, Site, StringId,
};
use profundo_wire::recording::Allocations;
use profundo_wire::{Freed, Source};
use rustc_hash::FxHashMap;

use crate::clock::Clock;

/// What stands behind a sample of an allocation, and belongs to it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Told {
    Block(profundo_wire::Block),
    Site(profundo_wire::Site),
}

impl Told {
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
    /// Those that are held back until it is known what the cycle counter means.
    held: Vec<Block>,
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
            ..Block::default()
        });
        let key = (process, told.number);
        match self.early.remove(&key) {
            Some(freed) => self.ends.push((row, freed.clock, freed.at_once)),
            None => {
                self.live.insert(key, row);
            }
        }
    }

    /// Takes in the end of a block.
    pub(crate) fn freed(&mut self, process: u32, told: &Freed) {
        let key = (process, told.number);
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
    }

    /// Appends what is held back.
    pub(crate) fn let_go(&mut self, clock: Clock, heap: &mut Heap) {
        heap.blocks.extend(self.held.drain(..).map(|block| Block {
            time: clock.since_start(block.clock),
            ..block
        }));
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

/// The row of a stack that gets a number.
#[expect(dead_code, reason = "sums by stack are not told yet")]
pub(crate) fn site(process: ProcessId, sample: &Sample, told: &profundo_wire::Site) -> Site {
    Site {
        process,
        stack: sample.stack,
        domain: domain(told.source),
        ..Site::default()
    }
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
        Source::Native => Domain::Native,
        Source::Python => Domain::Python,
        Source::Mapped => Domain::Mapped,
    }
}

/// The time of a sample that is no time of the program's.
pub(crate) const NO_TIME: Nanos = Nanos(0);

//! Allocations: blocks that were followed to their end, or sums of all blocks by stack.
//!
//! A sampled profile has [`Block`]s, each of which stands for many that are alike; a profile of
//! everything that a program allocates has one [`Site`] for each stack, with exact sums. A profile
//! has one or the other. Both lie beside the samples of time, and share their stacks, threads and
//! tasks.

use crate::{Nanos, ProcessId, SpanId, StackId, StringId, TaskId, ThreadId};

/// The allocations that were recorded.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Sampling {
    /// None: memory was not recorded.
    #[default]
    None,
    /// On average one allocation in so many bytes, at random: a large one is almost certain.
    Bytes(u64),
    /// Each allocation with this probability, whatever its size.
    Events(f64),
    /// All allocations.
    All,
}

impl Sampling {
    /// The probability that an allocation of this size is recorded. Exact for samplers of bytes:
    /// the gaps between sampled bytes have exponential length.
    pub fn probability(self, size: u64) -> f64 {
        match self {
            Self::None => 0.0,
            Self::All => 1.0,
            Self::Events(rate) => rate.clamp(0.0, 1.0),
            Self::Bytes(mean) => -(-(size as f64) / (mean.max(1) as f64)).exp_m1(),
        }
    }

    /// The number of allocations that a recorded one of this size stands for.
    pub fn weight(self, size: u64) -> f64 {
        match self.probability(size) {
            none if none <= 0.0 => 1.0,
            probability => 1.0 / probability,
        }
    }

    /// The same sampling with a mean distance doubled so many times.
    pub fn rarer(self, doublings: u8) -> Self {
        let times = 2_f64.powi(i32::from(doublings));
        match self {
            _ if doublings == 0 => self,
            Self::None => Self::None,
            Self::Bytes(mean) => Self::Bytes(mean.saturating_mul(1 << doublings.min(63))),
            Self::Events(rate) => Self::Events(rate / times),
            Self::All => Self::Events(1.0 / times),
        }
    }

    /// The sampling that held for this block.
    pub fn of(self, block: &Block) -> Self {
        self.rarer(block.doublings)
    }

    /// The number of allocations that a block stands for.
    pub fn weight_of(self, block: &Block) -> f64 {
        self.of(block).weight(block.size)
    }
}

/// The allocator that a block came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Domain {
    /// The C library's allocator or its replacement; Rust's and C++'s use it.
    #[default]
    Native,
    /// An interpreter's allocator of objects and their parts.
    Python,
    /// The kernel: pages from `mmap` or from moving the break.
    Mapped,
}

/// A block that was recorded when it was allocated. A block that is resized is another block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Block {
    /// The time when it was allocated, since the start of the recording.
    pub time: Nanos,
    /// The time when it was freed; `None` if it was alive at the end of the recording.
    pub freed: Option<Nanos>,
    /// The raw cycle counter at the allocation; 0 where there is none.
    pub clock: u64,
    /// Requested bytes.
    pub size: u64,
    /// The allocating thread.
    pub thread: ThreadId,
    /// The task current on that thread.
    pub task: TaskId,
    /// The path of the innermost span that it was allocated in.
    pub span: SpanId,
    /// The allocating stack.
    pub stack: StackId,
    /// The allocator.
    pub domain: Domain,
    /// The type of its contents, such as `Vec<u8>` or `dict`; empty where unknown.
    pub type_name: StringId,
    /// Whether a growable container keeps its elements there.
    pub is_buffer: bool,
    /// True if the block was freed before its thread allocated anything else.
    pub is_temporary: bool,
    /// The number of doublings of the mean sampling distance when this block was due, and how often
    /// every other block was left out to keep the file small.
    pub doublings: u8,
    /// True if the block was unreachable when its process ended, as far as that was searched.
    pub is_unreachable: bool,
}

/// The end of a block that was taken out of the profile before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockEnd {
    /// The block's number, counted from the first of all blocks.
    pub row: u64,
    /// The time when it was freed.
    pub freed: Nanos,
    /// True if the block was freed before its thread allocated anything else.
    pub is_temporary: bool,
}

/// Bytes copied from one place to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Copied {
    /// The time when they were copied, since the start of the recording.
    pub time: Nanos,
    /// The number of bytes.
    pub size: u64,
    /// The copying thread.
    pub thread: ThreadId,
    /// The copying stack.
    pub stack: StackId,
    /// The number of times that every other copy was left out to keep the file small.
    pub doublings: u8,
}

/// A number of blocks and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// The number of blocks.
    pub count: u64,
    /// Requested bytes.
    pub bytes: u64,
}

impl std::ops::AddAssign for Amount {
    fn add_assign(&mut self, more: Self) {
        self.count = self.count.saturating_add(more.count);
        self.bytes = self.bytes.saturating_add(more.bytes);
    }
}

/// The allocations of one stack, exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Site {
    /// The process.
    pub process: ProcessId,
    /// The allocating stack.
    pub stack: StackId,
    /// The allocator.
    pub domain: Domain,
    /// All allocated blocks.
    pub allocated: Amount,
    /// The freed blocks among them.
    pub freed: Amount,
    /// Blocks freed before their thread allocated anything else.
    pub temporary: Amount,
    /// The blocks in use at the peak of the process.
    pub at_peak: Amount,
    /// The lifetimes of all blocks, added up; unfreed ones live until the end of the recording.
    pub lifetimes: Nanos,
    /// Blocks unreachable when the process ended, as far as that was searched.
    pub unreachable: Amount,
    /// The site's number in its process, to continue the recording.
    pub number: u32,
}

impl Site {
    /// The blocks never freed.
    pub fn live(&self) -> Amount {
        Amount {
            count: self.allocated.count.saturating_sub(self.freed.count),
            bytes: self.allocated.bytes.saturating_sub(self.freed.bytes),
        }
    }
}

/// The amounts of a [`Site`] at one moment of the recording, kept where they changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// The site, by its row.
    pub site: u32,
    /// The moment.
    pub time: Nanos,
    /// The blocks allocated by then.
    pub allocated: Amount,
    /// The blocks allocated and not yet freed.
    pub live: Amount,
}

/// The memory of a process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gauge {
    /// The process.
    pub process: ProcessId,
    /// The time when it was read.
    pub time: Nanos,
    /// Resident bytes, shared ones included.
    pub resident: u64,
    /// The peak of the resident bytes so far by the kernel's count, which misses nothing between
    /// two readings; 0 where the kernel does not report it.
    pub peak_resident: u64,
    /// Proportional set size in bytes; `None` where it was not read.
    pub proportional: Option<u64>,
    /// Anonymous resident bytes.
    pub anonymous: u64,
    /// Swapped bytes.
    pub swapped: u64,
    /// Minor page faults so far.
    pub minor_faults: u64,
    /// Major page faults so far.
    pub major_faults: u64,
    /// Bytes in live blocks of the allocators; `None` where not all allocations are counted.
    pub in_use: Option<u64>,
    /// Bytes that the program has mapped itself and not yet unmapped; `None` where not all
    /// allocations are counted.
    pub mapped: Option<u64>,
    /// Bytes of `anonymous` that are certainly no allocator's: our own tables, the stack of the
    /// first thread, changed pages of files. `None` where this was not read.
    pub elsewhere: Option<u64>,
    /// Bytes of the interpreter's arenas.
    pub arenas: u64,
}

/// Allocations, and their effect on the machine's memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Heap {
    /// The allocations that were recorded.
    pub sampling: Sampling,
    /// The recorded blocks, roughly in the order of allocation.
    pub blocks: Vec<Block>,
    /// Blocks taken out before the first of them, while the profile grew.
    pub taken: u64,
    /// The ends of blocks that were taken out.
    pub ends: Vec<BlockEnd>,
    /// Rows of the taken blocks that were unreachable when their processes ended.
    pub unreachable: Vec<u64>,
    /// The processes that were searched for unreachable blocks at their end.
    pub searched: Vec<ProcessId>,
    /// The copies that were recorded.
    pub copying: Sampling,
    /// The shortest copies that count.
    pub copies_from: u64,
    /// The recorded copies, roughly in the order of time.
    pub copies: Vec<Copied>,
    /// Exact sums by stack.
    pub sites: Vec<Site>,
    /// The growth of the sums, oldest first.
    pub moments: Vec<Moment>,
    /// The memory of processes, of each process oldest first.
    pub gauges: Vec<Gauge>,
}

impl Heap {
    /// The coarsest sampling of any block.
    pub fn coarsest(&self) -> Sampling {
        let most = self.blocks.iter().max_by_key(|block| block.doublings);
        most.map_or(self.sampling, |block| self.sampling.of(block))
    }

    /// The coarsest sampling of any copy.
    pub fn coarsest_copies(&self) -> Sampling {
        let most = self.copies.iter().map(|copy| copy.doublings).max();
        self.copying.rarer(most.unwrap_or(0))
    }

    /// The sampling that held for a copy.
    pub fn copying_of(&self, copied: &Copied) -> Sampling {
        self.copying.rarer(copied.doublings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_stands_for_as_many_as_its_chance_says() {
        let by_bytes = Sampling::Bytes(512 << 10);
        // A small block stands for the mean distance.
        let small = by_bytes.weight(8) * 8.0;
        assert!((small / (512 << 10) as f64 - 1.0).abs() < 1e-4, "{small}");
        // A large one for itself.
        assert_eq!(by_bytes.weight(1 << 30), 1.0);
        assert_eq!(Sampling::Events(0.25).weight(1), 4.0);
        assert_eq!(Sampling::All.weight(0), 1.0);
        assert_eq!(Sampling::Bytes(10).rarer(3), Sampling::Bytes(80));
        assert_eq!(Sampling::All.rarer(2).weight(7), 4.0);
    }

    #[test]
    fn what_was_not_freed_is_live() {
        let amount = |count, bytes| Amount { count, bytes };
        let site = Site {
            allocated: amount(3, 100),
            freed: amount(2, 60),
            ..Site::default()
        };
        assert_eq!(site.live(), amount(1, 40));
    }
}

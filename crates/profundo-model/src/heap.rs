//! What was allocated: blocks that were followed to their end, or sums of all blocks by stack.
//!
//! A sampled profile has [`Block`]s, each of which stands for many that are alike; a profile of
//! everything that a program allocates has one [`Site`] for each stack, with exact sums. A profile has
//! one or the other. Both lie beside the samples of time, and share their stacks, threads and tasks.

use crate::{Nanos, ProcessId, StackId, StringId, TaskId, ThreadId};

/// Which allocations were recorded.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Sampling {
    /// None: memory was not looked at.
    #[default]
    None,
    /// One about each so many bytes, at random: a large one is as good as certain.
    Bytes(u64),
    /// Each with this probability, whatever its size.
    Events(f64),
    /// All of them.
    All,
}

impl Sampling {
    /// How likely it is that an allocation of this size is recorded. Exact for the draw that
    /// samplers of bytes make: gaps of exponential length between the bytes that are hit.
    pub fn probability(self, size: u64) -> f64 {
        match self {
            Self::None => 0.0,
            Self::All => 1.0,
            Self::Events(rate) => rate.clamp(0.0, 1.0),
            Self::Bytes(mean) => -(-(size as f64) / (mean.max(1) as f64)).exp_m1(),
        }
    }

    /// How many allocations one of this size stands for that was recorded.
    pub fn weight(self, size: u64) -> f64 {
        match self.probability(size) {
            none if none <= 0.0 => 1.0,
            probability => 1.0 / probability,
        }
    }

    /// The same with each so many times as rare, by powers of two.
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

    /// The same as it holds for this block.
    pub fn of(self, block: &Block) -> Self {
        self.rarer(block.doublings)
    }

    /// How many allocations a block stands for.
    pub fn weight_of(self, block: &Block) -> f64 {
        self.of(block).weight(block.size)
    }
}

/// Whose allocator a block came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Domain {
    /// The C library's, or what stands in its place; Rust's and C++'s are in it.
    #[default]
    Native,
    /// An interpreter's, for its objects and what belongs to them.
    Python,
    /// The kernel's: pages that were asked for by `mmap`, or by moving the end of the data.
    Mapped,
}

/// A block that was recorded when it was allocated. A block that is resized is another block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Block {
    /// When, since the start of the recording.
    pub time: Nanos,
    /// When it was freed; `None` if it never was, as long as anybody looked.
    pub freed: Option<Nanos>,
    /// The raw cycle counter at the allocation; 0 where there is none.
    pub clock: u64,
    /// How many bytes were asked for.
    pub size: u64,
    /// Who asked.
    pub thread: ThreadId,
    /// The task current on that thread.
    pub task: TaskId,
    /// Where.
    pub stack: StackId,
    /// From whom.
    pub domain: Domain,
    /// What it holds, as `Vec<u8>` or `dict`; empty where that is not known.
    pub type_name: StringId,
    /// Whether it is where something keeps its elements that can grow.
    pub is_buffer: bool,
    /// Whether it was freed before its thread had allocated anything else.
    pub is_temporary: bool,
    /// How often the mean distance of the blocks that are recorded had been doubled when this one was due,
    /// so that a program that allocates very much is not looked at too often; and how often as many were left out
    /// again, because the file is too small for all.
    pub doublings: u8,
    /// Whether nobody pointed to it when its process ended, as far as that was looked for.
    pub is_unreachable: bool,
}

/// The end of a block that was taken out of the profile before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockEnd {
    /// Which one, counted from the first of all blocks.
    pub row: u64,
    /// When it was freed.
    pub freed: Nanos,
    /// As for a block.
    pub is_temporary: bool,
}

/// Bytes that were copied from one place to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Copied {
    /// When, since the start of the recording.
    pub time: Nanos,
    /// How many bytes.
    pub size: u64,
    /// Who copied.
    pub thread: ThreadId,
    /// Where.
    pub stack: StackId,
    /// How often every other one was left out, because the file is too small for all.
    pub doublings: u8,
}

/// A number of blocks, and how large they are together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// How many.
    pub count: u64,
    /// Bytes that were asked for.
    pub bytes: u64,
}

impl std::ops::AddAssign for Amount {
    fn add_assign(&mut self, more: Self) {
        self.count = self.count.saturating_add(more.count);
        self.bytes = self.bytes.saturating_add(more.bytes);
    }
}

/// What was allocated on one stack, exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Site {
    /// In which process.
    pub process: ProcessId,
    /// Where.
    pub stack: StackId,
    /// From whom.
    pub domain: Domain,
    /// All of it.
    pub allocated: Amount,
    /// What was freed of it.
    pub freed: Amount,
    /// What was freed before its thread had allocated anything else.
    pub temporary: Amount,
    /// What was there when the process had most.
    pub at_peak: Amount,
    /// How long all of it has lived, together; what was never freed until the end of the recording.
    pub lifetimes: Nanos,
    /// What could not be come to by any pointer when its process ended, as far as that was looked for.
    pub unreachable: Amount,
    /// Under which number its process counts it, for whoever goes on with the recording.
    pub number: u32,
}

impl Site {
    /// What was never freed.
    pub fn live(&self) -> Amount {
        Amount {
            count: self.allocated.count.saturating_sub(self.freed.count),
            bytes: self.allocated.bytes.saturating_sub(self.freed.bytes),
        }
    }
}

/// How much a [`Site`] had at one moment of the recording. It is told where it has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// The site, by its row.
    pub site: u32,
    /// When.
    pub time: Nanos,
    /// What it had allocated by then.
    pub allocated: Amount,
    /// What of that had not been freed.
    pub live: Amount,
}

/// What a process had of the machine's memory at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gauge {
    /// Which process.
    pub process: ProcessId,
    /// When.
    pub time: Nanos,
    /// Bytes in memory, those that are shared included.
    pub resident: u64,
    /// The most bytes that were in memory up to then, by the kernel's own count, which nothing escapes
    /// between two looks; 0 where it does not tell.
    pub peak_resident: u64,
    /// Bytes in memory, each that is shared by its part; `None` where it was not looked at then.
    pub proportional: Option<u64>,
    /// Bytes in memory that are no file's.
    pub anonymous: u64,
    /// Bytes that were moved out of memory.
    pub swapped: u64,
    /// Page faults so far that were served from memory.
    pub minor_faults: u64,
    /// Page faults so far that had to read.
    pub major_faults: u64,
    /// Bytes in blocks that allocators have handed out and that were not given back; `None` where not all
    /// are counted.
    pub in_use: Option<u64>,
    /// Bytes that the program has asked the kernel for itself, and not given back; the same.
    pub mapped: Option<u64>,
    /// Bytes of `anonymous` that are certainly no allocator's: our own tables, the stack of the first thread,
    /// what was changed of files. `None` where it was not looked at then.
    pub elsewhere: Option<u64>,
    /// Bytes that the interpreter has asked the kernel for, to make objects in.
    pub arenas: u64,
}

/// What was allocated, and what that did to the machine's memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Heap {
    /// Which allocations were recorded.
    pub sampling: Sampling,
    /// Those that were, about in the order in which they were allocated.
    pub blocks: Vec<Block>,
    /// How many were taken out before the first of them, while the profile grew.
    pub taken: u64,
    /// The ends of those that were taken out.
    pub ends: Vec<BlockEnd>,
    /// Blocks of those that nobody pointed to when their processes ended, by their rows.
    pub unreachable: Vec<u64>,
    /// The processes in which it was looked at their ends which blocks nobody points to.
    pub searched: Vec<ProcessId>,
    /// Which copies were recorded, of those that count.
    pub copying: Sampling,
    /// The shortest copies that count.
    pub copies_from: u64,
    /// Those that were recorded, about in the order of time.
    pub copies: Vec<Copied>,
    /// Exact sums.
    pub sites: Vec<Site>,
    /// How the sums came about, oldest first.
    pub moments: Vec<Moment>,
    /// The machine's memory, of each process oldest first.
    pub gauges: Vec<Gauge>,
}

impl Heap {
    /// How the blocks were recorded that stand for most.
    pub fn coarsest(&self) -> Sampling {
        let most = self.blocks.iter().max_by_key(|block| block.doublings);
        most.map_or(self.sampling, |block| self.sampling.of(block))
    }

    /// How the copies were recorded that stand for most.
    pub fn coarsest_copies(&self) -> Sampling {
        let most = self.copies.iter().map(|copy| copy.doublings).max();
        self.copying.rarer(most.unwrap_or(0))
    }

    /// How a copy was recorded.
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

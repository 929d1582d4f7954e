//! Finds the blocks of an ending process that no pointer leads to.
//!
//! Where all blocks are known, it works as a leak checker: a block is reachable from the program's
//! data, stacks and registers, through pointers to any place of a block. Where only some blocks are
//! known, it only finds those without any pointer to them, since the other blocks on a path are not
//! known.
//!
//! A word that happens to look like a pointer counts as one, so a lost block may be missed. A block
//! that is found is lost, or its pointer is hidden by the program (as a difference, or in bits).

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use profundo_linux::proc;
use profundo_linux::sys;
use profundo_probe::heap::followed::Entry;
use profundo_probe::heap::seen::each_seen;
use profundo_probe::shared::Search;
use profundo_scan::{
    Block, Blocks, Edges, Freed, Gone, Memory, Reached, Stretch, Unread, areas, each_stretch,
};
use profundo_wire::recording::Unreachable;

/// The largest size of memory that is searched, and of the edges between blocks, which the machine
/// must have besides.
const MOST: u64 = 1 << 30;
const MOST_KEPT: usize = 256 << 20;

/// The longest time of a search: a part of the time that the program has run. If other programs are
/// recorded too, which would wait for us, it must be short.
pub(crate) fn longest(ran: Duration, are_others: bool) -> Duration {
    const PART: u32 = 5;
    const LEAST: Duration = Duration::from_millis(200);
    const LONGEST: Duration = Duration::from_secs(1);
    const BESIDE_OTHERS: Duration = Duration::from_millis(30);
    match are_others {
        true => BESIDE_OTHERS,
        false => (ran / PART).clamp(LEAST, LONGEST),
    }
}

/// The reason why the lost blocks are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// The search would take too long.
    Long,
    /// There is too much memory.
    Much,
    /// Other threads run, and may move pointers meanwhile.
    Threads,
    /// Memory could not be read, or the process has ended meanwhile.
    Gone,
}

impl Unknown {
    /// The reason in words.
    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::Long => "it would have taken too long",
            Self::Much => "there is too much memory to be looked through",
            Self::Threads => "it has other threads that run",
            Self::Gone => "its memory could not be read",
        }
    }
}

impl From<Unread> for Unknown {
    fn from(why: Unread) -> Self {
        match why {
            Unread::Long => Self::Long,
            Unread::Much => Self::Much,
            Unread::Gone => Self::Gone,
        }
    }
}

/// A process that waits for its search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting<'a> {
    pub(crate) pid: u32,
    pub(crate) search: &'a Search,
    /// The longest time of the search.
    pub(crate) longest: Duration,
    /// Prefixes of the paths of our own mappings.
    pub(crate) ours: &'a [&'a [u8]],
}

/// Searches. The process has one thread, which waits.
pub(crate) fn search_blocks(waiting: Waiting<'_>) -> Result<Unreachable, Unknown> {
    let Waiting {
        pid,
        search,
        longest,
        ours,
    } = waiting;
    let read = |number: &std::sync::atomic::AtomicU64| number.load(Ordering::Relaxed);
    let mut memory = Memory::open(pid, Instant::now() + longest, MOST);
    if proc::threads(pid).len() != 1 {
        return Err(Unknown::Threads);
    }
    let stacks = [read(&search.stack)];
    // Its stack exists, so if this cannot be read, nothing can: a process may forbid it.
    if sys::read_memory(pid, stacks[0], &mut [0; 8]) != 8 {
        return Err(Unknown::Gone);
    }
    let agent = agent_ranges(
        &mut memory,
        read(&search.own_memory[0]),
        read(&search.own_memory[1]),
    )?;
    let areas = areas(&proc::read(pid, "maps"), &agent, &stacks, ours);
    let ranges = areas.into_iter().map(|area| area.range);
    match read(&search.shadow) {
        0 => {
            let [at, count] = search.followed.each_ref().map(read);
            let (blocks, numbers) = followed(&mut memory, at, count)?;
            let mut reached = Reached::new(blocks.len());
            for range in ranges {
                memory.each_piece(range, |at, words| {
                    point_from_outside(&blocks, &mut reached, at, words);
                })?;
            }
            let numbers = lost(&blocks, &reached)
                .filter_map(|block| numbers.get(block.whose as usize).copied());
            Ok(Unreachable::Blocks(numbers.collect()))
        }
        shadow => {
            let (blocks, freed) = counted(&mut memory, shadow)?;
            let mut reached = Reached::new(blocks.len());
            let (mut edges, mut gone) = (Edges::new(), Gone::default());
            for range in ranges {
                memory.each_piece(range, |at, words| {
                    each_stretch(&blocks, &freed, &mut gone, (at, words), |what, _, words| {
                        note(&blocks, &mut reached, &mut edges, what, words);
                    });
                })?;
                if edges.bytes() > MOST_KEPT {
                    return Err(Unknown::Much);
                }
            }
            reached.follow(&edges);
            Ok(Unreachable::Sites(by_site(lost(&blocks, &reached))))
        }
    }
}

/// Notes the blocks that the words of a range point to.
fn note(blocks: &Blocks, reached: &mut Reached, edges: &mut Edges, what: Stretch, words: &[u64]) {
    for &word in words {
        match what {
            Stretch::Outside => {
                if let Some(found) = blocks.find_from_outside(word) {
                    reached.reach(found);
                }
            }
            Stretch::Block(from) => {
                // There cannot be too many: the searched memory is limited.
                if let Some(to) = blocks.find(word)
                    && !edges.push(from, to)
                {
                    reached.reach(to);
                }
            }
        }
    }
}

/// Notes the blocks that words of a range outside of them point to. Pointers of the range into
/// itself do not count.
fn point_from_outside(blocks: &Blocks, reached: &mut Reached, at: u64, words: &[u64]) {
    for (&word, place) in words.iter().zip((at..).step_by(8)) {
        if let Some(index) = blocks.find_from_outside(word)
            && !blocks.get(index).is_some_and(|block| block.has(place))
        {
            reached.reach(index);
        }
    }
}

/// The blocks that were not reached.
fn lost(blocks: &Blocks, reached: &Reached) -> impl Iterator<Item = Block> {
    reached.unreached().filter_map(|index| blocks.get(index))
}

/// The lost blocks by stack.
fn by_site(lost: impl Iterator<Item = Block>) -> Vec<(u32, [u64; 2])> {
    let mut sums = std::collections::BTreeMap::new();
    for block in lost {
        let [count, bytes] = sums.entry(block.whose).or_insert([0, 0]);
        *count += 1;
        *bytes += block.size;
    }
    sums.into_iter().collect()
}

/// The ranges of the agent's own memory.
fn agent_ranges(memory: &mut Memory, at: u64, count: u64) -> Result<Vec<(u64, u64)>, Unknown> {
    const MANY: u64 = 1 << 16;
    let words = memory.words(at, count.min(MANY) * 2)?;
    let (pairs, _) = words.as_chunks::<2>();
    let ranges = pairs
        .iter()
        .filter(|[start, bytes]| *start != 0 && *bytes != 0);
    let mut ranges: Vec<_> = ranges
        .map(|&[start, bytes]| (start, start.saturating_add(bytes)))
        .collect();
    ranges.sort_unstable();
    Ok(ranges)
}

/// The followed blocks, and their numbers.
fn followed(memory: &mut Memory, at: u64, count: u64) -> Result<(Blocks, Vec<u64>), Unknown> {
    const WORDS: usize = size_of::<Entry>() / 8;
    const MANY: u64 = 1 << 20;
    let words = memory.words(at, count.min(MANY) * WORDS as u64)?;
    let (entries, _) = words.as_chunks::<WORDS>();
    let entries = || entries.iter().filter(|[address, ..]| *address != 0);
    let blocks = entries()
        .zip(0..)
        .map(|(&[start, _, size, _], whose)| Block { start, size, whose });
    let numbers = entries().map(|&[_, number, ..]| number);
    Ok((Blocks::new(blocks), numbers.collect()))
}

/// All blocks, and the freed ones.
fn counted(memory: &mut Memory, shadow: u64) -> Result<(Blocks, Vec<Freed>), Unknown> {
    let (mut blocks, mut freed) = (Vec::new(), Vec::new());
    let is_whole = each_seen(shadow, memory, &mut |seen| match seen.site {
        Some(whose) => blocks.push(Block {
            start: seen.address,
            size: seen.size,
            whose,
        }),
        None => freed.push(Freed {
            start: seen.address,
            end: seen.address.saturating_add(seen.size),
            is_doubtful: true,
        }),
    });
    if !is_whole {
        return Err(memory.why_not().into());
    }
    freed.sort_unstable();
    Ok((Blocks::new(blocks), freed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_only_some_blocks_are_known_any_pointer_holds_one() {
        let block = |start, whose| Block {
            start,
            size: 16,
            whose,
        };
        let blocks = Blocks::new([block(0x1100, 0), block(0x1200, 1), block(0x1300, 2)]);
        let mut words = vec![0; 512];
        let mut put = |at: usize, word| words[(at - 0x1000) / 8] = word;
        // A cycle, and a block that points to itself.
        put(0x1100, 0x1200);
        put(0x1200, 0x1108);
        put(0x1300, 0x1300);
        let mut reached = Reached::new(blocks.len());
        point_from_outside(&blocks, &mut reached, 0x1000, &words);
        let lost: Vec<_> = lost(&blocks, &reached).map(|block| block.whose).collect();
        assert_eq!(lost, [2]);
    }
}

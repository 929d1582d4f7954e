//! Which blocks of a process that ends does nobody point to any more?
//!
//! Where all blocks are known, it is asked as a leak checker asks: what can be come to from the program's data, stacks
//! and registers, over pointers to any place of a block? Where only some blocks are known, it is only asked whether
//! anybody points to them, since nobody knows through which other blocks one comes to that.
//!
//! A word that happens to look like a pointer counts as one, so something that is lost may be missed; what is found
//! is lost, or hidden by the program (as a difference, or in bits).

mod blocks;
mod memory;
mod ranges;
mod reach;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use profundo_probe::heap::followed::Entry;
use profundo_probe::heap::seen::each_seen;
use profundo_probe::shared::Search;
use profundo_wire::recording::Unreachable;

use crate::{proc, sys};
use blocks::{Block, Blocks};
use memory::Memory;
use ranges::ranges;
use reach::{Gone, Hole, Kept, follow, point_from_outside, reach_from};

/// How much is looked through, and of how much a copy is made for that: the machine has to have that besides.
const MOST: u64 = 1 << 30;
const MOST_COPIED: u64 = 256 << 20;

/// How long it may take: a part of the time for which the program has run. While others are recorded as well, which
/// would wait for us, it has to be short.
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

/// Why it is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// It would take too long.
    Long,
    /// There is too much memory.
    Much,
    /// Other threads run, and may move what is looked for.
    Threads,
    /// Memory could not be read, or the process has gone meanwhile.
    Gone,
}

impl Unknown {
    /// In words.
    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::Long => "it would have taken too long",
            Self::Much => "there is too much memory to be looked through",
            Self::Threads => "it has other threads that run",
            Self::Gone => "its memory could not be read",
        }
    }
}

/// A process that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting<'a> {
    pub(crate) pid: u32,
    pub(crate) search: &'a Search,
    /// For how long it may be looked.
    pub(crate) longest: Duration,
    /// Files whose mappings are ours: what their paths begin with.
    pub(crate) ours: &'a [&'a [u8]],
}

/// Looks. The process has one thread, which waits.
pub(crate) fn look(waiting: Waiting<'_>) -> Result<Unreachable, Unknown> {
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
    // Its stack is there, so if this cannot be read, nothing can: a process may forbid it.
    if sys::read_memory(pid, stacks[0], &mut [0; 8]) != 8 {
        return Err(Unknown::Gone);
    }
    let own = own_ranges(&mut memory, read(&search.own[0]), read(&search.own[1]))?;
    let ranges = ranges(&proc::read(pid, "maps"), &own, &stacks, ours);
    match read(&search.shadow) {
        0 => {
            let [at, count] = search.followed.each_ref().map(read);
            let mut blocks = followed(&mut memory, at, count)?;
            for range in ranges {
                memory.each_piece(range, |at, words| {
                    point_from_outside(&mut blocks, at, words);
                    Kept::No
                })?;
            }
            Ok(Unreachable::Blocks(
                blocks.unreached().map(|block| block.whose).collect(),
            ))
        }
        shadow => {
            let (mut blocks, holes) = counted(&mut memory, shadow)?;
            let (mut kept, mut gone) = (Vec::new(), Gone::default());
            let mut copied = 0;
            for range in ranges {
                if copied > MOST_COPIED {
                    return Err(Unknown::Much);
                }
                memory.each_piece(range, |at, words| {
                    reach_from(&mut blocks, &holes, &mut gone, at, words);
                    match blocks.has_any(at, at + 8 * words.len() as u64) {
                        true => {
                            copied += 8 * words.len() as u64;
                            kept.push((at, words.to_vec()));
                            Kept::Yes
                        }
                        false => Kept::No,
                    }
                })?;
            }
            follow(&mut blocks, &kept);
            Ok(Unreachable::Sites(by_site(&blocks)))
        }
    }
}

/// What is lost by stack.
fn by_site(blocks: &Blocks) -> Vec<(u32, [u64; 2])> {
    let mut sums = std::collections::BTreeMap::new();
    for block in blocks.unreached() {
        let [count, bytes] = sums.entry(block.whose as u32).or_insert([0, 0]);
        *count += 1;
        *bytes += block.size;
    }
    sums.into_iter().collect()
}

/// The agent's own memory.
fn own_ranges(memory: &mut Memory, at: u64, count: u64) -> Result<Vec<(u64, u64)>, Unknown> {
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

/// The blocks that are followed.
fn followed(memory: &mut Memory, at: u64, count: u64) -> Result<Blocks, Unknown> {
    const WORDS: usize = size_of::<Entry>() / 8;
    const MANY: u64 = 1 << 20;
    let words = memory.words(at, count.min(MANY) * WORDS as u64)?;
    let (entries, _) = words.as_chunks::<WORDS>();
    let entries = entries.iter().filter(|[address, ..]| *address != 0);
    Ok(Blocks::new(
        entries
            .map(|&[start, whose, size, _]| Block { start, size, whose })
            .collect(),
    ))
}

/// All blocks, and where a word is none of the program's: in blocks, and where blocks were that were freed.
fn counted(memory: &mut Memory, shadow: u64) -> Result<(Blocks, Vec<Hole>), Unknown> {
    let (mut blocks, mut holes) = (Vec::new(), Vec::new());
    let is_whole = each_seen(shadow, memory, &mut |seen| {
        let hole = Hole {
            start: seen.address,
            end: seen.address.saturating_add(seen.size),
            is_freed: seen.site.is_none(),
        };
        holes.push(hole);
        if let Some(site) = seen.site {
            blocks.push(Block {
                start: seen.address,
                size: seen.size,
                whose: site.into(),
            });
        }
    });
    if !is_whole {
        return Err(memory.why_not());
    }
    holes.sort_unstable_by_key(|hole| (hole.start, hole.is_freed));
    Ok((Blocks::new(blocks), holes))
}

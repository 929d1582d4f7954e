//! The process at one instant: a copy that only waits, and whose memory is read from outside.
//!
//! The copy is a child process, which the kernel makes in the time that it takes to copy page
//! tables; the program goes on at once, and pays a page fault for each page that it writes to first
//! while the copy is there. The child makes only a few system calls: other threads may have held
//! any lock. A normal thread here reads it.
//!
//! The registers of running threads are unknown; those of waiting threads are known as far as the
//! kernel reports their system call.

mod child;
mod read;
mod sites;
mod threads;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use profundo_linux::headroom::Lack;
use profundo_scan::{Area, Memory, Range, areas, map_lines, may_point};

use super::following::{Following, following};
use crate::error::{Error, Refusal};
use crate::{mapping, own_threads};

pub use read::why;
pub use sites::{Sites, sites};
pub use threads::ThreadThen;

use child::Child;

/// The longest life of a copy.
const LIMIT: Duration = Duration::from_secs(300);
/// More than any process has.
const ALL: u64 = u64::MAX;

/// The process whose memory is being copied; 0 for none. A forked child has its parent's, which
/// means none.
static BUSY: AtomicU32 = AtomicU32::new(0);

/// The right to make a copy, which one thread has at a time.
#[derive(Debug)]
struct Turn;

impl Turn {
    fn take() -> Result<Self, Error> {
        let own = std::process::id();
        let before = BUSY.load(Ordering::Relaxed);
        // Acquire pairs with the release below.
        let taken = BUSY.compare_exchange(before, own, Ordering::Acquire, Ordering::Relaxed);
        match before == own || taken.is_err() {
            true => Err(Error::SnapshotGoingOn),
            false => Ok(Self),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        BUSY.store(0, Ordering::Release);
    }
}

/// The skipped memory of the process, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Skipped {
    /// Memory of devices.
    pub devices: u64,
    /// Memory that children do not inherit (`MADV_DONTFORK`).
    pub not_inherited: u64,
}

/// A copy of this process.
#[derive(Debug)]
pub struct Copied {
    following: &'static Following,
    memory: Memory,
    shared: Memory,
    /// The memory outside of blocks and around them, ordered by address.
    pub areas: Vec<Area>,
    /// The threads, without our own.
    pub threads: Vec<ThreadThen>,
    /// The skipped memory.
    pub skipped: Skipped,
    /// The time of the call that makes the copy, in the thread that asked for it: the longest wait
    /// of other threads that asked for memory meanwhile.
    pub paused: Duration,
    // The child is dropped before its turn.
    child: Child,
    _turn: Turn,
}

/// Copies the process. The program's allocator must follow all blocks.
pub fn copy() -> Result<Copied, Error> {
    copy_if(has_headroom)
}

fn has_headroom() -> Result<(), Error> {
    match profundo_linux::headroom::lack(std::process::id()) {
        Some(Lack {
            needed,
            available,
            who,
        }) => Err(Error::Headroom {
            needed,
            available,
            who,
        }),
        None => Ok(()),
    }
}

#[inline(never)]
fn copy_if(check: impl FnOnce() -> Result<(), Error>) -> Result<Copied, Error> {
    let registers = threads::kept_here();
    let following = following().ok_or(Error::NotFollowing)?;
    let turn = Turn::take()?;
    check()?;
    let before = threads::before_copy()?;
    let maps_before = std::fs::read("/proc/self/maps").map_err(refused(Refusal::Proc))?;
    let stack = profundo_probe::regs::here().sp;
    let child = Child::make(LIMIT)?;
    let pid = child.pid();
    let threads = threads::those_that_waited(before, stack, registers);
    let maps = std::fs::read(format!("/proc/{pid}/maps")).map_err(refused(Refusal::Proc))?;
    // Its memory exists, so if this cannot be read, nothing can: a process may forbid it.
    if profundo_scan::read_memory(pid, stack, &mut [0; 8]) != 8 {
        return Err(Error::refused(Refusal::ReadCopy));
    }
    let me = profundo_probe::sys::thread_id();
    let own_stacks: Vec<u64> = own_threads::tids()
        .into_iter()
        .filter_map(|tid| match tid == me {
            true => Some(stack),
            false => threads::stack_of(tid),
        })
        .collect();
    let stacks: Vec<u64> = threads.iter().filter_map(|thread| thread.stack).collect();
    let mut areas = areas(&maps, &own_memory(following), &stacks, &[]);
    areas.retain(|area| !is_own_stack(area, &own_stacks));
    let until = Instant::now() + LIMIT;
    Ok(Copied {
        following,
        memory: Memory::open(pid, until, ALL),
        shared: Memory::open(pid, until, ALL).with_pages_of(std::process::id()),
        areas,
        threads,
        skipped: skipped(&maps_before, &maps),
        paused: child.paused,
        child,
        _turn: turn,
    })
}

fn refused(what: Refusal) -> impl Fn(std::io::Error) -> Error {
    move |source| Error::Refused { what, source }
}

/// The ranges of our own memory.
fn own_memory(following: &Following) -> Vec<Range> {
    let mut own: Vec<Range> = mapping::listed().collect();
    (following.shadow).each_leaf(|at, bytes| own.push((at, at + bytes as u64)));
    own.sort_unstable();
    own
}

fn is_own_stack(area: &Area, own_stacks: &[u64]) -> bool {
    let inside = |stack: &u64| (area.range.0..area.range.1).contains(stack);
    area.kind == profundo_scan::Kind::Stack && own_stacks.iter().any(inside)
}

/// The program's memory that the copy lacks, and skipped memory.
fn skipped(before: &[u8], copied: &[u8]) -> Skipped {
    let mut skipped = Skipped::default();
    let there: Vec<Range> = map_lines(copied)
        .map(|(_, line)| (line.start, line.end))
        .collect();
    for (permissions, line) in map_lines(before) {
        let is_data = permissions.get(1) == Some(&b'w');
        if line.is_device() {
            skipped.devices += if is_data { line.end - line.start } else { 0 };
        } else if may_point(permissions, &line, &[]) && is_data {
            let mut left = Vec::new();
            profundo_scan::subtract((line.start, line.end), &there, &mut left);
            skipped.not_inherited += left.iter().map(|(start, end)| end - start).sum::<u64>();
        }
    }
    skipped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_in_the_copy_is_counted() {
        let before = b"\
10000-20000 rw-p 00000000 00:00 0
20000-28000 rw-p 00000000 00:00 0
30000-31000 rw-s 00000000 00:05 9 /dev/dri/card0
40000-41000 r--p 00000000 00:05 9 /lib/libc.so";
        let copied = b"10000-24000 rw-p 00000000 00:00 0\n";
        let expected = Skipped {
            devices: 0x1000,
            not_inherited: 0x4000,
        };
        assert_eq!(skipped(before, copied), expected);
    }

    #[test]
    fn one_copy_is_made_at_a_time() {
        let turn = Turn::take().unwrap();
        assert!(matches!(Turn::take(), Err(Error::SnapshotGoingOn)));
        drop(turn);
        drop(Turn::take().unwrap());
        // As in the child of a fork that came while a copy existed.
        BUSY.store(u32::MAX, Ordering::Relaxed);
        drop(Turn::take().unwrap());
    }
}

//! The process as it is at one instant: a copy of it that only waits, and whose memory is read from outside.
//!
//! The copy is a child process, which the kernel makes in the time that it takes to copy page tables; the program goes on at
//! once, and pays a page fault for each page that it writes to first while the copy is there. In the child nothing runs but a
//! few system calls: other threads may have held any lock. What it is read by is a normal thread here.
//!
//! Registers of threads that run are not known; those of threads that wait are as far as the kernel tells of their call.

mod child;
mod headroom;
mod read;
mod sites;
mod threads;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use profundo_scan::{Area, Memory, Range, areas, map_lines, may_point};

use super::following::{Following, following};
use crate::error::{Error, Refusal};
use crate::{mapping, own_threads};
use child::Child;
pub use read::why;
pub use sites::{Sites, sites};
pub use threads::ThreadThen;

/// How long a copy may be there.
const LIMIT: Duration = Duration::from_secs(300);
/// More than any process has.
const ALL: u64 = u64::MAX;

/// The process whose memory is being copied; 0 for none. A forked child has its parent's, which means none.
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

/// What of the process is not looked at, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Skipped {
    /// Memory of devices.
    pub devices: u64,
    /// What the program does not want its children to have (`MADV_DONTFORK`).
    pub not_inherited: u64,
}

/// A copy of this process.
#[derive(Debug)]
pub struct Copied {
    following: &'static Following,
    memory: Memory,
    shared: Memory,
    /// What there is outside of blocks, and blocks are in it, in the order of the addresses.
    pub areas: Vec<Area>,
    /// The threads, without our own.
    pub threads: Vec<ThreadThen>,
    /// What is left out.
    pub skipped: Skipped,
    /// For how long the thread that asked was in the call that makes the copy, and every thread that asked for memory
    /// meanwhile waited at most.
    pub paused: Duration,
    // The child goes before its turn.
    child: Child,
    _turn: Turn,
}

/// Copies the process. The program's allocator must follow all blocks.
pub fn copy() -> Result<Copied, Error> {
    copy_if(headroom::check)
}

#[inline(never)]
fn copy_if(check: impl FnOnce() -> Result<(), Error>) -> Result<Copied, Error> {
    let registers = threads::kept_here();
    let following = following().ok_or(Error::NotFollowing)?;
    let turn = Turn::take()?;
    check()?;
    let before = threads::look_at_all()?;
    let maps_before = std::fs::read("/proc/self/maps").map_err(refused(Refusal::Proc))?;
    let stack = profundo_probe::regs::here().sp;
    let child = Child::make(LIMIT)?;
    let pid = child.pid();
    let threads = threads::those_that_waited(before, (stack, registers));
    let maps = std::fs::read(format!("/proc/{pid}/maps")).map_err(refused(Refusal::Proc))?;
    // Its memory is there, so if this cannot be read, nothing can: a process may forbid it.
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
    let stacks: Vec<u64> = threads.iter().filter_map(|it| it.stack).collect();
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

/// Where our own memory is.
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

/// What the program has and the copy has not, and what is not looked at.
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
        assert!(Turn::take().is_ok());
        // As in the child of a fork while a copy was there.
        BUSY.store(u32::MAX, Ordering::Relaxed);
        assert!(Turn::take().is_ok());
    }
}

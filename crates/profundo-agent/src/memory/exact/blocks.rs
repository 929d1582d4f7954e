//! What happens to a block: it is allocated, freed or unmapped.
//!
//! All of it runs in the program's own calls, in handlers too: `Local::alone` keeps out a handler
//! that interrupts the counting of its thread.

use core::sync::atomic::Ordering;

use profundo_probe::clock;
use profundo_probe::heap::shadow::NoMemory;
use profundo_probe::heap::{Caller, Means, Numbers, Shade};
use profundo_unwind::Regs;
use profundo_wire::Source;

use super::file::{self, Place, count_freed, count_freed_here, grown, sums};
use super::threads::enter;
use super::{Exact, IS_CLOSED, exact};
use crate::home::{self, Home};
use crate::memory::ends::Gone;
use crate::memory::local::{Local, local};
use crate::memory::python;
use crate::memory::sampled::Given;
use crate::memory::stacks;
use crate::memory::tables;
use crate::{files, symbols};

/// While nothing is recorded, the number of bytes until the next check.
const RECHECK_BYTES: u64 = 1 << 20;

/// Counts a block that was allocated.
#[inline(never)]
pub fn allocated(local: &Local, given: &Given, ip: u64, sp: u64, fp: u64, base: u64) {
    // One by one, in registers: writes of eight bytes that are read by larger loads stall.
    let caller = Caller {
        registers: Regs::new(ip, sp, fp),
        base,
    };
    let Some(exact) = exact() else {
        return local.set(RECHECK_BYTES);
    };
    if IS_CLOSED.load(Ordering::Relaxed) {
        return local.set(0);
    }
    if given.address == 0 {
        return local.set(given.left);
    }
    if python::has_finalized() {
        return local.set(0);
    }
    let Some(home) = enter(exact, local) else {
        return local.set(RECHECK_BYTES);
    };
    if local
        .alone(|| note(exact, home, local, *given, caller))
        .is_none()
    {
        lose();
    }
    local.set(0);
}

/// Counts a block of a thread that has entered.
#[inline(always)]
fn note(exact: &'static Exact, home: Home, local: &Local, given: Given, caller: Caller) {
    let now = clock::now();
    // SAFETY: a process that has entered itself has a probe, and a file.
    let (probe, sums) = unsafe { (home.probe(), sums()) };
    let site = match local.known() {
        // SAFETY: it is this thread's, which has come from the caller just now.
        Some(known) => unsafe {
            let numbers = Numbers {
                known: &mut *known,
                room: &exact.counts.known_room,
                sites: &exact.counts.sites,
                means: Means {
                    memory: tables::memory,
                    pen: local.share(),
                    header: sums.header(),
                    stacks: stacks::place(),
                },
            };
            probe.site(caller, given.source, now, numbers)
        },
        None => 0,
    };
    let share = local.share();
    let Place { row, writers, site } = exact.place(home, share, site);
    if site == 0 {
        let [blocks, bytes] = &sums.header().uncounted;
        blocks.fetch_add(1, Ordering::Relaxed);
        bytes.fetch_add(given.size, Ordering::Relaxed);
    }
    let shade = Shade {
        site,
        size: given.size,
    };
    let before = match given.source {
        Source::Mapped => {
            match exact
                .mapped()
                .insert(given.address, given.size, u64::from(site))
            {
                true => {
                    sums.header()
                        .mapped
                        .fetch_add(given.size, Ordering::Relaxed);
                    Ok(None)
                }
                false => Err(NoMemory),
            }
        }
        _ => exact.shadow.0.set(given.address, shade, files::map_wiped),
    };
    if let Ok(Some(before)) = before {
        // The former block was freed in a way that is not seen.
        count_freed(exact, home, local, before, 1, (now, false));
    }
    let peak = sums.header().peak.load(Ordering::Relaxed);
    row.allocated(peak, given.size, now, writers);
    grown(sums.header(), local, share, given.size, now);
    if before.is_err() {
        // The block cannot be found again: as if it had been freed.
        count_freed(exact, home, local, shade, 1, (now, false));
    }
    local.follow(given.address, 0);
    count_cost(home, now);
}

/// Adds the time since this instant to the cost of counting. One call of many stands for all,
/// because reading the clock twice would make each of them slower.
#[inline(always)]
fn count_cost(home: Home, began: u64) {
    const ONE_OF: u64 = 16;
    /// The last four bits of the clock may stand still on some machines.
    const BITS: u32 = 4;
    /// Beyond this the thread waited, or lost the CPU.
    const LONGEST: u64 = 1 << 16;
    if (began >> BITS).is_multiple_of(ONE_OF) {
        let spent = clock::now().saturating_sub(began).min(LONGEST);
        let counters = &home.ring().header.counters;
        counters.cycles.fetch_add(spent * ONE_OF, Ordering::Relaxed);
    }
}

/// Removes a block that may be about to be freed. Returns what it was.
#[inline]
pub fn remove_block(exact: &'static Exact, address: u64) -> Option<Gone> {
    let local = local();
    let Some(shade) = local.alone(|| exact.shadow.0.take(address)) else {
        // The free is noticed when another block lies there, or never.
        lose();
        return None;
    };
    if shade.is_none() {
        note_stranger(exact, local, address);
    }
    let shade = shade.filter(|_| !python::has_finalized())?;
    Some(Gone::Counted(shade, local.is_last(address)))
}

/// Counts a block that is about to be freed, if it is known.
#[inline]
pub fn freed_at(exact: &'static Exact, address: u64) {
    let local = local();
    let mark = exact.counts.mark.load(Ordering::Relaxed);
    let entered = (mark != 0 && local.mark() == mark).then(crate::home::home);
    let Some(home) = entered.flatten() else {
        if let Some(Gone::Counted(shade, at_once)) = remove_block(exact, address) {
            freed(exact, shade, at_once);
        }
        return;
    };
    let counted = local.alone(|| {
        let shade = exact.shadow.0.take(address);
        if shade.is_none() {
            note_stranger(exact, local, address);
        }
        let Some(shade) = shade.filter(|_| !python::has_finalized()) else {
            return;
        };
        let now = clock::now();
        let when = (now, local.is_last(address));
        count_freed_here(exact, home, local, shade, 1, when);
        count_cost(home, now);
    });
    if counted.is_none() {
        lose();
    }
}

/// Counts the end of a block that was never seen: one from before the agent came.
#[cold]
fn note_stranger(exact: &Exact, local: &Local, address: u64) {
    // An allocator frees its own notes by another one.
    if !symbols::is_late() || local.is_allocating() || exact.shadow.0.was_met(address) {
        return;
    }
    if let Some(home) = home::current() {
        let strangers = &home.ring().header.memory.strangers;
        strangers.fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts a block that was freed.
#[inline]
pub fn freed(exact: &'static Exact, shade: Shade, at_once: bool) {
    let local = local();
    if let Some(home) = enter(exact, local) {
        local.alone(|| {
            let now = clock::now();
            count_freed(exact, home, local, shade, 1, (now, at_once));
            count_cost(home, now);
        });
    }
}

/// A block was not freed after all.
#[cold]
pub fn put_back(exact: &'static Exact, address: u64, shade: Shade) {
    let _ = local().alone(|| exact.shadow.0.set(address, shade, files::map_wiped));
}

/// Counts a block as lost: the handler that allocated or freed it has interrupted counting.
#[cold]
fn lose() {
    if home::current().is_some() && file::is_there() {
        // SAFETY: a process that has a home has a file.
        let [blocks, _] = unsafe { &sums().header().uncounted };
        blocks.fetch_add(1, Ordering::Relaxed);
    }
}

/// Notes that pages are unmapped: `gone` bytes of those from a site, all of them if `is_all`.
pub fn unmapped(exact: &'static Exact, site: u64, gone: u64, is_all: bool) {
    let local = local();
    if let Some(home) = enter(exact, local) {
        let shade = Shade {
            site: site as u32,
            size: gone,
        };
        // SAFETY: it has entered.
        let mapped = unsafe { &sums().header().mapped };
        mapped.fetch_sub(gone, Ordering::Relaxed);
        let when = (clock::now(), false);
        count_freed(exact, home, local, shade, is_all.into(), when);
    }
}

//! The file of sums, which the command reads: the row of each site, and the bytes of each share.
//!
//! A thread with a share of its own is the only writer of its rows. All threads without one write
//! to the common share.

use core::ops::RangeInclusive;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, Ordering};

use profundo_probe::heap::Shade;
use profundo_probe::shared::{
    COMMON, FreedBlocks, MAGIC, Net, Row, SUMS_BYTES, SUMS_FILE, SumsHeader, Writers, grow,
};

use super::Exact;
use crate::home::Home;
use crate::memory::local::Local;
use crate::memory::rows::Sums;
use crate::memory::stacks;
use crate::{files, session};

/// While another thread may have a share, the number of bytes until a thread looks for a new peak:
/// a part of the highest peak so far, within these limits.
const SLACK: RangeInclusive<u64> = 1 << 10..=64 << 10;
const SLACK_PART: u64 = 256;

/// The address of the mapped file, in the child of a fork too.
static SUMS: AtomicPtr<SumsHeader> = AtomicPtr::new(ptr::null_mut());

/// The file of sums.
///
/// # Safety
/// This process has set it up.
#[inline(always)]
pub(super) unsafe fn sums() -> Sums {
    // SAFETY: the caller vouches; it stays mapped.
    unsafe { Sums::new(SUMS.load(Ordering::Relaxed)) }
}

/// True if a file is mapped.
pub(super) fn is_there() -> bool {
    !SUMS.load(Ordering::Relaxed).is_null()
}

/// Maps this process's files, in the place of former ones. `None`: they cannot be mapped.
///
/// # Safety
/// Nothing is counted in former ones.
pub(super) unsafe fn begin(home: Home) -> Option<()> {
    let sums = map(home)?;
    match NonNull::new(SUMS.load(Ordering::Relaxed)) {
        None => SUMS.store(sums.cast().as_ptr(), Ordering::Relaxed),
        Some(former) => {
            // SAFETY: both are ours and of one length, and the caller vouches for the former one.
            if !unsafe { files::move_over(sums, former.cast(), SUMS_BYTES) } {
                return None;
            }
        }
    }
    Some(())
}

/// Gives the memory of the files back, but not their place.
///
/// # Safety
/// Nothing is counted any more. A thread that is still at it finds zeros.
pub(super) unsafe fn forget() {
    if let Some(sums) = NonNull::new(SUMS.load(Ordering::Relaxed)) {
        // SAFETY: the caller vouches.
        unsafe {
            files::map_zeroed_over(sums.cast(), SUMS_BYTES);
            stacks::forget();
        }
    }
}

/// Maps this process's files, which the recorder has made beside its ring.
fn map(home: Home) -> Option<NonNull<u8>> {
    let number = home.ring_number().load(Ordering::Relaxed);
    let mut room = [0; session::PATH];
    let path = session::file_of(&mut room, SUMS_FILE, number)?;
    let sums = files::map(path, SUMS_BYTES)?;
    // SAFETY: as long as that, and made of atomics.
    let header = unsafe { sums.cast::<SumsHeader>().as_ref() };
    // Acquire pairs with the release of the recorder.
    let is_ready = header.magic.load(Ordering::Acquire) == MAGIC;
    if is_ready && stacks::map(number).is_some() {
        return Some(sums);
    }
    // SAFETY: it was mapped just now, and nothing points into it.
    unsafe { files::unmap(sums, SUMS_BYTES) };
    None
}

pub(super) fn count_freed(
    exact: &'static Exact,
    home: Home,
    local: &Local,
    shade: Shade,
    blocks: u64,
    when: (u64, bool),
) {
    count_freed_here(exact, home, local, shade, blocks, when);
}

#[inline(always)]
pub(super) fn count_freed_here(
    exact: &'static Exact,
    home: Home,
    local: &Local,
    shade: Shade,
    blocks: u64,
    when: (u64, bool),
) {
    let share = local.share();
    // SAFETY: the caller has entered the process, which maps the file.
    let sums = unsafe { sums() }.header();
    let Place { row, writers, site } = exact.place(home, share, shade.site);
    if site != shade.site {
        let [uncounted, _] = &sums.uncounted;
        uncounted.fetch_add(blocks, Ordering::Relaxed);
    }
    let peak = sums.peak.load(Ordering::Relaxed);
    let (clock, at_once) = when;
    let freed = FreedBlocks {
        count: blocks,
        bytes: shade.size,
        clock,
        at_once,
    };
    row.freed(peak, freed, writers);
    if let Some(Net(net)) = sums.nets.get(share) {
        let less = shade.size.wrapping_neg();
        match share {
            COMMON => drop(net.fetch_add(less, Ordering::Relaxed)),
            _ => grow(net, less),
        }
    }
}

/// The row in which a thread counts a site.
pub(super) struct Place {
    pub row: &'static Row,
    pub writers: Writers,
    /// The site of the row; 0: the row is that of blocks without a stack.
    pub site: u32,
}

impl Exact {
    /// The row in which a thread counts a site, and its other writers. Without room for a row of
    /// its own it is that of all threads, or that of blocks without a stack: then the returned site
    /// is 0.
    #[inline]
    pub(super) fn place(&self, home: Home, share: usize, site: u32) -> Place {
        let writers = match share {
            COMMON => Writers::Many,
            _ => Writers::One,
        };
        // SAFETY: the caller has entered the process, which maps the file.
        let sums = unsafe { sums() };
        match self.counts.rows.row(sums, share, site) {
            Some(row) => Place { row, writers, site },
            None => self.new_place(home, sums, share, writers, site),
        }
    }

    #[cold]
    #[inline(never)]
    fn new_place(
        &self,
        home: Home,
        sums: Sums,
        share: usize,
        writers: Writers,
        site: u32,
    ) -> Place {
        // SAFETY: a process that has entered itself has a probe.
        let probe = unsafe { home.probe() };
        let rows = &self.counts.rows;
        rows.provide(sums, share, site);
        let mut row = rows.row(sums, share, site);
        match row {
            Some(_) => probe.ask_for_room(),
            None if probe.wait_for_room(sums.header()) => {
                rows.provide(sums, share, site);
                row = rows.row(sums, share, site);
            }
            None => {}
        }
        if let Some(row) = row {
            return Place { row, writers, site };
        }
        let common = |site| rows.row(sums, COMMON, site);
        match common(site) {
            Some(row) => Place {
                row,
                writers: Writers::Many,
                site,
            },
            None => Place {
                row: rows.first(sums),
                writers: Writers::Many,
                site: 0,
            },
        }
    }
}

/// Notes that a share has grown, and whether the process has a new peak.
#[inline]
pub(super) fn grown(sums: &SumsHeader, local: &Local, share: usize, bytes: u64, now: u64) {
    let Some(Net(net)) = sums.nets.get(share) else {
        return;
    };
    match share {
        COMMON => drop(net.fetch_add(bytes, Ordering::Relaxed)),
        _ => grow(net, bytes),
    }
    let share_bytes = net.load(Ordering::Relaxed);
    if (share_bytes.wrapping_sub(local.peak_from()) as i64) < 0 {
        return;
    }
    let all = sums.nets.iter();
    let all = all.fold(0, |sum: u64, Net(net)| {
        sum.wrapping_add(net.load(Ordering::Relaxed))
    });
    let most = sums.peak_bytes.load(Ordering::Relaxed);
    let owners = u64::from(sums.owned.load(Ordering::Relaxed).count_ones());
    let missing = if all > most && (all as i64) > 0 {
        sums.peak_bytes.store(all, Ordering::Relaxed);
        sums.peak_clock.store(now, Ordering::Relaxed);
        sums.peak.fetch_add(1, Ordering::Relaxed);
        0
    } else {
        most.wrapping_sub(all)
    };
    // All may grow at one time: if each has less than its part of what is missing, all of them have
    // less than all of it.
    let missing = match owners {
        0..=2 => missing,
        several => (missing / several).max((most / SLACK_PART).clamp(*SLACK.start(), *SLACK.end())),
    };
    // One more byte is a new peak.
    local.set_peak_from(share_bytes.wrapping_add(missing).wrapping_add(1));
}

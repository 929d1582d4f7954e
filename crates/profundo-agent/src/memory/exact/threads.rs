//! The share of a thread that counts, and what it knows of its stacks: from its first block to its
//! end.

use core::ptr::{self, NonNull};
use core::sync::atomic::{Ordering, compiler_fence};

use profundo_probe::heap::Known;
use profundo_probe::shared::{COMMON, SHARES};

use super::file::sums;
use super::{Exact, exact};
use crate::home::{self, Home};
use crate::memory::local::{Local, local};
use crate::memory::spare::Spare;
use crate::{files, process, symbols, threads};

/// What threads knew that have ended since an earlier recording.
static SPARE: Spare<Known> = Spare::new();

/// Sets up the process and the thread, if that is not done. `None`: nothing is counted.
#[inline]
pub(super) fn enter(exact: &Exact, local: &Local) -> Option<Home> {
    let mark = exact.counts.mark.load(Ordering::Relaxed);
    if mark != 0 && local.mark() == mark {
        return crate::home::home();
    }
    set_up(exact, local)
}

#[cold]
#[inline(never)]
fn set_up(exact: &Exact, local: &Local) -> Option<Home> {
    let home = home::current()?;
    let mark = exact.counts.mark.load(Ordering::Acquire);
    if mark == 0 || mark as u32 != process::process_id() {
        return None;
    }
    if symbols::is_late() {
        threads::expect_end();
    }
    // SAFETY: the mark says that it is there.
    let owned = unsafe { &sums().header().owned };
    // Acquire pairs with the release in `end_thread`: what the thread before has counted is there.
    let taken = owned.fetch_update(Ordering::Acquire, Ordering::Relaxed, |owned| {
        let free = owned.trailing_ones();
        ((free as usize) < SHARES).then(|| owned | 1 << free)
    });
    let share = taken.map_or(COMMON, |owned| owned.trailing_ones() as usize);
    let known = local.known().unwrap_or_else(|| SPARE.take());
    let known = match NonNull::new(known) {
        // In the child of a fork it is empty again, but not in a later recording.
        Some(known) => {
            // SAFETY: it is this thread's alone, and zeros are an empty one.
            unsafe { files::wipe(known) };
            known.as_ptr()
        }
        None => files::map_wiped(size_of::<Known>()).cast::<Known>(),
    };
    local.set_up_exact(mark, share, known);
    Some(home)
}

/// The thread ends: another one gets its share.
pub fn end_thread() {
    let local = local();
    let counting = exact();
    let is_current = |exact: &&Exact| local.mark() == exact.counts.mark.load(Ordering::Relaxed);
    let Some(exact) = counting.filter(is_current) else {
        return put_away();
    };
    let (share, known) = (local.share(), local.known());
    // The thread gives them up first: a handler may come, and allocate.
    local.set_up_exact(local.mark(), COMMON, ptr::null_mut());
    compiler_fence(Ordering::SeqCst);
    if share != COMMON {
        // SAFETY: the mark says that it is there.
        let owned = unsafe { &sums().header().owned };
        owned.fetch_and(!(1 << share), Ordering::Release);
    }
    if let Some(known) = known {
        // SAFETY: it was mapped for this thread alone, which uses it no more.
        unsafe {
            (*known).give_back(&exact.counts.known_room);
            files::unmap(NonNull::new_unchecked(known.cast()), size_of::<Known>());
        }
    }
}

/// The thread ends, and does not count any more: another one gets what it knows.
pub fn put_away() {
    let local = local();
    if let Some(known) = local.known() {
        // The thread gives it up first: a handler may come, and allocate.
        local.set_up_exact(0, COMMON, ptr::null_mut());
        compiler_fence(Ordering::SeqCst);
        SPARE.put(known);
    }
}

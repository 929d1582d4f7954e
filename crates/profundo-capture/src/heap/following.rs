//! All blocks of the program, with their sites: for an allocator that follows all of them.
//!
//! Each block has a word that is found by its address ([`Shadow`]), without a lock. The memory for
//! the words is reserved at the first allocation of the program, and right after it the unwind
//! tables are made. For blocks that are allocated meanwhile, only the size is known.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

use profundo_probe::heap::traces::CHAINS;
use profundo_probe::heap::{ROOMS, Room, Rooms, Shade, Shadow, Traces};
use profundo_probe::regs;

use super::session::refresh_modules;
use crate::error::Error;
use crate::mapping::Mapping;
use crate::{global, probe};

/// Words for stacks: some million of them. Address space, not memory.
const TRACE_WORDS: usize = 1 << 24;
/// The number of numbered stacks; the blocks of all others have number 0.
const SITES: usize = 1 << 16;
/// The kept frames of a stack: a container's functions, and their callers.
const FRAMES: usize = 32;
/// The functions of ours on the stack: the one that takes it.
const OURS: usize = 1;
/// The number of a block that is being moved; one less marks a block of our own.
const MOVING: u32 = (1 << 17) - 2;
const OURS_ALONE: u32 = MOVING - 1;

/// All blocks.
#[derive(Debug)]
pub(crate) struct Following {
    pub(super) shadow: &'static Shadow,
    pub(super) traces: Traces,
    /// By the number of a stack, the number of its site; 0 for none.
    site_of: &'static [AtomicU32],
    /// By the number of a site, the number of its stack.
    trace_of: &'static [AtomicU32],
    sites: AtomicU32,
    rooms: Rooms,
    /// Blocks without memory for a word: they are missing.
    pub(super) missed: AtomicU64,
}

static FOLLOWING: AtomicPtr<Following> = AtomicPtr::new(ptr::null_mut());

/// The progress of its construction.
static STEP: AtomicU8 = AtomicU8::new(NOTHING);
const NOTHING: u8 = 0;
const BEGUN: u8 = 1;
const WITH_STACKS: u8 = 2;

/// All blocks, if the program's allocator follows them.
pub(crate) fn following() -> Option<&'static Following> {
    // SAFETY: null, or leaked before it was stored. Acquire pairs with the release in `begin`.
    unsafe { FOLLOWING.load(Ordering::Acquire).as_ref() }
}

/// Notes a block allocated by the calling thread, perhaps while it works for us. The thread is not
/// in here already.
#[inline(never)]
pub(super) fn note(address: u64, size: u64, is_ours: bool) {
    let step = STEP.load(Ordering::Acquire);
    if step == NOTHING {
        begin();
    }
    let Some(following) = following() else { return };
    let site = match step {
        _ if is_ours => OURS_ALONE,
        WITH_STACKS => following.site(regs::here()).unwrap_or(0),
        _ => 0,
    };
    let set = following.shadow.set(address, Shade { site, size }, memory);
    if set.is_err() {
        following.missed.fetch_add(1, Ordering::Relaxed);
    }
}

/// Removes a block that is about to be freed.
#[inline]
pub(super) fn let_go(address: u64) {
    if let Some(following) = following() {
        following.shadow.take(address);
    }
}

/// Marks a block that is about to be moved. It stays until it was moved, so that its contents do
/// not seem lost meanwhile.
#[inline]
pub(super) fn moving(address: u64) -> Option<Shade> {
    let shadow = following()?.shadow;
    let shade = shadow.get(address)?;
    let moving = Shade {
        site: MOVING,
        ..shade
    };
    shadow.turn(address, shade, Some(moving)).then_some(shade)
}

/// Removes a moved block, unless another one has its place already.
pub(super) fn moved(address: u64, shade: Shade) {
    turn_back(address, shade, None);
}

/// Restores a block that was not moved.
pub(super) fn stayed(address: u64, shade: Shade) {
    turn_back(address, shade, Some(shade));
}

fn turn_back(address: u64, shade: Shade, to: Option<Shade>) {
    let moving = Shade {
        site: MOVING,
        ..shade
    };
    if let Some(following) = following() {
        following.shadow.turn(address, moving, to);
    }
}

impl Following {
    fn site(&self, registers: profundo_unwind::Regs) -> Option<u32> {
        let probe = probe::probe()?;
        let here = probe.stack_here(registers, OURS, &self.rooms, &self.traces, FRAMES)?;
        let place = self.site_of.get(here.trace as usize)?;
        match place.load(Ordering::Acquire) {
            0 => self.new_site(here.trace, place),
            site => Some(site),
        }
    }

    #[cold]
    fn new_site(&self, trace: u32, place: &AtomicU32) -> Option<u32> {
        let count = |sites: u32| (sites as usize + 1 < SITES).then_some(sites + 1);
        let before = (self.sites).fetch_update(Ordering::Relaxed, Ordering::Relaxed, count);
        let site = before.ok()? + 1;
        let trace_of = self.trace_of.get(site as usize)?;
        trace_of.store(trace, Ordering::Relaxed);
        // Release pairs with the acquire above: a thread that has the number finds the stack.
        match place.compare_exchange(0, site, Ordering::Release, Ordering::Acquire) {
            Ok(_) => Some(site),
            // Another thread was faster; ours stays unused.
            Err(site) => Some(site),
        }
    }

    /// The number of sites that have numbers.
    pub(super) fn site_count(&self) -> u32 {
        self.sites.load(Ordering::Acquire)
    }

    /// The stack of a site. `None`: it has none.
    pub(super) fn trace(&self, site: u32) -> Option<u32> {
        let trace = self.trace_of.get(site as usize)?.load(Ordering::Relaxed);
        (trace != 0).then_some(trace)
    }

    /// In the child of a fork.
    pub(super) fn reset_after_fork(&self) {
        self.rooms.reset_after_fork();
    }
}

/// Reserves the memory, and makes the unwind tables. It runs within the program's first allocation,
/// whose thread is marked as being in here: allocations made now are not followed.
#[cold]
fn begin() {
    if (STEP.compare_exchange(NOTHING, BEGUN, Ordering::AcqRel, Ordering::Acquire)).is_err() {
        return;
    }
    let Ok(made) = make() else { return };
    FOLLOWING.store(made, Ordering::Release);
    if global::make_probe().is_ok() {
        refresh_modules();
        STEP.store(WITH_STACKS, Ordering::Release);
    }
}

fn make() -> Result<*mut Following, Error> {
    let home = Mapping::reserve(size_of::<Following>())?;
    // SAFETY: all of these are made of atomics and bytes, for which zeros are valid.
    let made = unsafe {
        let shadow: &[Shadow] = Mapping::reserve(size_of::<Shadow>())?.leak_as();
        let chains = Mapping::reserve(CHAINS * size_of::<AtomicU32>())?.leak_as();
        let words = Mapping::reserve(TRACE_WORDS * size_of::<AtomicU64>())?.leak_as();
        Following {
            shadow: shadow.first().expect("there is room for one"),
            traces: Traces::new(chains, words),
            site_of: Mapping::reserve(TRACE_WORDS * size_of::<AtomicU32>())?.leak_as(),
            trace_of: Mapping::reserve(SITES * size_of::<AtomicU32>())?.leak_as(),
            sites: AtomicU32::new(0),
            rooms: Rooms::new(Mapping::reserve(ROOMS * size_of::<Room>())?.leak_as::<Room>()),
            missed: AtomicU64::new(0),
        }
    };
    let place = home.as_ptr().cast::<Following>();
    // SAFETY: aligned to a page, large enough, without another user, and it stays.
    unsafe { place.write(made) };
    std::mem::forget(home);
    Ok(place)
}

/// Memory for words, which stays.
fn memory(bytes: usize) -> *mut u8 {
    match Mapping::reserve_unlisted(bytes) {
        Ok(mapping) => {
            let place = mapping.as_ptr();
            std::mem::forget(mapping);
            place
        }
        Err(_) => ptr::null_mut(),
    }
}

/// The owner of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// The program, at this site; 0 where unknown.
    Program(u32),
    /// Ours.
    Ours,
}

/// The owner of a block with this number in its word.
pub(super) fn whose(site: u32) -> Whose {
    match site {
        MOVING => Whose::Program(0),
        OURS_ALONE => Whose::Ours,
        site => Whose::Program(site),
    }
}

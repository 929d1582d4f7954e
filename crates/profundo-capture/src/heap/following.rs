//! Every block that the program has, and where it was asked for: for an allocator that wants all of them followed.
//!
//! What a block is lies in a word that is found by its address ([`Shadow`]), without a lock. The memory for that is taken at
//! the first allocation of the program, and right after it the tables by which stacks are walked are made. Those who
//! allocate meanwhile have blocks of which only the size is known.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

use profundo_probe::heap::traces::CHAINS;
use profundo_probe::heap::{ROOMS, Room, Rooms, Shade, Shadow, Traces};
use profundo_probe::regs;

use super::session::refresh_modules;
use crate::error::Error;
use crate::global;
use crate::mapping::Mapping;

/// Words for stacks: some million of them. Address space, not memory.
const TRACE_WORDS: usize = 1 << 24;
/// How many stacks have numbers; the blocks of all others have number 0.
const SITES: usize = 1 << 16;
/// How much of a stack is kept: a container's functions, and who has called them.
const FRAMES: usize = 32;
/// The function that takes the stack.
const OURS: usize = 1;
/// In place of the number of a block that is about to be moved, and of one that is ours.
const MOVING: u32 = (1 << 17) - 2;
const OURS_ALONE: u32 = MOVING - 1;

/// What is known of all blocks.
#[derive(Debug)]
pub(crate) struct Following {
    pub(super) shadow: &'static Shadow,
    pub(super) traces: Traces,
    /// By the number of a stack, the number of the site; 0 for none.
    site_of: &'static [AtomicU32],
    /// And the reverse.
    trace_of: &'static [AtomicU32],
    sites: AtomicU32,
    rooms: Rooms,
    /// Blocks that there was no word for: they are missing.
    pub(super) missed: AtomicU64,
}

static FOLLOWING: AtomicPtr<Following> = AtomicPtr::new(ptr::null_mut());

/// How far it is with the above.
static STEP: AtomicU8 = AtomicU8::new(NOTHING);
const NOTHING: u8 = 0;
const BEGUN: u8 = 1;
const WITH_STACKS: u8 = 2;

/// What is known, if the program's allocator follows all blocks.
pub(crate) fn following() -> Option<&'static Following> {
    // SAFETY: null, or leaked before it was stored. Acquire pairs with the release in `begin`.
    unsafe { FOLLOWING.load(Ordering::Acquire).as_ref() }
}

/// Notes a block that the calling thread was given, perhaps while it works for us. The thread is not in here already.
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

/// Lets go of a block that is about to be freed.
#[inline]
pub(super) fn let_go(address: u64) {
    if let Some(following) = following() {
        following.shadow.take(address);
    }
}

/// A block is about to be moved. Until it was, it is there, so that nothing that it holds seems lost meanwhile.
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

/// It is not there any more, unless somebody else's is already.
pub(super) fn moved(address: u64, shade: Shade) {
    turn_back(address, shade, None);
}

/// It is where it was.
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
        let probe = global::probe()?;
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
        // Release pairs with the acquire above: who has the number finds the stack.
        match place.compare_exchange(0, site, Ordering::Release, Ordering::Acquire) {
            Ok(_) => Some(site),
            // Another thread was faster; ours stays unused.
            Err(site) => Some(site),
        }
    }

    /// How many sites have numbers.
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

/// Takes the memory, and makes what stacks are walked by. It runs within the program's first allocation, whose thread is
/// marked as being in here: what is allocated now is not followed.
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
    // SAFETY: all of these are made of atomics and bytes, for which zeros are good.
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
    // SAFETY: aligned to a page, large enough, nobody else's, and it stays.
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

/// Whose a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// The program's, asked for at this site; 0 where none is known.
    Program(u32),
    /// Ours.
    Ours,
}

/// Whose a block is with this number in its word.
pub(super) fn whose(site: u32) -> Whose {
    match site {
        MOVING => Whose::Program(0),
        OURS_ALONE => Whose::Ours,
        site => Whose::Program(site),
    }
}

//! Every allocation is counted at its stack.
//!
//! A thread mostly comes from where it came from a moment ago, so its stack is recognised by the
//! words that its walk would read ([`Known`](profundo_probe::heap::Known)), and has a number
//! ([`Sites`]). Under that number it is counted in the thread's own share ([`threads`]) of a file
//! that the command reads ([`file`]). A block's site is found by its address when it is freed
//! ([`Shadow`]): [`blocks`] has what happens to a block.

mod blocks;
mod file;
mod threads;

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use profundo_probe::heap::shadow::LEAF_BYTES;
use profundo_probe::heap::{KnownRoom, Shadow, Sites};
use profundo_probe::shared::COMMON;

use crate::home::Home;
use crate::memory::mapped::Mapped;
use crate::memory::rows::Rows;
use crate::memory::state::{self, FEW};
use crate::memory::tables;
use crate::{agent_memory, files, process};
pub use blocks::{allocated, freed, freed_at, put_back, remove_block, unmapped};
pub use threads::{end_thread, put_away};

/// The state of exact counting. All zero at first, and again in the child of a fork, which counts
/// for itself.
#[repr(C)]
pub struct Exact {
    counts: Counts,
    /// The places of its words stay from one recording to the next; the words are none.
    shadow: Pages<Shadow>,
}

/// All of it but the words of the blocks.
#[repr(C, align(4096))]
struct Counts {
    /// The process that counts here, and above its bits the recording; 0 until it is set up.
    mark: AtomicU64,
    rows: Rows,
    mapped: Mapped,
    sites: Sites,
    known_room: KnownRoom,
}

/// Something that shares no page with what lies before it.
#[repr(C, align(4096))]
struct Pages<T>(T);

static EXACT: AtomicPtr<Exact> = AtomicPtr::new(ptr::null_mut());
/// The place of the state, once there was one. A later recording uses it again.
static PLACE: AtomicPtr<Exact> = AtomicPtr::new(ptr::null_mut());

/// True while new blocks are not counted. What happens to those that were counted is.
static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Sets whether new blocks are counted.
pub fn count_new(counts: bool) {
    IS_CLOSED.store(!counts, Ordering::Relaxed);
}

/// The state, if every allocation is counted.
#[inline(always)]
pub fn exact() -> Option<&'static Exact> {
    // SAFETY: it is mapped for ever, and all zero is valid.
    unsafe { EXACT.load(Ordering::Acquire).as_ref() }
}

/// Begins to count, if there is memory for it.
pub fn begin(home: Home) -> Option<()> {
    // Where memory is limited, these mappings would be missed, though little of them is used.
    if !process::has_unlimited_memory() {
        return None;
    }
    let exact = place_of_state()?;
    // SAFETY: nothing is counted in a former one.
    unsafe { file::begin(home) }?;
    // SAFETY: mapped for ever, all zero.
    let state = unsafe { exact.as_ref() };
    state.open()?;
    count_new(true);
    // Release pairs with the acquire in `exact`.
    EXACT.store(exact.as_ptr(), Ordering::Release);
    show(state, home);
    // Every freed block is wanted.
    FEW.fill();
    Some(())
}

/// The state's place, all zero but for the places of words. `None`: there is no memory.
fn place_of_state() -> Option<NonNull<Exact>> {
    if let Some(place) = NonNull::new(PLACE.load(Ordering::Acquire)) {
        // SAFETY: it is ours, and has no users while nothing is counted.
        unsafe { wipe(place) };
        return Some(place);
    }
    let place = files::map_zeroed(size_of::<Exact>())?;
    // SAFETY: the memory is ours and unused.
    if !unsafe { files::advise(place, size_of::<Exact>(), libc::MADV_WIPEONFORK) } {
        return None;
    }
    PLACE.store(place.cast().as_ptr(), Ordering::Release);
    Some(place.cast())
}

/// Forgets all counts and all blocks.
///
/// # Safety
/// The place is a state's, and zeros are valid for all who still use it.
unsafe fn wipe(place: NonNull<Exact>) {
    // SAFETY: the caller vouches. The counts are pages of their own, and so is each leaf.
    unsafe {
        files::wipe(NonNull::from(&place.as_ref().counts));
        tables::forget();
        place.as_ref().shadow.0.each_leaf(|start, bytes| {
            if let (Some(start), LEAF_BYTES) = (NonNull::new(start as *mut u8), bytes) {
                files::advise(start, bytes, libc::MADV_DONTNEED);
            }
        });
    }
}

/// Gives the memory of a recording back, but not its place.
///
/// # Safety
/// Nothing is counted any more. A thread that is still at it finds zeros.
pub unsafe fn forget() {
    // SAFETY: the caller vouches.
    unsafe {
        if let Some(place) = NonNull::new(PLACE.load(Ordering::Acquire)) {
            wipe(place);
        }
        file::forget();
    }
}

impl Exact {
    /// Pages that are followed.
    #[inline(always)]
    pub fn mapped(&self) -> &Mapped {
        &self.counts.mapped
    }

    /// Begins to count in the file that is mapped. `None`: it has no room.
    fn open(&self) -> Option<()> {
        // SAFETY: the caller has just mapped it.
        let sums = unsafe { file::sums() };
        if !self.counts.rows.begin(sums) {
            return None;
        }
        sums.header().owned.store(1 << COMMON, Ordering::Release);
        let mark = u64::from(process::process_id()) | u64::from(state::recording()) << 32;
        self.counts.mark.store(mark, Ordering::Release);
        Some(())
    }

    /// The address of the words of all blocks.
    pub fn shadow(&self) -> u64 {
        &raw const self.shadow.0 as u64
    }
}

/// Publishes the place of the blocks in the ring, for readers while the program runs.
fn show(exact: &Exact, home: Home) {
    let search = &home.ring().header.search;
    let (own, room) = agent_memory::room();
    for (place, value) in search.own_memory.iter().zip([own, room]) {
        place.store(value, Ordering::Relaxed);
    }
    // Release pairs with the acquire of the reader.
    search.shadow.store(exact.shadow(), Ordering::Release);
}

/// Marks the blocks in the ring as not known any more.
pub fn hide(home: Home) {
    let search = &home.ring().header.search;
    search.shadow.store(0, Ordering::Relaxed);
}

/// Stops counting.
pub fn leave() {
    state::IS_EXACT.store(false, Ordering::Relaxed);
    EXACT.store(ptr::null_mut(), Ordering::Relaxed);
    FEW.clear();
}

/// In the child of a fork that has a ring: its files take the place of its parent's.
pub fn enter_child(home: Home) {
    let Some(exact) = exact() else { return };
    if !file::is_there() {
        return leave();
    }
    // SAFETY: there is one thread.
    let mapped = unsafe { file::begin(home) };
    match mapped.and_then(|()| exact.open()) {
        Some(()) => show(exact, home),
        None => {
            home.ring()
                .header
                .memory
                .refused
                .store(1, Ordering::Relaxed);
            abandon();
        }
    }
}

/// In the child of a fork that has no ring: its parent's file must not be written to.
pub fn abandon() {
    leave();
}

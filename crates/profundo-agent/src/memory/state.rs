//! The state of recording this process's allocations.

use core::mem::offset_of;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use profundo_probe::heap::{Few, Followed};
use profundo_probe::shared::{Control, memory_kind};

use crate::home::Home;
use crate::memory::exact;
use crate::memory::mapped::Mapped;
use crate::symbols::{self, Scope, Symbol};
use crate::{files, memory};

/// The most blocks that are followed at one time: at the usual distance of half a megabyte those of
/// a heap of 64 gigabytes.
const FOLLOWED: usize = 1 << 17;

/// The state of sampling. All zero at first, and again in the child of a fork: it does not account
/// for its parent's blocks, and its other threads, which may have held a lock, do not exist.
#[repr(C)]
pub struct Heap {
    /// The number of the last block.
    pub numbers: AtomicU64,
    pub mapped: Mapped,
    pub followed: Followed<FOLLOWED>,
}

/// The first filter for each freed block: mostly it says that the block is not followed, and always
/// where nothing is recorded. Zero again in the child of a fork, like the rest.
pub static FEW: Few = Few::new();

static HEAP: AtomicPtr<Heap> = AtomicPtr::new(ptr::null_mut());
/// The usual distance of two samples in bytes; 0: nothing is recorded.
static MEAN: AtomicU64 = AtomicU64::new(0);

/// The most times that the distance may be doubled.
static DOUBLINGS: AtomicU64 = AtomicU64::new(0);

/// The address range of the library with `malloc`.
static ALLOCATOR: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// True if code is the allocator's own: its mappings are no blocks, but the room for blocks.
pub fn is_allocator(address: u64) -> bool {
    let [start, end] = ALLOCATOR
        .each_ref()
        .map(|bound| bound.load(Ordering::Relaxed));
    (start..end).contains(&address)
}

/// The state, if anything is recorded.
#[inline(always)]
pub fn heap() -> Option<&'static Heap> {
    // Acquire pairs with the release in `begin`. SAFETY: it is mapped for ever, and all zero is
    // valid.
    unsafe { HEAP.load(Ordering::Acquire).as_ref() }
}

/// The usual distance of two samples in bytes; 0 if nothing is recorded.
pub fn mean() -> u64 {
    MEAN.load(Ordering::Relaxed)
}

/// The most times that the distance may be doubled where there is too much to sample.
pub fn most_doublings() -> u8 {
    DOUBLINGS.load(Ordering::Relaxed) as u8
}

/// True if anything is recorded.
pub fn is_on() -> bool {
    heap().is_some() || exact::exact().is_some()
}

/// True if anything is to be recorded.
pub fn is_wanted(control: &Control) -> bool {
    control.memory.load(Ordering::Relaxed) != memory_kind::NONE
}

/// Begins to record allocations, if that is wanted.
pub fn begin(control: &Control, home: Home) {
    let mean = control.memory.load(Ordering::Relaxed);
    if mean == memory_kind::NONE {
        return;
    }
    memory::next_symbols::resolve();
    let malloc = memory::next_symbols::malloc().map(|function| function as usize);
    if let Some((start, end)) = malloc.and_then(symbols::range_of) {
        let [first, last] = &ALLOCATOR;
        first.store(start, Ordering::Relaxed);
        last.store(end, Ordering::Relaxed);
    }
    if mean == memory_kind::EXACT {
        let refused = u32::from(exact::begin(home).is_none());
        let header = &home.ring().header;
        header.memory.refused.store(refused, Ordering::Relaxed);
        return memory::local::local().set(0);
    }
    let Some(place) = files::map_zeroed(size_of::<Heap>()) else {
        return;
    };
    let few = NonNull::from(&FEW).cast();
    // SAFETY: the memory is ours and unused; the filter is pages of zeros that hold nothing else.
    let are_wiped = unsafe {
        files::advise(place, size_of::<Heap>(), libc::MADV_WIPEONFORK)
            && files::advise(few, size_of::<Few>(), libc::MADV_WIPEONFORK)
    };
    if !are_wiped {
        return;
    }
    debug_assert_eq!(offset_of!(Heap, numbers), 0);
    MEAN.store(mean, Ordering::Relaxed);
    let doublings = control.memory_doublings.load(Ordering::Relaxed);
    DOUBLINGS.store(doublings, Ordering::Relaxed);
    // Release pairs with the acquire in `heap`.
    HEAP.store(place.cast::<Heap>().as_ptr(), Ordering::Release);
    // This thread's earlier allocations were not sampled.
    memory::local::local().set(0);
}

/// Stops for ever: the command refuses the process, or the program restricts its system calls.
pub fn leave() {
    if let Some(home) = crate::home::home() {
        exact::hide(home);
    }
    exact::leave();
    MEAN.store(0, Ordering::Relaxed);
    HEAP.store(ptr::null_mut(), Ordering::Relaxed);
    FEW.clear();
}

/// Notes in the ring whether the program's own allocator comes before ours, which is then never
/// called.
pub fn note_hidden_allocator(home: Home) {
    let mut first = None;
    symbols::find_all(&[c"malloc"], Scope::All, |_, symbol| first = Some(symbol));
    // Not by the address of our own: what we call `malloc` is what all others do.
    let ours = symbols::range_of(note_hidden_allocator as *const () as usize);
    let is_ours = first.is_none_or(|Symbol { address, .. }| {
        ours.is_some_and(|(start, end)| (start..end).contains(&(address as u64)))
    });
    let header = &home.ring().header;
    header
        .allocator_hidden
        .store(u32::from(!is_ours), Ordering::Relaxed);
}

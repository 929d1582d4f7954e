//! The state of recording this process's allocations.

use core::mem::offset_of;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use profundo_probe::heap::{Few, Followed, Known, Recall};
use profundo_probe::shared::{Control, memory_kind};

use crate::home::Home;
use crate::memory::exact;
use crate::memory::mapped::Mapped;
use crate::symbols::{self, Scope, Symbol};
use crate::{c_library, files, memory};

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
/// The place of the state, once there was one. A later recording uses it again.
static PLACE: AtomicPtr<Heap> = AtomicPtr::new(ptr::null_mut());
/// True if every allocation is counted.
pub static IS_EXACT: AtomicBool = AtomicBool::new(false);
/// True if `calloc` may call `malloc`, which is ours: then only one of them may count.
pub static IS_NESTED: AtomicBool = AtomicBool::new(false);
/// The number of recordings in this process.
static RECORDINGS: AtomicU32 = AtomicU32::new(0);
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

/// True if functions of the allocator may call others of it that are ours.
#[inline(always)]
pub fn is_nested() -> bool {
    IS_NESTED.load(Ordering::Relaxed)
}

/// True if every allocation is counted.
#[inline(always)]
pub fn is_exact() -> bool {
    IS_EXACT.load(Ordering::Relaxed)
}

/// The number of the recording, counted from 1.
pub fn recording() -> u32 {
    RECORDINGS.load(Ordering::Relaxed)
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
    RECORDINGS.fetch_add(1, Ordering::Relaxed);
    memory::next_symbols::resolve();
    IS_NESTED.store(c_library::allocator_calls_us(), Ordering::Relaxed);
    let malloc = memory::next_symbols::malloc().map(|function| function as usize);
    if let Some((start, end)) = malloc.and_then(symbols::range_of) {
        let [first, last] = &ALLOCATOR;
        first.store(start, Ordering::Relaxed);
        last.store(end, Ordering::Relaxed);
    }
    if mean == memory_kind::EXACT {
        let has_begun = exact::begin(home).is_some();
        IS_EXACT.store(has_begun, Ordering::Relaxed);
        let refused = u32::from(!has_begun);
        let header = &home.ring().header;
        header.memory.refused.store(refused, Ordering::Relaxed);
        return memory::local::local().set(0);
    }
    let Some(place) = place() else {
        return;
    };
    debug_assert_eq!(offset_of!(Heap, numbers), 0);
    MEAN.store(mean, Ordering::Relaxed);
    let doublings = control.memory_doublings.load(Ordering::Relaxed);
    DOUBLINGS.store(doublings, Ordering::Relaxed);
    // Release pairs with the acquire in `heap`.
    HEAP.store(place.as_ptr(), Ordering::Release);
    // This thread's earlier allocations were not sampled.
    memory::local::local().set(0);
}

/// The state's place, all zero. `None`: there is no memory for it.
fn place() -> Option<NonNull<Heap>> {
    if let Some(place) = NonNull::new(PLACE.load(Ordering::Acquire)) {
        // SAFETY: it is ours, and has no users while nothing is recorded.
        unsafe { files::wipe(place) };
        return Some(place);
    }
    let place = files::map_zeroed(size_of::<Heap>())?;
    let few = NonNull::from(&FEW).cast();
    // SAFETY: the memory is ours and unused; the filter is pages of zeros that hold nothing else.
    let are_wiped = unsafe {
        files::advise(place, size_of::<Heap>(), libc::MADV_WIPEONFORK)
            && files::advise(few, size_of::<Few>(), libc::MADV_WIPEONFORK)
    };
    if !are_wiped {
        return None;
    }
    PLACE.store(place.cast().as_ptr(), Ordering::Release);
    Some(place.cast())
}

/// Stops: the command refuses the process, the program restricts its system calls, or the agent
/// leaves.
pub fn leave() {
    if let Some(home) = crate::home::home() {
        exact::hide(home);
    }
    exact::leave();
    MEAN.store(0, Ordering::Relaxed);
    HEAP.store(ptr::null_mut(), Ordering::Relaxed);
    FEW.clear();
}

/// Gives the memory of a recording back, but not its place.
///
/// # Safety
/// [`leave`] was called. A thread that is still in one of our functions finds zeros.
pub unsafe fn forget() {
    // SAFETY: the caller vouches; all zero is what the memory was at first.
    unsafe {
        if let Some(place) = NonNull::new(PLACE.load(Ordering::Acquire)) {
            files::wipe(place);
        }
        exact::forget();
    }
    for bytes in [size_of::<Recall>(), size_of::<Known>()] {
        crate::agent_memory::each_of(bytes, |start| {
            if let Some(start) = NonNull::new(start as *mut u8) {
                // SAFETY: a thread's memory of its stacks, for which zeros are none.
                unsafe { files::advise(start, bytes, libc::MADV_DONTNEED) };
            }
        });
    }
}

/// Notes in the ring whether the program's own allocator comes before ours, which is then never
/// called. In a program that ran before we came it hides what the executable allocates.
pub fn note_hidden_allocator(home: Home) {
    let header = &home.ring().header;
    if symbols::is_late() {
        let mut is_own = false;
        // The executable comes first.
        symbols::each(Scope::All, |object| {
            is_own = object.find(c"malloc").is_some();
            true
        });
        let is_own = u32::from(is_own);
        return header.allocator_hidden.store(is_own, Ordering::Relaxed);
    }
    let mut first = None;
    symbols::find_all(&[c"malloc"], Scope::All, |_, symbol| first = Some(symbol));
    // Not by the address of our own: what we call `malloc` is what all others do.
    let ours = symbols::range_of(note_hidden_allocator as *const () as usize);
    let is_ours = first.is_none_or(|Symbol { address, .. }| {
        ours.is_some_and(|(start, end)| (start..end).contains(&(address as u64)))
    });
    header
        .allocator_hidden
        .store(u32::from(!is_ours), Ordering::Relaxed);
}

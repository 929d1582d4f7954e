//! The memory in which allocations are recorded and counted: reserved from the kernel, never from
//! the watched allocator.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::{mem, ptr};

use profundo_probe::heap::traces::CHAINS;
use profundo_probe::heap::watch::MOST_FOLLOWED;
use profundo_probe::heap::{
    CountSlot, Counts, Few, Followed, ROOMS, Room, Rooms, Row, Rows, SWITCH, Tables, Traces, Watch,
};

use super::local;
use crate::error::Error;
use crate::mapping::Mapping;

/// Words for stacks: some million of them. Address space, not memory.
const TRACE_WORDS: usize = 1 << 25;
/// The limit of threads that count for themselves; further ones share one counter.
const SLOTS: usize = 1 << 16;

static WATCH: AtomicPtr<Watch> = AtomicPtr::new(ptr::null_mut());
static COUNTS: AtomicPtr<Counts> = AtomicPtr::new(ptr::null_mut());

/// The live bytes of the whole process, where the peak is watched.
pub(crate) static LIVE: Live = Live {
    now: AtomicI64::new(0),
    peak: AtomicI64::new(0),
    is_watched: AtomicBool::new(false),
};

/// Bytes in use, and their peak.
#[derive(Debug)]
pub(crate) struct Live {
    now: AtomicI64,
    peak: AtomicI64,
    is_watched: AtomicBool,
}

impl Live {
    #[inline]
    pub(crate) fn rise(&self, size: usize) {
        let now = self.now.fetch_add(size as i64, Ordering::Relaxed) + size as i64;
        if now > self.peak.load(Ordering::Relaxed) {
            self.peak.fetch_max(now, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn fall(&self, size: usize) {
        self.now.fetch_sub(size as i64, Ordering::Relaxed);
    }

    /// Starts to watch, with `live` bytes in use already.
    pub(crate) fn begin(&self, live: impl FnOnce() -> i64) {
        if self.is_watched.swap(true, Ordering::Relaxed) {
            return;
        }
        // An allocator may have reported from the beginning, unasked.
        if self.peak() == 0 {
            self.now.store(live(), Ordering::Relaxed);
            self.reset_peak();
        }
        SWITCH.watch_peak();
    }

    pub(crate) fn peak(&self) -> i64 {
        self.peak.load(Ordering::Relaxed)
    }

    pub(crate) fn reset_peak(&self) {
        self.peak
            .store(self.now.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// The recording of allocations, once there ever was one.
#[inline]
pub(crate) fn watch() -> Option<&'static Watch> {
    // SAFETY: null, or leaked before it was stored. Acquire pairs with the release in `make_watch`.
    unsafe { WATCH.load(Ordering::Acquire).as_ref() }
}

/// The filter that is checked first for each freed block.
static FEW: Few = Few::new();

/// The recording, made at the first call and never freed: a thread may be about to use it at any
/// time after. The caller has the session's lock.
pub(crate) fn make_watch() -> Result<&'static Watch, Error> {
    if let Some(watch) = watch() {
        return Ok(watch);
    }
    let made = Box::leak(Box::new(Watch {
        tables: AtomicPtr::new(ptr::null_mut()),
        // SAFETY: zeros are an empty one, and it needs no drop.
        followed: unsafe { one_of::<Followed<MOST_FOLLOWED>>() }?,
        few: &FEW,
        // SAFETY: a room is bytes.
        rooms: Rooms::new(unsafe { Mapping::reserve(ROOMS * size_of::<Room>())?.leak_as() }),
        is_ours: page_of_this_process()?,
        inside: AtomicU32::new(0),
        unfollowed: AtomicU64::new(0),
    }));
    WATCH.store(made, Ordering::Release);
    Ok(made)
}

/// One value in memory of its own, whose unused parts are not touched.
///
/// # Safety
/// As for [`Mapping::leak_as`].
unsafe fn one_of<T>() -> Result<&'static T, Error> {
    // SAFETY: the caller vouches for `T`.
    let all = unsafe { Mapping::reserve(size_of::<T>())?.leak_as::<T>() };
    Ok(all.first().expect("there is room for one"))
}

/// A word that is 1 in this process and 0 in its children, from their first instruction on.
fn page_of_this_process() -> Result<&'static AtomicU32, Error> {
    const PAGE: usize = 4096;
    let page = Mapping::reserve(PAGE)?;
    // Where the kernel does not know this (before 4.14), `reset_after_fork` must be enough. SAFETY:
    // the page is ours, and has not been used yet.
    unsafe { libc::madvise(page.as_ptr().cast(), PAGE, libc::MADV_WIPEONFORK) };
    // SAFETY: zeros are an atomic's.
    let words: &[AtomicU32] = unsafe { page.leak_as() };
    let word = words.first().expect("a page has words");
    word.store(1, Ordering::Relaxed);
    Ok(word)
}

/// Tables with their memory.
#[derive(Debug)]
pub(crate) struct OwnedTables {
    /// Boxed, so that their address stays what was published.
    tables: Box<Tables>,
    rows: Mapping,
    words: Mapping,
    _chains: Mapping,
}

impl OwnedTables {
    /// Tables for `allocations` allocations.
    pub(crate) fn new(allocations: u64) -> Result<Self, Error> {
        const MOST: u64 = 1 << 36;
        if allocations == 0 || allocations > MOST {
            return Err(Error::Allocations(allocations));
        }
        let count = allocations as usize;
        let rows = Mapping::reserve(count * size_of::<Row>())?;
        let words = Mapping::reserve(TRACE_WORDS * size_of::<AtomicU64>())?;
        let chains = Mapping::reserve(CHAINS * size_of::<AtomicU32>())?;
        // SAFETY: the mappings are page-aligned, zeroed, which is good for atomics, and hold as
        // many as given; they live as long as `self`, and the owner drops us only when the tables
        // are not in use.
        let tables = unsafe {
            let rows: &'static [Row] = std::slice::from_raw_parts(rows.as_ptr().cast(), count);
            let words = std::slice::from_raw_parts(words.as_ptr().cast(), TRACE_WORDS);
            let chains = std::slice::from_raw_parts(chains.as_ptr().cast(), CHAINS);
            Tables {
                rows: Rows::new(rows),
                traces: Traces::new(chains, words),
            }
        };
        Ok(Self {
            tables: Box::new(tables),
            rows,
            words,
            _chains: chains,
        })
    }

    pub(crate) fn get(&self) -> &Tables {
        &self.tables
    }

    /// The tables' address, to be published to recording threads.
    pub(crate) fn as_ptr(&self) -> *mut Tables {
        (&raw const *self.tables).cast_mut()
    }

    /// Forgets everything, while no thread records. The memory is returned.
    pub(crate) fn clear(&self) {
        self.rows.give_back();
        self.words.give_back();
        self.tables.rows.reset();
        self.tables.traces.reset();
    }
}

/// Forgets the followed blocks, while no thread records.
pub(crate) fn forget_followed(watch: &Watch) {
    let followed = ptr::from_ref(watch.followed);
    // SAFETY: the memory is a mapping of our own, whose pages become zeros: nothing is followed,
    // and its lock is free. A reader meanwhile reads atomics that are one or the other.
    unsafe {
        libc::madvise(
            followed.cast_mut().cast(),
            size_of::<Followed<MOST_FOLLOWED>>(),
            libc::MADV_DONTNEED,
        );
    }
    watch.few.clear();
    watch.unfollowed.store(0, Ordering::Relaxed);
}

/// All threads' counts, once they were requested. `None` where there is no memory for them.
pub(crate) fn counts() -> Option<&'static Counts> {
    let load = || {
        // SAFETY: null, or leaked before it was stored. Acquire pairs with the release below.
        unsafe { COUNTS.load(Ordering::Acquire).as_ref() }
    };
    load().or_else(|| {
        make_counts()?;
        load()
    })
}

/// Makes the counts. It may run within an allocation, so it takes its memory from the kernel.
#[cold]
fn make_counts() -> Option<()> {
    let slots = Mapping::reserve(SLOTS * size_of::<CountSlot>()).ok()?;
    let home = Mapping::reserve(size_of::<Counts>()).ok()?;
    let place = home.as_ptr().cast::<Counts>();
    // SAFETY: the slots' memory is as long as `slots`, which is leaked below or unmapped unused;
    // `place` is aligned to a page, large enough and without another user.
    unsafe {
        let slots = std::slice::from_raw_parts(slots.as_ptr().cast(), SLOTS);
        place.write(Counts::new(slots));
    }
    let first =
        COUNTS.compare_exchange(ptr::null_mut(), place, Ordering::Release, Ordering::Relaxed);
    if first.is_ok() {
        mem::forget((slots, home));
    }
    Some(())
}

/// In the child of a fork: nothing is recorded there, and the recording threads do not exist.
pub(crate) fn reset_after_fork() {
    SWITCH.stop_recording();
    local::reset_after_fork();
    super::session::forget_recording();
    if let Some(following) = super::following::following() {
        following.reset_after_fork();
    }
    if let Some(watch) = watch() {
        watch.inside.store(0, Ordering::SeqCst);
        watch.rooms.reset_after_fork();
        forget_followed(watch);
        watch.is_ours.store(1, Ordering::Relaxed);
    }
}

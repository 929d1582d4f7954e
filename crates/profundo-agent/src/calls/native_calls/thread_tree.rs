//! Thread trees: each is a tree of calls in a file of its own, with the open calls of the thread
//! that uses it.

use core::cell::{Cell, UnsafeCell};
use core::ffi::CStr;
use core::hint::spin_loop;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull, null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use profundo_probe::calls::{Memory, Stack, Tree};
use profundo_probe::shared::{CALLS_FILE, CallsFile, CallsHeader, call_clock};
use profundo_probe::sys;

use super::{BEGINNINGS, IS_ON, USES_CPU, cost, counting, is_counted_by, local};
use crate::{command, files, left, process, session};

/// The most trees. Calls of further threads are not counted.
const MOST: usize = 4096;
/// The most trees that are made for handlers that interrupt us; a tree is lost if its handler jumps
/// away.
const MOST_BETWEEN: u32 = 1024;

static THREAD_TREES: [AtomicPtr<ThreadTree>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];
/// The number of trees.
static COUNT: AtomicU32 = AtomicU32::new(0);
static BETWEEN: AtomicU32 = AtomicU32::new(0);
/// Set once a file could not be made: further ones would fail too.
static IS_FULL: AtomicBool = AtomicBool::new(false);

/// A mapping of ours, and of a file.
#[derive(Debug)]
pub struct Mapped {
    /// The path of the file. The stack of a handler may have no room for one.
    path: &'static CStr,
}

impl Memory for Mapped {
    fn map(&self, bytes: usize) -> Option<NonNull<u8>> {
        // A process that restricts its system calls must not be made to call.
        (!left::has_left()).then(|| files::map_zeroed(bytes))?
    }

    fn unmap(&self, at: NonNull<u8>, bytes: usize) {
        if !left::has_left() {
            // SAFETY: it came from `map`, and its owner uses it no more.
            unsafe { files::unmap(at, bytes) };
        }
    }

    fn fill(&self, from: usize, bytes: usize) -> bool {
        let bytes = bytes.min(CallsFile::BYTES.saturating_sub(from));
        !left::has_left() && files::allocate(self.path, from, bytes)
    }
}

/// A thread tree. It is never unmapped.
#[repr(C)]
pub struct ThreadTree {
    /// 1 while a thread uses the tree.
    is_busy: AtomicU32,
    /// 1 if the tree belongs to a thread.
    is_taken: AtomicU32,
    /// A word of [`counting`].
    is_on: *const AtomicU32,
    /// The tree that the thread used when a handler took this one.
    below: Cell<*const ThreadTree>,
    work: UnsafeCell<MaybeUninit<(Tree<Mapped>, Stack)>>,
}

// SAFETY: all but `is_taken` is used by the one thread that owns the tree, by none, or after the
// end.
unsafe impl Sync for ThreadTree {}

/// The memory of a thread tree, all zero at first.
#[repr(C)]
struct Place {
    thread_tree: MaybeUninit<ThreadTree>,
    path: [u8; session::PATH],
}

/// The tree of a thread that has ended. Always busy, so each call takes another tree.
pub static ENDED: ThreadTree = ThreadTree::none();
/// The tree of a thread that got none. Always busy as well, so its calls are not counted.
pub static REFUSED: ThreadTree = ThreadTree::none();

impl ThreadTree {
    const fn none() -> Self {
        Self {
            is_busy: AtomicU32::new(1),
            is_taken: AtomicU32::new(1),
            is_on: null(),
            below: Cell::new(null()),
            work: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Marks the tree as used by this thread. `false`: this thread uses it already, and was
    /// interrupted.
    #[inline]
    pub fn enter(&self) -> bool {
        let is_free = self.is_busy.load(Ordering::Relaxed) == 0;
        if is_free {
            self.is_busy.store(1, Ordering::Relaxed);
        }
        is_free
    }

    #[inline]
    pub fn leave(&self) {
        // Pairs with the acquire in `settle`.
        self.is_busy.store(0, Ordering::Release);
    }

    /// True if calls are counted.
    #[inline]
    pub fn is_on(&self) -> bool {
        // SAFETY: null, or a word that stays.
        unsafe { self.is_on.as_ref() }
            .is_some_and(|word| word.load(Ordering::Relaxed) == counting::ON)
    }

    /// The tree, and the calls that have not ended.
    ///
    /// # Safety
    /// The tree is not [`ENDED`]; the calling thread uses it, and no other reference is alive.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "the caller is alone with it")]
    pub unsafe fn work(&self) -> (&mut Tree<Mapped>, &mut Stack) {
        // SAFETY: the caller vouches; it was written before the tree was published.
        let (tree, calls) = unsafe { (*self.work.get()).assume_init_mut() };
        (tree, calls)
    }

    /// Waits until no thread uses the tree. Returns `false` on timeout; `None` only polls, without
    /// a system call.
    pub fn is_left(&self, until: Option<u64>) -> bool {
        const TRIES: u32 = 1 << 12;
        let is_free = || self.is_busy.load(Ordering::Acquire) == 0;
        let Some(until) = until else {
            return (0..TRIES).any(|_| {
                spin_loop();
                is_free()
            });
        };
        while !is_free() {
            if process::time(libc::CLOCK_MONOTONIC) > until {
                return false;
            }
            sys::let_others_run();
        }
        true
    }

    /// Ends all open calls at `now`, if `is_known` says that their times are. No thread uses the
    /// tree or will, or the calling thread was interrupted while it used it.
    pub fn settle(&self, now: u64, is_known: bool) {
        // SAFETY: as it says above; an interrupted thread finds the same calls, with some times a
        // little off.
        let (tree, calls) = unsafe { self.work() };
        if is_known {
            tree.settle(calls, now);
        }
        tree.file().header.is_closed.store(1, Ordering::Release);
    }

    /// Undoes [`Self::settle`], after a failed `exec`.
    pub fn reopen(&self) {
        if self.is_taken.load(Ordering::Relaxed) != 0 {
            self.header().is_closed.store(0, Ordering::Release);
        }
    }

    /// True if `other` is this tree, or one that its thread used before.
    pub fn is_above(&self, other: &Self) -> bool {
        let mut at = ptr::from_ref(self);
        // SAFETY: null, or a thread tree, which stays.
        while let Some(thread_tree) = unsafe { at.as_ref() } {
            if ptr::eq(thread_tree, other) {
                return true;
            }
            at = thread_tree.below.get();
        }
        false
    }

    /// True if the tree's file has a count of uncounted calls.
    pub fn has_missed(&self) -> bool {
        self.header().uncounted.load(Ordering::Relaxed) != 0
    }

    /// The header of its file. Only for a tree that has one.
    fn header(&self) -> &'static CallsHeader {
        // SAFETY: it was made; the head is made of atomics, in a file that stays mapped.
        unsafe { &(*(*self.work.get()).as_ptr()).0.file().header }
    }

    /// The thread has ended: the tree is free for another one.
    pub fn clear(&self) {
        // SAFETY: it is the calling thread's, which does not use it now.
        let (_, calls) = unsafe { self.work() };
        calls.empty();
        self.is_taken.store(0, Ordering::Release);
    }

    /// True if a handler took the tree after it had interrupted its thread in another one.
    #[inline]
    pub fn was_taken_between(&self) -> bool {
        !self.below.get().is_null()
    }

    /// Frees the tree of a handler whose calls have all ended: the thread, which uses it, returns
    /// to the tree below.
    #[cold]
    pub fn give_back(&self) {
        // From here on, an interrupting handler takes another tree.
        local::set_thread_tree(self.below.get());
        self.leave();
        self.clear();
    }

    /// As [`Self::leave`], where the ends of a handler's calls are not reported.
    #[inline]
    pub fn leave_at_once(&self) {
        match self.was_taken_between() {
            true => self.give_back(),
            false => self.leave(),
        }
    }

    /// Goes on with calls that began in another tree, in the parent of this process.
    ///
    /// # Safety
    /// There is one thread, and it uses neither.
    pub unsafe fn go_on_with(&self, old: &ThreadTree, now: Option<u64>) {
        if old.is_on.is_null() {
            return;
        }
        // SAFETY: passed on. Of the old tree only the list is read, which is a copy of the
        // parent's.
        unsafe {
            let (tree, calls) = self.work();
            let (_, before) = &*(*old.work.get()).as_ptr();
            tree.go_on_with(calls, before.open.all(), now);
        }
    }
}

/// Takes a tree for the calling thread and enters it. `below` is the tree that the thread was
/// interrupted in. The error is the system's.
pub fn take(ring: u32, below: *const ThreadTree) -> Result<&'static ThreadTree, i32> {
    let made = THREAD_TREES
        .iter()
        .take(COUNT.load(Ordering::Acquire) as usize);
    let mut made = made.filter_map(|place| {
        // SAFETY: null, or a thread tree, which stays.
        unsafe { place.load(Ordering::Acquire).as_ref() }
    });
    let free = made.find(|thread_tree| {
        let taken =
            thread_tree
                .is_taken
                .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    });
    let thread_tree = match free {
        Some(thread_tree) => thread_tree,
        None => {
            if !below.is_null() && BETWEEN.load(Ordering::Relaxed) >= MOST_BETWEEN {
                return Err(libc::EAGAIN);
            }
            let thread_tree = make(ring)?;
            if !below.is_null() {
                BETWEEN.fetch_add(1, Ordering::Relaxed);
            }
            thread_tree
        }
    };
    // Before it is visible: a handler that finds it empty and free would give it back.
    thread_tree.is_busy.store(1, Ordering::Relaxed);
    thread_tree.below.set(below);
    // SAFETY: it was taken just now, by this thread.
    let (tree, calls) = unsafe { thread_tree.work() };
    tree.begin_thread(calls, sys::thread_id());
    thread_tree.reopen();
    Ok(thread_tree)
}

/// Adds uncounted calls to the first tree's header.
pub fn miss(calls: u64) {
    if calls > 0
        && let Some(thread_tree) = first()
    {
        let missed: &AtomicU64 = &thread_tree.header().uncounted;
        missed.fetch_add(calls, Ordering::Relaxed);
    }
}

/// The tree that was made first.
pub fn first() -> Option<&'static ThreadTree> {
    // SAFETY: null, or a thread tree, which stays.
    unsafe { THREAD_TREES.first()?.load(Ordering::Acquire).as_ref() }
}

fn make(ring: u32) -> Result<&'static ThreadTree, i32> {
    if IS_FULL.load(Ordering::Relaxed) {
        return Err(libc::ENOSPC);
    }
    if !session::control().is_some_and(command::is_alive) {
        super::turn_off();
        return Err(libc::ESRCH);
    }
    let part = COUNT.load(Ordering::Relaxed);
    let part = (part as usize..MOST).find(|&at| {
        // A thread that comes at the same time takes the next one.
        let next = COUNT.compare_exchange(
            at as u32,
            at as u32 + 1,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        next.is_ok()
    });
    let part = part.ok_or(libc::EAGAIN)?;
    let bytes = size_of::<Place>();
    let place = files::map_zeroed(bytes)
        .ok_or(libc::ENOMEM)?
        .cast::<Place>();
    // SAFETY: the memory is ours, and not published yet.
    let thread_tree = unsafe { make_at(place, ring, part as u32) };
    match (thread_tree, THREAD_TREES.get(part)) {
        (Ok(thread_tree), Some(number)) => {
            // Release: a thread that sees the tree sees all of it.
            number.store(ptr::from_ref(thread_tree).cast_mut(), Ordering::Release);
        }
        (Err(why), _) => {
            // The program may soon have fewer descriptors open.
            let is_transient = why == libc::EMFILE || why == libc::ENFILE;
            IS_FULL.fetch_or(!is_transient, Ordering::Relaxed);
            // SAFETY: as above.
            unsafe { files::unmap(place.cast(), bytes) };
        }
        _ => {}
    }
    thread_tree
}

/// # Safety
/// The place is ours, and not published.
unsafe fn make_at(
    mut place: NonNull<Place>,
    ring: u32,
    part: u32,
) -> Result<&'static ThreadTree, i32> {
    // SAFETY: the caller vouches. If all goes well, the path is never written to again.
    let room: &'static mut [u8] = unsafe { &mut place.as_mut().path };
    let path = session::file_part(room, CALLS_FILE, ring, part).ok_or(libc::ENAMETOOLONG)?;
    let file = files::make_and_map(path, CallsFile::BYTES, size_of::<CallsHeader>())?;
    // SAFETY: it was made for this, and stays mapped, or is not published.
    let Some(tree) = (unsafe { Tree::new(file.cast(), Mapped { path }) }) else {
        // SAFETY: as above.
        unsafe { files::unmap(file, CallsFile::BYTES) };
        return Err(libc::ENOMEM);
    };
    let clock = match USES_CPU.load(Ordering::Relaxed) {
        _ if is_counted_by(BEGINNINGS) => call_clock::NONE,
        true => call_clock::CPU,
        false => call_clock::WALL,
    };
    let header = &tree.file().header;
    header.clock.store(clock, Ordering::Relaxed);
    cost::write(header);
    // SAFETY: it is not published yet.
    Ok(unsafe {
        place.cast::<ThreadTree>().write(ThreadTree {
            is_busy: AtomicU32::new(1),
            is_taken: AtomicU32::new(1),
            is_on: IS_ON.load(Ordering::Acquire),
            below: Cell::new(null()),
            work: UnsafeCell::new(MaybeUninit::new((tree, Stack::default()))),
        });
        place.cast::<ThreadTree>().as_ref()
    })
}

/// Visits all trees.
pub fn each(mut f: impl FnMut(&'static ThreadTree)) {
    for place in THREAD_TREES
        .iter()
        .take(COUNT.load(Ordering::Acquire) as usize)
    {
        // SAFETY: null, or a thread tree, which stays.
        if let Some(thread_tree) = unsafe { place.load(Ordering::Acquire).as_ref() } {
            f(thread_tree);
        }
    }
}

/// In the child of a fork: all trees are the parent's.
pub fn forget_all() {
    let count = COUNT.swap(0, Ordering::Relaxed) as usize;
    BETWEEN.store(0, Ordering::Relaxed);
    IS_FULL.store(false, Ordering::Relaxed);
    for place in THREAD_TREES.iter().take(count) {
        place.store(null_mut(), Ordering::Relaxed);
    }
}

//! Thread trees: a tree of calls in a file of its own, and the calls that have not ended of the thread that is at it.

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
use crate::{files, left, process, session};

/// So many at most. Calls of threads beyond are not counted.
const MOST: usize = 4096;
/// Of these, so many may be taken by handlers that interrupt us, and do not come back if one jumps away.
const MOST_BETWEEN: u32 = 1024;

static THREAD_TREES: [AtomicPtr<ThreadTree>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];
/// How many there are.
static COUNT: AtomicU32 = AtomicU32::new(0);
static BETWEEN: AtomicU32 = AtomicU32::new(0);
/// Set once a file could not be made: then no other one can.
static IS_FULL: AtomicBool = AtomicBool::new(false);

/// Memory of ours, and of a file.
#[derive(Debug)]
pub struct Mapped {
    /// The file. A handler that comes here may have a stack that has no room for a path.
    path: &'static CStr,
}

impl Memory for Mapped {
    fn map(&self, bytes: usize) -> Option<NonNull<u8>> {
        // Who restricts its system calls is not to be made to call.
        (!left::has_left()).then(|| files::map_zeroed(bytes))?
    }

    fn unmap(&self, at: NonNull<u8>, bytes: usize) {
        if !left::has_left() {
            // SAFETY: it came from `map`, and its owner has done with it.
            unsafe { files::unmap(at, bytes) };
        }
    }

    fn fill(&self, from: usize, bytes: usize) -> bool {
        let bytes = bytes.min(CallsFile::BYTES.saturating_sub(from));
        !left::has_left() && files::allocate(self.path, from, bytes)
    }
}

/// A thread tree. It is never given back to the kernel.
#[repr(C)]
pub struct ThreadTree {
    /// One while a thread is at it.
    is_busy: AtomicU32,
    /// One if it is some thread's.
    is_taken: AtomicU32,
    /// Of [`counting`].
    is_on: *const AtomicU32,
    /// The thread tree that the thread was at when a handler took this one.
    below: Cell<*const ThreadTree>,
    work: UnsafeCell<MaybeUninit<(Tree<Mapped>, Stack)>>,
}

// SAFETY: all but `is_taken` is used by the one thread that has it, or by nobody, or when all is over.
unsafe impl Sync for ThreadTree {}

/// The memory of a thread tree, all zero at first.
#[repr(C)]
struct Place {
    thread_tree: MaybeUninit<ThreadTree>,
    path: [u8; session::PATH],
}

/// Always busy: who has it takes another one.
pub static NOBODYS: ThreadTree = ThreadTree::none();
/// Always busy as well: the calls of who has it are not counted, for there was no other one.
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

    /// `false`: the thread is at it already, and was interrupted.
    #[inline]
    pub fn enter_thread_tree(&self) -> bool {
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

    /// Whether calls are counted.
    #[inline]
    pub fn is_on(&self) -> bool {
        // SAFETY: null, or a word that stays.
        unsafe { self.is_on.as_ref() }.is_some_and(|it| it.load(Ordering::Relaxed) == counting::ON)
    }

    /// The tree, and the calls that have not ended.
    ///
    /// # Safety
    /// It is not [`NOBODYS`]; the calling thread is at it, and no other reference is alive.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "the caller is alone with it")]
    pub unsafe fn work(&self) -> (&mut Tree<Mapped>, &mut Stack) {
        // SAFETY: the caller vouches; it was written before anybody knew of the thread tree.
        let (tree, calls) = unsafe { (*self.work.get()).assume_init_mut() };
        (tree, calls)
    }

    /// Waits until nobody is at it: a thread that was about to leave leaves. `false`: not until then. Without a moment to wait for,
    /// the kernel is not called.
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

    /// What has not ended has lasted until now. `is_known`: how long that was. Nobody is at it and nobody comes, or the calling thread
    /// was interrupted there.
    pub fn settle(&self, now: u64, is_known: bool) {
        // SAFETY: as it says above; who was interrupted finds the same calls, and the times of some are a little off.
        let (tree, calls) = unsafe { self.work() };
        if is_known {
            tree.settle(calls, now);
        }
        tree.file().header.is_closed.store(1, Ordering::Release);
    }

    /// That was too early.
    pub fn open_again(&self) {
        if self.is_taken.load(Ordering::Relaxed) != 0 {
            self.header().is_closed.store(0, Ordering::Release);
        }
    }

    /// Whether it is this one, or one of those that its thread was at before.
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

    /// Whether it says that calls are not counted.
    pub fn has_missed(&self) -> bool {
        self.header().uncounted.load(Ordering::Relaxed) != 0
    }

    /// The head of its file. It is none of those that have none.
    fn header(&self) -> &'static CallsHeader {
        // SAFETY: it was made; the head is made of atomics, in a file that stays mapped.
        unsafe { &(*(*self.work.get()).as_ptr()).0.file().header }
    }

    /// The thread has ended. The next one that comes has it.
    pub fn clear(&self) {
        // SAFETY: it is the calling thread's, which is not at it.
        let (_, calls) = unsafe { self.work() };
        calls.empty();
        self.is_taken.store(0, Ordering::Release);
    }

    /// Whether a handler took it, that had interrupted its thread at another one.
    #[inline]
    pub fn was_taken_between(&self) -> bool {
        !self.below.get().is_null()
    }

    /// The calls have ended that the handler made: its thread, which is at this thread tree, goes back to where it was.
    #[cold]
    pub fn give_back(&self) {
        // From here on whoever interrupts us takes another one.
        local::set_thread_tree(self.below.get());
        self.leave();
        self.clear();
    }

    /// As [`Self::leave`], where nobody tells when the calls end that a handler makes.
    #[inline]
    pub fn leave_at_once(&self) {
        match self.was_taken_between() {
            true => self.give_back(),
            false => self.leave(),
        }
    }

    /// Goes on with calls that began at another thread tree, in the parent of this process.
    ///
    /// # Safety
    /// There is one thread, and it is at neither.
    pub unsafe fn go_on_with(&self, old: &ThreadTree, now: Option<u64>) {
        if old.is_on.is_null() {
            return;
        }
        // SAFETY: passed on. Of the old one's only the list is read, which is a copy of the parent's.
        unsafe {
            let (tree, calls) = self.work();
            let (_, before) = &*(*old.work.get()).as_ptr();
            tree.go_on_with(calls, before.open.all(), now);
        }
    }
}

/// A thread tree for the calling thread, which has one already if that was interrupted. The thread is at it. Or else why there is none: an
/// error of the system's.
pub fn take(ring: u32, below: *const ThreadTree) -> Result<&'static ThreadTree, i32> {
    let made = THREAD_TREES
        .iter()
        .take(COUNT.load(Ordering::Acquire) as usize);
    let mut made = made.filter_map(|it| {
        // SAFETY: null, or a thread tree, which stays.
        unsafe { it.load(Ordering::Acquire).as_ref() }
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
    // Before anybody finds it: a handler that finds it empty and free would give it back.
    thread_tree.is_busy.store(1, Ordering::Relaxed);
    thread_tree.below.set(below);
    // SAFETY: it was taken just now, by this thread.
    let (tree, calls) = unsafe { thread_tree.work() };
    tree.begin_thread(calls, sys::thread_id());
    thread_tree.open_again();
    Ok(thread_tree)
}

/// Calls are not counted: some thread tree says so.
pub fn miss(calls: u64) {
    if calls > 0
        && let Some(thread_tree) = first()
    {
        let missed: &AtomicU64 = &thread_tree.header().uncounted;
        missed.fetch_add(calls, Ordering::Relaxed);
    }
}

/// The one that was made first.
pub fn first() -> Option<&'static ThreadTree> {
    // SAFETY: null, or a thread tree, which stays.
    unsafe { THREAD_TREES.first()?.load(Ordering::Acquire).as_ref() }
}

fn make(ring: u32) -> Result<&'static ThreadTree, i32> {
    if IS_FULL.load(Ordering::Relaxed) {
        return Err(libc::ENOSPC);
    }
    if !session::control().is_some_and(session::is_alive) {
        super::turn_off();
        return Err(libc::ESRCH);
    }
    let part = COUNT.load(Ordering::Relaxed);
    let part = (part as usize..MOST).find(|&at| {
        // Whoever comes at the same time takes the next one.
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
    // SAFETY: the memory is ours, and nobody knows of it yet.
    let thread_tree = unsafe { make_at(place, (ring, part as u32)) };
    match (thread_tree, THREAD_TREES.get(part)) {
        (Ok(thread_tree), Some(number)) => {
            // Release: who sees it sees all of it.
            number.store(ptr::from_ref(thread_tree).cast_mut(), Ordering::Release);
        }
        (Err(why), _) => {
            // The program's descriptors may be fewer in a moment.
            let is_passing = why == libc::EMFILE || why == libc::ENFILE;
            IS_FULL.fetch_or(!is_passing, Ordering::Relaxed);
            // SAFETY: as above.
            unsafe { files::unmap(place.cast(), bytes) };
        }
        _ => {}
    }
    thread_tree
}

/// # Safety
/// The place is ours, and nobody knows of it.
unsafe fn make_at(
    mut place: NonNull<Place>,
    numbers: (u32, u32),
) -> Result<&'static ThreadTree, i32> {
    // SAFETY: the caller vouches. If all goes well, the path is never written to again.
    let room: &'static mut [u8] = unsafe { &mut place.as_mut().path };
    let path = session::file_part(room, CALLS_FILE, numbers).ok_or(libc::ENAMETOOLONG)?;
    let file = files::make_and_map(path, CallsFile::BYTES, size_of::<CallsHeader>())?;
    // SAFETY: it was made for this, and stays mapped, or nobody has it.
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
    cost::tell(header);
    // SAFETY: nobody knows of it yet.
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

/// Visits all.
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

/// In the child of a fork: all are the parent's.
pub fn forget_all() {
    let count = COUNT.swap(0, Ordering::Relaxed) as usize;
    BETWEEN.store(0, Ordering::Relaxed);
    IS_FULL.store(false, Ordering::Relaxed);
    for place in THREAD_TREES.iter().take(count) {
        place.store(null_mut(), Ordering::Relaxed);
    }
}

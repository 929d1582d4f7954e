//! Desks: a tree of calls in a file of its own, and the calls that have not ended of the thread that is at it.

use core::cell::{Cell, UnsafeCell};
use core::ffi::CStr;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use profundo_probe::calls::{Memory, Stack, Tree};
use profundo_probe::shared::{CALLS_FILE, CallsFile, CallsHeader, call_clock};
use profundo_probe::sys;

use super::{IS_ON, USES_CPU, cost, local};
use crate::{files, restrict, session};

/// So many at most. Calls of threads beyond are not counted.
const MOST: usize = 4096;
/// Of these, so many may be taken by handlers that interrupt us, and do not come back if one jumps away.
const MOST_BETWEEN: u32 = 1024;

static DESKS: [AtomicPtr<Desk>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];
/// How many there are.
static COUNT: AtomicU32 = AtomicU32::new(0);
static BETWEEN: AtomicU32 = AtomicU32::new(0);

/// Memory of ours, and of a file.
#[derive(Debug)]
pub struct Mapped {
    /// The number of the ring that the file is beside, and which of the files it is.
    numbers: (u32, u32),
}

impl Memory for Mapped {
    fn map(&self, bytes: usize) -> Option<NonNull<u8>> {
        // Who restricts its system calls is not to be made to call.
        (!restrict::has_left()).then(|| files::map_zeroed(bytes))?
    }

    fn unmap(&self, at: NonNull<u8>, bytes: usize) {
        if !restrict::has_left() {
            // SAFETY: it came from `map`, and its owner has done with it.
            unsafe { files::unmap(at, bytes) };
        }
    }

    fn fill(&self, from: usize, bytes: usize) -> bool {
        let mut room = [0; session::PATH];
        let bytes = bytes.min(CallsFile::BYTES.saturating_sub(from));
        !restrict::has_left()
            && session::file_part(&mut room, CALLS_FILE, self.numbers)
                .is_some_and(|path| files::allocate(path, from, bytes))
    }
}

/// A desk. It is never given back to the kernel.
#[repr(C)]
pub struct Desk {
    /// One while a thread is at it.
    is_busy: AtomicU32,
    /// One if it is some thread's.
    is_taken: AtomicU32,
    /// One while calls are counted.
    is_on: *const AtomicU32,
    /// The desk that the thread was at when a handler took this one.
    below: Cell<*const Desk>,
    work: UnsafeCell<MaybeUninit<(Tree<Mapped>, Stack)>>,
}

// SAFETY: all but `is_taken` is used by the one thread that has it, or by nobody, or when all is over.
unsafe impl Sync for Desk {}

/// Always busy: who has it takes another one.
pub static NOBODYS: Desk = Desk {
    is_busy: AtomicU32::new(1),
    is_taken: AtomicU32::new(1),
    is_on: null(),
    below: Cell::new(null()),
    work: UnsafeCell::new(MaybeUninit::uninit()),
};

impl Desk {
    /// `false`: the thread is at it already, and was interrupted.
    #[inline]
    pub fn sit_down(&self) -> bool {
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
        unsafe { self.is_on.as_ref() }.is_some_and(|it| it.load(Ordering::Relaxed) != 0)
    }

    /// The tree, and the calls that have not ended.
    ///
    /// # Safety
    /// It is not [`NOBODYS`]; the calling thread is at it, and no other reference is alive.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "the caller is alone with it")]
    pub unsafe fn work(&self) -> (&mut Tree<Mapped>, &mut Stack) {
        // SAFETY: the caller vouches; it was written before anybody knew of the desk.
        let (tree, calls) = unsafe { (*self.work.get()).assume_init_mut() };
        (tree, calls)
    }

    /// What has not ended has lasted until now, unless somebody is in the middle of something. `is_known`: how long that was.
    pub fn settle(&self, now: u64, is_known: bool) {
        /// A thread that was about to leave leaves.
        const TRIES: u32 = 1 << 12;
        for _ in 0..TRIES {
            if self.is_busy.load(Ordering::Acquire) == 0 {
                // SAFETY: nobody is at it, and nobody comes: all is over, or the thread is its own.
                let (tree, calls) = unsafe { self.work() };
                if is_known {
                    tree.settle(calls, now);
                }
                return tree.file().header.is_closed.store(1, Ordering::Release);
            }
            sys::let_others_run();
        }
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

    /// The calls have ended that the handler made: its thread, which is at this desk, goes back to where it was.
    #[cold]
    pub fn give_back(&self) {
        // From here on whoever interrupts us takes another one.
        local::set_desk(self.below.get());
        self.leave();
        self.clear();
    }

    /// Goes on with calls that began at another desk, in the parent of this process.
    ///
    /// # Safety
    /// There is one thread, and it is at neither.
    pub unsafe fn go_on_with(&self, old: &Desk, now: u64) {
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

/// A desk for the calling thread, which has one already if that was interrupted. `None`: there is none.
pub fn take(ring: u32, below: *const Desk) -> Option<&'static Desk> {
    if !below.is_null() && BETWEEN.load(Ordering::Relaxed) >= MOST_BETWEEN {
        miss();
        return None;
    }
    let made = DESKS.iter().take(COUNT.load(Ordering::Acquire) as usize);
    let mut made = made.filter_map(|it| {
        // SAFETY: null, or a desk, which stays.
        unsafe { it.load(Ordering::Acquire).as_ref() }
    });
    let free = made.find(|desk| {
        let taken = desk
            .is_taken
            .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    });
    let desk = match free {
        Some(desk) => desk,
        None => {
            if !below.is_null() {
                BETWEEN.fetch_add(1, Ordering::Relaxed);
            }
            make(ring).or_else(|| {
                miss();
                None
            })?
        }
    };
    desk.below.set(below);
    // SAFETY: it was taken just now, by this thread.
    let (tree, calls) = unsafe { desk.work() };
    tree.begin_thread(calls, sys::thread_id());
    Some(desk)
}

/// A call is not counted: some other desk says so.
fn miss() {
    let first = DESKS.first().map(|it| it.load(Ordering::Acquire));
    // SAFETY: null, or a desk, which stays.
    let first = first.and_then(|it| unsafe { it.as_ref() });
    if let Some(desk) = first {
        // SAFETY: it was made; the number is an atomic in a file that stays mapped.
        let tree = unsafe { &(*(*desk.work.get()).as_ptr()).0 };
        let missed: &AtomicU64 = &tree.file().header.uncounted;
        missed.fetch_add(1, Ordering::Relaxed);
    }
}

fn make(ring: u32) -> Option<&'static Desk> {
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
    })?;
    let memory = Mapped {
        numbers: (ring, part as u32),
    };
    let mut room = [0; session::PATH];
    let path: &CStr = session::file_part(&mut room, CALLS_FILE, memory.numbers)?;
    let file = files::make_and_map(path, CallsFile::BYTES, size_of::<CallsHeader>())?;
    // SAFETY: it was made for this, and stays mapped.
    let tree = unsafe { Tree::new(file.cast(), memory) }?;
    let clock = match USES_CPU.load(Ordering::Relaxed) {
        true => call_clock::CPU,
        false => call_clock::WALL,
    };
    let header = &tree.file().header;
    header.clock.store(clock, Ordering::Relaxed);
    cost::tell(header);
    let place = files::map_zeroed(size_of::<Desk>())?.cast::<Desk>();
    // SAFETY: nobody knows of it yet.
    let desk = unsafe {
        place.write(Desk {
            is_busy: AtomicU32::new(0),
            is_taken: AtomicU32::new(1),
            is_on: IS_ON.load(Ordering::Acquire),
            below: Cell::new(null()),
            work: UnsafeCell::new(MaybeUninit::new((tree, Stack::default()))),
        });
        place.as_ref()
    };
    // Release: who sees it sees all of it.
    DESKS.get(part)?.store(place.as_ptr(), Ordering::Release);
    Some(desk)
}

/// Visits all.
pub fn each(mut f: impl FnMut(&'static Desk)) {
    for place in DESKS.iter().take(COUNT.load(Ordering::Acquire) as usize) {
        // SAFETY: null, or a desk, which stays.
        if let Some(desk) = unsafe { place.load(Ordering::Acquire).as_ref() } {
            f(desk);
        }
    }
}

/// In the child of a fork: all are the parent's.
pub fn forget_all() {
    let count = COUNT.swap(0, Ordering::Relaxed) as usize;
    BETWEEN.store(0, Ordering::Relaxed);
    for place in DESKS.iter().take(count) {
        place.store(null_mut(), Ordering::Relaxed);
    }
}

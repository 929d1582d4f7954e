//! One thread at a time: by the interpreter's lock, or by a lock of ours in a build that can run
//! without that.
//!
//! Ours is one of the interpreter's mutexes. A thread that waits for it lets go of what the
//! interpreter would wait for: so we may call the interpreter while we have it, and the interpreter
//! may stop all threads meanwhile. A thread that is there already may enter again.

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, Ordering};
use core::{mem, ptr};

use profundo_probe::regs;

use super::api::FreeThreaded;

type Function = unsafe extern "C" fn(*mut u8);

/// Something that one thread at a time may be in.
#[derive(Debug)]
pub struct Exclusive {
    /// The mutex: 0, or 1 while a thread has it; the interpreter adds a bit while others wait.
    mutex: AtomicU8,
    /// The thread that has it, by its `pthread_self`; 0: none.
    owner: AtomicU64,
}

/// The counts of calls, lines and exceptions.
pub static COUNTS: Exclusive = Exclusive::new();

const FREE: u8 = 0;
const HELD: u8 = 1;

/// True if threads run at the same time.
static IS_NEEDED: AtomicBool = AtomicBool::new(false);
/// The interpreter's functions, which wait and wake.
static LOCK: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
static UNLOCK: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Called once the interpreter is known.
pub(super) fn begin(functions: Option<FreeThreaded>) {
    if let Some(functions) = functions {
        LOCK.store(functions.lock as *mut (), Ordering::Relaxed);
        UNLOCK.store(functions.unlock as *mut (), Ordering::Relaxed);
        // Release: a thread that sees it sees the functions. Pairs with the acquire of `enter`.
        IS_NEEDED.store(true, Ordering::Release);
    }
}

/// True if threads run at the same time.
pub fn is_needed() -> bool {
    IS_NEEDED.load(Ordering::Relaxed)
}

/// The time that the calling thread is the only one there: until this is dropped.
#[derive(Debug)]
pub struct Alone(Option<&'static Exclusive>);

impl Exclusive {
    const fn new() -> Self {
        Self {
            mutex: AtomicU8::new(FREE),
            owner: AtomicU64::new(0),
        }
    }

    /// Waits until no other thread is there. The calling thread is one of the interpreter's, and
    /// holds its lock if there is one.
    #[inline]
    pub fn enter(&'static self) -> Alone {
        if !IS_NEEDED.load(Ordering::Acquire) {
            return Alone(None);
        }
        let thread = regs::thread_pointer();
        // Only this thread writes its own number, so that it reads it only if it is there.
        if self.owner.load(Ordering::Relaxed) == thread {
            return Alone(None);
        }
        // Acquire: pairs with the release of the thread that was there before.
        let taken = self
            .mutex
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_err() {
            self.call(&LOCK);
        }
        self.owner.store(thread, Ordering::Relaxed);
        Alone(Some(self))
    }

    #[cold]
    fn call(&self, function: &AtomicPtr<()>) {
        let function = function.load(Ordering::Relaxed);
        // SAFETY: the interpreter's function of that name has this type, and was found before a
        // thread came here. The mutex stays where it is.
        unsafe { mem::transmute::<*mut (), Function>(function)(self.mutex.as_ptr()) }
    }

    /// In the child of a fork: a thread that was there is with the parent.
    pub fn forked(&self) {
        if self.owner.load(Ordering::Relaxed) != regs::thread_pointer() {
            self.owner.store(0, Ordering::Relaxed);
            self.mutex.store(FREE, Ordering::Relaxed);
        }
    }
}

impl Drop for Alone {
    #[inline]
    fn drop(&mut self) {
        let Some(exclusive) = self.0 else { return };
        exclusive.owner.store(0, Ordering::Relaxed);
        // Release: the next thread sees all that was written.
        let freed =
            exclusive
                .mutex
                .compare_exchange(HELD, FREE, Ordering::Release, Ordering::Relaxed);
        if freed.is_err() {
            exclusive.call(&UNLOCK);
        }
    }
}

//! The interpreter's own allocators: that of its objects, and that of what belongs to them.
//!
//! They are replaced by ones of ours that call them, by the function that the interpreter has for
//! that: before it has begun, or with its lock held. Blocks stay as they are, so it does not matter
//! which of them came before and which after, or whether another tool replaces ours. Their own use
//! of `malloc` is part of the blocks that they hand out.
//!
//! **Ours find the allocator before them by themselves**, and are installed with its context. So a
//! thread that reads the interpreter's table while it is written, as an interpreter with a lock of
//! its own may, calls the one or the other, and both take what it passes.

mod arenas;
mod chain;
mod entries;

use core::ffi::{CStr, c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::memory::state;
use crate::symbols::{self, Scope};

type Block = *mut c_void;

/// `Py_IsFinalizing`; 0 where there is no interpreter.
static FINALIZING: AtomicUsize = AtomicUsize::new(0);

/// True if the interpreter is being shut down. Blocks that are freed then were kept until the end,
/// and blocks that are allocated then are for the shutdown itself.
#[inline]
pub fn is_finalizing() -> bool {
    let function = FINALIZING.load(Ordering::Relaxed);
    // SAFETY: the interpreter's function of that name, which looks at a word of its own.
    function != 0 && unsafe { transmute::<usize, unsafe extern "C" fn() -> c_int>(function)() != 0 }
}

/// True if an interpreter was ever shut down, or is being. Its threads may run on without it: their
/// structures in it are gone, and must not be read.
#[inline]
pub fn has_finalized() -> bool {
    static HAS_ENDED: AtomicBool = AtomicBool::new(false);
    if is_finalizing() {
        HAS_ENDED.store(true, Ordering::Relaxed);
    }
    HAS_ENDED.load(Ordering::Relaxed)
}

/// The interpreter's functions by which allocators are replaced.
struct Functions {
    get: usize,
    set: usize,
    get_arenas: usize,
    set_arenas: usize,
    is_initialized: usize,
}

impl Functions {
    /// Looks them up. `None`: the interpreter has none.
    fn find() -> Option<Self> {
        const NAMES: [&CStr; 7] = [
            c"PyMem_GetAllocator",
            c"PyMem_SetAllocator",
            c"_Py_IsFinalizing",
            c"Py_IsFinalizing",
            c"PyObject_GetArenaAllocator",
            c"PyObject_SetArenaAllocator",
            c"Py_IsInitialized",
        ];
        let mut found = [0; NAMES.len()];
        symbols::find_all(&NAMES, Scope::All, |index, symbol| {
            if let Some(place) = found.get_mut(index) {
                *place = symbol.address;
            }
        });
        let [
            get,
            set,
            old_name,
            new_name,
            get_arenas,
            set_arenas,
            is_initialized,
        ] = found;
        FINALIZING.store(
            if new_name != 0 { new_name } else { old_name },
            Ordering::Relaxed,
        );
        (get != 0 && set != 0).then_some(Self {
            get,
            set,
            get_arenas,
            set_arenas,
            is_initialized,
        })
    }

    /// True if the interpreter has begun.
    fn has_begun(&self) -> bool {
        let function = self.is_initialized;
        // SAFETY: the interpreter's function of that name, which looks at a word of its own.
        function != 0
            && unsafe { transmute::<usize, unsafe extern "C" fn() -> c_int>(function)() != 0 }
    }

    /// Puts ours in front.
    ///
    /// # Safety
    /// The interpreter has not begun, or its lock is held.
    unsafe fn begin(&self) {
        // SAFETY: the caller vouches, and the functions are the interpreter's of these names.
        unsafe {
            if self.get_arenas != 0 && self.set_arenas != 0 {
                arenas::begin(self.get_arenas, self.set_arenas);
            }
            chain::begin(self.get, self.set);
        }
    }
}

/// An interpreter was found. Puts ours in front, if allocations are recorded and it has not begun;
/// one that runs already is entered by the command.
pub fn found() {
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    if !state::is_on() {
        return;
    }
    let Some(functions) = Functions::find() else {
        return;
    };
    if symbols::is_late() && functions.has_begun() || IS_DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: it has not begun.
    unsafe { functions.begin() };
}

/// Puts ours in front, with the interpreter's lock held.
pub fn begin_inside() -> c_int {
    if !state::is_on() {
        return 0;
    }
    match Functions::find() {
        // SAFETY: the lock is held.
        Some(functions) => unsafe { functions.begin() },
        None => return profundo_probe::shared::refusal::NO_INTERPRETER,
    }
    0
}

/// Takes ours away, with the interpreter's lock held. Returns the number of those that stay,
/// because another tool has put itself in front of them: they pass all calls on.
pub fn end_inside() -> c_int {
    let Some(functions) = Functions::find() else {
        return 0;
    };
    // From here on nothing counts: a block that is freed later would seem to be there still.
    state::leave();
    // SAFETY: the lock is held, and the functions are the interpreter's of these names.
    unsafe {
        let mut stay = chain::end(functions.get, functions.set);
        if functions.get_arenas != 0 && functions.set_arenas != 0 {
            stay += arenas::end(functions.get_arenas, functions.set_arenas);
        }
        stay
    }
}

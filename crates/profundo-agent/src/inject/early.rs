//! Entering the interpreter as soon as it has begun, in a program that the command started.
//!
//! No callback marks its beginning. But it makes objects all the time, by functions that can be
//! replaced before: ours checks at each call whether it has begun, then asks to be let in, and
//! restores the former one.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_int, c_void};
use core::mem::{MaybeUninit, transmute};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use profundo_probe::shared::refusal;

use super::{api, builtin, collections};
use crate::symbols::{self, Scope};
use crate::{calls, session};

type Malloc = unsafe extern "C-unwind" fn(*mut c_void, usize) -> *mut c_void;
type Calloc = unsafe extern "C-unwind" fn(*mut c_void, usize, usize) -> *mut c_void;
type Realloc = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, usize) -> *mut c_void;
type Free = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

/// `PyMemAllocatorEx`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Allocator {
    context: *mut c_void,
    malloc: Malloc,
    calloc: Calloc,
    realloc: Realloc,
    free: Free,
}

/// The allocator that was there before.
struct Before(UnsafeCell<MaybeUninit<Allocator>>);

// SAFETY: written before the interpreter has ours.
unsafe impl Sync for Before {}

static BEFORE: Before = Before(UnsafeCell::new(MaybeUninit::uninit()));
static HAS_BEGUN: AtomicUsize = AtomicUsize::new(0);
static GET: AtomicUsize = AtomicUsize::new(0);
static SET: AtomicUsize = AtomicUsize::new(0);

/// `PYMEM_DOMAIN_OBJ`: objects are made with the lock held.
const OBJECTS: c_int = 2;

/// `Py_IsInitialized`, which looks at a word.
type HasBegun = unsafe extern "C" fn() -> c_int;

type Exchange = unsafe extern "C" fn(c_int, *mut Allocator);

/// Enters as soon as possible, if anything is wanted there. The interpreter was found. One that has
/// begun is entered by the command: its allocators are not ours to replace without its lock, and
/// nothing may be counted that the command was refused.
pub fn watch() {
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    if !wants_collections() && !wants_builtin() && calls::wanted() == 0 {
        return;
    }
    const NAMES: [&CStr; 3] = [
        c"PyMem_GetAllocator",
        c"PyMem_SetAllocator",
        c"Py_IsInitialized",
    ];
    let mut found = [0; NAMES.len()];
    symbols::find_all(&NAMES, Scope::All, |index, symbol| {
        if let Some(place) = found.get_mut(index) {
            *place = symbol.address;
        }
    });
    let [get, set, has_begun] = found;
    if found.contains(&0) {
        return;
    }
    // SAFETY: the interpreter's function of that name has this type.
    let is_running = || unsafe { transmute::<usize, HasBegun>(has_begun)() != 0 };
    if symbols::is_late() && is_running() || IS_DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    HAS_BEGUN.store(has_begun, Ordering::Relaxed);
    GET.store(get, Ordering::Relaxed);
    SET.store(set, Ordering::Relaxed);
    // SAFETY: the interpreter's functions of these names have these types, and may be called before
    // it begins.
    unsafe {
        let before = BEFORE.0.get().cast::<Allocator>();
        transmute::<usize, Exchange>(get)(OBJECTS, before);
        let mut ours = Allocator {
            malloc,
            ..before.read()
        };
        transmute::<usize, Exchange>(set)(OBJECTS, &mut ours);
    }
}

fn wants_builtin() -> bool {
    session::control().is_some_and(|control| control.builtin.load(Ordering::Relaxed) != 0)
}

fn wants_collections() -> bool {
    session::control().is_some_and(|control| control.collections.load(Ordering::Relaxed) != 0)
}

/// True if our function was ever called.
static IS_CALLED: AtomicBool = AtomicBool::new(false);

/// Installs our function again if the interpreter has replaced it, as it does early where its
/// settings say so (`PYTHONMALLOC`). Once it makes objects it does not: an allocator that was
/// installed later calls ours.
pub fn reinstall() {
    let (get, set) = (GET.load(Ordering::Relaxed), SET.load(Ordering::Relaxed));
    if get == 0 || set == 0 || IS_CALLED.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: as in `watch`; the interpreter is about to begin, on this thread.
    unsafe {
        let mut now = MaybeUninit::<Allocator>::uninit();
        transmute::<usize, Exchange>(get)(OBJECTS, now.as_mut_ptr());
        let now = now.assume_init();
        if now.malloc as usize != malloc as *const () as usize {
            BEFORE.0.get().cast::<Allocator>().write(now);
            let mut ours = Allocator { malloc, ..now };
            transmute::<usize, Exchange>(set)(OBJECTS, &mut ours);
        }
    }
}

/// Our allocation function; the others are those that were there before.
unsafe extern "C-unwind" fn malloc(context: *mut c_void, size: usize) -> *mut c_void {
    IS_CALLED.store(true, Ordering::Relaxed);
    // SAFETY: it was written before.
    let before = unsafe { &*BEFORE.0.get().cast::<Allocator>() };
    go_in_if_begun();
    // SAFETY: the interpreter's arguments, passed on.
    unsafe { (before.malloc)(context, size) }
}

#[inline]
fn go_in_if_begun() {
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    let has_begun = HAS_BEGUN.load(Ordering::Relaxed);
    if IS_DONE.load(Ordering::Relaxed) || has_begun == 0 {
        return;
    }
    // SAFETY: the interpreter's function of that name.
    let has_begun = unsafe { transmute::<usize, HasBegun>(has_begun)() };
    if has_begun == 0 || IS_DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    take_back();
    match api::find() {
        // SAFETY: the function may be called at any time; ours keeps to its contract.
        Ok(api) => _ = unsafe { (api.add_pending_call)(inside, null_mut()) },
        Err(refusal::FREE_THREADED) if calls::wanted() != 0 => {
            calls::refuse(refusal::FREE_THREADED);
        }
        Err(_) => {}
    }
}

/// Called by the interpreter's main thread, which holds the lock.
unsafe extern "C" fn inside(_: *mut c_void) -> c_int {
    if wants_collections() {
        collections::begin(null_mut());
    }
    if calls::wanted() != 0 {
        match symbols::is_late() {
            // The agent leaves again, and takes all of it back.
            true => _ = calls::begin_late(),
            false => calls::begin(),
        }
    }
    // After a decorator that does more.
    if wants_builtin() {
        builtin::offer();
    }
    0
}

/// Restores the former allocator, unless another one has been installed meanwhile, which calls
/// ours.
fn take_back() {
    let (get, set) = (GET.load(Ordering::Relaxed), SET.load(Ordering::Relaxed));
    // SAFETY: as in `watch`; the lock is held, since an object is being made.
    unsafe {
        let mut now = MaybeUninit::<Allocator>::uninit();
        transmute::<usize, Exchange>(get)(OBJECTS, now.as_mut_ptr());
        if now.assume_init().malloc as usize == malloc as *const () as usize {
            let mut before = BEFORE.0.get().cast::<Allocator>().read();
            transmute::<usize, Exchange>(set)(OBJECTS, &mut before);
        }
    }
}

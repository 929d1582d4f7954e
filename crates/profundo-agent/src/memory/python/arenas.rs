//! The allocator of the arenas that small blocks lie in: arenas are room for blocks, and not
//! blocks.

use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::mem::{MaybeUninit, transmute};
use core::sync::atomic::{AtomicBool, Ordering};

use super::Block;
use crate::home;
use crate::memory::local::local;

/// `PyObjectArenaAllocator`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Arenas {
    context: *mut c_void,
    alloc: unsafe extern "C-unwind" fn(*mut c_void, usize) -> Block,
    free: unsafe extern "C-unwind" fn(*mut c_void, Block, usize),
}

/// The one that was there before ours.
struct Before(UnsafeCell<MaybeUninit<Arenas>>);

// SAFETY: written before the interpreter has ours.
unsafe impl Sync for Before {}

static BEFORE: Before = Before(UnsafeCell::new(MaybeUninit::uninit()));
static HAS_BEEN: AtomicBool = AtomicBool::new(false);

type Exchange = unsafe extern "C" fn(*mut Arenas);

/// Installs ours in front of the interpreter's. Behind another tool's they stay where they are.
///
/// # Safety
/// The functions are `PyObject_GetArenaAllocator` and `PyObject_SetArenaAllocator`, and the
/// interpreter has not begun, or its lock is held.
pub(super) unsafe fn begin(get: usize, set: usize) {
    // SAFETY: the caller vouches.
    unsafe {
        let now = now(get);
        if HAS_BEEN.load(Ordering::Relaxed) {
            let before = BEFORE.0.get().cast::<Arenas>().read();
            if now.alloc as usize != before.alloc as usize {
                return;
            }
        }
        BEFORE.0.get().cast::<Arenas>().write(now);
        HAS_BEEN.store(true, Ordering::Relaxed);
        let mut ours = Arenas {
            context: now.context,
            alloc: arena,
            free: arena_gone,
        };
        transmute::<usize, Exchange>(set)(&mut ours);
    }
}

/// Takes ours away, if they are in front. Returns 1 if they stay.
///
/// # Safety
/// As for [`begin`].
pub(super) unsafe fn end(get: usize, set: usize) -> i32 {
    if !HAS_BEEN.load(Ordering::Relaxed) {
        return 0;
    }
    // SAFETY: the caller vouches.
    unsafe {
        let now = now(get);
        let mut before = BEFORE.0.get().cast::<Arenas>().read();
        if now.alloc as usize == arena as *const () as usize {
            transmute::<usize, Exchange>(set)(&mut before);
            return 0;
        }
        i32::from(now.alloc as usize != before.alloc as usize)
    }
}

/// # Safety
/// As for [`begin`].
unsafe fn now(get: usize) -> Arenas {
    let mut now = MaybeUninit::uninit();
    // SAFETY: the caller vouches; the function fills it in.
    unsafe {
        transmute::<usize, Exchange>(get)(now.as_mut_ptr());
        now.assume_init()
    }
}

unsafe extern "C-unwind" fn arena(_: *mut c_void, bytes: usize) -> Block {
    let local = local();
    let left = local.take();
    // SAFETY: ours is called, so it was installed; the arguments are the interpreter's.
    let arena = unsafe {
        let before = BEFORE.0.get().cast::<Arenas>().read();
        (before.alloc)(before.context, bytes)
    };
    local.set(left);
    if !arena.is_null() {
        note_arenas(|now| now.saturating_add(bytes as u64));
    }
    arena
}

unsafe extern "C-unwind" fn arena_gone(_: *mut c_void, arena: Block, bytes: usize) {
    // SAFETY: as above.
    unsafe {
        let before = BEFORE.0.get().cast::<Arenas>().read();
        (before.free)(before.context, arena, bytes);
    }
    // It may be one from before the agent came.
    note_arenas(|now| now.saturating_sub(bytes as u64));
}

#[cold]
fn note_arenas(change: impl Fn(u64) -> u64) {
    if let Some(home) = home::current() {
        let arenas = &home.ring().header.memory.arenas;
        let order = Ordering::Relaxed;
        let _ = arenas.fetch_update(order, order, |now| Some(change(now)));
    }
}

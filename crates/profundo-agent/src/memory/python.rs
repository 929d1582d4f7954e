//! The interpreter's own allocators: that of its objects, and that of what belongs to them.
//!
//! They are replaced by ones of ours that call them, by the function that the interpreter has for
//! that, before it has begun. Blocks stay as they are, so it does not matter which of them came
//! before and which after, or whether another tool replaces ours. Their own use of `malloc` is part
//! of the blocks that they hand out.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_int, c_void};
use core::mem::{MaybeUninit, offset_of, transmute};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use profundo_wire::Source;

use crate::home;
use crate::memory::counting::{counted, resized};
use crate::memory::entry::{caller, counting_entries, entries, freeing_entries};
use crate::memory::local::local;
use crate::memory::{ends, state};
use crate::symbols::{self, Scope};

type Block = *mut c_void;

type Malloc = unsafe extern "C-unwind" fn(*mut c_void, usize) -> Block;
type Calloc = unsafe extern "C-unwind" fn(*mut c_void, usize, usize) -> Block;
type Free = unsafe extern "C-unwind" fn(*mut c_void, Block);
type Realloc = unsafe extern "C-unwind" fn(*mut c_void, Block, usize) -> Block;

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

/// The allocators that were there before ours.
struct Before(UnsafeCell<MaybeUninit<[Allocator; 2]>>);

// SAFETY: written before the interpreter has ours.
unsafe impl Sync for Before {}

static BEFORE: Before = Before(UnsafeCell::new(MaybeUninit::uninit()));

/// `PYMEM_DOMAIN_MEM` and `PYMEM_DOMAIN_OBJ`. Memory outside of both is `malloc`'s.
const DOMAINS: [c_int; 2] = [1, 2];

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

/// Installs ours in front of the interpreter's, if allocations are recorded.
pub fn install() {
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    if !state::is_on() || IS_DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    const NAMES: [&CStr; 6] = [
        c"PyMem_GetAllocator",
        c"PyMem_SetAllocator",
        c"_Py_IsFinalizing",
        c"Py_IsFinalizing",
        c"PyObject_GetArenaAllocator",
        c"PyObject_SetArenaAllocator",
    ];
    let mut found = [0; NAMES.len()];
    symbols::find_all(&NAMES, Scope::All, |index, symbol| {
        if let Some(place) = found.get_mut(index) {
            *place = symbol.address;
        }
    });
    let [get, set, old_name, new_name, get_arenas, set_arenas] = found;
    FINALIZING.store(
        if new_name != 0 { new_name } else { old_name },
        Ordering::Relaxed,
    );
    if get == 0 || set == 0 {
        return;
    }
    // SAFETY: the interpreter's functions of these names have these types, and may be called before
    // it begins.
    unsafe {
        if get_arenas != 0 && set_arenas != 0 {
            watch_arenas(get_arenas, set_arenas);
        }
        let get = transmute::<usize, unsafe extern "C" fn(c_int, *mut Allocator)>(get);
        let set = transmute::<usize, unsafe extern "C" fn(c_int, *mut Allocator)>(set);
        let before = BEFORE.0.get().cast::<Allocator>();
        for (index, domain) in DOMAINS.into_iter().enumerate() {
            let before = before.add(index);
            get(domain, before);
            let mut ours = Allocator {
                context: before.cast(),
                malloc: transmute::<*const (), Malloc>(malloc as *const ()),
                calloc: transmute::<*const (), Calloc>(calloc as *const ()),
                realloc: transmute::<*const (), Realloc>(realloc as *const ()),
                free: transmute::<*const (), Free>(free as *const ()),
            };
            set(domain, &mut ours);
        }
    }
}

counting_entries! {
    malloc(2: "mov rax, rsi\ncmp rsi, {small}\nja 5f") =>
        "mov rax, qword ptr [rdi + {malloc}]\nmov rdi, qword ptr [rdi + {context}]\njmp rax", {
        small = const SMALL,
        malloc = const offset_of!(Allocator, malloc),
        context = const offset_of!(Allocator, context),
    }, malloc_from;
}

freeing_entries! {
    free("rsi") =>
        "mov rax, qword ptr [rdi + {free}]\nmov rdi, qword ptr [rdi + {context}]\njmp rax", {
        free = const offset_of!(Allocator, free),
        context = const offset_of!(Allocator, context),
    }, free_from;
}

entries! {
    calloc(3) => calloc_from;
    realloc(3) => realloc_from;
}

/// Blocks larger than this come from `malloc`, by the interpreter's allocator for small blocks.
const SMALL: usize = 512;

unsafe extern "C-unwind" fn malloc_from(
    before: *const Allocator,
    size: usize,
    stack: *const u64,
    frame: u64,
    base: u64,
) -> Block {
    // SAFETY: the context is the allocator before; the arguments are the interpreter's.
    let get = || unsafe { ((*before).malloc)((*before).context, size) };
    // SAFETY: this is called by an entry.
    let caller = || unsafe { caller(stack, frame, base) };
    counted(size, Source::Python, get, caller)
}

unsafe extern "C-unwind" fn calloc_from(
    before: *const Allocator,
    many: usize,
    size: usize,
    stack: *const u64,
    frame: u64,
    base: u64,
) -> Block {
    // SAFETY: as above.
    let get = || unsafe { ((*before).calloc)((*before).context, many, size) };
    // SAFETY: this is called by an entry.
    let caller = || unsafe { caller(stack, frame, base) };
    counted(many.saturating_mul(size), Source::Python, get, caller)
}

unsafe extern "C-unwind" fn realloc_from(
    before: *const Allocator,
    old: Block,
    size: usize,
    stack: *const u64,
    frame: u64,
    base: u64,
) -> Block {
    // SAFETY: as above.
    let get = || unsafe { ((*before).realloc)((*before).context, old, size) };
    // SAFETY: this is called by an entry.
    let caller = || unsafe { caller(stack, frame, base) };
    resized(old, size, Source::Python, get, caller)
}

unsafe extern "C-unwind" fn free_from(before: *const Allocator, block: Block) {
    ends::freed(block as u64);
    // SAFETY: as above.
    unsafe { ((*before).free)((*before).context, block) };
}

/// The allocator of the arenas that small blocks lie in.
#[derive(Clone, Copy)]
#[repr(C)]
struct Arenas {
    context: *mut c_void,
    alloc: unsafe extern "C-unwind" fn(*mut c_void, usize) -> Block,
    free: unsafe extern "C-unwind" fn(*mut c_void, Block, usize),
}

struct ArenasBefore(UnsafeCell<MaybeUninit<Arenas>>);

// SAFETY: as for the allocators.
unsafe impl Sync for ArenasBefore {}

static ARENAS: ArenasBefore = ArenasBefore(UnsafeCell::new(MaybeUninit::uninit()));

/// Installs ours in front of the interpreter's: arenas are room for blocks, and not blocks.
///
/// # Safety
/// The functions are `PyObject_GetArenaAllocator` and `PyObject_SetArenaAllocator`, and this is
/// called once.
unsafe fn watch_arenas(get: usize, set: usize) {
    // SAFETY: the caller vouches.
    unsafe {
        let get = transmute::<usize, unsafe extern "C" fn(*mut Arenas)>(get);
        let set = transmute::<usize, unsafe extern "C" fn(*mut Arenas)>(set);
        let before = ARENAS.0.get().cast::<Arenas>();
        get(before);
        let mut ours = Arenas {
            context: before.cast(),
            alloc: arena,
            free: arena_gone,
        };
        set(&mut ours);
    }
}

unsafe extern "C-unwind" fn arena(before: *mut c_void, bytes: usize) -> Block {
    let before: *const Arenas = before.cast_const().cast();
    let local = local();
    let left = local.take();
    // SAFETY: the context is the allocator before; the arguments are the interpreter's.
    let arena = unsafe { ((*before).alloc)((*before).context, bytes) };
    local.set(left);
    if !arena.is_null() {
        note_arenas(bytes as u64);
    }
    arena
}

unsafe extern "C-unwind" fn arena_gone(before: *mut c_void, arena: Block, bytes: usize) {
    let before: *const Arenas = before.cast_const().cast();
    // SAFETY: as above.
    unsafe { ((*before).free)((*before).context, arena, bytes) };
    note_arenas((bytes as u64).wrapping_neg());
}

#[cold]
fn note_arenas(bytes: u64) {
    if let Some(home) = home::current() {
        let arenas = &home.ring().header.memory.arenas;
        arenas.fetch_add(bytes, Ordering::Relaxed);
    }
}

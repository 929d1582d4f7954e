//! The functions that allocate and free memory.

#![expect(non_snake_case, reason = "the names are those of the C++ compiler's")]

use core::ffi::{c_char, c_int, c_void};

use crate::following::functions;

type Block = *mut c_void;

functions! {
    malloc: fn(usize) -> Block;
    free: fn(Block) -> ();
    calloc: fn(usize, usize) -> Block;
    realloc: fn(Block, usize) -> Block;
    reallocarray: fn(Block, usize, usize) -> Block;
    memalign: fn(usize, usize) -> Block;
    aligned_alloc: fn(usize, usize) -> Block;
    posix_memalign: fn(*mut Block, usize, usize) -> c_int;
    valloc: fn(usize) -> Block;
    pvalloc: fn(usize) -> Block;
    mmap: fn(Block, usize, c_int, c_int, c_int, i64) -> Block;
    mmap64 or mmap: fn(Block, usize, c_int, c_int, c_int, i64) -> Block;
    munmap: fn(Block, usize) -> c_int;
    mremap: fn(Block, usize, usize, c_int, Block) -> Block;
    sbrk: fn(isize) -> Block;
    _Znwm: fn(usize) -> Block;
    _Znam: fn(usize) -> Block;
    _ZnwmRKSt9nothrow_t: fn(usize, *const c_char) -> Block;
    _ZnamRKSt9nothrow_t: fn(usize, *const c_char) -> Block;
    _ZnwmSt11align_val_t: fn(usize, usize) -> Block;
    _ZnamSt11align_val_t: fn(usize, usize) -> Block;
    _ZnwmSt11align_val_tRKSt9nothrow_t: fn(usize, usize, *const c_char) -> Block;
    _ZnamSt11align_val_tRKSt9nothrow_t: fn(usize, usize, *const c_char) -> Block;
    _ZdlPv: fn(Block) -> ();
    _ZdaPv: fn(Block) -> ();
    _ZdlPvm: fn(Block, usize) -> ();
    _ZdaPvm: fn(Block, usize) -> ();
    _ZdlPvRKSt9nothrow_t: fn(Block, *const c_char) -> ();
    _ZdaPvRKSt9nothrow_t: fn(Block, *const c_char) -> ();
    _ZdlPvSt11align_val_t: fn(Block, usize) -> ();
    _ZdaPvSt11align_val_t: fn(Block, usize) -> ();
    _ZdlPvmSt11align_val_t: fn(Block, usize, usize) -> ();
    _ZdaPvmSt11align_val_t: fn(Block, usize, usize) -> ();
    _ZdlPvSt11align_val_tRKSt9nothrow_t: fn(Block, usize, *const c_char) -> ();
    _ZdaPvSt11align_val_tRKSt9nothrow_t: fn(Block, usize, *const c_char) -> ();
}

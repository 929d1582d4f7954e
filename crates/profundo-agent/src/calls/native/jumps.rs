//! Jumps out of functions (`longjmp`): these are over, and do not tell.

use core::arch::asm;
use core::ffi::{c_int, c_ulong};

use super::{local, now, place, sit_down_at_own};
use crate::next_symbols::{self, Jump};

/// Where in what `setjmp` has kept the stack pointer stands.
const STACK: usize = 6;

/// What the C library does to addresses that it keeps.
const ROTATED: u32 = 17;

/// # Safety
/// As for `longjmp`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn longjmp(kept: *const c_ulong, value: c_int) -> ! {
    // SAFETY: the caller's arguments, passed on.
    unsafe { jump(next_symbols::longjmp(), kept, value) }
}

/// # Safety
/// As for `_longjmp`, which is the same function of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _longjmp(kept: *const c_ulong, value: c_int) -> ! {
    // SAFETY: as above.
    unsafe { jump(next_symbols::longjmp(), kept, value) }
}

/// # Safety
/// As for `siglongjmp`, which is the same function of the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn siglongjmp(kept: *const c_ulong, value: c_int) -> ! {
    // SAFETY: as above.
    unsafe { jump(next_symbols::longjmp(), kept, value) }
}

/// # Safety
/// As for `__longjmp_chk`, which the compiler puts in the place of the others if it is to check them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __longjmp_chk(kept: *const c_ulong, value: c_int) -> ! {
    // SAFETY: as above.
    unsafe { jump(next_symbols::__longjmp_chk(), kept, value) }
}

/// # Safety
/// As for `longjmp`.
unsafe fn jump(real: Option<Jump>, kept: *const c_ulong, value: c_int) -> ! {
    // SAFETY: passed on. There is nothing here that would have to be dropped.
    unsafe {
        if !local::thread_tree().is_null() {
            drop_what_ends(kept);
        }
        match real {
            Some(real) => real(kept, value),
            // Nobody can go on from here.
            None => libc::abort(),
        }
    }
}

/// # Safety
/// As for `longjmp`.
unsafe fn drop_what_ends(kept: *const c_ulong) {
    let guard: u64;
    // SAFETY: the C library keeps it there for each thread, and the caller vouches for what it has kept itself.
    let stack = unsafe {
        asm!("mov {guard}, qword ptr fs:[0x30]", guard = out(reg) guard, options(nostack, readonly));
        kept.add(STACK).read().rotate_right(ROTATED) ^ guard
    };
    let Some(thread_tree) = sit_down_at_own() else {
        return;
    };
    // SAFETY: this thread has entered the thread tree, and no other thread uses it.
    unsafe {
        let (tree, calls) = thread_tree.work();
        // A function told of its beginning with its own return address on the stack, and those that it called lie below that.
        tree.drop_past(calls, place(stack).wrapping_sub(1), now());
    }
    thread_tree.leave();
}

//! Jumps out of functions (`longjmp`): these are over, and do not report it.

use core::arch::asm;
use core::ffi::{c_int, c_ulong};

use crate::calls::native_calls::{enter_current_tree, local, now, place};
use crate::interpose::interpose;
use crate::next_symbols::{self, Jump};

/// The index of the stack pointer in the buffer of `setjmp`.
const STACK: usize = 6;

/// The rotation by which the C library mangles addresses that it keeps.
const ROTATED: u32 = 17;

interpose! {
    extern "C" fn longjmp(kept: *const c_ulong, value: c_int) -> ! {
        jump(next_symbols::longjmp(), kept, value)
    }

    // The C library has one function of these three names.
    extern "C" fn _longjmp(kept: *const c_ulong, value: c_int) -> ! {
        jump(next_symbols::longjmp(), kept, value)
    }

    extern "C" fn siglongjmp(kept: *const c_ulong, value: c_int) -> ! {
        jump(next_symbols::longjmp(), kept, value)
    }

    // With `_FORTIFY_SOURCE` the compiler calls it in place of the others.
    extern "C" fn __longjmp_chk(kept: *const c_ulong, value: c_int) -> ! {
        jump(next_symbols::__longjmp_chk(), kept, value)
    }
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
            // The program cannot go on from here.
            None => libc::abort(),
        }
    }
}

/// # Safety
/// As for `longjmp`.
unsafe fn drop_what_ends(kept: *const c_ulong) {
    let guard: u64;
    // SAFETY: the C library keeps it there for each thread, and the caller vouches for what it has
    // kept itself.
    let stack = unsafe {
        asm!("mov {guard}, qword ptr fs:[0x30]", guard = out(reg) guard, options(nostack, readonly));
        kept.add(STACK).read().rotate_right(ROTATED) ^ guard
    };
    let Some(thread_tree) = enter_current_tree() else {
        return;
    };
    // SAFETY: this thread has entered the thread tree, and no other thread uses it.
    unsafe {
        let (tree, calls) = thread_tree.work();
        // A function reported its beginning with its own return address on the stack, and the
        // functions that it called lie below that.
        tree.drop_past(calls, place(stack).wrapping_sub(1), now());
    }
    thread_tree.leave();
}

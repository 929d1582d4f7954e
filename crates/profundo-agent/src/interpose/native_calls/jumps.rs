//! Jumps out of functions (`longjmp`): these are over, and do not report it.

use core::ffi::{c_int, c_ulong};

use crate::calls::native_calls::{enter_current_tree, local, now, place};
use crate::interpose::interpose;
use crate::machine;
use crate::next_symbols::{self, Jump};

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
    // SAFETY: the caller vouches.
    let stack = unsafe { machine::stack_of_jump(kept) };
    let Some(thread_tree) = enter_current_tree() else {
        return;
    };
    // SAFETY: this thread has entered the thread tree, and no other thread uses it.
    unsafe {
        let (tree, calls) = thread_tree.work();
        // A function reported its beginning with the hook's return address on the stack, if that
        // is where calls put it, and the functions that it called lie below that.
        tree.drop_past(calls, place(stack.wrapping_sub(machine::CALL_BYTES)), now());
    }
    thread_tree.leave();
}

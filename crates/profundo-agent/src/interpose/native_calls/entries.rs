//! Native functions that were built with `-pg`: each calls `mcount` where it begins, or
//! `__fentry__` before anything else, and nothing when it ends.
//!
//! On x86-64 the caller does not expect that any register changes, those for vectors included.
//! After us the C library's function is called as if by the program, so `gmon.out` is what it would
//! be.
//!
//! The caller is found by the frame pointer, which such functions keep. At `__fentry__` it is not
//! the function's own yet, so no caller is known.

use core::arch::naked_asm;

use profundo_probe::calls::EndlessCall;

use crate::calls::native_calls::thread_tree::ThreadTree;
use crate::calls::native_calls::{
    BEGINNINGS, enter_current_tree, enter_new_tree, is_counted_by, missed, place,
};
use crate::machine::beginning;
use crate::{next_symbols, start};

beginning!(mcount, count);
beginning!(_mcount, count);
beginning!(__fentry__, count_alone);

/// The function to call where the C library has none.
#[unsafe(naked)]
unsafe extern "C" fn nothing() {
    naked_asm!("ret")
}

/// The calling thread's tree, entered.
#[inline]
fn enter_thread_tree() -> Option<&'static ThreadTree> {
    enter_current_tree().or_else(|| {
        // A library that was initialised before us may have called.
        start::ensure();
        enter_new_tree()
    })
}

/// Counts a call of the function that contains this address, and returns the next function to call.
/// `frame`: where the function keeps its caller's frame pointer and, above that, its return
/// address.
unsafe extern "C" fn count(address: u64, frame: *const [u64; 2]) -> usize {
    if !is_counted_by(BEGINNINGS) {
        // The other instrumentation reports it.
    } else if let Some(thread_tree) = enter_thread_tree() {
        // SAFETY: this thread has entered the thread tree, and no other thread uses it. The frame
        // is the function's own. Its caller's is read if it lies where a counted one was.
        unsafe {
            let [outer, from] = frame.read();
            let (tree, calls) = thread_tree.work();
            let returns_to = || (outer as *const [u64; 2]).read()[1];
            let call = EndlessCall {
                address,
                from,
                place: place(frame as u64),
                outer: place(outer),
            };
            tree.enter_from(calls, call, returns_to);
        }
        thread_tree.leave_at_once();
    } else {
        missed();
    }
    next_symbols::mcount().map_or(nothing as *const () as usize, |function| {
        function as *const () as usize
    })
}

/// Counts a call whose caller is not known.
unsafe extern "C" fn count_alone(address: u64, _: *const [u64; 2]) -> usize {
    if !is_counted_by(BEGINNINGS) {
        // The other instrumentation reports it.
    } else if let Some(thread_tree) = enter_thread_tree() {
        // SAFETY: as above.
        unsafe {
            let (tree, calls) = thread_tree.work();
            tree.enter_alone(calls, address);
        }
        thread_tree.leave_at_once();
    } else {
        missed();
    }
    next_symbols::__fentry__().map_or(nothing as *const () as usize, |function| {
        function as *const () as usize
    })
}

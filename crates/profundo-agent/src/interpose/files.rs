//! Opening files: some are the files of the compiler's counters.

use core::ffi::{c_char, c_int, c_uint};

use crate::calls::native_calls::compiler_counters::before_open;
use crate::interpose::interpose;
use crate::next_symbols::missing;

interpose! {
    // If the third argument is missing, it is not used.
    extern "C" fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
        let next = open or missing();
        before_open(path);
        next(path, flags, mode)
    }

    extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
        let next = open64 or missing();
        before_open(path);
        next(path, flags, mode)
    }
}

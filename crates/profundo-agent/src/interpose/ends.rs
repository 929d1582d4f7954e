//! Calls that end the process at once.

use core::ffi::c_int;

use crate::ends::note;
use crate::interpose::interpose;
use crate::next_symbols;

interpose! {
    extern "C" fn _exit(code: c_int) -> ! {
        note(code);
        leave(next_symbols::_exit(), code)
    }

    #[allow(non_snake_case)]
    extern "C" fn _Exit(code: c_int) -> ! {
        note(code);
        leave(next_symbols::_exit(), code)
    }

    extern "C-unwind" fn quick_exit(code: c_int) -> ! {
        note(code);
        leave(next_symbols::quick_exit(), code)
    }
}

/// Ends the process as the C library would, even if its function could not be found.
fn leave(real: Option<unsafe extern "C-unwind" fn(c_int) -> !>, code: c_int) -> ! {
    // SAFETY: the caller's argument, passed on; else the kernel's own call, which does not return.
    unsafe {
        if let Some(real) = real {
            real(code);
        }
        loop {
            profundo_probe::sys::call(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0, 0]);
        }
    }
}

//! The ends of the process and of its threads, as far as they can be observed.

use core::ffi::{c_int, c_void};
use core::ptr;

use crate::home::{self, Home, Whose};
use crate::{command, left, lifecycle, memory, next_symbols, session, threads};

/// Registers with the C library for the end of a thread, and for a return from `main` or a call of
/// `exit`. Functions that were registered first are called last.
pub fn watch() {
    threads::make_key(thread_ends);
    /// The code is not told to functions of `__cxa_atexit`.
    const UNKNOWN: c_int = -1;
    unsafe extern "C" fn at_unknown_exit(_: *mut c_void) {
        // SAFETY: takes nothing.
        unsafe { at_exit(UNKNOWN, ptr::null_mut()) };
    }
    unsafe extern "C" fn at_exit(code: c_int, _: *mut c_void) {
        note(code);
        // Whose memory the home is takes a system call.
        if left::has_left() {
            return;
        }
        if let Some(home) = recorded_home() {
            memory::search_unreachable(home);
        }
    }
    // SAFETY: the functions may be called at any time, and stay.
    unsafe {
        if let Some(on_exit) = next_symbols::on_exit() {
            on_exit(at_exit, ptr::null_mut());
        } else if let Some(register) = next_symbols::__cxa_atexit() {
            register(at_unknown_exit, ptr::null_mut(), ptr::null_mut());
        }
    }
}

/// The home, if this process has entered itself and has a ring.
fn recorded_home() -> Option<Home> {
    home::home().filter(|home| home.whose() == Whose::Ours && home.records())
}

/// Reports the end of the process: in its ring, or, if it has none or borrows its parent's memory,
/// among the last words. A program that restricts its system calls makes none for us.
pub fn note(code: c_int) {
    if left::has_left() {
        // Memory of ours needs no system call.
        return lifecycle::end(None, code);
    }
    lifecycle::before_end();
    if let Some(home) = recorded_home() {
        return lifecycle::end(Some(home), code);
    }
    if let Some(control) = session::control().filter(|control| command::has_not_ended(control)) {
        session::write_farewell(control, code);
    }
}

/// The destructor of the key: a thread ends.
unsafe extern "C" fn thread_ends(value: *mut c_void) {
    if threads::is_called_again(value) {
        return;
    }
    if left::has_left() {
        // Whose memory this is could only be found by a system call.
        return lifecycle::end_thread(None);
    }
    if let Some(home) = home::current() {
        lifecycle::end_thread(Some(home));
    }
}

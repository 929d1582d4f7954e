//! A process that lets its parent trace it: every SIGTRAP stops it then, and its tracer takes each for
//! something of its own.

use core::ffi::{c_long, c_uint, c_void};

use libc::pid_t;

use crate::{next_symbols, traps};

/// Before a call of `ptrace`.
pub fn before(request: c_uint) {
    if request == libc::PTRACE_TRACEME {
        traps::before_trace();
    }
}

/// # Safety
/// As for `ptrace`, whose arguments are read as often as they are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptrace(
    request: c_uint,
    process: pid_t,
    address: *mut c_void,
    data: *mut c_void,
) -> c_long {
    before(request);
    match next_symbols::ptrace() {
        // SAFETY: the caller's arguments, passed on.
        Some(real) => unsafe { real(request, process, address, data) },
        None => next_symbols::missing().into(),
    }
}

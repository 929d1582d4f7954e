//! A process that lets its parent trace it: every SIGTRAP stops it then, and its tracer takes each
//! for something of its own.

use core::ffi::{c_long, c_uint, c_void};

use libc::pid_t;

use crate::interpose::interpose;
use crate::next_symbols::missing;
use crate::signals::traps;

interpose! {
    // Only those arguments are read that are there.
    extern "C" fn ptrace(
        request: c_uint,
        process: pid_t,
        address: *mut c_void,
        data: *mut c_void,
    ) -> c_long {
        let next = ptrace or missing().into();
        before(request);
        next(request, process, address, data)
    }
}

/// Before a call of `ptrace`.
pub fn before(request: c_uint) {
    /// As the kernel has it; C libraries differ in the type.
    const TRACE_ME: c_uint = 0;
    if request == TRACE_ME {
        traps::before_trace();
    }
}

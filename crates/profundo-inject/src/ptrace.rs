//! Requests to the kernel about a traced thread.

use std::io;

/// Reads a thread's mask of signals.
pub(super) const PTRACE_GETSIGMASK: libc::c_uint = 0x420a;
/// Sets a thread's mask of signals.
pub(super) const PTRACE_SETSIGMASK: libc::c_uint = 0x420b;

/// Makes a request of `ptrace`.
pub(super) fn request(
    tid: i32,
    number: libc::c_uint,
    address: usize,
    data: usize,
) -> io::Result<()> {
    // SAFETY: what is pointed to is ours, of the size that the request has, and outlives the call.
    match unsafe { libc::ptrace(number, tid, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

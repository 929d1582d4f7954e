//! Requests to the kernel about a traced thread.

use std::io;

/// The number of a request, as the C library has it.
#[cfg(target_env = "gnu")]
pub(super) type Request = libc::c_uint;
/// The number of a request, as the C library has it.
#[cfg(not(target_env = "gnu"))]
pub(super) type Request = libc::c_int;

/// Reads a thread's mask of signals.
pub(super) const PTRACE_GETSIGMASK: Request = 0x420a;
/// Sets a thread's mask of signals.
pub(super) const PTRACE_SETSIGMASK: Request = 0x420b;

/// Makes a request of `ptrace`.
pub(super) fn request(tid: i32, number: Request, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: what is pointed to is ours, of the size that the request has, and outlives the call.
    match unsafe { libc::ptrace(number, tid, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

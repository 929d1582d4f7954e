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

/// Reads a filter of a thread's system calls.
pub(super) const PTRACE_SECCOMP_GET_FILTER: Request = 0x420c;

/// Reads the filter of that number of a held thread. Returns how many instructions it has. Without
/// room for them none is read.
pub(super) fn read_filter<T>(
    tid: i32,
    number: Request,
    index: usize,
    room: &mut [T],
) -> io::Result<usize> {
    let place = match room.is_empty() {
        true => std::ptr::null_mut(),
        false => room.as_mut_ptr(),
    };
    // SAFETY: the kernel writes as many instructions as it has counted for the same held thread.
    let count = unsafe { libc::ptrace(number, tid, index, place) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// Makes a request of `ptrace`.
pub(super) fn request(tid: i32, number: Request, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: what is pointed to is ours, of the size that the request has, and outlives the call.
    match unsafe { libc::ptrace(number, tid, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

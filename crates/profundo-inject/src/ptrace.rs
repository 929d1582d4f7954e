//! Requests to the kernel about a traced thread.

use std::io;
use std::mem::MaybeUninit;

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

/// Reads signals that wait to be delivered.
const PTRACE_PEEKSIGINFO: Request = 0x4209;

/// The first signal that waits for a thread itself, from this one of them on.
pub(super) fn waiting_signal(tid: i32, index: u64) -> Option<libc::siginfo_t> {
    /// The index of the first one, flags, and how many there is room for.
    #[repr(C)]
    struct Asked(u64, u32, i32);
    let asked = Asked(index, 0, 1);
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let (address, data) = (&raw const asked as usize, info.as_mut_ptr() as usize);
    // SAFETY: there is room for the one that is asked for.
    let read = unsafe { libc::ptrace(PTRACE_PEEKSIGINFO, tid, address, data) };
    // SAFETY: zeros are one, and the kernel has filled it in.
    (read == 1).then(|| unsafe { info.assume_init() })
}

/// Makes a request of `ptrace`.
pub(super) fn request(tid: i32, number: Request, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: what is pointed to is ours, of the size that the request has, and outlives the call.
    match unsafe { libc::ptrace(number, tid, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

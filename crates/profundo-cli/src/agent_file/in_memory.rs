//! The agent in memory, for a machine without a folder from which a library may be loaded: a
//! container with a read-only root, whose other folders forbid it (`noexec`). It is there as long
//! as this command runs. A program that is executed later does without it, and says nothing.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Files in memory, which last as long as the command does.
static KEPT: Mutex<Vec<OwnedFd>> = Mutex::new(Vec::new());

/// Writes these bytes to a file in memory. Returns its path.
pub fn write(name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    let name = CString::new(name)?;
    // By its number: the oldest glibc that we run with has no such function.
    // SAFETY: the name ends in a NUL.
    let descriptor =
        unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), libc::MFD_CLOEXEC) };
    let descriptor = i32::try_from(descriptor).unwrap_or(-1);
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and ours alone.
    let file = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let mut file = File::from(file);
    file.write_all(bytes)?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.push(file.into());
    Ok(path.into())
}

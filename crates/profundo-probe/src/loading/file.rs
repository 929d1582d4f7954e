//! Files that are read before an exec, by bare system calls.

use core::ffi::{CStr, c_int};
use core::mem::MaybeUninit;

use crate::sys;

/// The number of bytes read first: the head, and mostly all that is needed.
pub const HEAD: usize = 1024;

/// An open file.
#[derive(Debug)]
pub struct File {
    descriptor: c_int,
    is_ours: bool,
}

impl File {
    pub fn open(path: &CStr) -> Option<Self> {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
        let here = libc::AT_FDCWD as usize;
        // SAFETY: the path ends in a NUL.
        let file = unsafe {
            let path = path.as_ptr() as usize;
            sys::call(libc::SYS_openat, [here, path, flags as usize, 0, 0, 0])
        };
        let descriptor = c_int::try_from(file).ok().filter(|&file| file >= 0)?;
        Some(Self {
            descriptor,
            is_ours: true,
        })
    }

    /// A file that the program has open. Its position stays.
    pub fn borrow(descriptor: c_int) -> Self {
        Self {
            descriptor,
            is_ours: false,
        }
    }

    /// Returns the number of bytes read.
    pub fn read_at(&self, at: u64, room: &mut [u8]) -> usize {
        // SAFETY: the room is ours.
        let count = unsafe {
            let memory = room.as_mut_ptr() as usize;
            let arguments = [
                self.descriptor as usize,
                memory,
                room.len(),
                at as usize,
                0,
                0,
            ];
            sys::call(libc::SYS_pread64, arguments)
        };
        usize::try_from(count).unwrap_or(0).min(room.len())
    }

    /// True if a program of this file gets the rights of the file's user or group.
    pub fn gives_rights(&self) -> bool {
        let mut status = MaybeUninit::<libc::stat>::zeroed();
        // SAFETY: the kernel fills in the structure, which is ours; zeroed is a valid one.
        let mode = unsafe {
            let place = status.as_mut_ptr() as usize;
            let arguments = [self.descriptor as usize, place, 0, 0, 0, 0];
            sys::call(libc::SYS_fstat, arguments);
            status.assume_init().st_mode
        };
        mode & (libc::S_ISUID | libc::S_ISGID) != 0
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if self.is_ours {
            // SAFETY: the descriptor is ours.
            unsafe { sys::call(libc::SYS_close, [self.descriptor as usize, 0, 0, 0, 0, 0]) };
        }
    }
}

/// Whether the calling user has this access to a file: `R_OK` or `X_OK`.
pub fn may(path: &CStr, how: c_int) -> bool {
    let here = libc::AT_FDCWD as usize;
    // SAFETY: the path ends in a NUL.
    unsafe {
        let path = path.as_ptr() as usize;
        sys::call(libc::SYS_faccessat, [here, path, how as usize, 0, 0, 0]) == 0
    }
}

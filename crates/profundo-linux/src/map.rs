//! Files that are shared with other processes by mapping them.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};

/// A shared mapping of the first bytes of a file. The file is as long, and its memory has been
/// allocated where it is touched.
#[derive(Debug)]
pub struct SharedMap {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is plain memory, and all access goes through atomics or raw pointers whose
// users answer for it.
unsafe impl Send for SharedMap {}
// SAFETY: as above.
unsafe impl Sync for SharedMap {}

impl SharedMap {
    /// Maps a file for reading and writing.
    pub fn new(file: &File, bytes: usize) -> io::Result<Self> {
        // A mapping beyond the file's end would fault where it is touched.
        if file.metadata()?.len() < bytes as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Self::growing(file, bytes)
    }

    /// Maps a file that may grow to this length. The user touches only what the file has.
    pub fn growing(file: &File, bytes: usize) -> io::Result<Self> {
        Self::part(file, 0, bytes)
    }

    /// Maps a part of a file. The user touches only what the file has.
    pub fn part(file: &File, from: usize, bytes: usize) -> io::Result<Self> {
        // SAFETY: a new mapping overlaps nothing.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                file.as_raw_fd(),
                from as libc::off_t,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, bytes })
    }

    /// The start of the mapping.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The value at the start of the mapping.
    ///
    /// # Safety
    /// Any bytes are a valid `T`, and what others change in it is atomic.
    pub unsafe fn as_ref<T>(&self) -> &T {
        assert!(size_of::<T>() <= self.bytes);
        // SAFETY: mapped, page-aligned and long enough; the caller vouches for the rest.
        unsafe { self.start.cast::<T>().as_ref() }
    }
}

impl Drop for SharedMap {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new`; references to it borrow from us.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Gives the memory of a part of a file back; it reads as zeros from then on. Returns false if that
/// failed.
pub fn give_back(file: &File, from: usize, bytes: usize) -> bool {
    let how = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: a call without pointers on an open file.
    let failed = unsafe {
        libc::fallocate(
            file.as_raw_fd(),
            how,
            from as libc::off_t,
            bytes as libc::off_t,
        )
    };
    failed == 0
}

/// Allocates the memory of a part of a file, and enlarges the file as needed, so that no write to
/// it can fail.
pub fn allocate(file: &File, from: usize, bytes: usize) -> io::Result<()> {
    loop {
        // SAFETY: a call without pointers on an open file.
        let failed = unsafe {
            libc::fallocate(
                file.as_raw_fd(),
                0,
                from as libc::off_t,
                bytes as libc::off_t,
            )
        };
        if failed == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

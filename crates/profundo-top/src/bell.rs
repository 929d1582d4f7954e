//! A bell that wakes a thread that polls descriptors.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// An eventfd: rung by any thread, heard by one.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// A bell that has not been rung.
    pub fn new() -> io::Result<Self> {
        // SAFETY: a call without pointers.
        let bell = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if bell < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and has no other owner.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(bell) }))
    }

    /// Rings the bell.
    pub fn ring(&self) {
        let one = 1_u64;
        // SAFETY: eight bytes of ours to a descriptor of ours. If it is full, it is ringing
        // already.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// Silences the bell.
    pub fn heard(&self) {
        let mut count = 0_u64;
        // SAFETY: eight bytes are written to a place for eight.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), 8) };
    }

    /// The descriptor that is readable while the bell rings.
    pub fn descriptor(&self) -> &OwnedFd {
        &self.0
    }
}

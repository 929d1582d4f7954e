//! A bell that wakes who waits for descriptors.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Rung by any thread, heard by one.
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
        // SAFETY: the descriptor was just made and is nobody else's.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(bell) }))
    }

    /// Rings it.
    pub fn ring(&self) {
        let one = 1_u64;
        // SAFETY: eight bytes of ours to a descriptor of ours. That it is full means that it rings.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// Stops its ringing.
    pub fn heard(&self) {
        let mut count = 0_u64;
        // SAFETY: eight bytes are written to a place for eight.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), 8) };
    }

    /// What can be read from while it rings.
    pub fn descriptor(&self) -> &OwnedFd {
        &self.0
    }
}

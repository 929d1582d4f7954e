//! The guardian: a small process that only waits for our end. If we were killed and the terminal is
//! still ours, it restores the terminal.

use std::cell::UnsafeCell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use profundo_launch::pipe;

use super::terminal_modes::{LEAVE, are_same, modes, raw_of};

/// The memory shared with the guardian.
#[derive(Debug)]
pub struct Memory {
    /// True if the terminal is ours.
    pub is_ours: AtomicBool,
    /// The terminal modes from before.
    modes: UnsafeCell<libc::termios>,
}

// SAFETY: the modes are written by one thread alone, before it sets the flag.
unsafe impl Sync for Memory {}

impl Memory {
    /// Stores the modes, and marks the terminal as ours.
    pub fn keep(&self, modes: libc::termios) {
        // SAFETY: only the thread that takes the terminal writes here, and only while it is not
        // ours; others read while it is.
        unsafe { *self.modes.get() = modes };
        self.is_ours.store(true, Ordering::Release);
    }

    /// The stored modes.
    pub fn modes(&self) -> libc::termios {
        // SAFETY: as for `Sync`; the initial zeroed structure is valid too.
        unsafe { *self.modes.get() }
    }
}

/// The guardian process. It ends when this is dropped, or we die.
#[derive(Debug)]
pub struct Guardian {
    memory: &'static Memory,
    pid: i32,
    /// Closed by our end, whatever its cause.
    line: Option<OwnedFd>,
}

impl Guardian {
    /// Forks the guardian. This has to come before other threads and files: the guardian inherits
    /// what we have at this moment, which should be next to nothing.
    pub fn start() -> io::Result<Self> {
        let size = size_of::<Memory>();
        // SAFETY: new memory, at no place in particular, shared with the child below and never
        // unmapped.
        let memory = unsafe {
            let memory = libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if memory == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            &*memory.cast::<Memory>()
        };
        let (end, line) = pipe()?;
        // SAFETY: the child calls only the kernel and functions that only call the kernel.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(line);
                guard(&end, memory);
                // SAFETY: ends without our own exit handlers.
                unsafe { libc::_exit(0) }
            }
            pid => Ok(Self {
                memory,
                pid,
                line: Some(line),
            }),
        }
    }

    /// The memory that the guardian reads when we have ended.
    pub fn memory(&self) -> &'static Memory {
        self.memory
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        drop(self.line.take());
        profundo_launch::reap(self.pid);
    }
}

/// Waits until the line is closed, then restores the terminal if it is ours.
fn guard(end: &OwnedFd, memory: &Memory) {
    // SAFETY: calls of the kernel with places of this function's. No signal is to end or stop the
    // guardian before us, not even for writing to a terminal from the background.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_NAME, c"profundo-guard".as_ptr());
        let mut byte = 0_u8;
        while libc::read(end.as_raw_fd(), (&raw mut byte).cast(), 1) < 0
            && *libc::__errno_location() == libc::EINTR
        {}
    }
    // Acquire pairs with the release in `keep`.
    if !memory.is_ours.load(Ordering::Acquire) {
        return;
    }
    // SAFETY: bytes of ours, to the terminal.
    unsafe { libc::write(1, LEAVE.as_ptr().cast(), LEAVE.len()) };
    // A shell that was faster has set modes of its own, which must stay.
    let saved = memory.modes();
    let raw = raw_of(saved);
    if modes().is_ok_and(|now| are_same(&now, &raw)) {
        // SAFETY: a structure of ours.
        unsafe { libc::tcsetattr(0, libc::TCSANOW, &saved) };
    }
}

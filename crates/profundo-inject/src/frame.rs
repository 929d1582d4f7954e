//! The way back of a borrowed thread: a frame such as the kernel makes for a signal. All our calls
//! return to it.
//!
//! It is needed if we are killed meanwhile. Then the thread finishes its call, returns to the
//! instructions that end a signal handler, and the kernel restores all its registers from the
//! frame.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(super) use aarch64::{below, has_room};
#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::below;

/// The bytes of a frame, and its address.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) place: u64,
    pub(super) bytes: Vec<u8>,
}

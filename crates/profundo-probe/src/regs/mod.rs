//! Registers out of a signal context, and the thread pointer.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub use aarch64::{
    ALL, all_from_context, descriptor, from_context, from_words, here, is_syscall_at, of_blocked,
    thread_pointer, to_words,
};
#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::{
    ALL, all_from_context, descriptor, from_context, from_words, here, is_syscall_at, of_blocked,
    thread_pointer, to_words,
};

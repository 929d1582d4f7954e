//! Registers out of a signal context, and the thread pointer.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub use aarch64::{
    ALL, all_from_context, descriptor, error_of, from_context, from_words, here, is_behind_syscall,
    is_syscall_at, of_blocked, thread_pointer, to_words,
};
#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::{
    ALL, all_from_context, descriptor, error_of, from_context, from_words, here, is_behind_syscall,
    is_syscall_at, of_blocked, thread_pointer, to_words,
};

/// The error in the result of a system call; 0 for none.
#[cfg(target_arch = "x86_64")]
fn error_in(result: u64) -> u32 {
    match result as i64 {
        error @ -4095..=-1 => error.unsigned_abs() as u32,
        _ => 0,
    }
}

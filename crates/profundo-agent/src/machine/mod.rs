//! The instructions of ours that no compiler can write, one file for each architecture: functions
//! that pass their caller's registers on, that jump on with all arguments as they were, or that
//! reach the thread's own block.
//!
//! Most are texts for `naked_asm`. Their operands are named alike on all machines.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::*;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

/// A block of zeros in the static block of each thread, which is there from the thread's first
/// instruction to its last.
macro_rules! own_block {
    ($name:literal, $bytes:expr, $($align:tt)+) => {
        core::arch::global_asm!(
            concat!(".pushsection .tbss.", $name, ", \"awT\", @nobits"),
            concat!(".balign ", $($align)+),
            concat!(".hidden ", $name),
            concat!(".globl ", $name),
            concat!(".type ", $name, ", @object"),
            concat!(".size ", $name, ", {bytes}"),
            concat!($name, ":"),
            ".zero {bytes}",
            ".popsection",
            bytes = const $bytes,
        );
    };
}

pub(crate) use own_block;

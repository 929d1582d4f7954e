//! The walk against other unwinders, on stacks of this process and of others.

#![expect(
    clippy::print_stderr,
    reason = "shares of exact stacks are worth seeing"
)]

mod damage;
mod memory;
mod oracle;
mod process;
#[cfg(target_arch = "x86_64")]
mod rows;
#[cfg(target_arch = "x86_64")]
mod singlestep;
mod stacks;
#[cfg(target_arch = "x86_64")]
mod walks;
#[cfg(target_arch = "aarch64")]
mod walks_aarch64;

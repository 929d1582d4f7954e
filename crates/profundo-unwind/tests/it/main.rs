//! The walk against other unwinders, on stacks of this process and of others.

#![expect(
    clippy::print_stderr,
    reason = "shares of exact stacks are worth seeing"
)]

mod damage;
mod memory;
mod oracle;
mod process;
mod rows;
mod singlestep;
mod stacks;
mod walks;

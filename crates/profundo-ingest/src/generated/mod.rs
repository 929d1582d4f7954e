//! Code that programs have made while they ran: what an address meant at a time.
//!
//! It is told of later than the samples that were in it, so stacks are interned by address as all
//! others are, and the names found at the end. Where an address has meant several things while it
//! was sampled, the samples are [told apart](Split) then.

mod map;
mod name;
mod naming;
mod split;

pub(crate) use naming::{Extents, Owners, name_all, name_unnamed};
pub use split::Split;

/// Code at such an address is the kernel's, which is the same in all processes.
pub(crate) fn is_kernels(address: u64) -> bool {
    address >= 1 << 63
}

//! The registers of a sample, in perf's numbers, as those that a walk begins with.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64 as own;
#[cfg(target_arch = "x86_64")]
use x86_64 as own;

use profundo_unwind::{General, Regs};

use crate::perf::data::attr::CopiedStack;
use crate::perf::data::bytes::Bytes;

/// The values of some registers, in the order of their numbers.
#[derive(Debug, Clone, Copy)]
struct Values<'a> {
    /// A bit for each.
    mask: u64,
    bytes: Bytes<'a>,
}

impl Values<'_> {
    /// The value of the register with this number.
    fn get(self, number: u32) -> Option<u64> {
        let bit = 1_u64.checked_shl(number)?;
        if self.mask & bit == 0 {
            return None;
        }
        let before = (self.mask & (bit - 1)).count_ones() as usize;
        let mut from = self.bytes;
        from.skip(8 * before)?;
        from.u64()
    }
}

/// The registers of a program of this machine's kind, if the sample has those that matter.
pub(super) fn of(copied: &CopiedStack<'_>) -> Option<(Regs, General)> {
    own::of(Values {
        mask: copied.mask,
        bytes: copied.registers,
    })
}

/// Whether the sampled registers are those of this machine's kind.
pub(super) fn are_own(mask: u64) -> bool {
    own::are_own(mask)
}

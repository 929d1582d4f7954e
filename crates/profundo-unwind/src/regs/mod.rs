//! The registers that are followed from frame to frame, and how one row moves them to the caller:
//! one file for each architecture.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub use aarch64::Regs;
#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::{call_before, leads_to, step, step_without_row, way_of};
#[cfg(target_arch = "x86_64")]
pub use x86_64::Regs;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{call_before, leads_to, step, step_without_row, way_of};

use crate::walk::{Arrival, Way};
use crate::{End, Memory, Row};

/// General registers of the first frame by their DWARF numbers. Code that is just setting up a
/// realigned stack keeps its frame in one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct General(pub [u64; 16]);

/// A register whose value may be known, or may lie in memory that was not read yet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Unknown,
    Value(u64),
    At(u64),
}

/// The known general registers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Others<'a> {
    Unknown,
    Given(&'a General),
    /// Saved by the kernel in a `ucontext` at this address.
    Context(u64),
}

/// A frame during the walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub regs: Regs,
    pub fp_known: bool,
    /// The instruction pointer is the next instruction, not the one after a call.
    pub interrupted: bool,
    pub rbx: Place,
    pub others: Others<'a>,
    /// Signal frames crossed so far.
    pub signals: u8,
    /// The number of words that searches for callers may still read.
    #[cfg_attr(target_arch = "aarch64", expect(dead_code))]
    pub search_left: u16,
}

/// The limit of words that all searches of a walk read.
const SEARCHED: u16 = 400;

impl<'a> Frame<'a> {
    /// The frame that a thread was stopped in.
    pub fn first(regs: Regs, general: Option<&'a General>) -> Self {
        Self {
            regs,
            fp_known: true,
            interrupted: true,
            rbx: Place::Unknown,
            others: general.map_or(Others::Unknown, Others::Given),
            signals: 0,
            search_left: SEARCHED,
        }
    }

    /// The state that the walk is in, at the frame at this depth.
    #[inline]
    pub fn arrival(&self, depth: usize) -> Arrival {
        Arrival {
            ip: self.regs.ip,
            sp: self.regs.sp,
            fp: self.regs.fp,
            is_plain: depth > 0 && self.fp_known && !self.interrupted,
        }
    }

    /// The address by which the row is found: a call may be the last instruction of its function.
    #[inline]
    pub fn lookup(&self) -> u64 {
        if self.interrupted {
            self.regs.ip
        } else {
            self.regs.ip.wrapping_sub(1)
        }
    }
}

/// The reason why a row did not lead to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// There is nothing more to try.
    End(End),
    /// The rule needs the frame pointer, which is not known.
    NeedsFramePointer,
    /// The rule needs a register that is not followed.
    Unsupported,
}

/// The instruction before a return address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// A call of this address.
    Direct(u64),
    /// A call of an address in a register or in memory.
    Indirect,
    /// No call.
    None,
}

/// The knowledge about an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// The address has unwind information.
    Row,
    /// The address lies in a module.
    Module,
    /// The address lies in no known module.
    Unknown,
}

/// Moves a frame to its caller and reports how. The way is written where it leads to a caller or
/// ends at the root.
#[inline]
pub(crate) fn step_reporting(
    frame: &mut Frame<'_>,
    row: Row,
    memory: &mut impl Memory,
    way: &mut Way,
) -> Result<(), Stop> {
    let before = frame.regs;
    let stepped = step(frame, row, memory);
    *way = match stepped {
        Ok(()) => way_of(row, before, frame.regs),
        Err(Stop::End(End::Root)) => Way::Root,
        Err(_) => Way::Other,
    };
    stepped
}

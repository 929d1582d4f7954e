//! On aarch64 a call puts the return address into the link register, which functions that call
//! others store next to the frame pointer. Signal frames are not crossed yet.

use super::{Call, Code, Frame, Others, Place, Stop};
use crate::walk::Way;
use crate::{Cfa, End, Fp, Memory, Row};

/// The registers that a walk begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Regs {
    /// `pc`: the instruction that runs next.
    pub ip: u64,
    /// `sp`.
    pub sp: u64,
    /// `x29`.
    pub fp: u64,
    /// `x30`.
    pub lr: u64,
}

/// Addresses have 48 bits; above them may be a signature of pointer authentication.
const ADDRESS: u64 = (1 << 48) - 1;

fn read(memory: &mut impl Memory, address: u64) -> Result<u64, Stop> {
    memory
        .read(address)
        .ok_or(Stop::End(End::Unreadable { address }))
}

/// Moves a frame to its caller.
pub(crate) fn step(frame: &mut Frame<'_>, row: Row, memory: &mut impl Memory) -> Result<(), Stop> {
    let rule = row.rule();
    let Regs { sp, fp, lr, .. } = frame.regs;
    let cfa = match rule.cfa {
        Cfa::Sp(offset) => sp.wrapping_add_signed(offset.into()),
        Cfa::Fp(_) if !frame.fp_known => return Err(Stop::NeedsFramePointer),
        Cfa::Fp(offset) => fp.wrapping_add_signed(offset.into()),
        Cfa::Root => return Err(Stop::End(End::Root)),
        _ => return Err(Stop::Unsupported),
    };
    let (fp, ip) = match rule.fp {
        Fp::AtCfa(offset) => {
            let saved = cfa.wrapping_add_signed(offset.into());
            let fp = read(memory, saved)?;
            (fp, read(memory, saved.wrapping_add(8))?)
        }
        // Only a function that has not called yet still has its return address in the register.
        Fp::Same if frame.interrupted => (fp, lr),
        _ => return Err(Stop::Unsupported),
    };
    if cfa < sp || cfa == sp && !frame.interrupted {
        return Err(Stop::End(End::NoProgress));
    }
    let known = frame.fp_known || matches!(rule.fp, Fp::AtCfa(_));
    arrive(frame, ip, cfa, fp);
    frame.fp_known = known;
    Ok(())
}

/// The kind of step by a row from these registers to those of the caller. The return address has
/// bits that are masked, so no way is reported yet.
#[inline]
pub(crate) fn way_of(_: Row, _: Regs, _: Regs) -> Way {
    Way::Other
}

fn arrive(frame: &mut Frame<'_>, ip: u64, sp: u64, fp: u64) {
    let ip = ip & ADDRESS;
    frame.regs = Regs { ip, sp, fp, lr: 0 };
    frame.fp_known = true;
    frame.interrupted = false;
    frame.rbx = Place::Unknown;
    frame.others = Others::Unknown;
}

/// Moves a frame without a row to its caller by the frame pointer.
pub(crate) fn step_without_row(
    frame: &mut Frame<'_>,
    depth: usize,
    code: impl Fn(u64) -> Code,
    memory: &mut impl Memory,
) -> Result<(), Stop> {
    let Regs { sp, fp, .. } = frame.regs;
    if !frame.fp_known {
        return Err(Stop::Unsupported);
    }
    if fp == 0 && depth > 1 {
        return Err(Stop::End(End::Root));
    }
    if fp < sp || fp % 8 != 0 || fp > u64::MAX - 16 {
        return Err(Stop::Unsupported);
    }
    let callers_fp = read(memory, fp)?;
    let caller = read(memory, fp + 8)? & ADDRESS;
    if caller != 0 && code(caller.wrapping_sub(1)) == Code::Unknown && callers_fp <= fp {
        return Err(Stop::Unsupported);
    }
    arrive(frame, caller, fp + 16, callers_fp);
    Ok(())
}

/// The call that comes before a return address, if the code there can be read.
pub(crate) fn call_before(address: u64, memory: &mut impl Memory) -> Call {
    let Some(word) = memory.read_code(address.wrapping_sub(4)) else {
        return Call::None;
    };
    let instruction = word as u32;
    if instruction >> 26 == 0b10_0101 {
        // `bl`: 26 bits of words, signed.
        let words = i64::from((instruction << 6) as i32 >> 6);
        Call::Direct(address.wrapping_sub(4).wrapping_add_signed(words * 4))
    } else if instruction & 0xffff_fc1f == 0xd63f_0000 {
        Call::Indirect
    } else {
        Call::None
    }
}

/// The entry that a call of `target` leads to. Stubs and jumps are not followed yet.
pub(crate) fn leads_to<T>(
    target: u64,
    entry: impl Fn(u64) -> Option<T>,
    _: &mut impl Memory,
) -> Option<T> {
    entry(target)
}

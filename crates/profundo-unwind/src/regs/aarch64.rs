//! On aarch64 a call puts the return address into the link register, which functions that call
//! others store: rows keep that place where those of x86-64 have the place of `rbx`. The kernel
//! leaves a `ucontext` above the stack pointer of a signal's handler.

use super::{Call, Code, Frame, Others, Place, Stop};
use crate::walk::Way;
use crate::{Cfa, End, Fp, Memory, Rbx, Row};

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

impl Regs {
    /// Registers without a link register, as those of a frame that has called.
    pub const fn new(ip: u64, sp: u64, fp: u64) -> Self {
        Self { ip, sp, fp, lr: 0 }
    }
}

/// Addresses have 48 bits; above them may be a signature of pointer authentication.
const ADDRESS: u64 = (1 << 48) - 1;

/// The offset of the `ucontext` in the kernel's frame of a signal, and those of registers in it.
const CONTEXT: u64 = 128;
const CONTEXT_FP: u64 = 416;
const CONTEXT_LR: u64 = 424;
const CONTEXT_SP: u64 = 432;
const CONTEXT_PC: u64 = 440;

/// The code that the handler of a signal returns to: `mov x8, #139` and `svc #0`.
const RETURN: u64 = 0xd400_0001_d280_1168;

/// More signals than this on one stack are a walk in circles.
const MAX_SIGNALS: u8 = 16;

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
        Cfa::Fp(offset) => {
            memory.uses_frame_pointer();
            fp.wrapping_add_signed(offset.into())
        }
        Cfa::Root => return Err(Stop::End(End::Root)),
        Cfa::Signal => return signal_context(frame, sp.wrapping_add(CONTEXT), memory),
        _ => return Err(Stop::Unsupported),
    };
    if cfa < sp || cfa == sp && !frame.interrupted {
        return Err(Stop::End(End::NoProgress));
    }
    let ip = match rule.rbx {
        // Only a function that has not called yet still has its return address in the register,
        // which is not known of every thread.
        Rbx::SAME if frame.interrupted && lr != 0 => lr,
        Rbx::SAME | Rbx::UNKNOWN => return Err(Stop::Unsupported),
        Rbx(words) => read(memory, cfa.wrapping_sub(u64::from(words) * 8))?,
    };
    let (fp, is_known) = match rule.fp {
        Fp::Same => (fp, frame.fp_known),
        Fp::AtCfa(offset) => {
            let place = cfa.wrapping_add_signed(offset.into());
            let saved = memory.read_frame_pointer(place);
            (
                saved.ok_or(Stop::End(End::Unreadable { address: place }))?,
                true,
            )
        }
        Fp::AtFp(_) | Fp::AtSp(_) => return Err(Stop::Unsupported),
        Fp::Undefined => (fp, false),
    };
    arrive(frame, ip, cfa, fp);
    frame.fp_known = is_known;
    Ok(())
}

/// Moves a frame to the code that the signal interrupted, whose registers are in a `ucontext`.
#[cold]
fn signal_context(
    frame: &mut Frame<'_>,
    context: u64,
    memory: &mut impl Memory,
) -> Result<(), Stop> {
    if frame.signals >= MAX_SIGNALS {
        return Err(Stop::End(End::NoProgress));
    }
    frame.regs = Regs {
        ip: read(memory, context.wrapping_add(CONTEXT_PC))?,
        sp: read(memory, context.wrapping_add(CONTEXT_SP))?,
        fp: read(memory, context.wrapping_add(CONTEXT_FP))?,
        lr: read(memory, context.wrapping_add(CONTEXT_LR))? & ADDRESS,
    };
    frame.fp_known = true;
    frame.interrupted = true;
    frame.signals += 1;
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
    let Regs { ip, sp, fp, lr } = frame.regs;
    if depth > 1 && memory.read_code(ip) == Some(RETURN) {
        return signal_context(frame, sp.wrapping_add(CONTEXT), memory);
    }
    if !frame.fp_known {
        return match frame.interrupted && lr == 0 {
            true => step_over_caller(frame, code, memory),
            false => Err(Stop::Unsupported),
        };
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

/// Moves the frame of a blocked thread, of which only two registers are known, to the caller of its
/// caller. It is in a function that does no more than a system call; the function that has called
/// that one has put the frame pointer and its return address at the end of the stack, as compilers
/// do. A frame begins there where its record lies.
fn step_over_caller(
    frame: &mut Frame<'_>,
    code: impl Fn(u64) -> Code,
    memory: &mut impl Memory,
) -> Result<(), Stop> {
    let sp = frame.regs.sp;
    let callers_fp = read(memory, sp)?;
    let caller = read(memory, sp.wrapping_add(8))? & ADDRESS;
    let is_record = callers_fp > sp && callers_fp.is_multiple_of(16);
    let is_known = code(caller.wrapping_sub(1)) != Code::Unknown;
    if !is_record || !is_known || call_before(caller, memory) == Call::None {
        return Err(Stop::Unsupported);
    }
    arrive(frame, caller, callers_fp, callers_fp);
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

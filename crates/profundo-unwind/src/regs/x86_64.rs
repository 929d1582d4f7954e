//! On x86_64 a call pushes the return address, so it always lies just below the cfa, and the
//! kernel leaves a `ucontext` where the handler of a signal returns to.

mod bare;
mod calls;
mod entry;

pub(crate) use bare::step_without_row;
pub(crate) use calls::{call_before, leads_to};

use super::{Frame, Others, Place, Stop};
use crate::walk::Way;
use crate::{Cfa, End, Fp, Memory, Rbx, Row, Rule};

/// The registers that a walk begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Regs {
    /// `rip`: the instruction that runs next.
    pub ip: u64,
    /// `rsp`.
    pub sp: u64,
    /// `rbp`.
    pub fp: u64,
}

impl Regs {
    /// These registers.
    pub const fn new(ip: u64, sp: u64, fp: u64) -> Self {
        Self { ip, sp, fp }
    }
}

const DWARF_RBX: u8 = 3;

/// The offsets of the registers in the kernel's `ucontext`, by DWARF number.
const CONTEXT: [u64; 16] = [
    144, 136, 152, 128, 112, 104, 120, 160, // rax rdx rcx rbx rsi rdi rbp rsp
    40, 48, 56, 64, 72, 80, 88, 96, // r8 to r15
];
const CONTEXT_RBX: u64 = 128;
const CONTEXT_RBP: u64 = 120;
const CONTEXT_RSP: u64 = 160;
const CONTEXT_RIP: u64 = 168;

/// More signals than this on one stack are a walk in circles: a stack that a signal interrupted may
/// lie anywhere, so growing addresses are no proof of progress.
const MAX_SIGNALS: u8 = 16;

#[inline]
fn read(memory: &mut impl Memory, address: u64) -> Result<u64, Stop> {
    memory
        .read(address)
        .ok_or(Stop::End(End::Unreadable { address }))
}

#[inline]
fn plus(address: u64, offset: i32) -> u64 {
    address.wrapping_add_signed(i64::from(offset))
}

/// Moves a frame to its caller.
#[inline]
pub(crate) fn step(frame: &mut Frame<'_>, row: Row, memory: &mut impl Memory) -> Result<(), Stop> {
    let Some(rule) = row.everyday() else {
        return step_seldom(frame, row.rule(), memory);
    };
    let Regs { sp, fp, .. } = frame.regs;
    if rule.from_fp && !frame.fp_known {
        return Err(Stop::NeedsFramePointer);
    }
    if rule.from_fp {
        memory.uses_frame_pointer();
    }
    let cfa = plus(if rule.from_fp { fp } else { sp }, rule.offset);
    // The return address was pushed above the stack pointer, so a cfa at or below it is wrong.
    if cfa <= sp {
        return Err(Stop::End(End::NoProgress));
    }
    let ip = read(memory, cfa.wrapping_sub(8))?;
    if let Some(offset) = rule.saved_fp {
        let slot = plus(cfa, offset.into());
        match memory.read_frame_pointer(slot) {
            Some(saved) => {
                frame.regs.fp = saved;
                frame.fp_known = true;
            }
            // A place below the stack pointer was given up, so the register has its value again:
            // gcc says nothing between `leave` and `ret`.
            None if slot < sp => {}
            None => return Err(Stop::End(End::Unreadable { address: slot })),
        }
    }
    arrive(frame, ip, cfa, rule.rbx);
    frame.interrupted = false;
    Ok(())
}

/// The kind of step by a row from these registers to those of the caller.
#[inline]
pub(crate) fn way_of(row: Row, from: Regs, to: Regs) -> Way {
    let Some(rule) = row.everyday() else {
        return Way::Other;
    };
    let slot = rule.saved_fp.map_or(0, |offset| plus(to.sp, offset.into()));
    // A place that was given up may not have been read.
    if rule.saved_fp.is_some() && slot < from.sp {
        return Way::Other;
    }
    Way::Caller {
        uses_fp: rule.from_fp,
        slot,
        cfa: to.sp,
        ip: to.ip,
    }
}

#[inline]
fn arrive(frame: &mut Frame<'_>, ip: u64, cfa: u64, rbx: Rbx) {
    frame.rbx = match rbx {
        Rbx::SAME => callers_rbx(frame),
        Rbx::UNKNOWN => Place::Unknown,
        Rbx(words) => Place::At(cfa.wrapping_sub(u64::from(words) * 8)),
    };
    frame.others = Others::Unknown;
    frame.regs.ip = ip;
    frame.regs.sp = cfa;
}

/// As [`step`], for rare kinds of rules.
#[cold]
fn step_seldom(frame: &mut Frame<'_>, rule: Rule, memory: &mut impl Memory) -> Result<(), Stop> {
    let Frame { regs, .. } = *frame;
    let cfa = match rule.cfa {
        Cfa::Sp(offset) => plus(regs.sp, offset),
        Cfa::Fp(offset) => plus(frame_pointer(frame, memory)?, offset),
        Cfa::SpDeref { offset, add } => {
            read(memory, plus(regs.sp, offset))?.wrapping_add(u64::from(add))
        }
        Cfa::FpDeref { offset, add } => {
            let place = plus(frame_pointer(frame, memory)?, offset);
            read(memory, place)?.wrapping_add(u64::from(add))
        }
        Cfa::Register { register, offset } => plus(general(frame, register, memory)?, offset),
        Cfa::Plt { offset, pushed_at } => {
            let pushed = (regs.ip & 15) >= u64::from(pushed_at);
            plus(regs.sp, offset).wrapping_add(u64::from(pushed) * 8)
        }
        Cfa::Signal => return signal_context(frame, regs.sp, memory),
        Cfa::Root => return Err(Stop::End(End::Root)),
        Cfa::None | Cfa::Unsupported => return Err(Stop::Unsupported),
    };
    if cfa <= regs.sp {
        return Err(Stop::End(End::NoProgress));
    }
    let ip = read(memory, cfa.wrapping_sub(8))?;
    match rule.fp {
        Fp::Same => {}
        Fp::AtCfa(offset) => {
            frame.regs.fp = read(memory, plus(cfa, offset.into()))?;
            frame.fp_known = true;
        }
        Fp::AtFp(offset) => {
            let fp = frame_pointer(frame, memory)?;
            // gcc goes on saying so after the register has its value again. As long as it has
            // not, it points into this frame.
            let of_frame = matches!(rule.cfa, Cfa::Fp(_) | Cfa::FpDeref { .. });
            if of_frame || (regs.sp <= fp && fp < cfa) {
                frame.regs.fp = read(memory, plus(fp, offset.into()))?;
            }
        }
        Fp::AtSp(offset) => {
            frame.regs.fp = read(memory, plus(regs.sp, offset.into()))?;
            frame.fp_known = true;
        }
        Fp::Undefined => frame.fp_known = false,
    }
    arrive(frame, ip, cfa, rule.rbx);
    frame.interrupted = rule.caller_interrupted;
    Ok(())
}

#[inline]
fn frame_pointer(frame: &Frame<'_>, memory: &mut impl Memory) -> Result<u64, Stop> {
    memory.uses_frame_pointer();
    if frame.fp_known {
        Ok(frame.regs.fp)
    } else {
        Err(Stop::NeedsFramePointer)
    }
}

#[inline]
fn callers_rbx(frame: &Frame<'_>) -> Place {
    match frame.others {
        Others::Unknown => frame.rbx,
        Others::Given(general) => Place::Value(general.0[DWARF_RBX as usize]),
        Others::Context(context) => Place::At(context.wrapping_add(CONTEXT_RBX)),
    }
}

#[cold]
fn general(frame: &Frame<'_>, register: u8, memory: &mut impl Memory) -> Result<u64, Stop> {
    let number = usize::from(register);
    match frame.others {
        Others::Given(general) => {
            memory.uses_general();
            general.0.get(number).copied().ok_or(Stop::Unsupported)
        }
        Others::Context(context) => {
            let offset = CONTEXT.get(number).ok_or(Stop::Unsupported)?;
            read(memory, context.wrapping_add(*offset))
        }
        Others::Unknown if register == DWARF_RBX => match frame.rbx {
            Place::Unknown => Err(Stop::Unsupported),
            Place::Value(value) => {
                memory.uses_general();
                Ok(value)
            }
            Place::At(address) => read(memory, address),
        },
        Others::Unknown => Err(Stop::Unsupported),
    }
}

/// Moves a frame to the code that the signal interrupted, whose registers are in a `ucontext`.
#[cold]
pub(crate) fn signal_context(
    frame: &mut Frame<'_>,
    context: u64,
    memory: &mut impl Memory,
) -> Result<(), Stop> {
    if frame.signals >= MAX_SIGNALS {
        return Err(Stop::End(End::NoProgress));
    }
    frame.regs = Regs {
        ip: read(memory, context.wrapping_add(CONTEXT_RIP))?,
        sp: read(memory, context.wrapping_add(CONTEXT_RSP))?,
        fp: read(memory, context.wrapping_add(CONTEXT_RBP))?,
    };
    frame.fp_known = true;
    frame.interrupted = true;
    frame.others = Others::Context(context);
    frame.signals += 1;
    Ok(())
}

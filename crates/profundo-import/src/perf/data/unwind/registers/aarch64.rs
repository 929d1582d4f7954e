//! The numbers of aarch64.

use profundo_unwind::{General, Regs};

use super::Values;

const FP: u32 = 29;
const LR: u32 = 30;
const SP: u32 = 31;
const PC: u32 = 32;

pub(super) fn of(values: Values<'_>) -> Option<(Regs, General)> {
    let regs = Regs {
        ip: values.get(PC)?,
        sp: values.get(SP)?,
        fp: values.get(FP).unwrap_or(0),
        lr: values.get(LR).unwrap_or(0),
    };
    Some((regs, General([0; 16])))
}

pub(super) fn are_own(mask: u64) -> bool {
    mask & 1 << PC != 0
}

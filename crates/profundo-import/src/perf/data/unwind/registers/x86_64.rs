//! The numbers of x86_64.

use profundo_unwind::{General, Regs};

use super::Values;

const BP: u32 = 6;
const SP: u32 = 7;
const IP: u32 = 8;

/// The number of each general register, in the order of DWARF's numbers: `rax`, `rdx`, `rcx`,
/// `rbx`, `rsi`, `rdi`, `rbp`, `rsp`, `r8` to `r15`.
const GENERAL: [u32; 16] = [0, 3, 2, 1, 4, 5, BP, SP, 16, 17, 18, 19, 20, 21, 22, 23];

pub(super) fn of(values: Values<'_>) -> Option<(Regs, General)> {
    let regs = Regs {
        ip: values.get(IP)?,
        sp: values.get(SP)?,
        fp: values.get(BP).unwrap_or(0),
    };
    let general = GENERAL.map(|number| values.get(number).unwrap_or(0));
    Some((regs, General(general)))
}

/// Other kinds have more registers than 32.
pub(super) fn are_own(mask: u64) -> bool {
    mask >> 32 == 0 && mask & 1 << IP != 0
}

//! The registers that the kernel copies at a tick, by its own numbers of them.

pub(super) use machine::{REGISTERS, of_values};

#[cfg(target_arch = "x86_64")]
mod machine {
    use profundo_unwind::{General, Regs};

    /// The registers that are asked for, as bits of the kernel's numbers: all but the segments.
    pub const REGISTERS: u64 = 0x00FF_01FF;

    /// The place of each among the values, by DWARF number: rax rdx rcx rbx rsi rdi rbp rsp, r8…
    const ORDER: [usize; 16] = [0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16];
    const IP: usize = 8;

    /// The registers by the values that the kernel has copied.
    pub fn of_values(values: &[u64]) -> (Regs, General) {
        let value = |place: usize| values.get(place).copied().unwrap_or(0);
        let general = General(ORDER.map(value));
        let regs = Regs {
            ip: value(IP),
            sp: general.0[7],
            fp: general.0[6],
        };
        (regs, general)
    }
}

#[cfg(target_arch = "aarch64")]
mod machine {
    use profundo_unwind::{General, Regs};

    /// The registers that are asked for, as bits of the kernel's numbers: x0 to x30, the stack
    /// pointer, and the next instruction.
    pub const REGISTERS: u64 = 0x0001_FFFF_FFFF;

    const FP: usize = 29;
    const LR: usize = 30;
    const SP: usize = 31;
    const PC: usize = 32;

    /// The registers by the values that the kernel has copied.
    pub fn of_values(values: &[u64]) -> (Regs, General) {
        let value = |place: usize| values.get(place).copied().unwrap_or(0);
        let general = General(core::array::from_fn(value));
        let regs = Regs {
            ip: value(PC),
            sp: value(SP),
            fp: value(FP),
            lr: value(LR),
        };
        (regs, general)
    }
}

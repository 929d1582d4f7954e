//! aarch64: named registers in the context; `tpidr_el0` is the thread pointer.

use profundo_unwind::{General, Regs};

use crate::sys;

/// The registers of the interrupted code.
///
/// # Safety
/// `context` is the third argument of a signal handler that is still running.
#[inline]
pub unsafe fn from_context(context: *const libc::ucontext_t) -> (Regs, General) {
    // SAFETY: the caller vouches for the pointer.
    let machine = unsafe { &(*context).uc_mcontext };
    let [general @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = machine.regs;
    let registers = Regs {
        ip: machine.pc,
        sp: machine.sp,
        fp: machine.regs[29],
        lr: machine.regs[30],
    };
    (registers, General(general))
}

/// The number of words of the general registers.
pub const ALL: usize = 31;

/// The general registers of the interrupted code.
///
/// # Safety
/// As for `from_context`.
pub unsafe fn all_from_context(context: *const libc::ucontext_t, _: &General) -> [u64; ALL] {
    // SAFETY: the caller vouches for the pointer.
    unsafe { (*context).uc_mcontext.regs }
}

/// The thread pointer, which lies above the stack of every thread but the first.
#[inline]
pub fn thread_pointer() -> u64 {
    let pointer: u64;
    // SAFETY: tpidr_el0 is readable from user space.
    unsafe { core::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nomem, nostack)) };
    pointer
}

/// Whether code interrupted at `ip` was inside the kernel: just after `svc 0`, or at one that the
/// kernel is about to restart.
pub fn is_syscall_at(ip: u64) -> bool {
    const SVC_0: [u8; 4] = [0x01, 0x00, 0x00, 0xd4];
    let mut code = [0u8; 8];
    let copied = sys::copy_checked(ip.wrapping_sub(4), &mut code);
    copied >= 4 && code[..4] == SVC_0 || copied == 8 && code[4..] == SVC_0
}

/// Whether the instruction before this one is a system call.
pub fn is_behind_syscall(ip: u64) -> bool {
    const SVC_0: [u8; 4] = [0x01, 0x00, 0x00, 0xd4];
    let mut code = [0u8; 4];
    sys::copy_checked(ip.wrapping_sub(4), &mut code) == code.len() && code == SVC_0
}

/// The error of the system call that a thread has just returned from: unknown, because the first
/// register is not kept.
pub fn error_of(_: &General) -> u32 {
    0
}

/// The descriptor of a system call: unknown, because the result has replaced it.
pub fn descriptor(_: &Regs, _: &General) -> Option<u32> {
    None
}

/// The registers here, so that a normal thread can walk its own stack.
#[inline(always)]
pub fn here() -> Regs {
    let (ip, sp, fp, lr): (u64, u64, u64, u64);
    // SAFETY: four registers are copied; nothing is changed.
    unsafe {
        core::arch::asm!(
            "adr {}, .",
            "mov {}, sp",
            "mov {}, x29",
            "mov {}, x30",
            out(reg) ip, out(reg) sp, out(reg) fp, out(reg) lr,
            options(nostack, nomem, preserves_flags),
        );
    }
    Regs { ip, sp, fp, lr }
}

/// The registers of a blocked thread that the kernel reports, without frame pointer and link
/// register.
pub fn of_blocked(sp: u64, ip: u64) -> Regs {
    Regs {
        ip,
        sp,
        fp: 0,
        lr: 0,
    }
}

/// The initial registers of a walk, to be kept.
pub fn to_words(regs: Regs) -> [u64; 4] {
    [regs.ip, regs.sp, regs.fp, regs.lr]
}

/// The kept registers.
pub fn from_words([ip, sp, fp, lr]: [u64; 4]) -> Regs {
    Regs { ip, sp, fp, lr }
}

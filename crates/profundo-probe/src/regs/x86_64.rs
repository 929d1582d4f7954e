//! x86-64: the general registers lie in `gregs`; `fs:0` points to itself, which is the TCB.

use profundo_unwind::{General, Regs};

use crate::sys;

/// The registers of the interrupted code.
///
/// # Safety
/// `context` is the third argument of a signal handler that is still running.
#[inline]
pub unsafe fn from_context(context: *const libc::ucontext_t) -> (Regs, General) {
    // SAFETY: the caller vouches for the pointer.
    let gregs = unsafe { &(*context).uc_mcontext.gregs };
    let register = |number: i32| gregs.get(number as usize).map_or(0, |&value| value as u64);
    let registers = Regs {
        ip: register(libc::REG_RIP),
        sp: register(libc::REG_RSP),
        fp: register(libc::REG_RBP),
    };
    let in_dwarf_order = [
        libc::REG_RAX,
        libc::REG_RDX,
        libc::REG_RCX,
        libc::REG_RBX,
        libc::REG_RSI,
        libc::REG_RDI,
        libc::REG_RBP,
        libc::REG_RSP,
        libc::REG_R8,
        libc::REG_R9,
        libc::REG_R10,
        libc::REG_R11,
        libc::REG_R12,
        libc::REG_R13,
        libc::REG_R14,
        libc::REG_R15,
    ];
    (registers, General(in_dwarf_order.map(register)))
}

/// The number of words of the general and the vector registers.
pub const ALL: usize = 48;

/// The number of words of the vector registers.
const VECTORS: usize = 32;

/// The general and the vector registers of the interrupted code, in words.
///
/// # Safety
/// As for `from_context`.
pub unsafe fn all_from_context(context: *const libc::ucontext_t, general: &General) -> [u64; ALL] {
    let mut all = [0; ALL];
    let (words, halves) = all.split_at_mut(general.0.len());
    words.copy_from_slice(&general.0);
    // SAFETY: the caller vouches for the context; what it points to is null or as valid as itself.
    if let Some(vectors) = unsafe { vectors(context).as_ref() } {
        halves.copy_from_slice(vectors);
    }
    all
}

/// Where the kernel has put the vector registers of a context.
///
/// # Safety
/// As for `from_context`.
pub unsafe fn vectors(context: *const libc::ucontext_t) -> *const [u64; VECTORS] {
    /// Where the registers are in what `fxsave` writes.
    const OFFSET: usize = 160;
    // SAFETY: the pointer comes behind the general registers. Not all C libraries give it a name.
    let state = unsafe {
        let general = &raw const (*context).uc_mcontext.gregs;
        general.add(1).cast::<*const u8>().read()
    };
    match state.is_null() {
        true => core::ptr::null(),
        false => state.wrapping_add(OFFSET).cast(),
    }
}

/// The address of the thread control block. glibc and musl put it at the top of a thread's stack,
/// so for every thread but the first it is also the end of the stack.
#[inline]
pub fn thread_pointer() -> u64 {
    let pointer: u64;
    // SAFETY: the psABI keeps the TCB's own address at fs:0.
    unsafe {
        core::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags));
    }
    pointer
}

/// Whether code interrupted at `ip` was inside the kernel: just after a `syscall` instruction, or
/// at one that the kernel is about to restart.
pub fn is_syscall_at(ip: u64) -> bool {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    let mut code = [0u8; 4];
    let copied = sys::copy_checked(ip.wrapping_sub(2), &mut code);
    copied >= 2 && code[..2] == SYSCALL || copied == 4 && code[2..] == SYSCALL
}

/// Whether the instruction before this one is a system call.
pub fn is_behind_syscall(ip: u64) -> bool {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    let mut code = [0u8; 2];
    sys::copy_checked(ip.wrapping_sub(2), &mut code) == code.len() && code == SYSCALL
}

/// The error of the system call that a thread has just returned from; 0 for none.
pub fn error_of(general: &General) -> u32 {
    super::error_in(general.0[0])
}

/// The descriptor of the system call that a thread has just returned from, if it had one.
///
/// The `syscall` instruction leaves the address behind it in `rcx`, and keeps the first argument. A
/// call that is restarted is left at the instruction itself.
pub fn descriptor(registers: &Regs, general: &General) -> Option<u32> {
    /// `rcx` and `rdi` in DWARF's order.
    const RCX: usize = 2;
    const RDI: usize = 5;
    /// The kernel's limit of open files, and pointers are higher.
    const MOST: u64 = 1 << 20;
    let behind = general.0.get(RCX).copied()?;
    let first = general.0.get(RDI).copied()?;
    let was_in_call = behind == registers.ip || behind == registers.ip.wrapping_add(2);
    (was_in_call && first < MOST).then_some(first as u32)
}

/// The registers here, so that a normal thread can walk its own stack.
#[inline(always)]
pub fn here() -> Regs {
    let (ip, sp, fp): (u64, u64, u64);
    // SAFETY: three registers are copied; nothing is changed.
    unsafe {
        core::arch::asm!(
            "lea {}, [rip]",
            "mov {}, rsp",
            "mov {}, rbp",
            out(reg) ip, out(reg) sp, out(reg) fp,
            options(nostack, nomem, preserves_flags),
        );
    }
    Regs { ip, sp, fp }
}

/// The registers of a blocked thread that the kernel reports, without the frame pointer.
pub fn of_blocked(sp: u64, ip: u64) -> Regs {
    Regs { ip, sp, fp: 0 }
}

/// The initial registers of a walk, to be kept.
pub fn to_words(regs: Regs) -> [u64; 4] {
    [regs.ip, regs.sp, regs.fp, 0]
}

/// The kept registers.
pub fn from_words([ip, sp, fp, _]: [u64; 4]) -> Regs {
    Regs { ip, sp, fp }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_leaves_where_it_goes_on_and_its_first_argument() {
        let regs = |ip| Regs { ip, sp: 0, fp: 0 };
        let mut general = General([0; 16]);
        (general.0[2], general.0[5]) = (0x1002, 7);
        assert_eq!(descriptor(&regs(0x1002), &general), Some(7));
        // It will be restarted.
        assert_eq!(descriptor(&regs(0x1000), &general), Some(7));
        assert_eq!(descriptor(&regs(0x1001), &general), None);
        // No descriptor, but the address of a lock.
        general.0[5] = 0x7f00_0000_0000;
        assert_eq!(descriptor(&regs(0x1002), &general), None);
    }
}

//! The first instructions of our functions: they note where the call came from.
//!
//! A stack that is told of is to begin with the program's own frame, so that nothing of ours has to be walked.
//! Only the first instruction of a function still sees the registers as its caller left them, which no
//! compiled code can. They are passed on as further arguments, in what the function's own leave of those
//! registers, and if they leave too few, on the stack.

use profundo_probe::heap::Caller;
use profundo_unwind::Regs;

/// The caller's stack pointer, frame pointer and `rbx`, as the arguments behind so many others.
macro_rules! pass_caller {
    (1) => {
        "mov rsi, rsp\nmov rdx, rbp\nmov rcx, rbx"
    };
    (2) => {
        "mov rdx, rsp\nmov rcx, rbp\nmov r8, rbx"
    };
    (3) => {
        "mov rcx, rsp\nmov r8, rbp\nmov r9, rbx"
    };
}

/// Functions that go on in another one, which gets the caller's registers as further arguments behind so many
/// others. What is called is what the program named.
macro_rules! entries {
    ($($(#[$meta:meta])* $visible:vis $name:ident($arguments:tt) => $inner:path;)*) => {$(
        $(#[$meta])*
        #[unsafe(naked)]
        $visible unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                $crate::memory::entry::pass_caller!($arguments),
                "jmp {inner}",
                ".cfi_endproc",
                inner = sym $inner,
            )
        }
    )*};
}

/// As above, of functions whose own arguments may take all registers there are for them: the others come as
/// the seventh and so on.
macro_rules! wide_entries {
    ($($(#[$meta:meta])* $visible:vis $name:ident => $inner:path;)*) => {$(
        $(#[$meta])*
        #[unsafe(naked)]
        $visible unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "mov rax, rsp",
                "push rbx",
                ".cfi_adjust_cfa_offset 8",
                "push rbp",
                ".cfi_adjust_cfa_offset 8",
                "push rax",
                ".cfi_adjust_cfa_offset 8",
                "call {inner}",
                "add rsp, 24",
                ".cfi_adjust_cfa_offset -24",
                "ret",
                ".cfi_endproc",
                inner = sym $inner,
            )
        }
    )*};
}

pub(super) use {entries, pass_caller, wide_entries};

/// What the entries pass on.
///
/// # Safety
/// They come from one of the entries, whose caller waits.
#[inline(always)]
pub(super) unsafe fn caller(stack: *const u64, frame: u64, base: u64) -> Caller {
    // SAFETY: the caller has pushed where it goes on.
    let ip = unsafe { *stack };
    let registers = Regs {
        ip,
        sp: stack as u64 + 8,
        fp: frame,
    };
    Caller { registers, base }
}

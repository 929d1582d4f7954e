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

/// As `entries`, of functions that mostly have nothing to do but to take the bytes off what the thread may still
/// allocate, and go on in the real one: that takes no more than these instructions. The first of them put the
/// bytes into `rax`, the last ones go to the real function, and both may go to `5` instead, which is the
/// function that is called otherwise.
macro_rules! counting_entries {
    ($($(#[$meta:meta])* $visible:vis $name:ident($arguments:tt: $bytes:literal) =>
        $go_on:expr, { $($operands:tt)* }, $inner:path;)*) => {$(
        $(#[$meta])*
        #[unsafe(naked)]
        $visible unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                $bytes,
                "mov r10, qword ptr [rip + profundo_local@GOTTPOFF]",
                "mov r11, qword ptr fs:[r10 + {left}]",
                "sub r11, rax",
                "jbe 5f",
                "mov qword ptr fs:[r10 + {left}], r11",
                $go_on,
                "5:",
                $crate::memory::entry::pass_caller!($arguments),
                "jmp {inner}",
                ".cfi_endproc",
                $($operands)*
                left = const $crate::memory::local::LEFT,
                inner = sym $inner,
            )
        }
    )*};
}

/// Functions that take back the block in a register. Mostly nobody follows it, which a load says, and they go on
/// in the real one.
macro_rules! freeing_entries {
    ($($(#[$meta:meta])* $visible:vis $name:ident($block:literal) =>
        $go_on:expr, { $($operands:tt)* }, $inner:path;)*) => {$(
        $(#[$meta])*
        #[unsafe(naked)]
        $visible unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "movabs rax, {hash}",
                concat!("imul rax, ", $block),
                "shr rax, {shift}",
                "mov ecx, eax",
                "shr ecx, 5",
                "lea rdx, [rip + {few}]",
                "mov ecx, dword ptr [rdx + 4*rcx]",
                "bt ecx, eax",
                "jc 5f",
                $go_on,
                "5:",
                "jmp {inner}",
                ".cfi_endproc",
                $($operands)*
                hash = const profundo_probe::heap::followed::HASH,
                shift = const profundo_probe::heap::followed::FEW_SHIFT,
                few = sym $crate::memory::state::FEW,
                inner = sym $inner,
            )
        }
    )*};
}

/// Goes on in the real function at this place, if it is known.
macro_rules! go_on_in_real {
    () => {
        "mov rax, qword ptr [rip + {addresses} + {place}]\ntest rax, rax\njz 5f\njmp rax"
    };
}

pub(super) use {
    counting_entries, entries, freeing_entries, go_on_in_real, pass_caller, wide_entries,
};

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

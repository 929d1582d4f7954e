//! The first instructions of our functions: they record their caller's registers.
//!
//! A recorded stack begins with the program's own frame, so that no frame of ours has to be walked.
//! Only the first instruction of a function still sees the registers as its caller left them, which
//! no compiled code can. They are passed on as further arguments, in what the function's own leave
//! of those registers, and if they leave too few, on the stack.

use profundo_probe::heap::Caller;
use profundo_unwind::Regs;

/// The caller's stack pointer, frame pointer and `rbx`, as arguments after this many others.
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

/// Functions that continue in another one, which gets the caller's registers as arguments after
/// this many others. For this macro and those below: with `export` first, the program calls the
/// functions by their names, in place of the C library's.
macro_rules! entries {
    (export $($name:ident($arguments:tt) => $inner:path;)*) => {
        $crate::memory::entry::entries! {$(
            /// # Safety
            /// As for the function of the C library that has this name.
            #[unsafe(no_mangle)]
            pub $name($arguments) => $inner;
        )*}
    };
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

/// As above, for functions whose own arguments may take all registers: the others come as the
/// seventh and so on.
macro_rules! wide_entries {
    (export $($name:ident => $inner:path;)*) => {$(
        /// # Safety
        /// As for the function of the C library that has this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
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

/// As `entries`, for functions that mostly only subtract the bytes from the thread's budget, and
/// continue in the real one: that takes no more than these instructions. The first of them put the
/// bytes into `rax`, the last ones go to the real function, and both may go to `5` instead, which
/// is the function that is called otherwise; where every block counts it is at once.
macro_rules! counting_entries {
    (export $($name:ident($arguments:tt: $bytes:literal) =>
        $go_on:expr, $operands:tt, $inner:path;)*) => {
        $crate::memory::entry::counting_entries! {$(
            /// # Safety
            /// As for the function of the C library that has this name.
            #[unsafe(no_mangle)]
            pub $name($arguments: $bytes) => $go_on, $operands, $inner;
        )*}
    };
    ($($(#[$meta:meta])* $visible:vis $name:ident($arguments:tt: $bytes:literal) =>
        $go_on:expr, { $($operands:tt)* }, $inner:path;)*) => {$(
        $(#[$meta])*
        #[unsafe(naked)]
        $visible unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                $bytes,
                "cmp byte ptr [rip + {exact}], 0",
                "jne 5f",
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
                exact = sym $crate::memory::state::IS_EXACT,
                left = const $crate::memory::local::LEFT,
                inner = sym $inner,
            )
        }
    )*};
}

/// Functions that free the block in a register. Mostly it is not followed: one load shows that, and
/// they continue in the real one.
macro_rules! freeing_entries {
    (export $($name:ident($block:literal) => $go_on:expr, $operands:tt, $inner:path;)*) => {
        $crate::memory::entry::freeing_entries! {$(
            /// # Safety
            /// As for the function of the C library that has this name.
            #[unsafe(no_mangle)]
            pub $name($block) => $go_on, $operands, $inner;
        )*}
    };
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

/// Jumps to the real function at this place, if it is known.
macro_rules! go_on_in_real {
    () => {
        "mov rax, qword ptr [rip + {addresses} + {place}]\ntest rax, rax\njz 5f\njmp rax"
    };
}

pub(crate) use {
    counting_entries, entries, freeing_entries, go_on_in_real, pass_caller, wide_entries,
};

/// The caller's registers, as the entries pass them on.
///
/// # Safety
/// The arguments come from one of the entries, whose caller waits.
#[inline(always)]
pub(crate) unsafe fn caller(stack: *const u64, frame: u64, base: u64) -> Caller {
    // SAFETY: the caller has pushed its return address.
    let ip = unsafe { *stack };
    let registers = Regs {
        ip,
        sp: stack as u64 + 8,
        fp: frame,
    };
    Caller { registers, base }
}

//! x86-64: a call leaves the return address on the stack. Six arguments are in registers.

use core::sync::atomic::AtomicU32;

use profundo_probe::heap::Caller;
use profundo_unwind::Regs;

/// The largest alignment of a thread's own block: no other one shares its line of the cache.
macro_rules! own_alignment {
    () => {
        64
    };
}

/// The address of a thread's own block, in two instructions.
macro_rules! own_address {
    ($name:literal) => {{
        let address: *const _;
        // SAFETY: `fs:0` holds the thread pointer, and the linker has put the offset from it into
        // its table. Nothing is written.
        unsafe {
            core::arch::asm!(
                "mov {address}, qword ptr fs:[0]",
                concat!("add {address}, qword ptr [rip + ", $name, "@GOTTPOFF]"),
                address = out(reg) address,
                options(nostack, readonly),
            );
        }
        address
    }};
}

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

/// A jump to a function of ours.
macro_rules! jump {
    ($function:literal) => {
        concat!("jmp ", $function)
    };
}

/// The caller's registers after six other arguments: on the stack.
macro_rules! pass_caller_to_wide {
    () => {
        "mov rax, rsp
        push rbx
        .cfi_adjust_cfa_offset 8
        push rbp
        .cfi_adjust_cfa_offset 8
        push rax
        .cfi_adjust_cfa_offset 8
        call {inner}
        add rsp, 24
        .cfi_adjust_cfa_offset -24
        ret"
    };
}

/// Subtracts the bytes from the thread's budget and goes on; elsewhere, or at once where every
/// block counts, at `5`. The first instructions put the bytes into `rax`.
macro_rules! subtract_and_go_on {
    ($bytes:expr, $go_on:expr) => {
        concat!(
            $bytes,
            "
            cmp byte ptr [rip + {exact}], 0
            jne 5f
            mov r10, qword ptr [rip + profundo_local@GOTTPOFF]
            mov r11, qword ptr fs:[r10 + {left}]
            sub r11, rax
            jbe 5f
            mov qword ptr fs:[r10 + {left}], r11
            ",
            $go_on,
            "
            5:"
        )
    };
}

/// The bytes of an allocation: the first argument.
macro_rules! bytes_first {
    () => {
        "mov rax, rdi"
    };
}

/// The bytes of an allocation: the product of both arguments.
macro_rules! bytes_product {
    () => {
        "mov rax, rdi\nmul rsi\njo 5f\ncmp byte ptr [rip + {nested}], 0\njne 5f"
    };
}

/// The bytes of an allocation: the second argument, if it is small.
macro_rules! bytes_second_if_small {
    () => {
        "mov rax, rsi\ncmp rsi, {small}\nja 5f"
    };
}

/// Goes on unless the block may be followed; elsewhere at `5`.
macro_rules! go_on_unless_followed {
    (first, $go_on:expr) => {
        $crate::machine::go_on_unless_followed!("rdi", $go_on)
    };
    (second, $go_on:expr) => {
        $crate::machine::go_on_unless_followed!("rsi", $go_on)
    };
    ($block:literal, $go_on:expr) => {
        concat!(
            "movabs rax, {hash}
            imul rax, ",
            $block,
            "
            shr rax, {shift}
            mov ecx, eax
            shr ecx, 5
            lea rdx, [rip + {few}]
            mov ecx, dword ptr [rdx + 4*rcx]
            bt ecx, eax
            jc 5f
            ",
            $go_on,
            "
            5:"
        )
    };
}

/// Jumps to the real function at this place, if it is known.
macro_rules! go_on_in_real {
    () => {
        "mov rax, qword ptr [rip + {addresses} + {place}]\ntest rax, rax\njz 5f\njmp rax"
    };
}

/// Jumps to the function of the allocator before ours, with its context.
macro_rules! go_on_in_before {
    () => {
        "lea rdi, [rip + {before} + {at}]\nmov rax, qword ptr [rdi + {function}]
        mov rdi, qword ptr [rdi + {context}]\njmp rax"
    };
}

/// The number of arguments after the first that come in registers.
pub(crate) const LIST_REGISTERS: usize = 5;

/// Puts the arguments of a list into memory, and calls a function with it.
macro_rules! call_with_list {
    () => {
        "sub rsp, 56
        .cfi_adjust_cfa_offset 56
        mov [rsp], rsi
        mov [rsp + 8], rdx
        mov [rsp + 16], rcx
        mov [rsp + 24], r8
        mov [rsp + 32], r9
        mov rsi, rsp
        lea rdx, [rsp + 64]
        mov ecx, {call}
        call {list}
        add rsp, 56
        .cfi_adjust_cfa_offset -56
        ret"
    };
}

/// Calls a function with all arguments kept.
macro_rules! call_and_keep {
    ($prepared:expr, $function:literal) => {
        concat!(
            "push rdi
            push rsi
            push rdx
            push rcx
            push r8
            push r9
            sub rsp, 8
            .cfi_adjust_cfa_offset 56
            ",
            $prepared,
            "
            call ",
            $function,
            "
            add rsp, 8
            pop r9
            pop r8
            pop rcx
            mov r11, rdx
            pop rdx
            pop rsi
            pop rdi
            .cfi_adjust_cfa_offset -56"
        )
    };
}

/// Calls a function, and jumps to its result with all arguments as they were.
macro_rules! jump_to_result {
    ($function:literal) => {
        concat!(
            $crate::machine::call_and_keep!("", $function),
            "
            jmp rax"
        )
    };
}

/// The first instructions of a thread: the result is a function and its argument.
macro_rules! begin_thread {
    () => {
        "push rax
        .cfi_adjust_cfa_offset 8
        call {begin}
        pop rcx
        .cfi_adjust_cfa_offset -8
        mov rdi, rdx
        jmp rax"
    };
}

/// Asks a function about the first argument and the caller. It says where to go on, and whether
/// the other function is to be jumped to instead.
macro_rules! decide_and_jump {
    () => {
        concat!(
            $crate::machine::call_and_keep!("mov rsi, qword ptr [rsp + 56]", "{decide}"),
            "
            test r11, r11
            jnz 2f
            jmp rax
            2:
            jmp {load}"
        )
    };
}

/// Jumps to the real operator, as if ours were not interposed, if it is not to be counted: it and
/// its callees have no frame of ours below them. The first call has to choose.
macro_rules! go_straight_on {
    () => {
        concat!(
            "mov rax, qword ptr [rip + {targets} + 8*{index}]
            test rax, rax
            jnz 3f
            ",
            $crate::machine::call_and_keep!("", "{choose}"),
            "
            test rax, rax
            jz 2f
            3:
            jmp rax
            2:"
        )
    };
}

/// A copy: it goes straight on where it is short, or the budget suffices. Without a real function,
/// byte by byte.
macro_rules! copy {
    (start) => {
        $crate::machine::copy!("mov rax, rdi")
    };
    (end) => {
        $crate::machine::copy!("lea rax, [rdi + rdx]")
    };
    ($result:literal) => {
        concat!(
            "mov rax, qword ptr [rip + {real} + {index}]
            test rax, rax
            jz 3f
            cmp rdx, {floor}
            jae 2f
            jmp rax
            2:
            mov r10, qword ptr [rip + profundo_local@GOTTPOFF]
            mov r11, qword ptr fs:[r10 + {copies}]
            sub r11, rdx
            jbe 5f
            mov qword ptr fs:[r10 + {copies}], r11
            jmp rax
            5:
            mov r10, rsp
            push rdi
            .cfi_adjust_cfa_offset 8
            push rsi
            .cfi_adjust_cfa_offset 8
            push rdx
            .cfi_adjust_cfa_offset 8
            push rcx
            .cfi_adjust_cfa_offset 8
            push rax
            .cfi_adjust_cfa_offset 8
            mov rdi, rdx
            mov rsi, r10
            mov rdx, rbp
            mov rcx, rbx
            call {sample_copy}
            pop rax
            .cfi_adjust_cfa_offset -8
            pop rcx
            .cfi_adjust_cfa_offset -8
            pop rdx
            .cfi_adjust_cfa_offset -8
            pop rsi
            .cfi_adjust_cfa_offset -8
            pop rdi
            .cfi_adjust_cfa_offset -8
            jmp rax
            3:
            ",
            $result,
            "
            mov r8, rdi
            sub r8, rsi
            mov rcx, rdx
            cmp r8, rdx
            jb 4f
            rep movsb
            ret
            4:
            lea rdi, [rdi + rdx - 1]
            lea rsi, [rsi + rdx - 1]
            std
            rep movsb
            cld
            ret"
        )
    };
}

/// Calls the function of the first argument on the stack that ends at the second.
macro_rules! call_on_stack {
    () => {
        "push rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        mov rbp, rsp
        .cfi_def_cfa_register rbp
        mov rsp, rsi
        call rdi
        mov rsp, rbp
        pop rbp
        .cfi_def_cfa rsp, 8
        ret"
    };
}

/// Jumps to the function of the unwinder with this number, if it is known.
macro_rules! jump_to_unwinder {
    () => {
        "mov r11, [rip + {places} + 8 * {number}]
        mov eax, {number}
        test r11, r11
        jz {find_and_jump}
        jmp r11"
    };
}

/// Finds that function by the number that the text above has left, and jumps there.
macro_rules! find_unwinder {
    () => {
        concat!(
            $crate::machine::call_and_keep!("mov edi, eax", "{find}"),
            "
            jmp rax"
        )
    };
}

/// The number of registers that functions keep for their callers, beside the stack pointer.
pub(crate) const KEPT: usize = 6;

/// Writes those registers. Returns the stack pointer.
#[inline(always)]
pub(crate) fn keep_registers(registers: &mut [u64; KEPT]) -> u64 {
    let stack: u64;
    // SAFETY: six words of ours are written.
    unsafe {
        core::arch::asm!(
            "mov [{place}], rbx",
            "mov [{place} + 8], rbp",
            "mov [{place} + 16], r12",
            "mov [{place} + 24], r13",
            "mov [{place} + 32], r14",
            "mov [{place} + 40], r15",
            "mov {stack}, rsp",
            place = in(reg) registers.as_mut_ptr(),
            stack = out(reg) stack,
            options(nostack),
        );
    }
    stack
}

/// The caller's registers, as the entries pass them on.
///
/// # Safety
/// The arguments come from one of the entries, whose caller waits.
#[inline(always)]
pub(crate) unsafe fn caller(stack: *const u64, frame: u64, base: u64) -> Caller {
    // SAFETY: the caller has pushed its return address.
    let ip = unsafe { *stack };
    let registers = Regs::new(ip, stack as u64 + 8, frame);
    Caller { registers, base }
}

/// Passes the stack pointer as the second argument.
macro_rules! pass_stack_second {
    () => {
        "mov rsi, rsp"
    };
}

/// Reports the beginning of a function, after the library that does so too.
macro_rules! report_enter {
    () => {
        "cmp qword ptr [rip + {next}], 0
        jne 2f
        mov rsi, rsp
        jmp {enter}
        2:
        push rdi
        .cfi_adjust_cfa_offset 8
        call {pass_on}
        pop rdi
        .cfi_adjust_cfa_offset -8
        mov rsi, rsp
        jmp {enter}"
    };
}

/// Reports the end of a function, before the library that does so too.
macro_rules! report_leave {
    () => {
        "cmp qword ptr [rip + {next}], 0
        jne 2f
        mov rsi, rsp
        jmp {leave}
        2:
        push rdi
        .cfi_adjust_cfa_offset 8
        push rsi
        .cfi_adjust_cfa_offset 8
        lea rsi, [rsp + 16]
        sub rsp, 8
        .cfi_adjust_cfa_offset 8
        call {leave}
        add rsp, 8
        .cfi_adjust_cfa_offset -8
        pop rsi
        .cfi_adjust_cfa_offset -8
        pop rdi
        .cfi_adjust_cfa_offset -8
        jmp {pass_on}"
    };
}

/// The way to keep vector registers. 0: not known yet; 1: the lower halves are all; 2: the upper
/// halves too, where they are in use; 3: the upper halves always, since their use cannot be
/// queried.
pub(crate) static VECTORS: AtomicU32 = AtomicU32::new(0);

/// All registers are kept but r11, which a call into another library clobbers. It holds the next
/// function to call.
macro_rules! beginning {
    ($name:ident, $count:ident) => {
        /// # Safety
        /// Called at the beginning of a function, as compilers emit it.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "push rax",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "push r8",
                "push r9",
                "push r10",
                "push rbx",
                "push r12",
                "mov r12, rsp",
                "mov eax, dword ptr [rip + {vectors}]",
                "test eax, eax",
                "jnz 3f",
                // The first time: has the system wide vectors, and does the processor report
                // whether they are in use?
                "mov eax, 1",
                "xor ecx, ecx",
                "cpuid",
                "bt ecx, 27",
                "mov eax, 1",
                "jnc 2f",
                "mov eax, 13",
                "mov ecx, 1",
                "cpuid",
                "bt eax, 2",
                "mov eax, 2",
                "jc 2f",
                "mov eax, 3",
                "2:",
                "mov dword ptr [rip + {vectors}], eax",
                "3:",
                "cmp eax, 2",
                "jb 5f",
                "ja 4f",
                "mov ecx, 1",
                "xgetbv",
                "test eax, 0xE4",
                "jz 5f",
                // Vectors of any width, and masks.
                "4:",
                "sub rsp, 2816",
                "and rsp, -64",
                "xor eax, eax",
                "mov [rsp + 512], rax",
                "mov [rsp + 520], rax",
                "mov [rsp + 528], rax",
                "mov [rsp + 536], rax",
                "mov [rsp + 544], rax",
                "mov [rsp + 552], rax",
                "mov [rsp + 560], rax",
                "mov [rsp + 568], rax",
                "mov eax, 0xE6",
                "xor edx, edx",
                "xsave64 [rsp]",
                "mov rdi, [r12 + 80]",
                "mov rsi, rbp",
                "call {count}",
                "mov r11, rax",
                "mov eax, 0xE6",
                "xor edx, edx",
                "xrstor64 [rsp]",
                "jmp 6f",
                "5:",
                "sub rsp, 128",
                "and rsp, -16",
                "movaps [rsp], xmm0",
                "movaps [rsp + 16], xmm1",
                "movaps [rsp + 32], xmm2",
                "movaps [rsp + 48], xmm3",
                "movaps [rsp + 64], xmm4",
                "movaps [rsp + 80], xmm5",
                "movaps [rsp + 96], xmm6",
                "movaps [rsp + 112], xmm7",
                "mov rdi, [r12 + 80]",
                "mov rsi, rbp",
                "call {count}",
                "mov r11, rax",
                "movaps xmm0, [rsp]",
                "movaps xmm1, [rsp + 16]",
                "movaps xmm2, [rsp + 32]",
                "movaps xmm3, [rsp + 48]",
                "movaps xmm4, [rsp + 64]",
                "movaps xmm5, [rsp + 80]",
                "movaps xmm6, [rsp + 96]",
                "movaps xmm7, [rsp + 112]",
                "6:",
                "mov rsp, r12",
                "pop r12",
                "pop rbx",
                "pop r10",
                "pop r9",
                "pop r8",
                "pop rdi",
                "pop rsi",
                "pop rdx",
                "pop rcx",
                "pop rax",
                "jmp r11",
                vectors = sym $crate::machine::VECTORS,
                count = sym $count,
            )
        }
    };
}

/// The size of what a call leaves on the stack.
pub(crate) const CALL_BYTES: u64 = 8;

/// The index of the stack pointer in the buffer of `setjmp`.
const JUMP_STACK: usize = 6;
/// The rotation by which glibc mangles addresses that it keeps.
const ROTATED: u32 = 17;

/// The stack pointer in a buffer of `setjmp`, which glibc mangles by a word of the thread's.
///
/// # Safety
/// `kept` is such a buffer, in use.
pub(crate) unsafe fn stack_of_jump(kept: *const core::ffi::c_ulong) -> u64 {
    let guard: u64;
    // SAFETY: the C library keeps it there for each thread, and the caller vouches for what it has
    // kept itself.
    unsafe {
        core::arch::asm!("mov {guard}, qword ptr fs:[0x30]", guard = out(reg) guard, options(nostack, readonly));
        kept.add(JUMP_STACK).read().rotate_right(ROTATED) ^ guard
    }
}

pub(crate) use {
    begin_thread, beginning, bytes_first, bytes_product, bytes_second_if_small, call_and_keep,
    call_on_stack, call_with_list, copy, decide_and_jump, find_unwinder, go_on_in_before,
    go_on_in_real, go_on_unless_followed, go_straight_on, jump, jump_to_result, jump_to_unwinder,
    own_address, own_alignment, pass_caller, pass_caller_to_wide, pass_stack_second, report_enter,
    report_leave, subtract_and_go_on,
};

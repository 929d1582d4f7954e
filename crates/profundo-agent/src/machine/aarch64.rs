//! aarch64: a call leaves the return address in `x30`. Eight arguments are in registers. `x16` and
//! `x17` are free between a call and the first instruction of a function, `x9` to `x15` in it.

use profundo_probe::heap::Caller;
use profundo_unwind::Regs;

/// The largest alignment of a thread's own block. A program that runs already has no place for one
/// with a larger one.
macro_rules! own_alignment {
    () => {
        16
    };
}

/// The address of a thread's own block.
macro_rules! own_address {
    ($name:literal) => {{
        let address: *const _;
        // SAFETY: `tpidr_el0` holds the thread pointer, and the linker has put the offset from it
        // into its table. Nothing is written.
        unsafe {
            core::arch::asm!(
                "mrs {address}, tpidr_el0",
                concat!("adrp {offset}, :gottprel:", $name),
                concat!("ldr {offset}, [{offset}, :gottprel_lo12:", $name, "]"),
                "add {address}, {address}, {offset}",
                address = out(reg) address,
                offset = out(reg) _,
                options(nostack, readonly, preserves_flags),
            );
        }
        address
    }};
}

/// The caller's stack pointer, frame pointer and return address, as arguments after this many
/// others.
macro_rules! pass_caller {
    (1) => {
        "mov x1, sp\nmov x2, x29\nmov x3, x30"
    };
    (2) => {
        "mov x2, sp\nmov x3, x29\nmov x4, x30"
    };
    (3) => {
        "mov x3, sp\nmov x4, x29\nmov x5, x30"
    };
}

/// A jump to a function of ours.
macro_rules! jump {
    ($function:literal) => {
        concat!("b ", $function)
    };
}

/// The caller's registers after six other arguments.
macro_rules! pass_caller_to_wide {
    () => {
        "mov x6, sp
        mov x7, x29
        stp x30, xzr, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_rel_offset x30, 0
        bl {inner}
        ldr x30, [sp], #16
        .cfi_adjust_cfa_offset -16
        .cfi_restore x30
        ret"
    };
}

/// Subtracts the bytes from the thread's budget and goes on; elsewhere, or at once where every
/// block counts, at `5`.
macro_rules! subtract_and_go_on {
    ($bytes:expr, $go_on:expr) => {
        concat!(
            $bytes,
            "
            adrp x10, {exact}
            ldrb w10, [x10, :lo12:{exact}]
            cbnz w10, 5f
            mrs x10, tpidr_el0
            adrp x11, :gottprel:profundo_local
            ldr x11, [x11, :gottprel_lo12:profundo_local]
            add x10, x10, x11
            ldr x11, [x10, #{left}]
            subs x11, x11, x9
            b.ls 5f
            str x11, [x10, #{left}]
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
        "mov x9, x0"
    };
}

/// The bytes of an allocation: the product of both arguments.
macro_rules! bytes_product {
    () => {
        "umulh x9, x0, x1
        cbnz x9, 5f
        mul x9, x0, x1
        adrp x10, {nested}
        ldrb w10, [x10, :lo12:{nested}]
        cbnz w10, 5f"
    };
}

/// The bytes of an allocation: the second argument, if it is small.
macro_rules! bytes_second_if_small {
    () => {
        "mov x9, x1
        cmp x1, #{small}
        b.hi 5f"
    };
}

/// Goes on unless the block may be followed; elsewhere at `5`.
macro_rules! go_on_unless_followed {
    (first, $go_on:expr) => {
        $crate::machine::go_on_unless_followed!("x0", $go_on)
    };
    (second, $go_on:expr) => {
        $crate::machine::go_on_unless_followed!("x1", $go_on)
    };
    ($block:literal, $go_on:expr) => {
        concat!(
            "movz x9, #({hash} & 0xffff)
            movk x9, #(({hash} >> 16) & 0xffff), lsl #16
            movk x9, #(({hash} >> 32) & 0xffff), lsl #32
            movk x9, #(({hash} >> 48) & 0xffff), lsl #48
            mul x9, x9, ",
            $block,
            "
            lsr x9, x9, #{shift}
            lsr w10, w9, #5
            adrp x11, {few}
            add x11, x11, :lo12:{few}
            ldr w10, [x11, w10, uxtw #2]
            lsr w10, w10, w9
            tbnz w10, #0, 5f
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
        "adrp x16, {addresses}
        add x16, x16, :lo12:{addresses}
        ldr x16, [x16, #{place}]
        cbz x16, 5f
        br x16"
    };
}

/// Jumps to the function of the allocator before ours, with its context.
macro_rules! go_on_in_before {
    () => {
        "adrp x10, {before}
        add x10, x10, :lo12:{before}
        ldr x16, [x10, #({at} + {function})]
        ldr x0, [x10, #({at} + {context})]
        br x16"
    };
}

/// The number of arguments after the first that come in registers.
pub(crate) const LIST_REGISTERS: usize = 7;

/// Puts the arguments of a list into memory, and calls a function with it.
macro_rules! call_with_list {
    () => {
        "sub sp, sp, #80
        .cfi_adjust_cfa_offset 80
        stp x29, x30, [sp, #64]
        .cfi_rel_offset x29, 64
        .cfi_rel_offset x30, 72
        stp x1, x2, [sp]
        stp x3, x4, [sp, #16]
        stp x5, x6, [sp, #32]
        str x7, [sp, #48]
        mov x1, sp
        add x2, sp, #80
        mov x3, #{call}
        bl {list}
        ldp x29, x30, [sp, #64]
        .cfi_restore x29
        .cfi_restore x30
        add sp, sp, #80
        .cfi_adjust_cfa_offset -80
        ret"
    };
}

/// Calls a function with all arguments kept.
macro_rules! call_and_keep {
    ($prepared:expr, $function:literal) => {
        concat!(
            "stp x29, x30, [sp, #-96]!
            .cfi_adjust_cfa_offset 96
            .cfi_rel_offset x29, 0
            .cfi_rel_offset x30, 8
            mov x29, sp
            stp x0, x1, [sp, #16]
            stp x2, x3, [sp, #32]
            stp x4, x5, [sp, #48]
            stp x6, x7, [sp, #64]
            str x8, [sp, #80]
            ",
            $prepared,
            "
            bl ",
            $function,
            "
            mov x16, x0
            mov x17, x1
            ldp x0, x1, [sp, #16]
            ldp x2, x3, [sp, #32]
            ldp x4, x5, [sp, #48]
            ldp x6, x7, [sp, #64]
            ldr x8, [sp, #80]
            ldp x29, x30, [sp], #96
            .cfi_adjust_cfa_offset -96
            .cfi_restore x29
            .cfi_restore x30"
        )
    };
}

/// Calls a function, and jumps to its result with all arguments as they were.
macro_rules! jump_to_result {
    ($function:literal) => {
        concat!(
            $crate::machine::call_and_keep!("", $function),
            "
            br x16"
        )
    };
}

/// The first instructions of a thread: the result is a function and its argument.
macro_rules! begin_thread {
    () => {
        "str x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_rel_offset x30, 0
        bl {begin}
        ldr x30, [sp], #16
        .cfi_adjust_cfa_offset -16
        .cfi_restore x30
        mov x16, x0
        mov x0, x1
        br x16"
    };
}

/// Asks a function about the first argument and the caller. It says where to go on, and whether
/// the other function is to be jumped to instead.
macro_rules! decide_and_jump {
    () => {
        concat!(
            $crate::machine::call_and_keep!("mov x1, x30", "{decide}"),
            "
            cbnz x17, 2f
            br x16
            2:
            b {load}"
        )
    };
}

/// Jumps to the real operator, as if ours were not interposed, if it is not to be counted: it and
/// its callees have no frame of ours below them. The first call has to choose.
macro_rules! go_straight_on {
    () => {
        concat!(
            "adrp x16, {targets}
            add x16, x16, :lo12:{targets}
            ldr x16, [x16, #(8 * {index})]
            cbnz x16, 3f
            ",
            $crate::machine::call_and_keep!("", "{choose}"),
            "
            cbz x16, 2f
            3:
            br x16
            2:"
        )
    };
}

/// A copy: it goes straight on where it is short, or the budget suffices. Without a real function,
/// byte by byte.
macro_rules! copy {
    (start) => {
        $crate::machine::copy!("mov x12, x0")
    };
    (end) => {
        $crate::machine::copy!("add x12, x0, x2")
    };
    ($result:literal) => {
        concat!(
            "adrp x16, {real}
            add x16, x16, :lo12:{real}
            ldr x16, [x16, #{index}]
            cbz x16, 3f
            cmp x2, #{floor}
            b.hs 2f
            br x16
            2:
            mrs x9, tpidr_el0
            adrp x10, :gottprel:profundo_local
            ldr x10, [x10, :gottprel_lo12:profundo_local]
            add x9, x9, x10
            ldr x10, [x9, #{copies}]
            subs x10, x10, x2
            b.ls 5f
            str x10, [x9, #{copies}]
            br x16
            5:
            mov x9, sp
            stp x29, x30, [sp, #-64]!
            .cfi_adjust_cfa_offset 64
            .cfi_rel_offset x29, 0
            .cfi_rel_offset x30, 8
            stp x0, x1, [sp, #16]
            stp x2, x3, [sp, #32]
            str x16, [sp, #48]
            mov x0, x2
            mov x1, x9
            mov x2, x29
            mov x3, x30
            bl {sample_copy}
            ldp x0, x1, [sp, #16]
            ldp x2, x3, [sp, #32]
            ldr x16, [sp, #48]
            ldp x29, x30, [sp], #64
            .cfi_adjust_cfa_offset -64
            .cfi_restore x29
            .cfi_restore x30
            br x16
            3:
            ",
            $result,
            "
            cbz x2, 7f
            sub x9, x0, x1
            cmp x9, x2
            b.lo 4f
            6:
            ldrb w9, [x1], #1
            strb w9, [x0], #1
            subs x2, x2, #1
            b.ne 6b
            b 7f
            4:
            sub x2, x2, #1
            ldrb w9, [x1, x2]
            strb w9, [x0, x2]
            cbnz x2, 4b
            7:
            mov x0, x12
            ret"
        )
    };
}

/// Calls the function of the first argument on the stack that ends at the second.
macro_rules! call_on_stack {
    () => {
        "stp x29, x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        mov x29, sp
        .cfi_def_cfa x29, 16
        mov sp, x1
        blr x0
        mov sp, x29
        ldp x29, x30, [sp], #16
        .cfi_def_cfa sp, 0
        .cfi_restore x29
        .cfi_restore x30
        ret"
    };
}

/// Jumps to the function of the unwinder with this number, if it is known.
macro_rules! jump_to_unwinder {
    () => {
        "adrp x16, {places}
        add x16, x16, :lo12:{places}
        ldr x16, [x16, #(8 * {number})]
        mov x17, #{number}
        cbz x16, 9f
        br x16
        9:
        b {find_and_jump}"
    };
}

/// Finds that function by the number that the text above has left, and jumps there.
macro_rules! find_unwinder {
    () => {
        concat!(
            $crate::machine::call_and_keep!("mov x0, x17", "{find}"),
            "
            br x16"
        )
    };
}

/// The number of registers that functions keep for their callers, beside the stack pointer.
pub(crate) const KEPT: usize = 11;

/// Writes those registers. Returns the stack pointer.
#[inline(always)]
pub(crate) fn keep_registers(registers: &mut [u64; KEPT]) -> u64 {
    let stack: u64;
    // SAFETY: eleven words of ours are written.
    unsafe {
        core::arch::asm!(
            "stp x19, x20, [{place}]",
            "stp x21, x22, [{place}, #16]",
            "stp x23, x24, [{place}, #32]",
            "stp x25, x26, [{place}, #48]",
            "stp x27, x28, [{place}, #64]",
            "str x29, [{place}, #80]",
            "mov {stack}, sp",
            place = in(reg) registers.as_mut_ptr(),
            stack = out(reg) stack,
            options(nostack, preserves_flags),
        );
    }
    stack
}

/// The caller's registers, as the entries pass them on: the third is the return address.
///
/// # Safety
/// The arguments come from one of the entries, whose caller waits.
#[inline(always)]
pub(crate) unsafe fn caller(stack: *const u64, frame: u64, returns_to: u64) -> Caller {
    Caller {
        registers: Regs::new(returns_to, stack as u64, frame),
        base: 0,
    }
}

/// Passes the stack pointer as the second argument.
macro_rules! pass_stack_second {
    () => {
        "mov x1, sp"
    };
}

/// Reports the beginning of a function, after the library that does so too.
macro_rules! report_enter {
    () => {
        "adrp x16, {next}
        ldr x16, [x16, :lo12:{next}]
        cbnz x16, 2f
        mov x1, sp
        b {enter}
        2:
        stp x0, x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_rel_offset x30, 8
        bl {pass_on}
        ldp x0, x30, [sp], #16
        .cfi_adjust_cfa_offset -16
        .cfi_restore x30
        mov x1, sp
        b {enter}"
    };
}

/// Reports the end of a function, before the library that does so too.
macro_rules! report_leave {
    () => {
        "adrp x16, {next}
        ldr x16, [x16, :lo12:{next}]
        cbnz x16, 2f
        mov x1, sp
        b {leave}
        2:
        stp x0, x1, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        str x30, [sp, #16]
        .cfi_rel_offset x30, 16
        add x1, sp, #32
        bl {leave}
        ldr x30, [sp, #16]
        ldp x0, x1, [sp], #32
        .cfi_adjust_cfa_offset -32
        .cfi_restore x30
        b {pass_on}"
    };
}

/// A function that functions built with `-pg` call, like any other, after they have set up their
/// frame. It counts the call, and jumps to the C library's.
macro_rules! beginning {
    ($name:ident, $count:ident) => {
        /// # Safety
        /// Called at the beginning of a function, as compilers emit it.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                $crate::machine::call_and_keep!("ldp x1, x0, [sp]", "{count}"),
                "br x16",
                ".cfi_endproc",
                count = sym $count,
            )
        }
    };
}

/// The size of what a call leaves on the stack.
pub(crate) const CALL_BYTES: u64 = 0;

/// The index of the stack pointer in the buffer of `setjmp`.
const JUMP_STACK: usize = 13;

/// The stack pointer in a buffer of `setjmp`, which glibc mangles by a word that its loader has.
///
/// # Safety
/// `kept` is such a buffer, in use.
pub(crate) unsafe fn stack_of_jump(kept: *const core::ffi::c_ulong) -> u64 {
    // SAFETY: the caller vouches.
    let stack = unsafe { kept.add(JUMP_STACK).read() };
    stack ^ guard()
}

/// The word that glibc mangles addresses with; 0 where there is none.
fn guard() -> u64 {
    use core::sync::atomic::{AtomicUsize, Ordering};

    /// The address of the word. 0: not looked up yet; 1: there is none.
    static PLACE: AtomicUsize = AtomicUsize::new(0);
    let place = match PLACE.load(Ordering::Relaxed) {
        0 => {
            let mut found = 1;
            let name = c"__pointer_chk_guard";
            crate::symbols::find_all(&[name], crate::symbols::Scope::All, |_, symbol| {
                found = symbol.address;
            });
            PLACE.store(found, Ordering::Relaxed);
            found
        }
        place => place,
    };
    match place {
        1 => 0,
        // SAFETY: the variable of that name, which the loader has set before the program began.
        place => unsafe { (place as *const u64).read() },
    }
}

pub(crate) use {
    begin_thread, beginning, bytes_first, bytes_product, bytes_second_if_small, call_and_keep,
    call_on_stack, call_with_list, copy, decide_and_jump, find_unwinder, go_on_in_before,
    go_on_in_real, go_on_unless_followed, go_straight_on, jump, jump_to_result, jump_to_unwinder,
    own_address, own_alignment, pass_caller, pass_caller_to_wide, pass_stack_second, report_enter,
    report_leave, subtract_and_go_on,
};

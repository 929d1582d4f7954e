//! The `syscall` instruction of x86-64.

use core::arch::asm;
use core::ffi::c_void;

/// # Safety
/// As the system call's own contract demands of its arguments.
#[inline]
pub(super) unsafe fn syscall4(number: i64, a: usize, b: usize, c: usize, d: usize) -> isize {
    // SAFETY: the caller vouches for the arguments; the kernel clobbers only rcx and r11.
    unsafe { syscall6(number, a, b, c, d, 0, 0) }
}

/// # Safety
/// As the system call's own contract demands of its arguments.
#[inline]
pub(super) unsafe fn syscall6(
    number: i64,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> isize {
    let result: isize;
    // SAFETY: the caller vouches for the arguments; the kernel clobbers only rcx and r11.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Calls a function on another stack.
///
/// # Safety
/// `top` is the end, aligned to 16 bytes, of memory that is large enough for the function and has
/// no other user; the function takes this argument and does not unwind.
#[inline]
pub(super) unsafe fn call_on(
    top: *mut u8,
    function: extern "C" fn(*mut c_void),
    argument: *mut c_void,
) {
    // SAFETY: the caller vouches for the stack and the function, which keeps r12 as every C
    // function does. Without `nostack` nothing of ours lies below the stack pointer.
    unsafe {
        asm!(
            "mov r12, rsp",
            "mov rsp, {top}",
            "call {function}",
            "mov rsp, r12",
            top = in(reg) top,
            function = in(reg) function,
            in("rdi") argument,
            out("r12") _,
            clobber_abi("C"),
        );
    }
}

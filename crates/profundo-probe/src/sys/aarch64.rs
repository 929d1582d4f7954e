//! The `svc` instruction of aarch64.

use core::arch::asm;
use core::ffi::c_void;

/// # Safety
/// As the system call's own contract demands of its arguments.
#[inline]
pub(super) unsafe fn syscall4(number: i64, a: usize, b: usize, c: usize, d: usize) -> isize {
    // SAFETY: the caller vouches for the arguments.
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
    // SAFETY: the caller vouches for the arguments; the kernel keeps all other registers.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a as isize => result,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
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
    // SAFETY: the caller vouches for the stack and the function, which keeps x20 as every C
    // function does. Without `nostack` nothing of ours lies below the stack pointer.
    unsafe {
        asm!(
            "mov x20, sp",
            "mov sp, {top}",
            "blr {function}",
            "mov sp, x20",
            top = in(reg) top,
            function = in(reg) function,
            in("x0") argument,
            out("x20") _,
            clobber_abi("C"),
        );
    }
}

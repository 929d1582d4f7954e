//! Programs that restrict their own system calls (seccomp). A handler of ours would make one that is
//! not permitted, and the program would be killed for it. So the agent leaves the process just
//! before: no handler of ours runs any more, and nothing of ours calls the kernel.

use core::arch::naked_asm;
use core::ffi::{c_int, c_long, c_ulong};

use core::sync::atomic::{AtomicBool, Ordering};

use profundo_probe::urgent;

use crate::real;
use crate::signals;
use crate::{fork, threads};

static LEFT: AtomicBool = AtomicBool::new(false);

/// Whether the agent has left this process.
pub fn has_left() -> bool {
    LEFT.load(Ordering::Relaxed)
}

/// Leaves.
fn leave() {
    if let Some(home) = fork::home_of_this_process() {
        LEFT.store(true, Ordering::Relaxed);
        urgent::set_probe(None);
        home.set_records(false);
        signals::withdraw();
        // Release pairs with the acquire of the command.
        home.ring().header.left.store(1, Ordering::Release);
        threads::tell(home);
    }
}

/// # Safety
/// As for `prctl`, whose arguments are all of one size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl(
    option: c_int,
    first: c_ulong,
    second: c_ulong,
    third: c_ulong,
    fourth: c_ulong,
) -> c_int {
    if option == libc::PR_SET_SECCOMP {
        leave();
    }
    match real::prctl() {
        // SAFETY: the caller's arguments, passed on.
        Some(real) => unsafe { real(option, first, second, third, fourth) },
        None => real::missing(),
    }
}

/// Returns the C library's function, or one that fails.
extern "C" fn before(number: c_long, operation: c_long) -> *const () {
    extern "C" fn fails() -> c_long {
        real::missing().into()
    }
    /// The first two install a filter, the others ask.
    const QUESTIONS: c_long = 2;
    if number == libc::SYS_seccomp && (0..QUESTIONS).contains(&operation) {
        leave();
    }
    real::syscall().map_or(fails as *const (), |real| real as *const ())
}

/// A call that may return twice, or on another stack, finds the caller's stack as it left it: the C
/// library's function is jumped to.
///
/// # Safety
/// As for `syscall`.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn syscall() -> c_long {
    naked_asm!(
        ".cfi_startproc",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 56",
        "call {before}",
        "add rsp, 8",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        ".cfi_adjust_cfa_offset -56",
        "jmp rax",
        ".cfi_endproc",
        before = sym before,
    )
}

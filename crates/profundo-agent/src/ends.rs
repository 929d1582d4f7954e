//! The end of a process, as far as it is told: the last moment at which it can say what it used.

use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering;

use crate::home::{Whose, home};
use crate::{calls, deferred, left, memory, next_symbols, process, session, threads};

/// Has the C library tell us when the program leaves `main` or calls `exit`. What was registered
/// first is called last.
pub fn watch() {
    unsafe extern "C" fn at_exit(code: c_int, _: *mut c_void) {
        note(code);
        let own = home().filter(|home| home.whose() == Whose::Ours && home.records());
        if let (Some(home), false) = (own, left::has_left()) {
            memory::look_for_the_unreachable(home);
        }
    }
    if let Some(on_exit) = next_symbols::on_exit() {
        // SAFETY: the function may be called at any time, and stays.
        unsafe { on_exit(at_exit, ptr::null_mut()) };
    }
}

/// Writes down the exit code, and what the process has used: in its ring, or, if it has none or
/// borrows its parent's memory, among the last words. A program that restricts its calls makes none
/// for us.
fn note(code: c_int) {
    if left::has_left() {
        // What lies in memory that is ours needs no call.
        return calls::end();
    }
    deferred::end();
    let own = home().filter(|home| home.whose() == Whose::Ours && home.records());
    let Some(home) = own else {
        if let Some(control) = session::control().filter(|it| session::has_not_ended(it)) {
            session::say_farewell(control, code);
        }
        return;
    };
    calls::end();
    threads::note_cpu(home);
    let header = &home.ring().header;
    let (used, ends) = (process::usage(), &header.ends);
    header.exit_code.store(code, Ordering::Relaxed);
    ends.user.store(used.user, Ordering::Relaxed);
    ends.system.store(used.system, Ordering::Relaxed);
    ends.peak.store(used.peak, Ordering::Relaxed);
    ends.minor_faults
        .store(used.minor_faults, Ordering::Relaxed);
    ends.major_faults
        .store(used.major_faults, Ordering::Relaxed);
    // Release pairs with the acquire of the command.
    ends.known.store(1, Ordering::Release);
}

/// Writes down what the process has used when it is about to become another program. A child that borrows its
/// parent's memory writes nothing.
pub fn note_exec() {
    let own = home().filter(|home| home.whose() == Whose::Ours && home.records());
    if let Some(home) = own.filter(|_| !left::has_left()) {
        threads::note_cpu(home);
        let (used, ends) = (process::usage(), &home.ring().header.ends);
        ends.user.store(used.user, Ordering::Relaxed);
        ends.system.store(used.system, Ordering::Relaxed);
        // Release pairs with the acquire of the command.
        ends.at_exec.store(1, Ordering::Release);
    }
}

/// Ends the process as the C library would, even if its function could not be found.
fn leave(real: Option<unsafe extern "C-unwind" fn(c_int) -> !>, code: c_int) -> ! {
    // SAFETY: the caller's argument, passed on; else the kernel's own call, which does not return.
    unsafe {
        if let Some(real) = real {
            real(code);
        }
        loop {
            profundo_probe::sys::call(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0, 0]);
        }
    }
}

/// # Safety
/// As for `_exit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(code: c_int) -> ! {
    note(code);
    leave(next_symbols::_exit(), code)
}

/// # Safety
/// As for `_Exit`.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C" fn _Exit(code: c_int) -> ! {
    note(code);
    leave(next_symbols::_exit(), code)
}

/// # Safety
/// As for `quick_exit`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn quick_exit(code: c_int) -> ! {
    note(code);
    leave(next_symbols::quick_exit(), code)
}

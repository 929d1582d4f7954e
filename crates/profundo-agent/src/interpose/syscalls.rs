//! System calls by number, through the C library's `syscall`: those that would bypass one of our
//! functions are passed to it. Code with a system call instruction of its own cannot be seen.

use core::arch::naked_asm;
use core::ffi::{c_char, c_int, c_long, c_uint};
use core::ptr;

use libc::{siginfo_t, sigset_t, timespec};
use profundo_probe::hidden::ALL;
use profundo_probe::sys;
use profundo_probe::urgent::Action;

use crate::interpose::{exec, masks, restrict, signals, trace};
use crate::next_symbols::{self, Strings};
use crate::signals::{actions, blocked};

/// The function that continues with the caller's arguments: the C library's, one of ours, or one
/// that fails.
extern "C" fn before(number: c_long, first: c_long) -> *const () {
    extern "C" fn fails() -> c_long {
        next_symbols::missing().into()
    }
    match number {
        libc::SYS_execve => return by_path as *const (),
        libc::SYS_execveat => return by_directory as *const (),
        libc::SYS_rt_sigaction if is_one_of_ours(first) => return action as *const (),
        libc::SYS_rt_sigpending => return pending as *const (),
        libc::SYS_rt_sigprocmask => return mask as *const (),
        libc::SYS_rt_sigtimedwait => return wait as *const (),
        number if is_signalfd(number) => return descriptor as *const (),
        libc::SYS_seccomp => restrict::before_seccomp(first),
        libc::SYS_ptrace => trace::before(first as c_uint),
        _ => {}
    }
    next_symbols::syscall().map_or(fails as *const (), |real| real as *const ())
}

/// Whether this is one of the calls that make a descriptor of signals. Newer machines have but one.
fn is_signalfd(number: c_long) -> bool {
    #[cfg(target_arch = "x86_64")]
    if number == libc::SYS_signalfd {
        return true;
    }
    number == libc::SYS_signalfd4
}

/// The function that continues is jumped to, so that a call that returns twice, or on another
/// stack, finds the caller's stack unchanged.
///
/// # Safety
/// As for `syscall`.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn syscall() -> c_long {
    naked_asm!(
        ".cfi_startproc",
        crate::machine::jump_to_result!("{before}"),
        ".cfi_endproc",
        before = sym before,
    )
}

unsafe extern "C" fn by_path(
    _: c_long,
    path: *const c_char,
    arguments: Strings,
    list: Strings,
) -> c_long {
    // SAFETY: the caller's arguments, passed on.
    unsafe { exec::execve(path, arguments, list).into() }
}

unsafe extern "C" fn by_directory(
    _: c_long,
    directory: c_int,
    path: *const c_char,
    arguments: Strings,
    list: Strings,
    flags: c_int,
) -> c_long {
    // SAFETY: the caller's arguments, passed on.
    unsafe { exec::execveat(directory, path, arguments, list, flags).into() }
}

/// As the kernel has it.
#[derive(Default)]
#[repr(C)]
struct KernelAction {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

fn is_one_of_ours(signal: c_long) -> bool {
    ALL.contains(&(signal as c_int))
}

/// As `rt_sigaction` for one of our signals.
unsafe extern "C" fn action(
    number: c_long,
    signal: c_int,
    new: *const KernelAction,
    old: *mut KernelAction,
    bytes: usize,
) -> c_long {
    let Some(real) = next_symbols::syscall() else {
        return next_symbols::missing().into();
    };
    type Raw = unsafe extern "C-unwind" fn(
        c_long,
        c_int,
        *const KernelAction,
        *mut KernelAction,
        usize,
    ) -> c_long;
    // SAFETY: null or the caller's.
    let wanted = unsafe { new.as_ref() }.map(|new| Action {
        handler: new.handler,
        flags: new.flags as c_int,
        mask: new.mask,
    });
    let is_right = bytes == size_of::<u64>();
    let Some(before) = is_right
        .then(|| actions::exchange_by_number(signal, wanted))
        .flatten()
    else {
        // SAFETY: the C library's function takes up to six more arguments of a word each.
        let result = unsafe {
            let real =
                core::mem::transmute::<unsafe extern "C-unwind" fn(c_long) -> c_long, Raw>(real);
            real(number, signal, new, old, bytes)
        };
        // SAFETY: null, or filled in where the call has succeeded.
        if let Some(old) = unsafe { old.as_mut() }
            && result == 0
            && actions::is_ours(old.handler)
        {
            *old = KernelAction::default();
        }
        return result;
    };
    // SAFETY: null or the caller's.
    if let Some(old) = unsafe { old.as_mut() } {
        *old = KernelAction {
            handler: before.handler,
            flags: before.flags as u32 as u64,
            restorer: 0,
            mask: before.mask,
        };
    }
    0
}

unsafe extern "C" fn pending(_: c_long, set: *mut sigset_t) -> c_long {
    // SAFETY: the caller's argument, of which eight bytes are written.
    unsafe { signals::sigpending(set).into() }
}

/// Sets are as long as a word.
const SET_BYTES: usize = size_of::<u64>();

/// True if the kernel would refuse a set of this size at this address; then `errno` says why.
///
/// A pointer that leads nowhere is an error of a system call and no fault. Unwinders (LLVM's,
/// Abseil's) ask the kernel on purpose whether an address is readable: they pass it as a set, with
/// an operation that does not exist.
fn is_wrong(set: *const u64, bytes: usize) -> bool {
    let error = match kernel_mask(NO_OPERATION, set, ptr::null_mut(), bytes) {
        libc::EFAULT => libc::EFAULT,
        _ if bytes != SET_BYTES => libc::EINVAL,
        _ => return false,
    };
    next_symbols::set_errno(error);
    true
}

/// An operation on masks that does not exist.
const NO_OPERATION: c_int = -1;

/// Makes the system call. Returns the error, or 0.
fn kernel_mask(how: c_int, set: *const u64, old: *mut u64, bytes: usize) -> c_int {
    let arguments = [how as usize, set as usize, old as usize, bytes, 0, 0];
    // SAFETY: the kernel looks at both addresses itself; the caller may write to the second, if it
    // can.
    let result = unsafe { sys::call(libc::SYS_rt_sigprocmask, arguments) };
    -result as c_int
}

unsafe extern "C" fn mask(
    _: c_long,
    how: c_int,
    set: *const u64,
    old: *mut u64,
    bytes: usize,
) -> c_long {
    if is_wrong(set, bytes) {
        return -1;
    }
    let exists = matches!(how, libc::SIG_BLOCK | libc::SIG_UNBLOCK | libc::SIG_SETMASK);
    // SAFETY: null or readable, as was seen. Both sets may be the same one, so this is read first.
    let wanted = (!set.is_null()).then(|| unsafe { set.read_unaligned() });
    let refused = match wanted {
        Some(_) if !exists => libc::EINVAL,
        _ if old.is_null() => 0,
        _ => kernel_mask(libc::SIG_BLOCK, ptr::null(), old, bytes),
    };
    if refused != 0 {
        next_symbols::set_errno(refused);
        return -1;
    }
    let set = wanted.as_ref().map_or(ptr::null(), ptr::from_ref);
    // Without a set, the operation does not matter.
    let how = if exists { how } else { libc::SIG_BLOCK };
    // SAFETY: the caller's arguments, passed on.
    unsafe { blocked::by_number(how, set, old).into() }
}

unsafe extern "C-unwind" fn wait(
    _: c_long,
    set: *const sigset_t,
    info: *mut siginfo_t,
    time: *const timespec,
    bytes: usize,
) -> c_long {
    if is_wrong(set.cast(), bytes) || is_wrong(time.cast(), bytes) {
        return -1;
    }
    // SAFETY: the caller's arguments, passed on; of the set, eight bytes are read.
    unsafe { signals::sigtimedwait(set, info, time).into() }
}

unsafe extern "C" fn descriptor(
    number: c_long,
    file: c_int,
    set: *const sigset_t,
    bytes: usize,
    flags: c_int,
) -> c_long {
    if is_wrong(set.cast(), bytes) {
        return -1;
    }
    let flags = match number {
        libc::SYS_signalfd4 => flags,
        _ => 0,
    };
    // SAFETY: the caller's arguments, passed on; of the set, eight bytes are read.
    unsafe { masks::signalfd(file, set, flags).into() }
}

//! Signals that are not ours: our handler calls the program's, with the mask that it would have
//! had.
//!
//! A signal that the program blocks and the kernel does not ([`crate::hidden`]) is sent once more,
//! and is blocked in the kernel as well from then on.

use core::mem::MaybeUninit;
use core::ptr;

use crate::actions::{self, believed, bit};
use crate::handlers::{TRAP_PERF, hand_over};
use crate::{hidden, sys};

/// Does what the kernel would do with the signal if our handler were not there.
///
/// # Safety
/// The arguments are those of a running handler.
#[cold]
pub(crate) unsafe fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the context is the kernel's; the set's first eight bytes are the mask before.
    let mask = unsafe {
        let context = context.cast::<libc::ucontext_t>();
        (&raw mut (*context).uc_sigmask).cast::<u64>()
    };
    // SAFETY: as above.
    let before = unsafe { mask.read() };
    // SAFETY: the kernel's.
    let code = unsafe { (*info).si_code };
    let is_fault = signal == libc::SIGTRAP && code > 0 && code != TRAP_PERF;
    let is_blocked = hidden::shown(before) & !before & bit(signal) != 0;
    if is_blocked && !is_fault {
        // SAFETY: as above; from the handler's end on it is blocked.
        unsafe { mask.write(before | bit(signal)) };
        // SAFETY: passed on.
        return unsafe { send_again(signal, info) };
    }
    let action = believed(signal);
    // The kernel lets no program block or ignore a breakpoint.
    let is_deadly = is_fault && (is_blocked || !action.is_function());
    let is_default = action.handler == libc::SIG_DFL && signal != libc::SIGURG;
    if is_deadly || is_default {
        return die(signal);
    }
    if !action.is_function() {
        return;
    }
    if action.flags & libc::SA_RESETHAND != 0 {
        actions::reset(signal);
    }
    // The handler may leave by a jump, and then its mask stays, so it has to be the program's.
    let itself = match action.flags & libc::SA_NODEFER {
        0 => bit(signal),
        _ => 0,
    };
    sys::set_signal_mask(before | action.mask | itself);
    // SAFETY: passed on; the action was installed by the program.
    unsafe { hand_over(&MaybeUninit::new(action.to_libc()), signal, info, context) };
}

/// Sends a signal again that was taken from the calling thread, which blocks it: to the process if
/// it was for the process.
///
/// # Safety
/// `info` is the kernel's.
pub unsafe fn send_again(signal: i32, info: *const libc::siginfo_t) {
    // SAFETY: the calls read the information, and the process is this one.
    unsafe {
        let process = sys::call(libc::SYS_getpid, [0; 6]) as usize;
        let (number, place) = (signal as usize, info as usize);
        let is_for_thread = (*info).si_code == libc::SI_TKILL;
        let to_process = [process, number, place, 0, 0, 0];
        let sent = !is_for_thread && sys::call(libc::SYS_rt_sigqueueinfo, to_process) == 0;
        if sent {
            return;
        }
        if (*info).si_code == libc::SI_USER {
            // For a thread other than the first, the kernel accepts this information only from
            // itself.
            sys::call(libc::SYS_kill, [process, number, 0, 0, 0, 0]);
            return;
        }
        let thread = sys::thread_id() as usize;
        let to_thread = [process, thread, number, place, 0, 0];
        sys::call(libc::SYS_rt_tgsigqueueinfo, to_thread);
    }
}

/// A signal without a handler that ends a program: the program dies of it, as it would have without
/// us, when the handler returns and the signal is unblocked.
#[cold]
fn die(signal: i32) {
    const SET_BYTES: usize = 8;
    /// The kernel's own structure: handler, flags, restorer, mask.
    static DEFAULT: [u64; 4] = [0; 4];
    let number = signal as usize;
    // SAFETY: a zeroed action is SIG_DFL; the signal goes to the calling thread.
    unsafe {
        let new = DEFAULT.as_ptr() as usize;
        let old = ptr::null::<u64>() as usize;
        sys::call(libc::SYS_rt_sigaction, [number, new, old, SET_BYTES, 0, 0]);
        let process = sys::call(libc::SYS_getpid, [0; 6]) as usize;
        let thread = sys::thread_id() as usize;
        sys::call(libc::SYS_tgkill, [process, thread, number, 0, 0, 0]);
    }
}

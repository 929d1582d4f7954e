//! aarch64: the registers of a held thread, and the system call that it was in.
//!
//! The kernel has already set a call that it will restart back to its instruction, and forgotten
//! its number. A call that returns `EINTR` has lost its first argument, so a thread that waits is
//! asked for it before.

use profundo_linux::sys;
use profundo_unwind::{General, Regs};

use super::super::blocked::{Activity, Blocked, activity};
use super::{Held, Late, request};

/// Linux's number of the general registers.
const NT_PRSTATUS: usize = 1;

/// The length of the instruction `svc`, and its bytes.
const SYSCALL: u64 = 4;
const SVC_0: [u8; 4] = [0x01, 0x00, 0x00, 0xd4];

impl Late {
    /// Resumes the thread, which has stopped. The call that it may have begun to wait in goes on.
    pub(super) fn resume(&self, signal: i32) {
        let call = self.call.as_ref();
        if signal == 0
            && let Some(mut regs) = registers(self.tid)
        {
            restart_call(self.tid, &mut regs, call, self.may_have_waited);
        }
        let _ = request(libc::PTRACE_DETACH, self.tid, 0, signal as usize);
    }
}

impl Held {
    /// A thread that has just been stopped again may be in any call, whose first argument is lost.
    #[expect(clippy::unused_self, reason = "elsewhere it is set back")]
    pub(super) fn restart_interrupted(&self) {}

    pub(super) fn read_registers(&mut self, may_have_waited: bool) -> bool {
        let Some(mut regs) = registers(self.tid) else {
            return false;
        };
        if self.signal == 0 {
            let call = self.call.as_ref();
            self.is_restarted = restart_call(self.tid, &mut regs, call, may_have_waited);
        }
        self.is_after_a_call = is_at_call(self.pid, regs.pc);
        let [first @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = regs.regs;
        self.registers.general = General(first);
        self.registers.all = regs.regs;
        self.registers.place = Regs {
            ip: regs.pc,
            sp: regs.sp,
            fp: regs.regs[29],
            lr: regs.regs[30],
        };
        true
    }
}

/// The call that a thread waits in, before it is held.
pub(super) fn call_before(pid: u32, tid: u32) -> Option<Blocked> {
    match activity(pid, tid) {
        Activity::Blocked(blocked) if blocked.call >= 0 => Some(blocked),
        _ => None,
    }
}

fn registers(tid: i32) -> Option<libc::user_regs_struct> {
    // SAFETY: zeroed registers are registers.
    let mut regs: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    let mut vector = libc::iovec {
        iov_base: (&raw mut regs).cast(),
        iov_len: size_of_val(&regs),
    };
    let place = &raw mut vector as usize;
    let read = request(libc::PTRACE_GETREGSET, tid, NT_PRSTATUS, place);
    read.is_ok().then_some(regs)
}

/// Whether a thread with this next instruction has just made a system call, or makes it again.
fn is_at_call(pid: u32, next: u64) -> bool {
    let mut code = [[0; 4]; 2];
    let start = next.wrapping_sub(SYSCALL);
    let read = sys::read_memory(pid, start, code.as_flattened_mut());
    read >= 4 && code[0] == SVC_0 || read == 8 && code[1] == SVC_0
}

/// A few system calls do not continue after a stop, but return `EINTR`. This one is set back to its
/// instruction, if it is the one that the thread waited in before it was held. If the thread may
/// have waited for long, and for a limited time, its call returns `EINTR`, as after any stop: it
/// would wait for the whole time again. So does one that lets signals in while it waits: only the
/// kernel could set that back. Returns whether the call begins anew.
fn restart_call(
    tid: i32,
    regs: &mut libc::user_regs_struct,
    before: Option<&Blocked>,
    may_have_waited: bool,
) -> bool {
    let number = regs.regs[8] as i64;
    let Some(before) = before.filter(|before| is_same(before, regs)) else {
        return false;
    };
    if regs.regs[0] as i64 != -i64::from(libc::EINTR)
        || may_have_waited && has_limit(number, regs)
        || has_mask(number, regs)
    {
        return false;
    }
    let mut restarted = *regs;
    restarted.pc = regs.pc.wrapping_sub(SYSCALL);
    restarted.regs[0] = before.arguments[0];
    let mut vector = libc::iovec {
        iov_base: (&raw mut restarted).cast(),
        iov_len: size_of_val(&restarted),
    };
    let place = &raw mut vector as usize;
    let is_set = request(libc::PTRACE_SETREGSET, tid, NT_PRSTATUS, place).is_ok();
    if is_set {
        *regs = restarted;
    }
    is_set
}

/// Whether a held thread is behind the call that it waited in.
fn is_same(before: &Blocked, regs: &libc::user_regs_struct) -> bool {
    let [_, arguments @ ..] = before.arguments;
    before.call == regs.regs[8] as i64
        && (before.ip, before.sp) == (regs.pc, regs.sp)
        && regs.regs[1..6] == arguments
}

/// Whether a system call that returns `EINTR` after a stop waits for a limited time.
fn has_limit(number: i64, regs: &libc::user_regs_struct) -> bool {
    match number {
        libc::SYS_epoll_pwait => regs.regs[3] as i32 >= 0,
        libc::SYS_epoll_pwait2 | libc::SYS_semtimedop => regs.regs[3] != 0,
        libc::SYS_rt_sigtimedwait => regs.regs[2] != 0,
        libc::SYS_io_getevents => regs.regs[4] != 0,
        _ => false,
    }
}

/// Whether a system call lets other signals in while it waits.
fn has_mask(number: i64, regs: &libc::user_regs_struct) -> bool {
    match number {
        libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 | libc::SYS_io_uring_enter => {
            regs.regs[4] != 0
        }
        _ => false,
    }
}

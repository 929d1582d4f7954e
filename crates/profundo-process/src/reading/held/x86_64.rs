//! x86-64: the registers of a held thread, and the system call that it was in.

use profundo_unwind::{General, Regs};

use super::super::blocked::Blocked;
use super::{Held, Late, Registers, request};

impl Late {
    /// Resumes the thread, which has stopped. The call that it may have begun to wait in goes on.
    pub(super) fn resume(&self, signal: i32) {
        // SAFETY: zeroed registers are registers.
        let mut regs: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        let place = &raw mut regs as usize;
        if signal == 0 && request(libc::PTRACE_GETREGS, self.tid, 0, place).is_ok() {
            restart_call(self.tid, &mut regs, self.may_have_waited);
        }
        let _ = request(libc::PTRACE_DETACH, self.tid, 0, signal as usize);
    }
}

impl Held {
    /// As [`restart_call`], for a thread that has just been stopped again.
    pub(super) fn restart_interrupted(&self) {
        // SAFETY: zeroed registers are registers.
        let mut regs: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        let place = &raw mut regs as usize;
        if request(libc::PTRACE_GETREGS, self.tid, 0, place).is_ok() {
            restart_call(self.tid, &mut regs, false);
        }
    }

    pub(super) fn read_registers(&mut self, may_have_waited: bool) -> bool {
        // SAFETY: zeroed registers are registers.
        let (mut regs, mut vectors): (libc::user_regs_struct, libc::user_fpregs_struct) =
            unsafe { std::mem::zeroed() };
        let place = &raw mut regs as usize;
        if request(libc::PTRACE_GETREGS, self.tid, 0, place).is_err() {
            return false;
        }
        let place = &raw mut vectors as usize;
        let _ = request(libc::PTRACE_GETFPREGS, self.tid, 0, place);
        self.is_after_a_call = regs.orig_rax as i64 >= 0;
        if self.signal == 0 {
            restart_call(self.tid, &mut regs, may_have_waited);
        }
        self.registers.general = General([
            regs.rax, regs.rdx, regs.rcx, regs.rbx, regs.rsi, regs.rdi, regs.rbp, regs.rsp,
            regs.r8, regs.r9, regs.r10, regs.r11, regs.r12, regs.r13, regs.r14, regs.r15,
        ]);
        self.registers.place = Regs::new(regs.rip, regs.rsp, regs.rbp);
        let Registers { general, all, .. } = &mut self.registers;
        let (words, halves) = all.split_at_mut(general.0.len());
        words.copy_from_slice(&general.0);
        for (pair, [a, b, c, d]) in halves
            .chunks_exact_mut(2)
            .zip(vectors.xmm_space.as_chunks().0.iter().copied())
        {
            let join = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
            pair.copy_from_slice(&[join(a, b), join(c, d)]);
        }
        true
    }
}

/// A few system calls do not continue after a stop, but return `EINTR`. We have the kernel restart
/// this one unless a signal of the program's own arrives. If the thread may have waited for long,
/// and for a limited time, the restart would reset that time, so its call returns `EINTR`, as after
/// any stop.
fn restart_call(tid: i32, regs: &mut libc::user_regs_struct, may_have_waited: bool) {
    /// The result by which the kernel restarts a call unless a signal has a handler.
    const RESTART: i64 = -514;
    let is_interrupted = regs.orig_rax as i64 >= 0 && regs.rax as i64 == -i64::from(libc::EINTR);
    if !is_interrupted || (may_have_waited && has_limit(regs)) {
        return;
    }
    regs.rax = RESTART as u64;
    let place = std::ptr::from_mut(regs) as usize;
    let _ = request(libc::PTRACE_SETREGS, tid, 0, place);
}

/// Whether a system call that returns `EINTR` after a stop waits for a limited time.
fn has_limit(regs: &libc::user_regs_struct) -> bool {
    match regs.orig_rax as i64 {
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => regs.r10 as i32 >= 0,
        libc::SYS_epoll_pwait2 | libc::SYS_semtimedop => regs.r10 != 0,
        libc::SYS_rt_sigtimedwait => regs.rdx != 0,
        _ => false,
    }
}

/// The kernel says in which call a held thread is, so nothing is asked before.
pub(super) fn call_before(_: u32, _: u32) -> Option<Blocked> {
    None
}

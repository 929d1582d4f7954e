//! aarch64: the registers of a held thread. The kernel has already set a call that it will restart
//! back to its instruction, and forgotten its number.

use profundo_linux::sys;
use profundo_unwind::{General, Regs};

use super::{Held, Late, request};

/// Linux's number of the general registers.
const NT_PRSTATUS: usize = 1;

impl Late {
    /// Resumes the thread, which has stopped. The call that it may have begun to wait in goes on,
    /// if it is one that the kernel restarts.
    pub(super) fn resume(&self, signal: i32) {
        let _ = request(libc::PTRACE_DETACH, self.tid, 0, signal as usize);
    }
}

impl Held {
    pub(super) fn read_registers(&mut self, _: bool) -> bool {
        // SAFETY: zeroed registers are registers.
        let mut regs: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        let mut vector = libc::iovec {
            iov_base: (&raw mut regs).cast(),
            iov_len: size_of_val(&regs),
        };
        let place = &raw mut vector as usize;
        if request(libc::PTRACE_GETREGSET, self.tid, NT_PRSTATUS, place).is_err() {
            return false;
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

/// Whether a thread with this next instruction has just made a system call, or makes it again.
fn is_at_call(pid: u32, next: u64) -> bool {
    const SVC_0: [u8; 4] = [0x01, 0x00, 0x00, 0xd4];
    let mut code = [[0; 4]; 2];
    let start = next.wrapping_sub(4);
    let read = sys::read_memory(pid, start, code.as_flattened_mut());
    read >= 4 && code[0] == SVC_0 || read == 8 && code[1] == SVC_0
}

/// A call that the kernel does not restart by itself returns `EINTR`: its first argument is lost.
pub(super) fn restart_interrupted(_: i32) {}

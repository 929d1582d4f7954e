//! x86-64: the registers of a borrowed thread, and how they are put back.

use std::io;
use std::mem::MaybeUninit;

use profundo_process::reading::Held;

use super::Borrowed;
use crate::frame::{self, Frame};
use crate::ptrace::{Request, request};
use crate::refused::Refused;
use crate::safe_point::Instructions;

/// The general registers, as `ptrace` has them.
pub(crate) type Registers = libc::user_regs_struct;

/// A system call, followed by a return; and the one that ends a signal handler.
pub(crate) const CALL: [u8; 3] = [0x0f, 0x05, 0xc3];
pub(crate) const BACK: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];

/// The length of the instruction `syscall`.
const SYSCALL: u64 = 2;

/// The area below the stack pointer that belongs to the function.
pub(super) const RED_ZONE: u64 = 128;

/// The size of the extended state of the largest CPUs.
const STATE_BYTES: usize = 32 << 10;

/// Linux's number of the extended state.
const NT_X86_XSTATE: usize = 0x202;

/// The call number of a thread that is not in a system call.
const NO_CALL: u64 = u64::MAX;

/// The results of a system call that is to be restarted. One that needs a restart block cannot be
/// described in a frame.
const RESTART: std::ops::RangeInclusive<i64> = -514..=-512;
const RESTART_BLOCK: i64 = -516;

/// What a thread has before it is borrowed.
#[derive(Debug)]
pub(super) struct Before {
    registers: Registers,
    /// The extended state.
    state: Vec<u8>,
}

impl Before {
    pub(super) fn of(held: &Held, _: Instructions) -> Result<Option<Self>, Refused> {
        Ok(Some(Self::now(held.tid())?))
    }

    /// What a held thread has now.
    pub(super) fn now(tid: i32) -> io::Result<Self> {
        Ok(Self {
            registers: registers(tid)?,
            state: state(tid)?,
        })
    }

    pub(super) fn stack(&self) -> u64 {
        self.registers.rsp
    }

    /// The address of the thread's own data.
    #[expect(clippy::unnecessary_wraps, reason = "it is asked for elsewhere")]
    pub(super) fn own_data(&self, _: i32) -> io::Result<u64> {
        Ok(self.registers.fs_base)
    }

    /// The registers that a frame restores: those that restart an interrupted system call.
    pub(super) fn way_back(&self) -> Registers {
        let mut registers = self.registers;
        if registers.orig_rax as i64 >= 0 {
            match registers.rax as i64 {
                result if RESTART.contains(&result) => {
                    registers.rax = registers.orig_rax;
                    registers.rip -= SYSCALL;
                }
                RESTART_BLOCK => registers.rax = -i64::from(libc::EINTR) as u64,
                _ => {}
            }
        }
        registers
    }

    /// A frame that ends below `end` and restores these registers. `back`: the address of the
    /// instructions that end a handler.
    pub(super) fn frame(&self, end: u64, back: u64, registers: &Registers, mask: u64) -> Frame {
        frame::below(end, back, registers, &self.state, mask)
    }

    pub(super) fn at_call(
        &self,
        instructions: Instructions,
        number: i64,
        [rdi, rsi, rdx, r10, r8, r9]: [u64; 6],
        stack: u64,
    ) -> Registers {
        Registers {
            rip: instructions.call,
            rsp: stack,
            rax: number as u64,
            orig_rax: NO_CALL,
            rdi,
            rsi,
            rdx,
            r10,
            r8,
            r9,
            ..self.registers
        }
    }

    pub(super) fn at_function(
        &self,
        _: Instructions,
        function: u64,
        [rdi, rsi, rdx]: [u64; 3],
        stack: u64,
    ) -> Registers {
        Registers {
            rip: function,
            rsp: stack,
            rbp: 0,
            // The number of vector registers with arguments.
            rax: 0,
            orig_rax: NO_CALL,
            rdi,
            rsi,
            rdx,
            // The direction flag is clear in any function.
            eflags: self.registers.eflags & !0x400,
            ..self.registers
        }
    }
}

impl Borrowed {
    /// Puts everything back, so that the kernel restarts the call that the thread was in. Returns
    /// the signal that the thread has then.
    pub(super) fn put_back(&mut self) -> Option<i32> {
        let tid = self.held.tid();
        // This comes first, so that the kernel restarts the interrupted call even if we get no
        // further.
        let _ = request(tid, libc::PTRACE_INTERRUPT, 0, 0);
        let state = &mut self.before.state;
        let _ = exchange_state(tid, libc::PTRACE_SETREGSET, state);
        let _ = begin(tid, &self.before.registers);
        self.stop_on_the_way()
    }
}

pub(super) fn registers(tid: i32) -> io::Result<Registers> {
    let mut registers = MaybeUninit::<Registers>::zeroed();
    let place = registers.as_mut_ptr() as usize;
    request(tid, libc::PTRACE_GETREGS, 0, place)?;
    // SAFETY: the kernel has filled it in, and zeros are registers.
    Ok(unsafe { registers.assume_init() })
}

/// Sets the registers that a thread goes on with.
pub(super) fn begin(tid: i32, registers: &Registers) -> io::Result<()> {
    let place = std::ptr::from_ref(registers) as usize;
    request(tid, libc::PTRACE_SETREGS, 0, place)
}

pub(super) fn stack(registers: &Registers) -> u64 {
    registers.rsp
}

/// The result of a system call that has ended.
pub(super) fn result(registers: &Registers) -> i64 {
    registers.rax as i64
}

/// The place of the return addresses, and these, for a function whose result is wanted: it returns
/// to a system call whose number is the result.
pub(super) fn way_with_result(instructions: Instructions, frame: u64) -> (u64, Vec<u8>) {
    let Instructions { call, .. } = instructions;
    let returns = [call, call + SYSCALL];
    (frame - 16, returns.map(u64::to_le_bytes).concat())
}

/// Whether a thread that enters a system call has come to one through its return address, which
/// lay at `stack`.
pub(super) fn is_back(now: &Registers, instructions: Instructions, stack: u64) -> bool {
    let Instructions { call, back } = instructions;
    let is_end = now.rip == call + SYSCALL || now.rip == back + BACK.len() as u64;
    now.rsp == stack + 8 && is_end
}

/// Puts a call that does nothing in the place of the one that a thread enters. Returns the number
/// of that one.
pub(super) fn call_nothing(
    tid: i32,
    now: &Registers,
    instructions: Instructions,
) -> io::Result<u64> {
    let Instructions { call, back } = instructions;
    let is_end = now.rip != call + SYSCALL;
    let none = Registers {
        orig_rax: libc::SYS_getpid as u64,
        rip: if is_end { back } else { now.rip },
        ..*now
    };
    begin(tid, &none)?;
    // On entry, the kernel keeps the number in another register.
    Ok(now.orig_rax)
}

/// Whether a stopped thread waits for a lock.
pub(super) fn waits_for_lock(_: u32, now: &Registers) -> bool {
    now.orig_rax as i64 == libc::SYS_futex && (now.rax as i64) < 0
}

/// The extended state of a held thread.
pub(crate) fn state(tid: i32) -> io::Result<Vec<u8>> {
    let mut state = vec![0; STATE_BYTES];
    let length = exchange_state(tid, libc::PTRACE_GETREGSET, &mut state)?;
    state.truncate(length);
    Ok(state)
}

/// Reads or writes the extended state. Returns its size in bytes.
fn exchange_state(tid: i32, number: Request, state: &mut [u8]) -> io::Result<usize> {
    let mut vector = libc::iovec {
        iov_base: state.as_mut_ptr().cast(),
        iov_len: state.len(),
    };
    let place = (&raw mut vector) as usize;
    request(tid, number, NT_X86_XSTATE, place)?;
    Ok(vector.iov_len)
}

/// Registers by name, without the stack pointer.
pub(crate) fn named(registers: &profundo_process::reading::Registers) -> Vec<(&'static str, u64)> {
    const NAMES: [&str; 16] = [
        "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "", "r8", "r9", "r10", "r11", "r12",
        "r13", "r14", "r15",
    ];
    let named = NAMES.into_iter().zip(registers.general.0);
    named.filter(|(name, _)| !name.is_empty()).collect()
}

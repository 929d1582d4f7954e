//! aarch64: the registers of a borrowed thread, and how they are put back.
//!
//! The kernel has already set a call that it restarts back to its instruction, and forgotten with
//! which result it does so. For the kernel to restart it again, a call that does nothing is made
//! with the same first argument, which the kernel keeps where nothing else can be written, and gets
//! the number and the result of the interrupted one. Which result that is follows from the call. A
//! thread in a call for which it is not known is not borrowed.
//!
//! While a thread is stopped at a system call, one of its registers (`x7`) cannot be written to. So
//! it is stopped once more before its registers are put back.

mod regset;
mod restart;

use std::io;

use profundo_linux::sys;
use profundo_process::reading::Held;

use super::Borrowed;
use crate::frame::{self, Frame};
use crate::ptrace::request;
use crate::refused::Refused;
use crate::safe_point::Instructions;
use regset::LongVectors;
use restart::Restart;

/// The general registers, as `ptrace` has them.
pub(crate) type Registers = libc::user_regs_struct;

/// `svc #0`, followed by a return; and the one that ends a signal handler, after its number.
pub(crate) const CALL: [u8; 8] = [0x01, 0x00, 0x00, 0xd4, 0xc0, 0x03, 0x5f, 0xd6];
pub(crate) const BACK: [u8; 8] = [0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4];

/// The instruction `svc #0`, and its length.
const SVC_0: [u8; 4] = [0x01, 0x00, 0x00, 0xd4];
const SYSCALL: u64 = 4;

/// Functions own nothing below the stack pointer.
pub(super) const RED_ZONE: u64 = 0;

/// The registers of a call's number, of the frame, and of the return address.
const NUMBER: usize = 8;
const FRAME: usize = 29;
const LINK: usize = 30;

/// The bits of the state that say by which branch the thread has come: a function that was not
/// branched to begins with none of them.
const BRANCH: u64 = 3 << 10;

/// The vector registers.
#[derive(Debug)]
pub(crate) struct State {
    /// Those of 128 bits, and the words of status and control.
    pub(crate) vectors: Vec<u8>,
    /// All of it, if the thread uses longer ones.
    pub(crate) long_vectors: Option<LongVectors>,
}

/// What a thread has before it is borrowed.
#[derive(Debug)]
pub(super) struct Before {
    registers: Registers,
    state: State,
    /// The way in which its system call is restarted, if it is in one.
    restart: Option<Restart>,
}

impl Before {
    /// `None`: not all of it could be put back.
    pub(super) fn of(held: &Held, instructions: Instructions) -> Result<Option<Self>, Refused> {
        let tid = held.tid();
        if regset::has_guarded_calls(tid) {
            return Err(Refused::Guarded);
        }
        let mut before = Self::now(tid)?;
        if regset::is_streaming(tid) || !frame::has_room(&before.state) {
            return Ok(None);
        }
        if is_at_call(held.pid(), before.registers.pc) {
            before.restart = restart::of(held, &before.registers);
            if before.restart.is_none() || before.registers.pc == instructions.call {
                return Ok(None);
            }
        }
        Ok(Some(before))
    }

    /// What a held thread has now.
    pub(super) fn now(tid: i32) -> io::Result<Self> {
        Ok(Self {
            registers: registers(tid)?,
            state: regset::state(tid)?,
            restart: None,
        })
    }

    pub(super) fn stack(&self) -> u64 {
        self.registers.sp
    }

    /// The address of the thread's own data.
    #[expect(clippy::unused_self, reason = "elsewhere it is a register")]
    pub(super) fn own_data(&self, tid: i32) -> io::Result<u64> {
        regset::thread_pointer(tid)
    }

    /// The registers that a frame restores. A call that waits for the rest of its time cannot be
    /// described in a frame.
    pub(super) fn way_back(&self) -> Registers {
        let mut registers = self.registers;
        if self.restart.is_some_and(Restart::needs_its_block) {
            registers.pc += SYSCALL;
            registers.regs[0] = -i64::from(libc::EINTR) as u64;
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
        arguments: [u64; 6],
        stack: u64,
    ) -> Registers {
        let mut registers = self.registers;
        for (register, argument) in registers.regs.iter_mut().zip(arguments) {
            *register = argument;
        }
        registers.regs[NUMBER] = number as u64;
        registers.regs[LINK] = instructions.back;
        registers.pc = instructions.call;
        registers.sp = stack;
        registers.pstate &= !BRANCH;
        registers
    }

    pub(super) fn at_function(
        &self,
        instructions: Instructions,
        function: u64,
        arguments: [u64; 3],
        stack: u64,
    ) -> Registers {
        let [first, second, third] = arguments;
        let arguments = [first, second, third, 0, 0, 0];
        let mut registers = self.at_call(instructions, 0, arguments, stack);
        registers.regs[FRAME] = 0;
        registers.pc = function;
        registers
    }
}

impl Borrowed {
    /// Puts everything back, so that the kernel restarts the call that the thread was in. Returns
    /// the signal that the thread has then.
    pub(super) fn put_back(&mut self) -> Option<i32> {
        let tid = self.held.tid();
        // It has its own registers already.
        if self.is_back {
            return Some(0);
        }
        // From any stop until the last one, the thread goes back by its frame if we get no further.
        let _ = request(tid, libc::PTRACE_INTERRUPT, 0, 0);
        let signal = self.stop_on_the_way()?;
        let Some(restart) = self.before.restart else {
            let _ = regset::set_state(tid, &mut self.before.state);
            let _ = begin(tid, &self.before.registers);
            return Some(signal);
        };
        if signal != 0 {
            self.kept.keep(tid, signal);
        }
        // The call that does nothing has all the thread's registers, but what makes it a call.
        let mut none = self.before.registers;
        none.regs[NUMBER] = libc::SYS_getpid as u64;
        none.regs[LINK] = self.instructions.back;
        none.pc = self.instructions.call;
        none.sp = self.frame;
        none.pstate &= !BRANCH;
        begin(tid, &none).ok()?;
        // On entry, and on exit.
        self.go_on().ok()?;
        self.go_on().ok()?;
        let mut registers = self.before.registers;
        registers.pc += SYSCALL;
        registers.regs[0] = restart.result as u64;
        let _ = request(tid, libc::PTRACE_INTERRUPT, 0, 0);
        let _ = regset::set_state(tid, &mut self.before.state);
        let _ = regset::set_registers(tid, &registers);
        let _ = regset::set_call(tid, restart.number);
        self.stop_on_the_way()
    }
}

pub(super) fn registers(tid: i32) -> io::Result<Registers> {
    regset::registers(tid)
}

/// Sets the registers that a thread goes on with, in no system call.
pub(super) fn begin(tid: i32, registers: &Registers) -> io::Result<()> {
    regset::set_registers(tid, registers)?;
    regset::set_call(tid, regset::NO_CALL)
}

pub(super) fn stack(registers: &Registers) -> u64 {
    registers.sp
}

/// The result of a system call that has ended.
pub(super) fn result(registers: &Registers) -> i64 {
    registers.regs[0] as i64
}

/// The place of the return addresses, and these, for a function whose result is wanted: nothing
/// lies on the stack, and the end of a handler keeps the result.
pub(super) fn way_with_result(_: Instructions, frame: u64) -> (u64, Vec<u8>) {
    (frame, Vec::new())
}

/// Whether a thread that enters a system call has come to the end of a handler, with its stack at
/// the frame.
pub(super) fn is_back(now: &Registers, instructions: Instructions, stack: u64) -> bool {
    now.pc == instructions.back + BACK.len() as u64 && now.sp == stack
}

/// Puts a call that does nothing in the place of the one that a thread enters. Returns the result
/// of the function that has led there.
pub(super) fn call_nothing(
    tid: i32,
    now: &Registers,
    instructions: Instructions,
) -> io::Result<u64> {
    let mut none = *now;
    none.pc = instructions.back;
    regset::set_registers(tid, &none)?;
    regset::set_call(tid, libc::SYS_getpid as i32)?;
    Ok(now.regs[0])
}

/// Whether a stopped thread waits for a lock.
pub(super) fn waits_for_lock(pid: u32, now: &Registers) -> bool {
    is_at_call(pid, now.pc) && now.regs[NUMBER] as i64 == libc::SYS_futex
}

/// Whether the next instruction of a thread is a system call.
fn is_at_call(pid: u32, place: u64) -> bool {
    let mut code = [0; SVC_0.len()];
    sys::read_memory(pid, place, &mut code) == code.len() && code == SVC_0
}

/// Registers by name, without the stack pointer.
pub(crate) fn named(registers: &profundo_process::reading::Registers) -> Vec<(&'static str, u64)> {
    const NAMES: [&str; 31] = [
        "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
        "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26",
        "x27", "x28", "x29", "x30",
    ];
    NAMES.into_iter().zip(registers.all).collect()
}

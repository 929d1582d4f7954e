//! A thread of the program that is borrowed for a moment: it makes system calls and calls functions for us, and then goes on
//! where it was, with all its registers as they were.
//!
//! No signal is needed to get it back. Those that come meanwhile are kept back, and handed to it in the end: blocked they
//! would go to other threads, and leave this one waiting in a call that they were to interrupt. All that it does returns to where handlers of
//! signals end, which is a system call that gives a thread its registers back from a [`frame`]. The kernel stops it as it
//! enters that call; only if we have been killed is it made.
//!
//! In the end it is stopped once more, as it was at first, with the registers of then: so the kernel, which knows how, makes
//! the call again that it was in, or tells it of a signal that has come meanwhile.

use std::io;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use super::frame;
use super::held_signals::Kept;
use super::safe_point::{Instructions, SYSCALL};
use crate::reading::{Held, Registers, Stop};

/// How long a call may take. It may have to wait for a lock that another thread has.
const PATIENCE: Duration = Duration::from_secs(10);

/// Registers of all kinds, of the largest CPUs.
const STATE_BYTES: usize = 32 << 10;

/// Linux's number for registers of all kinds.
const NT_X86_XSTATE: usize = 0x202;

const PTRACE_GETSIGMASK: libc::c_uint = 0x420a;

/// What a call would begin with if the thread were in a system call, which is told so.
const NO_CALL: u64 = u64::MAX;

/// What is below the end of a stack belongs to the function all the same.
const RED_ZONE: u64 = 128;

/// How a stop for a system call is told from one for a signal.
const AT_CALL: i32 = libc::SIGTRAP | 0x80;

/// It goes on when this is dropped.
#[derive(Debug)]
pub(super) struct Borrowed {
    held: Held,
    before: libc::user_regs_struct,
    state: Vec<u8>,
    /// Signals that it blocks.
    mask: u64,
    instructions: Instructions,
    /// Where the frame lies that all returns to.
    frame: u64,
    /// Whether its registers are ours.
    has_begun: bool,
    /// Whether a call has not come back: then nothing is called any more.
    is_lost: bool,
    kept: Kept,
}

/// Why a call has brought nothing.
#[derive(Debug)]
pub(super) enum Failed {
    /// The kernel did not do as it was asked, or the thread has ended.
    System(io::Error),
    /// It did not return.
    Late,
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl Borrowed {
    /// Takes a thread that is held.
    pub(super) fn take(held: Held, instructions: Instructions) -> io::Result<Self> {
        let tid = held.tid();
        let before = registers(tid)?;
        let state = state(tid)?;
        let mut mask = 0_u64;
        ask(tid, PTRACE_GETSIGMASK, 8, (&raw mut mask) as usize)?;
        ask(
            tid,
            libc::PTRACE_SETOPTIONS,
            0,
            libc::PTRACE_O_TRACESYSGOOD as usize,
        )?;
        let mut borrowed = Self {
            held,
            before,
            state,
            mask,
            instructions,
            frame: 0,
            has_begun: false,
            is_lost: false,
            kept: Kept::default(),
        };
        // Where its stack cannot grow from outside, it does without for its first call.
        let _ = borrowed.put_frame(before.rsp - RED_ZONE);
        Ok(borrowed)
    }

    /// Lays the frame below this address from now on.
    pub(super) fn put_frame(&mut self, end: u64) -> io::Result<()> {
        let back = self.instructions.back;
        let frame = frame::below(end, back, &self.before, &self.state, self.mask);
        self.frame = frame.place;
        super::write_memory(self.held.pid(), frame.place, &frame.bytes)
    }

    /// Makes a system call. `Err`: it was not made; what it answers may be an error all the same.
    pub(super) fn system(&mut self, number: i64, arguments: [u64; 6]) -> Result<i64, Failed> {
        let [rdi, rsi, rdx, r10, r8, r9] = arguments;
        self.begin(libc::user_regs_struct {
            rip: self.instructions.call,
            rsp: self.frame,
            rax: number as u64,
            orig_rax: NO_CALL,
            rdi,
            rsi,
            rdx,
            r10,
            r8,
            r9,
            ..self.before
        })?;
        // As it goes in, and as it comes out.
        self.go_on()?;
        self.go_on()?;
        Ok(registers(self.held.tid())?.rax as i64)
    }

    /// Has the process copied by the bare system call. Who made it holds the copy, which has not begun to run; let go, it ends
    /// without having run any of the program's instructions. Its frames are laid below `end`. Returns its number as the program has it.
    pub(super) fn copy(&mut self, end: u64) -> Result<i64, Failed> {
        let Instructions { call, back } = self.instructions;
        let step = |number: i64, rsi: u64, rsp: u64| libc::user_regs_struct {
            rip: call,
            rsp,
            rax: number as u64,
            orig_rax: NO_CALL,
            rdi: 0,
            rsi,
            rdx: 0,
            r10: 0,
            ..self.before
        };
        // It returns to the first of them: who waits for the other end of a pipe of the program's must not wait for a copy.
        let last = step(libc::SYS_exit_group, 0, end);
        let last = frame::below(end, back, &last, &self.state, u64::MAX);
        let first = step(libc::SYS_close_range, u64::from(u32::MAX), last.place);
        let first = frame::below(last.place, back, &first, &self.state, u64::MAX);
        for frame in [&last, &first] {
            super::write_memory(self.held.pid(), frame.place, &frame.bytes)?;
        }
        let tid = self.held.tid();
        let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACECLONE;
        ask(tid, libc::PTRACE_SETOPTIONS, 0, options as usize)?;
        let made = self.system(libc::SYS_clone, [0, first.place, 0, 0, 0, 0]);
        let options = libc::PTRACE_O_TRACESYSGOOD;
        ask(tid, libc::PTRACE_SETOPTIONS, 0, options as usize)?;
        made
    }

    /// Its number.
    pub(super) fn tid(&self) -> i32 {
        self.held.tid()
    }

    /// The thread's registers as it had them itself.
    pub(super) fn registers(&self) -> &Registers {
        &self.held.registers
    }

    /// Calls a function, whose stack is below the frame. What it returns is lost.
    pub(super) fn call(&mut self, function: u64, arguments: [u64; 3]) -> Result<(), Failed> {
        self.call_until(function, arguments, self.frame)?;
        Ok(())
    }

    /// Calls a function for what it returns, which is to be no small number: should we be killed just then, it is taken for
    /// that of a system call.
    pub(super) fn ask(&mut self, function: u64, arguments: [u64; 3]) -> Result<u64, Failed> {
        let Instructions { call, .. } = self.instructions;
        let returns = [call, call + SYSCALL];
        let place = self.frame - 16;
        super::write_memory(
            self.held.pid(),
            place,
            &returns.map(u64::to_le_bytes).concat(),
        )?;
        self.call_until(function, arguments, place)
    }

    /// Calls a function; returns the number of the system call that it comes to by its return address, which lies at `rsp`.
    fn call_until(&mut self, function: u64, arguments: [u64; 3], rsp: u64) -> Result<u64, Failed> {
        let [rdi, rsi, rdx] = arguments;
        self.begin(libc::user_regs_struct {
            rip: function,
            rsp,
            rbp: 0,
            // How many vector registers hold arguments.
            rax: 0,
            orig_rax: NO_CALL,
            rdi,
            rsi,
            rdx,
            // The direction flag is clear in any function.
            eflags: self.before.eflags & !0x400,
            ..self.before
        })?;
        let began = Instant::now();
        loop {
            self.go_on()?;
            let now = registers(self.held.tid())?;
            if now.rsp == rsp + 8 && self.instructions.are_before(now.rip) {
                // One that does nothing takes its place: that there is none would have a program ended that restricts
                // its calls. Should we be killed before the next one, it must not go on behind the end of a handler.
                let Instructions { call, back } = self.instructions;
                let is_end = now.rip != call + SYSCALL;
                let none = libc::user_regs_struct {
                    orig_rax: libc::SYS_getpid as u64,
                    rip: if is_end { back } else { now.rip },
                    ..now
                };
                set_registers(self.held.tid(), &none)?;
                self.go_on()?;
                // On entering, the kernel keeps the number in another register.
                return Ok(now.orig_rax);
            }
            if began.elapsed() > PATIENCE {
                self.is_lost = true;
                return Err(Failed::Late);
            }
        }
    }

    fn begin(&mut self, registers: libc::user_regs_struct) -> Result<(), Failed> {
        if self.is_lost {
            return Err(Failed::Late);
        }
        set_registers(self.held.tid(), &registers)?;
        self.has_begun = true;
        Ok(())
    }

    /// Lets it go on until it next enters or leaves a system call.
    fn go_on(&mut self) -> Result<(), Failed> {
        loop {
            ask(self.held.tid(), libc::PTRACE_SYSCALL, 0, 0)?;
            match self.held.wait_for_stop(PATIENCE) {
                Some(Stop::Held { signal: AT_CALL }) => return Ok(()),
                // Somebody stops the whole program, or lets it go on.
                Some(Stop::Held { signal: 0 }) => {}
                Some(Stop::Held { signal }) => {
                    if !self.kept.keep(self.held.tid(), signal) {
                        return Err(Failed::System(io::Error::from_raw_os_error(libc::EFAULT)));
                    }
                }
                Some(Stop::Gone) => {
                    return Err(Failed::System(io::Error::from_raw_os_error(libc::ESRCH)));
                }
                None => {
                    self.is_lost = true;
                    return Err(Failed::Late);
                }
            }
        }
    }

    /// Stops it as a thread stops that is asked to, in whatever it does.
    fn stop(&mut self) -> bool {
        let _ = ask(self.held.tid(), libc::PTRACE_INTERRUPT, 0, 0);
        matches!(self.held.wait_for_stop(PATIENCE), Some(Stop::Held { .. }))
    }

    /// Of a call that has not come back. Returns whether it can be given up: if it waits for a lock, which somebody may have
    /// who waits for this thread. In the middle of anything else it is left to come to its end, and to find its way back.
    fn may_give_up(&mut self) -> bool {
        self.stop()
            && registers(self.held.tid())
                .is_ok_and(|now| now.orig_rax as i64 == libc::SYS_futex && (now.rax as i64) < 0)
    }

    fn give_back(&mut self) {
        let tid = self.held.tid();
        // First this, so that the kernel looks at the call to be made again even if we go no further.
        let _ = ask(tid, libc::PTRACE_INTERRUPT, 0, 0);
        let _ = exchange_state(tid, libc::PTRACE_SETREGSET, &mut self.state);
        let _ = set_registers(tid, &self.before);
        if ask(tid, libc::PTRACE_CONT, 0, 0).is_ok()
            && let Some(Stop::Held { signal }) = self.held.wait_for_stop(PATIENCE)
        {
            let signal = self.kept.hand_over(&self.held, signal);
            self.held.set_signal(signal);
        }
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if self.has_begun && (!self.is_lost || self.may_give_up()) {
            self.give_back();
        } else {
            self.kept.send(&self.held);
        }
    }
}

fn registers(tid: i32) -> io::Result<libc::user_regs_struct> {
    let mut registers = MaybeUninit::<libc::user_regs_struct>::zeroed();
    ask(
        tid,
        libc::PTRACE_GETREGS,
        0,
        registers.as_mut_ptr() as usize,
    )?;
    // SAFETY: the kernel has filled it in, and zeros are registers.
    Ok(unsafe { registers.assume_init() })
}

fn set_registers(tid: i32, registers: &libc::user_regs_struct) -> io::Result<()> {
    let place = std::ptr::from_ref(registers) as usize;
    ask(tid, libc::PTRACE_SETREGS, 0, place)
}

/// The registers of all kinds of a thread that is held.
pub(super) fn state(tid: i32) -> io::Result<Vec<u8>> {
    let mut state = vec![0; STATE_BYTES];
    let length = exchange_state(tid, libc::PTRACE_GETREGSET, &mut state)?;
    state.truncate(length);
    Ok(state)
}

/// Reads or writes registers of all kinds; returns how many bytes they are.
fn exchange_state(tid: i32, request: libc::c_uint, state: &mut [u8]) -> io::Result<usize> {
    let mut vector = libc::iovec {
        iov_base: state.as_mut_ptr().cast(),
        iov_len: state.len(),
    };
    let place = (&raw mut vector) as usize;
    ask(tid, request, NT_X86_XSTATE, place)?;
    Ok(vector.iov_len)
}

pub(super) fn ask(tid: i32, request: libc::c_uint, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: what is pointed to is ours, of the size that the request has, and outlives the call.
    match unsafe { libc::ptrace(request, tid, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

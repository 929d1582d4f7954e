//! A thread of the program that is borrowed for a moment: it makes system calls and calls functions
//! for us, and then goes on where it was, with all its registers as they were.
//!
//! No signal is needed to get it back. Signals that arrive meanwhile are held, and delivered in the
//! end: if they were blocked, other threads would get them, and this one would wait on in a call
//! that they were to interrupt. Every call returns to the code that ends signal handlers, a system
//! call that restores a thread's registers from a [`frame`]. The kernel stops it as it enters that
//! call; only if we have been killed is it made.
//!
//! A function that was called freely waits for us only for a moment after its work. If this process
//! has to wait for a CPU meanwhile, the thread finds its way back alone. It is let go then, and
//! borrowed anew at a safe point.
//!
//! In the end it is stopped once more, with its first registers, so that the kernel restarts the
//! call that it was in, or delivers a signal that has arrived meanwhile.

use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::time::{Duration, Instant};

use profundo_process::reading::{Held, Registers, Stop};

use super::frame::{self, Frame};
use super::held_signals::HeldSignals;
use super::ptrace::{PTRACE_GETSIGMASK, Request, request};
use super::safe_point::{Instructions, SYSCALL};
use super::stacks::Stacks;

/// The longest time of a call. It may wait for a lock of another thread.
const PATIENCE: Duration = Duration::from_secs(10);

/// The size of the extended state of the largest CPUs.
const STATE_BYTES: usize = 32 << 10;

/// Linux's number of the extended state.
const NT_X86_XSTATE: usize = 0x202;

/// The call number of a thread that is not in a system call.
const NO_CALL: u64 = u64::MAX;

/// The area below the stack pointer that belongs to the function.
const RED_ZONE: u64 = 128;

/// The stop signal of a system call, which distinguishes it from a signal's.
const AT_CALL: i32 = libc::SIGTRAP | 0x80;

/// A borrowed thread. It resumes when this is dropped.
#[derive(Debug)]
pub(super) struct Borrowed {
    held: Held,
    before: libc::user_regs_struct,
    state: Vec<u8>,
    /// The signals that the thread blocks.
    mask: u64,
    instructions: Instructions,
    /// The lower end of the thread's stack, if a frame may be put there.
    own_stack: Option<u64>,
    /// The address of the frame that all calls return to.
    frame: u64,
    /// Whether the thread has our registers.
    has_begun: bool,
    /// Whether a call did not return. Nothing is called after that.
    is_lost: bool,
    /// Whether the thread has gone back to the program alone.
    is_back: bool,
    kept: HeldSignals,
}

/// The reason why a call failed.
#[derive(Debug)]
pub(super) enum Failed {
    /// The kernel refused a request, or the thread has ended.
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
    /// Borrows a held thread.
    pub(super) fn take(
        held: Held,
        instructions: Instructions,
        stacks: &Stacks,
    ) -> io::Result<Self> {
        let tid = held.tid();
        let before = registers(tid)?;
        let state = state(tid)?;
        let mask = mask(tid)?;
        request(
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
            own_stack: stacks.lower_end(before.rsp, before.fs_base),
            frame: 0,
            has_begun: false,
            is_lost: false,
            is_back: false,
            kept: HeldSignals::default(),
        };
        // If its stack cannot be written from outside, the first call has no frame.
        let _ = borrowed.put_frame_on_own_stack();
        Ok(borrowed)
    }

    /// Whether the thread is on a stack with room for a frame. Another one has none at its first
    /// and its last call: it would be lost if we were killed in the middle of those.
    pub(super) fn is_on_usual_stack(&self) -> bool {
        self.own_stack.is_some()
    }

    /// Puts the frame below this address from now on.
    pub(super) fn put_frame(&mut self, end: u64) -> io::Result<()> {
        let frame = self.frame_below(end);
        self.frame = frame.place;
        super::write_memory(self.held.pid(), frame.place, &frame.bytes)
    }

    fn frame_below(&self, end: u64) -> Frame {
        let back = self.instructions.back;
        frame::below(end, back, &self.before, &self.state, self.mask)
    }

    /// Puts the frame onto the thread's own stack: other memory for it is not there yet, or is
    /// about to go. A stack without room is left alone.
    pub(super) fn put_frame_on_own_stack(&mut self) -> io::Result<()> {
        let end = self.before.rsp - RED_ZONE;
        match self.own_stack {
            Some(lower_end) if self.frame_below(end).place >= lower_end => self.put_frame(end),
            _ => Ok(()),
        }
    }

    /// Makes a system call. `Err`: it was not made. Its result may be an error as well.
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
        // On entry, and on exit.
        self.go_on()?;
        self.go_on()?;
        Ok(registers(self.held.tid())?.rax as i64)
    }

    /// Copies the process with the bare system call. The copy is held by us and does not run; when
    /// resumed, it ends without running any of the program's instructions. Its frames lie below
    /// `end`. Returns the copy's number in the program's namespace.
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
        // It returns to the first of them: a reader at the other end of one of the program's pipes
        // must not wait for the copy.
        let last = step(libc::SYS_exit_group, 0, end);
        let last = frame::below(end, back, &last, &self.state, u64::MAX);
        let first = step(libc::SYS_close_range, u64::from(u32::MAX), last.place);
        let first = frame::below(last.place, back, &first, &self.state, u64::MAX);
        for frame in [&last, &first] {
            super::write_memory(self.held.pid(), frame.place, &frame.bytes)?;
        }
        let tid = self.held.tid();
        let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACECLONE;
        request(tid, libc::PTRACE_SETOPTIONS, 0, options as usize)?;
        let made = self.system(libc::SYS_clone, [0, first.place, 0, 0, 0, 0]);
        let options = libc::PTRACE_O_TRACESYSGOOD;
        request(tid, libc::PTRACE_SETOPTIONS, 0, options as usize)?;
        made
    }

    /// The thread's number.
    pub(super) fn tid(&self) -> i32 {
        self.held.tid()
    }

    /// The thread's own registers.
    pub(super) fn registers(&self) -> &Registers {
        &self.held.registers
    }

    /// Calls a function, whose stack is below the frame. Its result is lost.
    pub(super) fn call(&mut self, function: u64, arguments: [u64; 3]) -> Result<(), Failed> {
        self.call_until(function, arguments, self.frame)?;
        Ok(())
    }

    /// Calls a function for its result, which must not be a small number: if we are killed at that
    /// moment, it is taken for a system call's number.
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

    /// Calls a function that says when it has done its work, and then waits for `see`, but not for
    /// ever. Until then it runs without a stop: at each stop it may have to wait for a CPU. `room`:
    /// the function's stack, and its arguments.
    ///
    /// If `see` comes too late, the thread has gone back alone ([`Self::is_back`]). It
    /// must not be set back to where it was then.
    pub(super) fn call_freely(
        &mut self,
        function: u64,
        arguments: [u64; 3],
        is_done: impl Fn() -> bool,
        see: impl FnOnce() -> io::Result<()>,
        room: Range<u64>,
    ) -> Result<(), Failed> {
        self.begin_call(function, arguments, self.frame)?;
        self.run_until(is_done, &room)?;
        if self.is_in(&room)? {
            see()?;
            self.follow_back(self.frame)?;
        } else {
            self.take_again()?;
        }
        Ok(())
    }

    /// Whether the thread, which is held, has its stack there.
    fn is_in(&self, room: &Range<u64>) -> io::Result<bool> {
        Ok(room.contains(&registers(self.held.tid())?.rsp))
    }

    /// Takes the thread as it is now: it has gone back, and has run on.
    fn take_again(&mut self) -> io::Result<()> {
        let tid = self.held.tid();
        self.is_back = true;
        self.has_begun = false;
        self.held.settle_call();
        self.before = registers(tid)?;
        self.state = state(tid)?;
        self.mask = mask(tid)?;
        self.own_stack = None;
        // Signals that were held meanwhile are handed over when it resumes.
        self.has_begun = true;
        Ok(())
    }

    /// Whether the thread has gone back to the program alone. It may be anywhere.
    pub(super) fn is_back(&self) -> bool {
        self.is_back
    }

    /// Runs the thread until a condition holds, and stops it.
    fn run_until(&mut self, is_done: impl Fn() -> bool, room: &Range<u64>) -> Result<(), Failed> {
        const TURN: Duration = Duration::from_micros(50);
        let tid = self.held.tid();
        let gone = || Failed::System(io::Error::from_raw_os_error(libc::ESRCH));
        let began = Instant::now();
        request(tid, libc::PTRACE_CONT, 0, 0)?;
        loop {
            match self.held.wait_for_stop(TURN) {
                Some(Stop::Gone) => return Err(gone()),
                Some(Stop::Held { signal }) => {
                    if signal != 0 && !self.keep(signal, room)? {
                        return Ok(());
                    }
                    request(tid, libc::PTRACE_CONT, 0, 0)?;
                }
                None if is_done() => break,
                None if began.elapsed() > PATIENCE => {
                    self.is_lost = true;
                    return Err(Failed::Late);
                }
                None => {}
            }
        }
        // A signal may come first, and then this stop afterwards.
        request(tid, libc::PTRACE_INTERRUPT, 0, 0)?;
        match self.held.wait_for_stop(PATIENCE) {
            Some(Stop::Held { signal: 0 }) => Ok(()),
            Some(Stop::Held { signal }) => self.keep(signal, room).map(|_| ()),
            Some(Stop::Gone) => Err(gone()),
            None => {
                self.is_lost = true;
                Err(Failed::Late)
            }
        }
    }

    /// Holds a signal that is about to be delivered. `false`: it is a fault of the program's own,
    /// because the thread has gone back. A fault of our own call is an error.
    fn keep(&mut self, signal: i32, room: &Range<u64>) -> Result<bool, Failed> {
        if self.kept.keep(self.held.tid(), signal) {
            return Ok(true);
        }
        match self.is_in(room)? {
            true => Err(Failed::System(io::Error::from_raw_os_error(libc::EFAULT))),
            false => {
                self.kept.keep_fault(self.held.tid(), signal);
                Ok(false)
            }
        }
    }

    /// Calls a function. Returns the number of the system call that it reaches through its return
    /// address, which lies at `rsp`.
    fn call_until(&mut self, function: u64, arguments: [u64; 3], rsp: u64) -> Result<u64, Failed> {
        self.begin_call(function, arguments, rsp)?;
        self.follow_back(rsp)
    }

    fn begin_call(&mut self, function: u64, arguments: [u64; 3], rsp: u64) -> Result<(), Failed> {
        let [rdi, rsi, rdx] = arguments;
        self.begin(libc::user_regs_struct {
            rip: function,
            rsp,
            rbp: 0,
            // The number of vector registers with arguments.
            rax: 0,
            orig_rax: NO_CALL,
            rdi,
            rsi,
            rdx,
            // The direction flag is clear in any function.
            eflags: self.before.eflags & !0x400,
            ..self.before
        })
    }

    /// Follows the thread to the system call that it reaches through its return address.
    fn follow_back(&mut self, rsp: u64) -> Result<u64, Failed> {
        let began = Instant::now();
        loop {
            self.go_on()?;
            let now = registers(self.held.tid())?;
            if now.rsp == rsp + 8 && self.instructions.are_before(now.rip) {
                // A call that does nothing takes its place: an invalid one would end a program that
                // restricts its calls. If we are killed before the next call, the thread must not
                // run on behind the end of a handler.
                let Instructions { call, back } = self.instructions;
                let is_end = now.rip != call + SYSCALL;
                let none = libc::user_regs_struct {
                    orig_rax: libc::SYS_getpid as u64,
                    rip: if is_end { back } else { now.rip },
                    ..now
                };
                set_registers(self.held.tid(), &none)?;
                self.go_on()?;
                // On entry, the kernel keeps the number in another register.
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

    /// Runs the thread to its next entry to or exit from a system call.
    fn go_on(&mut self) -> Result<(), Failed> {
        loop {
            request(self.held.tid(), libc::PTRACE_SYSCALL, 0, 0)?;
            match self.held.wait_for_stop(PATIENCE) {
                Some(Stop::Held { signal: AT_CALL }) => return Ok(()),
                // The whole program was stopped or resumed from outside.
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

    /// Interrupts the thread, whatever it does.
    fn stop(&mut self) -> bool {
        let _ = request(self.held.tid(), libc::PTRACE_INTERRUPT, 0, 0);
        matches!(self.held.wait_for_stop(PATIENCE), Some(Stop::Held { .. }))
    }

    /// Whether a call that did not return can be given up: if it waits for a lock, whose owner may
    /// be waiting for this thread. In the middle of anything else it is left to finish and to
    /// return by itself.
    fn may_give_up(&mut self) -> bool {
        self.stop()
            && registers(self.held.tid())
                .is_ok_and(|now| now.orig_rax as i64 == libc::SYS_futex && (now.rax as i64) < 0)
    }

    fn give_back(&mut self) {
        let tid = self.held.tid();
        // This comes first, so that the kernel restarts the interrupted call even if we get no
        // further.
        let _ = request(tid, libc::PTRACE_INTERRUPT, 0, 0);
        let _ = exchange_state(tid, libc::PTRACE_SETREGSET, &mut self.state);
        let _ = set_registers(tid, &self.before);
        if request(tid, libc::PTRACE_CONT, 0, 0).is_ok()
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

fn mask(tid: i32) -> io::Result<u64> {
    let mut mask = 0_u64;
    request(tid, PTRACE_GETSIGMASK, 8, (&raw mut mask) as usize)?;
    Ok(mask)
}

fn registers(tid: i32) -> io::Result<libc::user_regs_struct> {
    let mut registers = MaybeUninit::<libc::user_regs_struct>::zeroed();
    request(
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
    request(tid, libc::PTRACE_SETREGS, 0, place)
}

/// The extended state of a held thread.
pub(super) fn state(tid: i32) -> io::Result<Vec<u8>> {
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

#[cfg(test)]
mod tests;

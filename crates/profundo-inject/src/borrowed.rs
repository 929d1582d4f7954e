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

#[cfg(target_arch = "aarch64")]
pub(super) mod aarch64;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(super) use aarch64 as machine;
#[cfg(target_arch = "x86_64")]
pub(super) use x86_64 as machine;

use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use profundo_process::reading::{Held, Registers, Stop};

use super::frame::Frame;
use super::held_signals::HeldSignals;
use super::ptrace::{PTRACE_GETSIGMASK, request};
use super::refused::Refused;
use super::safe_point::Instructions;
use super::stacks::Stacks;
use machine::{Before, Registers as Words};

/// The longest time of a call. It may wait for a lock of another thread.
const PATIENCE: Duration = Duration::from_secs(10);

/// The stop signal of a system call, which distinguishes it from a signal's.
const AT_CALL: i32 = libc::SIGTRAP | 0x80;

/// A borrowed thread. It resumes when this is dropped.
#[derive(Debug)]
pub(super) struct Borrowed {
    held: Held,
    before: Before,
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
    /// Borrows a held thread. `None`: it is in the middle of something that could not be put back.
    pub(super) fn take(
        held: Held,
        instructions: Instructions,
        stacks: &Stacks,
    ) -> Result<Option<Self>, Refused> {
        let tid = held.tid();
        let Some(before) = Before::of(&held, instructions)? else {
            return Ok(None);
        };
        let mask = mask(tid)?;
        request(
            tid,
            libc::PTRACE_SETOPTIONS,
            0,
            libc::PTRACE_O_TRACESYSGOOD as usize,
        )?;
        let mut borrowed = Self {
            own_stack: stacks.lower_end(before.stack(), before.own_data(tid)?),
            held,
            before,
            mask,
            instructions,
            frame: 0,
            has_begun: false,
            is_lost: false,
            is_back: false,
            kept: HeldSignals::default(),
        };
        // If its stack cannot be written from outside, the first call has no frame.
        let _ = borrowed.put_frame_on_own_stack();
        Ok(Some(borrowed))
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
        let registers = self.before.way_back();
        self.frame_for(end, &registers, self.mask)
    }

    fn frame_for(&self, end: u64, registers: &Words, mask: u64) -> Frame {
        self.before
            .frame(end, self.instructions.back, registers, mask)
    }

    /// Puts the frame onto the thread's own stack: other memory for it is not there yet, or is
    /// about to go. A stack without room is left alone.
    pub(super) fn put_frame_on_own_stack(&mut self) -> io::Result<()> {
        let end = self.before.stack() - machine::RED_ZONE;
        match self.own_stack {
            Some(lower_end) if self.frame_below(end).place >= lower_end => self.put_frame(end),
            _ => Ok(()),
        }
    }

    /// Makes a system call. `Err`: it was not made. Its result may be an error as well.
    pub(super) fn system(&mut self, number: i64, arguments: [u64; 6]) -> Result<i64, Failed> {
        let registers = self.at_call(number, arguments, self.frame);
        self.begin(&registers)?;
        // On entry, and on exit.
        self.go_on()?;
        self.go_on()?;
        Ok(machine::result(&machine::registers(self.held.tid())?))
    }

    /// The registers of a system call that is about to be made. The frame lies at `stack`.
    fn at_call(&self, number: i64, arguments: [u64; 6], stack: u64) -> Words {
        self.before
            .at_call(self.instructions, number, arguments, stack)
    }

    /// Copies the process with the bare system call. The copy is held by us and does not run; when
    /// resumed, it ends without running any of the program's instructions. Its frames lie below
    /// `end`. Returns the copy's number in the program's namespace.
    pub(super) fn copy(&mut self, end: u64) -> Result<i64, Failed> {
        let step = |number: i64, second: u64, stack: u64| {
            self.at_call(number, [0, second, 0, 0, 0, 0], stack)
        };
        // It returns to the first of them: a reader at the other end of one of the program's pipes
        // must not wait for the copy.
        let last = step(libc::SYS_exit_group, 0, end);
        let last = self.frame_for(end, &last, u64::MAX);
        let first = step(libc::SYS_close_range, u64::from(u32::MAX), last.place);
        let first = self.frame_for(last.place, &first, u64::MAX);
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
        let (place, returns) = machine::way_with_result(self.instructions, self.frame);
        super::write_memory(self.held.pid(), place, &returns)?;
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
        let now = machine::registers(self.held.tid())?;
        Ok(room.contains(&machine::stack(&now)))
    }

    /// Takes the thread as it is now: it has gone back, and has run on.
    fn take_again(&mut self) -> io::Result<()> {
        let tid = self.held.tid();
        self.is_back = true;
        self.has_begun = false;
        self.held.settle_call();
        self.before = Before::now(tid)?;
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

    /// Calls a function, which returns to the way back at `stack`. Returns its result, if that was
    /// asked for.
    fn call_until(
        &mut self,
        function: u64,
        arguments: [u64; 3],
        stack: u64,
    ) -> Result<u64, Failed> {
        self.begin_call(function, arguments, stack)?;
        self.follow_back(stack)
    }

    fn begin_call(&mut self, function: u64, arguments: [u64; 3], stack: u64) -> Result<(), Failed> {
        let registers = self
            .before
            .at_function(self.instructions, function, arguments, stack);
        self.begin(&registers)
    }

    /// Follows the thread to the system call that it reaches through its return address.
    fn follow_back(&mut self, stack: u64) -> Result<u64, Failed> {
        let began = Instant::now();
        loop {
            self.go_on()?;
            let tid = self.held.tid();
            let now = machine::registers(tid)?;
            if machine::is_back(&now, self.instructions, stack) {
                // A call that does nothing takes its place: an invalid one would end a program that
                // restricts its calls. If we are killed before the next call, the thread must not
                // run on behind the end of a handler.
                let result = machine::call_nothing(tid, &now, self.instructions)?;
                self.go_on()?;
                return Ok(result);
            }
            if began.elapsed() > PATIENCE {
                self.is_lost = true;
                return Err(Failed::Late);
            }
        }
    }

    fn begin(&mut self, registers: &Words) -> Result<(), Failed> {
        if self.is_lost {
            return Err(Failed::Late);
        }
        machine::begin(self.held.tid(), registers)?;
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
        let (pid, tid) = (self.held.pid(), self.held.tid());
        self.stop() && machine::registers(tid).is_ok_and(|now| machine::waits_for_lock(pid, &now))
    }

    fn give_back(&mut self) {
        if let Some(signal) = self.put_back() {
            let signal = self.kept.hand_over(&self.held, signal);
            self.held.set_signal(signal);
        }
    }

    /// Stops the thread once more on its way out of the kernel. Returns the signal that it has
    /// there.
    fn stop_on_the_way(&self) -> Option<i32> {
        let tid = self.held.tid();
        request(tid, libc::PTRACE_CONT, 0, 0).ok()?;
        match self.held.wait_for_stop(PATIENCE)? {
            Stop::Held { signal } => Some(signal),
            Stop::Gone => None,
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

#[cfg(test)]
mod tests;

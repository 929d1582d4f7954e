//! A thread of the program that is borrowed for a moment: it makes system calls and calls functions for us, and then goes on
//! where it was, with all its registers as they were.
//!
//! No signal is needed to get it back, and none is delivered meanwhile. A call returns to an instruction `syscall` of the
//! program's own, and the kernel stops the thread as it enters the system call, before anything is done.

use std::io;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use crate::reading::Held;

/// How long a call may take. It may have to wait for a lock that another thread has.
const PATIENCE: Duration = Duration::from_secs(10);

/// Registers of all kinds, of the largest CPUs.
const STATE_BYTES: usize = 32 << 10;

/// Linux's number for registers of all kinds.
const NT_X86_XSTATE: usize = 0x202;

const PTRACE_GETSIGMASK: libc::c_uint = 0x420a;
const PTRACE_SETSIGMASK: libc::c_uint = 0x420b;

/// What a call would begin with if the thread were in a system call, which is told so.
const NO_CALL: u64 = u64::MAX;

/// It goes on when this is dropped.
#[derive(Debug)]
pub(super) struct Borrowed {
    held: Held,
    before: libc::user_regs_struct,
    state: Vec<u8>,
    mask: u64,
    /// Where an instruction `syscall` is.
    instruction: u64,
    /// Whether a call has not come back: then nothing is called any more.
    is_lost: bool,
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
    /// Takes a thread that is held. `instruction`: where a `syscall` stands.
    pub(super) fn take(held: Held, instruction: u64) -> io::Result<Self> {
        let tid = held.tid();
        let before = registers(tid)?;
        let mut state = vec![0; STATE_BYTES];
        let length = exchange_state(tid, libc::PTRACE_GETREGSET, &mut state)?;
        state.truncate(length);
        let mut mask = 0_u64;
        ask(tid, PTRACE_GETSIGMASK, 8, (&raw mut mask) as usize)?;
        let all = u64::MAX;
        ask(tid, PTRACE_SETSIGMASK, 8, (&raw const all) as usize)?;
        Ok(Self {
            held,
            before,
            state,
            mask,
            instruction,
            is_lost: false,
        })
    }

    /// Makes a system call. `Err`: it was not made; what it answers may be an error all the same.
    pub(super) fn system(&mut self, number: i64, arguments: [u64; 6]) -> Result<i64, Failed> {
        let [rdi, rsi, rdx, r10, r8, r9] = arguments;
        let registers = libc::user_regs_struct {
            rip: self.instruction,
            rax: number as u64,
            orig_rax: NO_CALL,
            rdi,
            rsi,
            rdx,
            r10,
            r8,
            r9,
            ..self.before
        };
        self.begin(&registers)?;
        // As it goes in, and as it comes out.
        self.go_on()?;
        self.go_on()?;
        Ok(registers_of(&self.held)?.rax as i64)
    }

    /// Calls a function, on a stack that ends at `stack`.
    pub(super) fn call(
        &mut self,
        function: u64,
        arguments: [u64; 3],
        stack: u64,
    ) -> Result<u64, Failed> {
        /// A function finds its stack as if it had been called: aligned, but for the address to return to.
        const ALIGNED: u64 = !15;
        let [rdi, rsi, rdx] = arguments;
        let rsp = (stack & ALIGNED) - 64 - 8;
        super::write_memory(self.held.pid(), rsp, &self.instruction.to_le_bytes())?;
        let registers = libc::user_regs_struct {
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
        };
        self.begin(&registers)?;
        let began = Instant::now();
        loop {
            self.go_on()?;
            let now = registers_of(&self.held)?;
            // Behind the instruction, with the stack as it is after the return.
            if now.rip == self.instruction + SYSCALL && now.rsp == rsp + 8 {
                // It has not been made yet. One that does nothing takes its place: that there is none would have
                // a program ended that restricts its calls.
                let none = libc::user_regs_struct {
                    orig_rax: libc::SYS_getpid as u64,
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

    fn begin(&self, registers: &libc::user_regs_struct) -> Result<(), Failed> {
        if self.is_lost {
            return Err(Failed::Late);
        }
        set_registers(self.held.tid(), registers)?;
        Ok(())
    }

    /// Lets it go on until it next enters or leaves a system call.
    fn go_on(&mut self) -> Result<(), Failed> {
        ask(self.held.tid(), libc::PTRACE_SYSCALL, 0, 0)?;
        match self.held.wait_for_stop(PATIENCE) {
            Some(true) => Ok(()),
            Some(false) => Err(Failed::System(io::Error::from_raw_os_error(libc::ESRCH))),
            None => {
                self.is_lost = true;
                Err(Failed::Late)
            }
        }
    }
}

/// How long the instruction `syscall` is.
const SYSCALL: u64 = 2;

impl Drop for Borrowed {
    fn drop(&mut self) {
        let tid = self.held.tid();
        if self.is_lost {
            // Where it is, it can still be stopped.
            let _ = ask(tid, libc::PTRACE_INTERRUPT, 0, 0);
            self.held.wait_for_stop(PATIENCE);
        }
        let mut registers = self.before;
        again(&mut registers);
        let _ = set_registers(tid, &registers);
        let _ = exchange_state(tid, libc::PTRACE_SETREGSET, &mut self.state);
        let _ = ask(tid, PTRACE_SETSIGMASK, 8, (&raw const self.mask) as usize);
    }
}

/// A system call that was interrupted by us is begun again: the kernel would do so by itself, had we not made others
/// meanwhile.
fn again(registers: &mut libc::user_regs_struct) {
    /// What the kernel leaves of a call that is to be made again, and of one that knows by itself how it goes on.
    const RESTART: [i64; 3] = [-512, -513, -514];
    const RESTART_BLOCK: i64 = -516;
    if registers.orig_rax as i64 >= 0 {
        match registers.rax as i64 {
            result if RESTART.contains(&result) => registers.rax = registers.orig_rax,
            RESTART_BLOCK => registers.rax = libc::SYS_restart_syscall as u64,
            _ => return,
        }
        registers.rip -= SYSCALL;
    }
    // What goes on is no system call any more.
    registers.orig_rax = NO_CALL;
}

fn registers_of(held: &Held) -> io::Result<libc::user_regs_struct> {
    registers(held.tid())
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

fn ask(tid: i32, request: libc::c_uint, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: what is pointed to is ours, of the size that the request has, and outlives the call.
    match unsafe { libc::ptrace(request, tid, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

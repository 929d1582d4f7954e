//! Signals that arrive while a thread is borrowed. They are held, and delivered unchanged when it
//! resumes.

use std::mem::MaybeUninit;
use std::time::Duration;

use profundo_linux::proc;
use profundo_probe::handlers::value;
use profundo_probe::hidden::ASKED;
use profundo_process::reading::{Held, Stop};

use super::ptrace::{request, waiting_signal};

/// The held signals, in their order.
#[derive(Default)]
pub(super) struct HeldSignals(Vec<(i32, libc::siginfo_t)>);

impl std::fmt::Debug for HeldSignals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|held| held.0))
            .finish()
    }
}

impl HeldSignals {
    /// Holds a signal that is about to be delivered. A tick of our own clocks is dropped: a later
    /// one stands for it, and it would interrupt the call that the thread was in. `false`: the
    /// signal is a fault of our own call.
    pub(super) fn keep(&mut self, tid: i32, signal: i32) -> bool {
        const MISTAKES: [i32; 5] = [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGILL,
            libc::SIGFPE,
            libc::SIGSYS,
        ];
        /// From this number on each signal is queued; of the others only one is pending at a time.
        const FIRST_OF_REAL_TIME: i32 = 32;
        let read = signal_of(tid);
        if MISTAKES.contains(&signal) && read.is_none_or(|info| info.si_code > 0) {
            return false;
        }
        if read.is_some_and(|info| is_tick(signal, &info)) {
            return true;
        }
        // SAFETY: zeros are one.
        let info = read.unwrap_or_else(|| unsafe { MaybeUninit::zeroed().assume_init() });
        let waits = self.0.iter().any(|&(kept, _)| kept == signal);
        if signal >= FIRST_OF_REAL_TIME || !waits {
            self.0.push((signal, info));
        }
        true
    }

    /// Holds a fault of the program's own. If its instruction faults again when the thread goes on,
    /// nothing is held.
    pub(super) fn keep_fault(&mut self, tid: i32, signal: i32) {
        // A call that a filter traps is behind the thread.
        if signal == libc::SIGSYS
            && let Some(info) = signal_of(tid)
        {
            self.0.push((signal, info));
        }
    }

    /// Sends all held signals again.
    pub(super) fn send(&self, held: &Held) {
        for &(signal, _) in &self.0 {
            let (pid, tid) = (i64::from(held.pid()), i64::from(held.tid()));
            // SAFETY: a signal that the program was sent before.
            unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, i64::from(signal)) };
        }
    }

    /// Drops the ticks of our own clocks that wait for a thread which is about to resume: their
    /// handler would interrupt the call that it was in. Returns the signal that it resumes with.
    fn drop_ticks(&mut self, held: &Held, mut signal: i32) -> i32 {
        /// More than there are clocks of ours.
        const MOST: usize = 8;
        /// The thread is stopped again at once.
        const PATIENCE: Duration = Duration::from_secs(1);
        let tid = held.tid();
        for _ in 0..MOST {
            if signal != 0 && !signal_of(tid).is_some_and(|info| is_tick(signal, &info)) {
                return signal;
            }
            signal = 0;
            if !waits_for_tick(held) || request(tid, libc::PTRACE_CONT, 0, 0).is_err() {
                break;
            }
            signal = match held.wait_for_stop(PATIENCE) {
                Some(Stop::Held { signal: next }) => next,
                Some(Stop::Gone) => break,
                None => {
                    let _ = request(tid, libc::PTRACE_INTERRUPT, 0, 0);
                    let _ = held.wait_for_stop(PATIENCE);
                    break;
                }
            };
        }
        signal
    }

    /// Delivers all held signals to a thread that is about to resume with `signal`. Returns the
    /// signal that it resumes with.
    pub(super) fn hand_over(&mut self, held: &Held, mut signal: i32) -> i32 {
        /// A running handler may delay the next one for longer.
        const PATIENCE: Duration = Duration::from_millis(20);
        let tid = held.tid();
        signal = self.drop_ticks(held, signal);
        self.send(held);
        while !self.0.is_empty() {
            if request(tid, libc::PTRACE_CONT, 0, signal as usize).is_err() {
                return 0;
            }
            let mut stop = held.wait_for_stop(PATIENCE);
            if stop.is_none() {
                let _ = request(tid, libc::PTRACE_INTERRUPT, 0, 0);
                stop = held.wait_for_stop(PATIENCE * 50);
                self.0.clear();
            }
            let Some(Stop::Held { signal: next }) = stop else {
                return 0;
            };
            signal = next;
            if let Some(index) = self.0.iter().position(|&(kept, _)| kept == next) {
                let (_, mut info) = self.0.remove(index);
                let _ = request(tid, libc::PTRACE_SETSIGINFO, 0, (&raw mut info) as usize);
            }
        }
        signal
    }
}

/// The signal that a thread has stopped at.
fn signal_of(tid: i32) -> Option<libc::siginfo_t> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let read = request(tid, libc::PTRACE_GETSIGINFO, 0, info.as_mut_ptr() as usize);
    // SAFETY: zeros are one, and the kernel has filled it in.
    read.is_ok().then(|| unsafe { info.assume_init() })
}

/// Whether a tick of ours is about to be delivered to a stopped thread.
fn waits_for_tick(held: &Held) -> bool {
    let (pid, tid) = (held.pid(), held.tid());
    let waiting = (0..).map_while(|index| waiting_signal(tid, index));
    let mut ticks = waiting
        .filter(|info| is_tick(info.si_signo, info))
        .peekable();
    if ticks.peek().is_none() {
        return false;
    }
    let status = proc::read(pid, &format!("task/{tid}/status"));
    let status = String::from_utf8_lossy(&status);
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigBlk:\t"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask, 16).ok());
    mask.is_some_and(|mask| ticks.any(|info| mask >> (info.si_signo - 1) & 1 == 0))
}

/// Whether a signal comes from a timer of the agent, or from a task clock of the command.
fn is_tick(signal: i32, info: &libc::siginfo_t) -> bool {
    // SAFETY: the information is the kernel's, and is long enough.
    let value = unsafe { profundo_probe::handlers::word_at(info, 24) };
    match info.si_code {
        libc::SI_TIMER => {
            let ours = [value::CPU_TIMER, value::SYSTEM_TIMER];
            ASKED.contains(&signal) && ours.contains(&value)
        }
        // SAFETY: as above.
        _ => signal == libc::SIGTRAP && unsafe { profundo_probe::traps::is_clock(info) },
    }
}

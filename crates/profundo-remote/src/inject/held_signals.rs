//! Signals that come while a thread is borrowed: kept back, and handed to it when it goes on, as they were.

use std::mem::MaybeUninit;
use std::time::Duration;

use super::borrowed::ask;
use crate::reading::{Held, Stop};

/// Those that are kept, in their order.
#[derive(Default)]
pub(super) struct Kept(Vec<(i32, libc::siginfo_t)>);

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|it| it.0))
            .finish()
    }
}

impl Kept {
    /// Keeps a signal that is about to be delivered. `false`: it tells of a mistake in what the thread does for us.
    pub(super) fn keep(&mut self, tid: i32, signal: i32) -> bool {
        const MISTAKES: [i32; 5] = [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGILL,
            libc::SIGFPE,
            libc::SIGSYS,
        ];
        /// From here on each of them counts; of the others one waits at a time.
        const FIRST_OF_REAL_TIME: i32 = 32;
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        let told = ask(tid, libc::PTRACE_GETSIGINFO, 0, info.as_mut_ptr() as usize);
        // SAFETY: zeros are one, and the kernel has filled it in.
        let info = unsafe { info.assume_init() };
        if MISTAKES.contains(&signal) && (told.is_err() || info.si_code > 0) {
            return false;
        }
        let waits = self.0.iter().any(|&(kept, _)| kept == signal);
        if signal >= FIRST_OF_REAL_TIME || !waits {
            self.0.push((signal, info));
        }
        true
    }

    /// Sends all of them once more.
    pub(super) fn send(&self, held: &Held) {
        for &(signal, _) in &self.0 {
            let (pid, tid) = (i64::from(held.pid()), i64::from(held.tid()));
            // SAFETY: a signal that the program was sent before.
            unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, i64::from(signal)) };
        }
    }

    /// Hands all over to a thread that is held, about to go on with `signal`. Returns the one that it is to go on with now.
    pub(super) fn hand_over(&mut self, held: &Held, mut signal: i32) -> i32 {
        /// A handler that is being run may keep the next one out for longer.
        const PATIENCE: Duration = Duration::from_millis(20);
        self.send(held);
        let tid = held.tid();
        while !self.0.is_empty() {
            if ask(tid, libc::PTRACE_CONT, 0, signal as usize).is_err() {
                return 0;
            }
            let mut stop = held.wait_for_stop(PATIENCE);
            if stop.is_none() {
                let _ = ask(tid, libc::PTRACE_INTERRUPT, 0, 0);
                stop = held.wait_for_stop(PATIENCE * 50);
                self.0.clear();
            }
            let Some(Stop::Held { signal: next }) = stop else {
                return 0;
            };
            signal = next;
            if let Some(index) = self.0.iter().position(|&(kept, _)| kept == next) {
                let (_, mut info) = self.0.remove(index);
                let _ = ask(tid, libc::PTRACE_SETSIGINFO, 0, (&raw mut info) as usize);
            }
        }
        signal
    }
}

//! The helper thread of a session: it does the work that must not happen in a handler.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::{Error, Refusal};
use crate::own_threads::OwnThread;

/// The interval of later turns: the longest time that the functions of a new library cannot be
/// walked. Each turn costs an interrupt and two context switches.
const SLOW_TICK: Duration = Duration::from_millis(20);

/// A running helper.
#[derive(Debug)]
pub(crate) struct Helper {
    thread: JoinHandle<()>,
    stop: Sender<()>,
}

impl Helper {
    /// Starts a helper that calls `turn` at each tick; if it returns true, the next turns are
    /// later. The first turn waits for its tick, so the caller may go on holding the lock.
    pub(crate) fn start(
        mut tick: Duration,
        mut turn: impl FnMut() -> bool + Send + 'static,
    ) -> Result<Self, Error> {
        let (stop, stopped) = mpsc::channel();
        let (started, has_started) = mpsc::channel();
        let body = move || {
            block_all_signals();
            let _own = OwnThread::register();
            // The starter waits for this; it cannot be gone.
            let _ = started.send(());
            let mut next = Instant::now() + tick;
            loop {
                match stopped.recv_timeout(next.saturating_duration_since(Instant::now())) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
                }
                let may_be_slow = turn();
                if may_be_slow {
                    tick = SLOW_TICK;
                }
                // A late tick is not made up for. However long it took, the lock is left to others
                // for a while: a waiter polls it every 50 microseconds or so.
                next = (next + tick).max(Instant::now() + tick / 4);
            }
        };
        let thread = thread::Builder::new()
            .name("profundo".into())
            .stack_size(256 << 10)
            .spawn(body)
            .map_err(|source| Error::Refused {
                what: Refusal::Thread,
                source,
            })?;
        // From here on the helper is known as ours: the engine does not sample it. It cannot fail
        // to answer.
        let _ = has_started.recv();
        Ok(Self { thread, stop })
    }

    /// Ends the helper. The caller does not hold the session's lock, which the helper may want.
    pub(crate) fn stop(self) {
        // Either fails only if the helper has ended already.
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }

    /// Forgets the helper in a forked child, where its thread does not exist.
    pub(crate) fn abandon(self) {
        // Not even the channel is closed: its lock may have been held at the fork.
        std::mem::forget(self);
    }
}

/// The program's signals are for the program's threads.
fn block_all_signals() {
    // SAFETY: the set is ours; only this thread's mask changes.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
    }
}

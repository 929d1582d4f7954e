//! Signals while the program runs. Signals from the terminal (Ctrl-C, Ctrl-\, a hang-up) reach the
//! program directly, which is in the same process group. Signals sent to the command alone are
//! meant for the program and are passed on. Ctrl-Z stops both.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::thread::JoinHandle;
use std::time::Duration;

/// The signals that are received here, and the signal mask from before.
#[derive(Debug)]
pub struct Signals {
    queue: OwnedFd,
    before: libc::sigset_t,
}

/// A received signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// A child has stopped or ended.
    Child,
    /// A signal from the terminal, which the program gets too.
    FromTerminal {
        /// The number of the signal.
        signal: i32,
    },
    /// A signal that was sent to us alone.
    ForUs {
        /// The number of the signal.
        signal: i32,
        /// The process that sent it.
        sender: i32,
    },
}

/// The signal by which a user has the last minutes of a recording written. It is taken only where
/// that is possible ([`Signals::take_also`]), and a process that does not expect it ignores it.
pub const KEEPING: i32 = libc::SIGURG;

/// The signals by which a user ends the recording, at the terminal or by `kill`.
const ENDING: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

impl Received {
    /// True if the signal is a request to end the recording.
    pub fn wants_end(self) -> bool {
        match self {
            Self::Child => false,
            Self::FromTerminal { signal } | Self::ForUs { signal, .. } => ENDING.contains(&signal),
        }
    }

    /// True if the signal is a request to write the last minutes.
    pub fn wants_keeping(self) -> bool {
        matches!(
            self,
            Self::ForUs {
                signal: KEEPING,
                ..
            }
        )
    }
}

/// A thread that waits for signals.
#[derive(Debug)]
pub struct Watch {
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Closing this end wakes the thread.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn taken() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the set is initialised before a signal is added to it.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in [
            libc::SIGCHLD,
            libc::SIGHUP,
            libc::SIGINT,
            libc::SIGQUIT,
            libc::SIGTERM,
            libc::SIGUSR1,
            libc::SIGUSR2,
            libc::SIGALRM,
            libc::SIGWINCH,
        ] {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        for signal in libc::SIGRTMIN()..=libc::SIGRTMAX() {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}

impl Signals {
    /// Blocks the signals from now on, in this thread and those that it starts.
    pub fn take() -> io::Result<Self> {
        Self::take_also(&[], true)
    }

    /// Like [`take`](Self::take), with additional signals. Without children, SIGCHLD is blocked but
    /// never reported: a process that traces threads of others gets one for each.
    pub fn take_also(signals: &[i32], has_children: bool) -> io::Result<Self> {
        let mut set = taken();
        for &signal in signals {
            // SAFETY: the set is initialised, and a place of this function's.
            unsafe { libc::sigaddset(&mut set, signal) };
        }
        let mut before = MaybeUninit::uninit();
        // SAFETY: both sets are places of this function's.
        let before = unsafe {
            if libc::sigprocmask(libc::SIG_BLOCK, &set, before.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            before.assume_init()
        };
        if !has_children {
            // SAFETY: the set is initialised, and a place of this function's.
            unsafe { libc::sigdelset(&mut set, libc::SIGCHLD) };
        }
        // SAFETY: makes a descriptor for a set of ours.
        let queue = unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if queue < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            // SAFETY: it is new, with no other owner.
            queue: unsafe { OwnedFd::from_raw_fd(queue) },
            before,
        })
    }

    /// The descriptor that is readable when a signal has come.
    pub fn descriptor(&self) -> &OwnedFd {
        &self.queue
    }

    /// The signal mask from before.
    pub fn before(&self) -> libc::sigset_t {
        self.before
    }

    /// Starts a thread that calls `wake` when a signal has come. Dropping the result ends it.
    pub fn watch(&self, wake: impl Fn() + Send + 'static) -> io::Result<Watch> {
        let queue = self.queue.try_clone()?;
        let (end, stop) = super::pipe::pipe()?;
        let watching = move || {
            let on = |descriptor: &OwnedFd| libc::pollfd {
                fd: descriptor.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            let mut polled = [on(&queue), on(&end)];
            loop {
                // SAFETY: two structures of ours.
                unsafe { libc::poll(polled.as_mut_ptr(), 2, -1) };
                if polled[1].revents != 0 {
                    return;
                }
                wake();
                // The woken thread takes the signal; until then it would be reported again.
                std::thread::sleep(Duration::from_millis(2));
            }
        };
        let thread = std::thread::Builder::new()
            .name("profundo-signals".into())
            .spawn(watching)?;
        Ok(Watch {
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Takes received signals, up to the first that requests the end of the recording. Returns
    /// whether one does.
    pub fn want_end(&self) -> bool {
        std::iter::from_fn(|| self.next()).any(Received::wants_end)
    }

    /// The next received signal, without waiting.
    pub fn next(&self) -> Option<Received> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: at most one structure is written to a place for one.
        let read = unsafe { libc::read(self.queue.as_raw_fd(), info.as_mut_ptr().cast(), size) };
        if read != size as isize {
            return None;
        }
        // SAFETY: it was filled in.
        let info = unsafe { info.assume_init() };
        let signal = info.ssi_signo as i32;
        Some(if signal == libc::SIGCHLD {
            Received::Child
        } else if info.ssi_code == libc::SI_KERNEL {
            Received::FromTerminal { signal }
        } else {
            Received::ForUs {
                signal,
                sender: info.ssi_pid as i32,
            }
        })
    }

    /// Unblocks the signals, so that Ctrl-C ends our work after the program.
    pub fn release(self) {
        while self.next().is_some() {}
        // SAFETY: restores the earlier mask.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

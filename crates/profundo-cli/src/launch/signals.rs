//! Signals while the program runs. What the terminal sends (Ctrl-C, Ctrl-\, a hang-up) reaches the
//! program by itself, being in the same process group; what somebody sends to the command alone is
//! meant for the program and is passed on. Ctrl-Z stops both.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::thread::JoinHandle;
use std::time::Duration;

/// The signals that are taken, and the mask before.
#[derive(Debug)]
pub struct Signals {
    queue: OwnedFd,
    before: libc::sigset_t,
}

/// A signal that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Got {
    /// A child has stopped or ended.
    Child,
    /// The terminal sent it, to the program too.
    FromTerminal {
        /// Which one.
        signal: i32,
    },
    /// Somebody sent it to us.
    ForUs {
        /// Which one.
        signal: i32,
        /// The process.
        sender: i32,
    },
}

/// A thread that looks for signals.
#[derive(Debug)]
pub struct Watch {
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Closing our end wakes it.
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
    /// Holds the signals back from now on, in this thread and those that it starts.
    pub fn take() -> io::Result<Self> {
        Self::take_also(&[], true)
    }

    /// The same with these signals besides. Who has no children, but holds threads of others, is sent
    /// SIGCHLD for each: so it can be held back without ever being told of.
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
            // SAFETY: see above.
            unsafe { libc::sigdelset(&mut set, libc::SIGCHLD) };
        }
        // SAFETY: makes a descriptor for a set of ours.
        let queue = unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if queue < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            // SAFETY: it is new and nobody else's.
            queue: unsafe { OwnedFd::from_raw_fd(queue) },
            before,
        })
    }

    /// What can be read from when a signal has come.
    pub fn descriptor(&self) -> &OwnedFd {
        &self.queue
    }

    /// The mask as it was.
    pub fn before(&self) -> libc::sigset_t {
        self.before
    }

    /// Calls `wake` when a signal has come, from a thread that ends with what is returned.
    pub fn watch(&self, wake: impl Fn() + Send + 'static) -> io::Result<Watch> {
        let queue = self.queue.try_clone()?;
        let (end, stop) = super::child::pipe()?;
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
                // Whoever is woken takes the signal; until then it would be announced again.
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

    /// The next signal that came, without waiting.
    pub fn next(&self) -> Option<Got> {
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
            Got::Child
        } else if info.ssi_code == libc::SI_KERNEL {
            Got::FromTerminal { signal }
        } else {
            Got::ForUs {
                signal,
                sender: info.ssi_pid as i32,
            }
        })
    }

    /// Lets them through again, so that Ctrl-C ends what we do after the program.
    pub fn release(self) {
        while self.next().is_some() {}
        // SAFETY: sets the mask that there was.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

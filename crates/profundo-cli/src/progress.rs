//! A word on what takes long, on a terminal only, and only if it does take long.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long nothing is said.
const PATIENCE: Duration = Duration::from_millis(500);

/// Shows what is being done until it is dropped.
#[derive(Debug)]
pub struct Progress {
    running: Option<(Sender<()>, JoinHandle<()>)>,
    what: Arc<Mutex<String>>,
}

impl Progress {
    /// Begins, if there is a terminal to show it on.
    pub fn start(what: impl Into<String>) -> Self {
        let what = Arc::new(Mutex::new(what.into()));
        if !io::stderr().is_terminal() {
            return Self {
                running: None,
                what,
            };
        }
        let said_last = Arc::clone(&what);
        let (sender, receiver) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("profundo-progress".into())
            .spawn(move || {
                let mut said = false;
                for dots in 0.. {
                    let ended = receiver.recv_timeout(PATIENCE);
                    if !matches!(ended, Err(RecvTimeoutError::Timeout)) {
                        break;
                    }
                    let what = said_last.lock().unwrap_or_else(PoisonError::into_inner);
                    let mut out = io::stderr();
                    let _ = write!(out, "\r\x1b[Kprofundo: {what}{}", ".".repeat(dots % 4 + 1));
                    let _ = out.flush();
                    said = true;
                }
                if said {
                    let _ = write!(io::stderr(), "\r\x1b[K");
                }
            });
        Self {
            running: thread.ok().map(|thread| (sender, thread)),
            what,
        }
    }

    /// One that is never shown.
    pub fn silent() -> Self {
        Self {
            running: None,
            what: Arc::default(),
        }
    }

    /// How far it has come meanwhile.
    pub fn says(&self, what: String) {
        *self.what.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.running.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

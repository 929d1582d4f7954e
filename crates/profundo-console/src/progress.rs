//! Progress of long work: on a terminal only, and only after a while.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The time for which nothing is shown.
const PATIENCE: Duration = Duration::from_millis(500);

/// Shows the current work until it is dropped.
#[derive(Debug)]
pub struct Progress {
    running: Option<(Sender<()>, JoinHandle<()>)>,
    text: Arc<Mutex<String>>,
}

impl Progress {
    /// Begins, if there is a terminal.
    pub fn start(text: impl Into<String>) -> Self {
        let text = Arc::new(Mutex::new(text.into()));
        if !io::stderr().is_terminal() {
            return Self {
                running: None,
                text,
            };
        }
        let current = Arc::clone(&text);
        let (sender, receiver) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("profundo-progress".into())
            .spawn(move || {
                let mut is_shown = false;
                for dots in 0.. {
                    let ended = receiver.recv_timeout(PATIENCE);
                    if !matches!(ended, Err(RecvTimeoutError::Timeout)) {
                        break;
                    }
                    let text = current.lock().unwrap_or_else(PoisonError::into_inner);
                    let mut out = io::stderr();
                    let _ = write!(out, "\r\x1b[Kprofundo: {text}{}", ".".repeat(dots % 4 + 1));
                    let _ = out.flush();
                    is_shown = true;
                }
                if is_shown {
                    let _ = write!(io::stderr(), "\r\x1b[K");
                }
            });
        Self {
            running: thread.ok().map(|thread| (sender, thread)),
            text,
        }
    }

    /// Progress that is never shown.
    pub fn silent() -> Self {
        Self {
            running: None,
            text: Arc::default(),
        }
    }

    /// Sets the text on the progress so far.
    pub fn set_text(&self, text: String) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
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

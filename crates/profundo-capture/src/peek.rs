//! The signal of the peek, turned into an event for a normal thread, and the stacks of all threads
//! at one moment.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd};

use profundo_probe::handlers;
use profundo_wire::recording::Recording;

use crate::error::{Error, Refusal};
use crate::{global, proc, wall};

/// Waits for a signal.
#[derive(Debug)]
pub struct PeekSignal {
    events: File,
}

impl PeekSignal {
    /// Installs the handler. The signal does nothing else from now on, for ever.
    pub fn install(signal: i32) -> Result<Self, Error> {
        // SAFETY: a new descriptor, which the file owns.
        let events = unsafe {
            let descriptor = libc::eventfd(0, libc::EFD_CLOEXEC);
            if descriptor < 0 {
                return Err(Error::refused(Refusal::SignalHandler));
            }
            File::from_raw_fd(descriptor)
        };
        if !handlers::install_peek(signal, events.as_raw_fd()) {
            return Err(Error::refused(Refusal::SignalHandler));
        }
        Ok(Self { events })
    }

    /// Waits until the signal comes. Several signals meanwhile are one.
    pub fn wait(&mut self) -> io::Result<()> {
        self.events.read_exact(&mut [0; 8])
    }
}

impl Drop for PeekSignal {
    fn drop(&mut self) {
        // The descriptor's number may be reused for another file.
        handlers::forget_peek();
    }
}

/// The stacks of the threads that are blocked at this moment, in a recording of their own: leaf
/// first, one sample each. Running threads are not in it.
pub fn blocked_threads() -> Result<Recording, Error> {
    let probe = global::make_probe()?;
    let mut words = Vec::new();
    for tid in proc::threads()? {
        let Some(stack) = wall::blocked_stack(tid) else {
            continue;
        };
        let slot = probe.threads.enter_other(tid, proc::thread_name(tid));
        let head = profundo_wire::SampleHead {
            state: profundo_wire::State::WallWaiting,
            end: profundo_wire::End::Root,
            frames: stack.len() as u16,
            python: 0,
            python_end: profundo_wire::PythonEnd::Whole,
            gil: profundo_wire::Gil::None,
            clock: profundo_probe::clock::now(),
            weight: 0,
            task: 0,
            thread: slot.map_or(0, profundo_probe::Slot::number),
            tid,
            span: 0,
        };
        words.extend(head.to_words());
        words.extend(stack);
    }
    Ok(Recording {
        chunks: vec![words],
        ..crate::recording::snapshot()?
    })
}

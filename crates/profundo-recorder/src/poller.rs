//! A thread that waits for the kernel's records, and calls back when there are some. So the
//! recorder waits on one word of memory only, and can sleep while nothing happens.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsRawFd, RawFd};
use std::thread::JoinHandle;

/// The thread. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Poller {
    end: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl Poller {
    /// Calls `ready` whenever one of the descriptors can be read. It must keep them open.
    pub(crate) fn start(
        descriptors: impl IntoIterator<Item = RawFd>,
        ready: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        let (ended, end) = io::pipe()?;
        let polls: Vec<libc::pollfd> = std::iter::once(ended.as_raw_fd())
            .chain(descriptors)
            .map(|fd| libc::pollfd {
                fd,
                events: libc::POLLIN,
                revents: 0,
            })
            .collect();
        let thread = std::thread::Builder::new()
            .name("profundo".into())
            .spawn(move || poll(polls, &ended, &ready))?;
        Ok(Self {
            end: Some(end),
            thread: Some(thread),
        })
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        // The thread sees that the pipe has no writer any more. A write could fail.
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Polls the descriptors, the first of which is that of `_ended`.
fn poll(mut polls: Vec<libc::pollfd>, _ended: &PipeReader, ready: &impl Fn()) {
    loop {
        // SAFETY: the entries are valid and as many as said.
        let found = unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, -1) };
        if found < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return;
        }
        if polls.first().is_none_or(|end| end.revents != 0) {
            return;
        }
        for poll in &mut polls {
            // All watched processes have ended; the descriptor would stay readable.
            if poll.revents & !libc::POLLIN != 0 {
                poll.fd = -1;
            }
        }
        ready();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_calls_back_when_there_is_something_to_read_and_ends_when_dropped() {
        let (reader, mut writer) = io::pipe().unwrap();
        let (told, tells) = mpsc::channel();
        let descriptor = reader.as_raw_fd();
        let poller = Poller::start([descriptor], move || {
            let _ = (&reader, told.send(()));
            std::thread::sleep(Duration::from_millis(1));
        });
        let poller = poller.unwrap();
        assert!(tells.recv_timeout(Duration::from_millis(50)).is_err());
        writer.write_all(b"x").unwrap();
        tells.recv_timeout(Duration::from_secs(60)).unwrap();
        // A descriptor without a writer is not asked again.
        drop(writer);
        std::thread::sleep(Duration::from_millis(20));
        while tells.try_recv().is_ok() {}
        drop(poller);
        assert_eq!(
            tells.recv_timeout(Duration::from_secs(60)),
            Err(mpsc::RecvTimeoutError::Disconnected)
        );
    }
}

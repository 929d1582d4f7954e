//! A thread that waits for the kernel's records of processes, and then rings our doorbell. So the
//! recorder waits on one word of memory only, and can sleep while nothing happens.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use profundo_linux::perf::SideBand;

/// The least interval of its rings.
const PAUSE: Duration = Duration::from_millis(1);

/// The thread. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Watcher {
    end: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Calls `ring` whenever the side-band has records.
    pub(crate) fn start(
        side_band: &Arc<SideBand>,
        ring: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        // SAFETY: a call without pointers.
        let end = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if end < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made, and nothing else owns it.
        let end = unsafe { OwnedFd::from_raw_fd(end) };
        let ended = end.try_clone()?;
        let side_band = Arc::clone(side_band);
        let thread = std::thread::Builder::new()
            .name("profundo".into())
            .spawn(move || watch(&side_band, &ended, &ring))?;
        Ok(Self {
            end,
            thread: Some(thread),
        })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let one = 1_u64;
        // SAFETY: eight bytes of ours to a descriptor of ours.
        unsafe { libc::write(self.end.as_raw_fd(), (&raw const one).cast(), 8) };
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(side_band: &SideBand, end: &OwnedFd, ring: &impl Fn()) {
    let entry = |fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    let mut polls: Vec<libc::pollfd> = std::iter::once(end.as_raw_fd())
        .chain(side_band.descriptors())
        .map(entry)
        .collect();
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
        ring();
        std::thread::sleep(PAUSE);
    }
}

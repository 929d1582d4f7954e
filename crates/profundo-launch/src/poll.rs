//! Waiting for signals and for other descriptors, without a thread.

use std::os::fd::AsRawFd;
use std::time::Duration;

use super::Signals;

/// The descriptors that are polled.
#[derive(Debug)]
pub struct Poll(Vec<libc::pollfd>);

impl Poll {
    /// A signal, or one of these descriptors.
    pub fn new(signals: &Signals, others: Vec<i32>) -> Self {
        let on = |descriptor| libc::pollfd {
            fd: descriptor,
            events: libc::POLLIN,
            revents: 0,
        };
        let first = signals.descriptor().as_raw_fd();
        Self(std::iter::once(first).chain(others).map(on).collect())
    }

    /// Waits until one of them is readable, or until the timeout.
    pub fn wait(&mut self, longest: Duration) {
        let milliseconds = longest.as_nanos().div_ceil(1_000_000);
        let timeout = i32::try_from(milliseconds).unwrap_or(-1);
        // SAFETY: the entries are ours and as many as said.
        unsafe { libc::poll(self.0.as_mut_ptr(), self.0.len() as libc::nfds_t, timeout) };
        for one in &mut self.0 {
            // It is closed, and would be reported for ever.
            if one.revents & !libc::POLLIN != 0 {
                one.fd = -1;
            }
        }
    }
}

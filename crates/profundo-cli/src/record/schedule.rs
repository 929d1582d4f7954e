//! The times at which sampling starts and stops by itself.

use std::time::{Duration, Instant};

/// The times at which sampling starts and stops by itself.
#[derive(Debug)]
pub struct Schedule {
    began: Instant,
    start: Option<Duration>,
    stop: Option<Duration>,
    /// The time to sample for, once sampling has started.
    duration: Option<Duration>,
}

impl Schedule {
    /// A schedule that starts after one time and stops after another, if they are given. Time
    /// counts from the start of the program.
    pub fn new(start: Option<Duration>, duration: Option<Duration>) -> Self {
        Self {
            began: Instant::now(),
            start,
            stop: duration.filter(|_| start.is_none()),
            duration,
        }
    }

    /// Starts the clock, once the program has started.
    pub fn begin(&mut self) {
        self.began = Instant::now();
    }

    /// The time until sampling is to start or to stop.
    pub fn left(&self) -> Duration {
        match self.start.or(self.stop) {
            Some(next) => next.saturating_sub(self.began.elapsed()),
            None => Duration::MAX,
        }
    }

    /// True if sampling is to be paused now, false if it is to go on; `None`: nothing changes now.
    pub fn due(&mut self) -> Option<bool> {
        let now = self.began.elapsed();
        if self.start.is_some_and(|start| now >= start) {
            self.start = None;
            self.stop = self.duration.map(|duration| now + duration);
            return Some(false);
        }
        if self.stop.is_some_and(|stop| now >= stop) {
            self.stop = None;
            return Some(true);
        }
        None
    }
}

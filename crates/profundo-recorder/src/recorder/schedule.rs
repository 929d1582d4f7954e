//! The recorder's schedule: when it wakes, and what is due when.

use std::time::Duration;

use profundo_probe::random::PeriodDraw;

/// The longest wait of a turn, while there are samples and while there are none.
pub(super) const BUSY_WAIT: Duration = Duration::from_millis(15);
const IDLE_WAIT: Duration = Duration::from_millis(120);
/// `BUSY_WAIT` while there are few samples. A process that fills a chunk earlier rings the bell.
/// Each unneeded turn costs some fifty microseconds, most of them for waking up. The periods of
/// clocks change at each turn.
const LIGHT_WAIT: Duration = Duration::from_millis(50);
const FEW_WORDS: usize = 1 << 14;
/// `IDLE_WAIT` where only polling finds that a process has ended.
const BLIND_WAIT: Duration = Duration::from_millis(40);

/// The result of a turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// There were samples.
    pub(super) busy: bool,
    /// Processes are sampled from outside.
    pub(super) outside: bool,
    /// Threads are read as they are sampled.
    pub(super) reads: bool,
    /// All processes of the machine are sampled.
    pub(super) machine: bool,
    /// The number of words in the fullest ring.
    pub(super) words: usize,
    /// There are new processes that are not classified yet.
    pub(super) newcomers: bool,
    /// The kernel reports the ends of processes.
    pub(super) watched: bool,
}

/// The times of the last work of each kind, monotonic, in nanoseconds.
#[derive(Debug)]
pub(super) struct Schedule {
    /// The longest wait of the next turn.
    pub(super) wait: Duration,
    /// The time at which the work of each second was last done.
    pub(super) second: u64,
    /// The time of the last search for blocking threads, which block our signal.
    pub(super) blocking: u64,
    /// The time of the last search of `/proc` for processes.
    pub(super) polled: u64,
    /// The periods of clocks on programs without an agent, and when the last one began.
    pub(super) periods: PeriodDraw,
    pub(super) varied: u64,
}

impl Schedule {
    /// A schedule with all work just done.
    pub(super) fn begin(now: u64, period: u64) -> Self {
        Self {
            wait: BUSY_WAIT,
            second: now,
            blocking: now,
            polled: 0,
            periods: PeriodDraw::new(period),
            varied: now,
        }
    }

    /// Sets the longest wait of the next turn.
    pub(super) fn set_wait(&mut self, turn: Turn) {
        let idle = match turn.watched {
            true => IDLE_WAIT,
            false => BLIND_WAIT,
        };
        self.wait = match (turn.busy, turn.outside) {
            // Its samples wake the recorder, and it has many processes to look at.
            _ if turn.machine => IDLE_WAIT,
            // Reading threads wakes the recorder.
            (true, true) if turn.reads => BUSY_WAIT,
            (false, true) if turn.reads => (self.wait * 2).clamp(BUSY_WAIT, IDLE_WAIT),
            // The kernel's rings are small.
            (true, true) => BUSY_WAIT / 3,
            (true, false) if turn.words < FEW_WORDS => LIGHT_WAIT.min(idle),
            (true, false) => BUSY_WAIT,
            (false, true) => BUSY_WAIT,
            (false, false) => (self.wait * 2).clamp(BUSY_WAIT, idle),
        };
        if turn.newcomers {
            self.wait = self.wait.min(BUSY_WAIT);
        }
    }
}

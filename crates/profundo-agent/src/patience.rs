//! The waits of processes for the command: all of them together last no longer than [`MOST`] after
//! the command's last turn. A command that is stopped, or gets no CPU, holds the program once and
//! not once for each process, because the time at which the wait began lies in shared memory.
//!
//! Where the command comes too late again and again, the time is halved each time. It is doubled
//! again when an answer comes in time. Where every call or every allocation is counted, each
//! process waits separately: without an answer nothing of it would be counted.

use core::sync::atomic::Ordering;

use profundo_probe::shared::{Control, UNANSWERED};

use crate::{command, process};

/// The time that processes wait for a command that has no turn, in nanoseconds.
pub const MOST: u64 = 50_000_000;

/// The most times that [`MOST`] is halved.
const MOST_HALVINGS: u32 = 3;

/// A wait of this process for the command.
pub struct Wait<'a> {
    control: &'a Control,
    until: u64,
    is_alone: bool,
}

impl<'a> Wait<'a> {
    /// Begins to wait. Even if the command has its turns, the wait lasts no longer than
    /// `nanoseconds`.
    pub fn begin(control: &'a Control, nanoseconds: u64) -> Self {
        Self {
            control,
            until: now().saturating_add(nanoseconds),
            is_alone: command::counts_all(control),
        }
    }

    /// True if the process waits for another moment. `false`: the command has not answered, or it
    /// is gone.
    pub fn goes_on(&self) -> bool {
        let now = now();
        let has_time = now < self.until && (self.is_alone || has_time(self.control, now));
        has_time && command::may_answer(self.control)
    }

    /// The answer has come.
    pub fn is_answered(&self) {
        let halvings = &self.control.halvings;
        let order = (Ordering::Relaxed, Ordering::Relaxed);
        let _ = halvings.fetch_update(order.0, order.1, |count| count.checked_sub(1));
    }
}

/// True if the command can still be expected to have its next turn in time.
fn has_time(control: &Control, now: u64) -> bool {
    let order = (Ordering::Relaxed, Ordering::Relaxed);
    let word = &control.waiting_since;
    let begins = now & !UNANSWERED;
    let since = match word.compare_exchange(0, begins, order.0, order.1) {
        Ok(_) => begins,
        Err(since) => since,
    };
    if since & UNANSWERED != 0 {
        return false;
    }
    let halvings = control.halvings.load(Ordering::Relaxed);
    if now.saturating_sub(since) < MOST >> halvings.min(MOST_HALVINGS) {
        return true;
    }
    // One of the waiting processes gives up for all.
    let gives_up = word.compare_exchange(since, since | UNANSWERED, order.0, order.1);
    if gives_up.is_ok() && halvings < MOST_HALVINGS {
        control.halvings.fetch_add(1, Ordering::Relaxed);
    }
    false
}

fn now() -> u64 {
    process::time(libc::CLOCK_MONOTONIC)
}

#[cfg(test)]
mod tests {
    use profundo_probe::shared::SessionState;

    use super::*;

    const LONG: u64 = 60_000_000_000;

    fn control() -> Box<Control> {
        // SAFETY: it is made of atomics, and all zero at first.
        let control: Box<Control> = unsafe { Box::new_zeroed().assume_init() };
        let running = SessionState::Running as u32;
        control.state.store(running, Ordering::Relaxed);
        control
    }

    /// The time that a process waits without an answer.
    fn wait_in_vain(control: &Control) -> u64 {
        let (began, wait) = (now(), Wait::begin(control, LONG));
        while wait.goes_on() {}
        now() - began
    }

    #[test]
    fn all_processes_together_wait_once_for_a_command_that_is_stopped() {
        let control = control();
        assert!(wait_in_vain(&control) >= MOST);
        let others = (0..1000).filter(|_| Wait::begin(&control, LONG).goes_on());
        assert_eq!(others.count(), 0);
        // The command has had a turn, late: the next wait is half as long.
        control.waiting_since.store(0, Ordering::Relaxed);
        assert_eq!(control.halvings.load(Ordering::Relaxed), 1);
        assert!(wait_in_vain(&control) >= MOST / 2);
        assert_eq!(control.halvings.load(Ordering::Relaxed), 2);
        control.waiting_since.store(0, Ordering::Relaxed);
        Wait::begin(&control, LONG).is_answered();
        assert_eq!(control.halvings.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_session_that_is_over_is_not_waited_for() {
        let control = control();
        control.state.store(0, Ordering::Relaxed);
        assert!(!Wait::begin(&control, LONG).goes_on());
    }
}

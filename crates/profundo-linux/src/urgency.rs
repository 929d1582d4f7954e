//! The time until this thread gets a CPU after it wakes.
//!
//! A recorder that reads other threads has to read them where they were sampled. On a busy machine
//! the ordinary scheduler lets it wait for some milliseconds: then the sampled thread has gone on,
//! or is held for all of that time. A thread of the real-time class runs at once. It must not keep
//! a CPU from the programs, so it falls back where it finds that it has used more than a part of
//! the time.

use std::time::{Duration, Instant};

use crate::sys::nanoseconds;

/// The stretch of time for which the use of CPU time is limited.
const WINDOW: Duration = Duration::from_millis(100);
/// The CPU time in it after which a thread falls back.
const MOST: Duration = Duration::from_millis(25);

/// A thread that runs as soon as it wakes, until this is dropped. It stays on its thread.
#[derive(Debug, Default)]
pub struct Hurry {
    is_on: bool,
    window: Option<Window>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    began: Instant,
    /// Nanoseconds of CPU time that the thread had used before.
    used: u64,
}

impl Hurry {
    /// Hurries, where the kernel permits it: as root, or with `CAP_SYS_NICE`. Falls back for the
    /// rest of a window in which the thread has used too much. It has to be called often. A thread
    /// that was given another policy keeps it.
    pub fn keep(&mut self) {
        let used = nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID);
        match self.window {
            Some(window) if window.began.elapsed() < WINDOW => {
                if Duration::from_nanos(used.saturating_sub(window.used)) > MOST {
                    self.end();
                }
            }
            _ => {
                let began = Instant::now();
                self.window = Some(Window { began, used });
                self.is_on = self.is_on || is_ordinary() && set_policy(libc::SCHED_RR, 1);
            }
        }
    }

    /// Ends the hurry. What does not read threads needs none.
    pub fn end(&mut self) {
        if std::mem::take(&mut self.is_on) {
            set_policy(libc::SCHED_OTHER, 0);
            // The change of the class has reset the slice.
            ask_for_short_slices();
        }
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        self.end();
    }
}

fn is_ordinary() -> bool {
    // SAFETY: a call that only reads.
    unsafe { libc::sched_getscheduler(0) == libc::SCHED_OTHER }
}

/// Sets this thread's policy. Threads and processes that it starts have the ordinary one. Returns
/// false where that is refused.
fn set_policy(policy: i32, priority: i32) -> bool {
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    let policy = match policy {
        libc::SCHED_OTHER => policy,
        _ => policy | libc::SCHED_RESET_ON_FORK,
    };
    // SAFETY: a structure of ours to read.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}

/// Asks the scheduler to give this thread a CPU soon after it wakes, and for a short time only. Its
/// share of the CPU stays the same. Kernels before 6.12 ignore it.
pub fn ask_for_short_slices() {
    /// The shortest slice, in nanoseconds.
    const SLICE: u64 = 100_000;
    const SIZE: u32 = 48;
    // SAFETY: zeroed attributes are those of an ordinary thread.
    let mut attributes: Attributes = unsafe { std::mem::zeroed() };
    // SAFETY: a structure of ours to write, as large as is said.
    let known = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, SIZE, 0) };
    if known != 0 || attributes.policy != libc::SCHED_OTHER as u32 {
        return;
    }
    attributes.size = SIZE;
    attributes.slice = SLICE;
    // SAFETY: it is only read. Where it is refused all stays as it was.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// The kernel's first version of `struct sched_attr`.
#[repr(C)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    slice: u64,
    deadline: u64,
    period: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> i32 {
        // SAFETY: a call that only reads.
        let policy = unsafe { libc::sched_getscheduler(0) };
        policy & !libc::SCHED_RESET_ON_FORK
    }

    #[test]
    fn a_hurry_ends_with_its_time_and_by_itself() {
        std::thread::spawn(|| {
            let mut hurry = Hurry::default();
            hurry.keep();
            if !hurry.is_on {
                // Not permitted here: nothing has changed.
                assert_eq!(policy(), libc::SCHED_OTHER);
                return;
            }
            assert_eq!(policy(), libc::SCHED_RR);
            let of_child = std::thread::spawn(policy).join().unwrap();
            assert_eq!(of_child, libc::SCHED_OTHER);
            let began = Instant::now();
            while hurry.is_on && began.elapsed() < Duration::from_secs(10) {
                hurry.keep();
            }
            assert_eq!(policy(), libc::SCHED_OTHER);
            std::thread::sleep(WINDOW);
            hurry.keep();
            assert_eq!(policy(), libc::SCHED_RR);
            drop(hurry);
            assert_eq!(policy(), libc::SCHED_OTHER);
        })
        .join()
        .unwrap();
    }
}

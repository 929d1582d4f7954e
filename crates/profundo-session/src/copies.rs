//! Copies of processes, as a snapshot makes them. The command that makes one announces it to all
//! recorders, which would take it for a child of the program. What reads the recording of a program
//! for that program is announced in the same way.

use std::sync::atomic::Ordering;

use profundo_linux::sys;
use profundo_probe::shared::{Control, CopyNote, MAX_COPIES};

use super::SessionHandle;
use super::find::sessions;

/// A copy that is announced in all sessions of this user, until this is dropped after the copy's
/// end.
#[derive(Debug)]
pub struct AnnouncedCopy {
    sessions: Vec<(SessionHandle, usize)>,
}

impl AnnouncedCopy {
    /// Announces a copy that was made after `began`, on the monotonic clock.
    pub fn copy(pid: u32, began: u64) -> Self {
        let noted = sessions().map(|session| {
            let number = note(session.control(), pid, began);
            (session, number)
        });
        Self {
            sessions: noted.collect(),
        }
    }
}

impl SessionHandle {
    /// Tells the recorder that a process, which began after `began` on the monotonic clock, is none
    /// of the program's. It allocates nothing: the child of a fork may call it.
    pub fn announce(&self, pid: u32, began: u64) {
        note(self.control(), pid, began);
    }
}

impl Drop for AnnouncedCopy {
    fn drop(&mut self) {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        for (session, number) in &self.sessions {
            if let Some(note) = session.control().copies.get(*number) {
                note.ended.store(now, Ordering::Release);
            }
        }
    }
}

fn note(control: &Control, pid: u32, began: u64) -> usize {
    let number = control.copy_count.fetch_add(1, Ordering::Relaxed) % MAX_COPIES as u64;
    let number = number as usize;
    if let Some(note) = control.copies.get(number) {
        note.pid.store(0, Ordering::Relaxed);
        note.began.store(began, Ordering::Release);
        note.ended.store(0, Ordering::Relaxed);
        // Release pairs with the recorder's acquire: the rest is there.
        note.pid.store(pid, Ordering::Release);
    }
    number
}

/// Whether a process that began at this time is such a copy.
pub fn is_copy(control: &Control, pid: u32, began: u64) -> bool {
    let is_it = |note: &CopyNote| {
        // Another process may get the number later.
        note.pid.load(Ordering::Acquire) == pid
            && note.began.load(Ordering::Relaxed) <= began
            && match note.ended.load(Ordering::Relaxed) {
                0 => true,
                ended => began <= ended,
            }
    };
    control.copies.iter().any(is_it)
}

/// Forgets a copy whose process has ended. If the command that made it was killed, the next process
/// of that number is not a copy.
pub fn forget_copy(control: &Control, pid: u32) {
    for note in &control.copies {
        let _ = (note.pid).compare_exchange(pid, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_known_while_it_exists() {
        // SAFETY: it is made of atomics, for which zeros are valid.
        let control = unsafe { Box::<Control>::new_zeroed().assume_init() };
        assert!(!is_copy(&control, 7, 100));
        let number = note(&control, 7, 100);
        for other in 8..8 + MAX_COPIES as u32 - 1 {
            note(&control, other, 50);
        }
        assert!(is_copy(&control, 7, 110) && is_copy(&control, 9, 60));
        assert!(!is_copy(&control, 7, 99), "that one was before");
        control.copies[number].ended.store(200, Ordering::Relaxed);
        assert!(is_copy(&control, 7, 110));
        assert!(!is_copy(&control, 7, 201), "that one has its number again");
        note(&control, 7, 300);
        assert!(is_copy(&control, 7, 310));
        forget_copy(&control, 7);
        assert!(!is_copy(&control, 7, 310) && is_copy(&control, 9, 60));
    }
}

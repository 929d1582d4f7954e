//! The garbage collections of a running interpreter. It is asked to record them in a piece of its
//! own memory, which is read from outside, and in the end to stop.

use std::time::Duration;

use profundo_linux::sys;
use profundo_probe::shared::{Collections, wish};
use profundo_wire::recording::Collection;

use super::{Asked, Injection, Refused, map, why_refused};

/// The interval of readings.
const TURN: Duration = Duration::from_millis(20);

const BYTES: u64 = size_of::<Collections>() as u64;

impl Injection<'_> {
    /// Hands each collection to `emit`, with the number of those lost before it, until `is_over`
    /// returns true or the program ends.
    pub fn collections(
        &mut self,
        patience: Duration,
        emit: &mut dyn FnMut(Collection, u64),
        is_over: &mut dyn FnMut() -> bool,
    ) -> Result<(), Refused> {
        let place = self.borrow(|_, thread| map(thread, BYTES.next_multiple_of(4096)))?;
        self.send_wish(wish::COLLECTIONS, place, patience)?;
        let mut read = 0;
        loop {
            let over = is_over();
            match self.read_since(place, read, emit) {
                Some(written) => read = written,
                // The program has ended, or was replaced.
                None => return Ok(()),
            }
            if over {
                break;
            }
            self.note_reading(place)?;
            std::thread::sleep(TURN);
        }
        // A late write may still go to that memory, so it stays mapped.
        match self.send_wish(wish::SILENCE, place, patience) {
            Err(Refused::Gone) => Ok(()),
            other => other,
        }
    }

    fn send_wish(&mut self, wish: u32, place: u64, patience: Duration) -> Result<(), Refused> {
        let asked = Asked {
            wish,
            place,
            ..Asked::default()
        };
        self.ask(asked, patience)?;
        let answer = self.request()?.answer;
        self.leave(None);
        match answer {
            0 => Ok(()),
            refused => Err(why_refused(refused)),
        }
    }

    /// Notes in the program that it is being read. It stops recording when these notes stop.
    fn note_reading(&self, place: u64) -> Result<(), Refused> {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let place = place + std::mem::offset_of!(Collections, visited) as u64;
        match super::write_memory(self.pid, place, &now.to_le_bytes()) {
            Ok(()) => Ok(()),
            // The program has ended, or was replaced: the next reading finds out.
            Err(error) if error.raw_os_error() != Some(libc::EPERM) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the number of collections so far.
    fn read_since(
        &self,
        place: u64,
        read: u64,
        emit: &mut dyn FnMut(Collection, u64),
    ) -> Option<u64> {
        let mut head = [0; 8];
        if sys::read_memory(self.pid, place, &mut head) != head.len() {
            return None;
        }
        if u64::from_le_bytes(head) == read {
            return Some(read);
        }
        // SAFETY: all zero is a valid one.
        let mut copy = unsafe { std::mem::zeroed::<Collections>() };
        // SAFETY: it is ours alone; numbers are bytes, and whatever the program has written there
        // are numbers.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut((&raw mut copy).cast::<u8>(), BYTES as usize) };
        if sys::read_memory(self.pid, place, bytes) != bytes.len() {
            return None;
        }
        let mut found = Vec::new();
        let (written, lost) = copy.each_since(read, |collection| found.push(collection));
        let mut lost = Some(lost);
        for collection in found {
            emit(collection, lost.take().unwrap_or(0));
        }
        Some(written)
    }
}

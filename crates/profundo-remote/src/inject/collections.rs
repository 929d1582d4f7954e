//! The collections of garbage of an interpreter that runs already: it is asked to tell of them, into a piece of its own
//! memory that is read from outside, and in the end to tell no more.

use std::time::Duration;

use profundo_probe::shared::{Collections, wish};
use profundo_wire::recording::Collection;

use super::{Asked, Door, Refused, map, why_refused};
use crate::sys;

/// How often it is looked what there is.
const TURN: Duration = Duration::from_millis(20);

const BYTES: u64 = size_of::<Collections>() as u64;

impl Door<'_> {
    /// Hands each collection to `tell`, with how many before it were lost, until `is_over` says so, or the program has ended.
    pub fn collections(
        &mut self,
        patience: Duration,
        tell: &mut dyn FnMut(Collection, u64),
        is_over: &mut dyn FnMut() -> bool,
    ) -> Result<(), Refused> {
        let place = self.borrow(|_, thread| map(thread, BYTES.next_multiple_of(4096)))?;
        self.say(wish::COLLECTIONS, place, patience)?;
        let mut read = 0;
        loop {
            let over = is_over();
            match self.read_since(place, read, tell) {
                Some(written) => read = written,
                // It has ended, or has become another program.
                None => return Ok(()),
            }
            if over {
                break;
            }
            self.say_that_we_look(place)?;
            std::thread::sleep(TURN);
        }
        // What is written to that memory may come late: it stays.
        match self.say(wish::SILENCE, place, patience) {
            Err(Refused::Gone) => Ok(()),
            other => other,
        }
    }

    fn say(&mut self, wish: u32, place: u64, patience: Duration) -> Result<(), Refused> {
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

    /// Whoever is killed says so no more, and is not told any more then.
    fn say_that_we_look(&self, place: u64) -> Result<(), Refused> {
        let now = sys::nanoseconds(libc::CLOCK_MONOTONIC);
        let place = place + std::mem::offset_of!(Collections, looked) as u64;
        match super::write_memory(self.pid, place, &now.to_le_bytes()) {
            Ok(()) => Ok(()),
            // It has ended, or become another program: that is seen by who reads.
            Err(error) if error.raw_os_error() != Some(libc::EPERM) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns how many there were so far.
    fn read_since(
        &self,
        place: u64,
        read: u64,
        tell: &mut dyn FnMut(Collection, u64),
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
        // SAFETY: it is ours alone; numbers are bytes, and whatever the program has written there are numbers.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut((&raw mut copy).cast::<u8>(), BYTES as usize) };
        if sys::read_memory(self.pid, place, bytes) != bytes.len() {
            return None;
        }
        let mut found = Vec::new();
        let (written, lost) = copy.each_since(read, |it| found.push(it));
        let mut lost = Some(lost);
        for collection in found {
            tell(collection, lost.take().unwrap_or(0));
        }
        Some(written)
    }
}
